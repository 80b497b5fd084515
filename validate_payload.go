package aaep

import "slices"

// checkPayload checks the payload of our own event, which is one of the twelve core payloads
// (chapter 4). What is wrong goes into c, with the path within the event. checkEvent calls it.
func checkPayload(c *checker, payload Payload) {
	switch p := payload.(type) {
	case *SessionStarted:
		checkStarted(c, p)
	case *SessionCompleted:
		c.checkMillis("/duration_ms", p.DurationMS)
		if p.ToolInvocationsCount != nil {
			c.checkCount("EVT-015", "/tool_invocations_count", *p.ToolInvocationsCount)
		}
		c.checkText("EVT-015", "/output_summary", p.OutputSummary, 0, maxText)
		c.checkOptionalURI("EVT-015", "/result_uri", p.ResultURI)
	case *SessionErrored:
		c.checkOneOf("EVT-018", "/error_category", string(p.ErrorCategory), "transient", "permanent", "requires_user",
			"unknown")
		c.checkSnake("EVT-020", "/error_code", p.ErrorCode, 'A', 'Z')
		c.checkOptionalURI("EVT-021", "/error_uri", p.ErrorURI)
		c.checkText("EVT-021", "/remediation_hint", p.RemediationHint, 0, maxShort)
	case *SessionCancelled:
		c.checkOneOf("EVT-024", "/cancelled_by", string(p.CancelledBy), "user", "producer", "timeout", "system")
		c.checkSnake("EVT-025", "/cancellation_reason", p.CancellationReason, 'a', 'z')
		c.checkText("EVT-025", "/partial_result", p.PartialResult, 0, maxText)
	case *StateChanged:
		c.checkText("EVT-028", "/from_state", string(p.FromState), 1, 64)
		c.checkText("EVT-028", "/to_state", string(p.ToState), 1, 64)
		c.checkMillis("/expected_duration_ms", p.ExpectedDurationMS)
	case *ProgressUpdated:
		checkProgress(c, p.Progress)
		c.checkMillis("/eta_ms", p.ETAMS)
	case *ToolInvoked:
		c.checkTool(p.Tool, p.ToolCallID)
		c.checkText("EVT-047", "/description", p.Description, 0, maxShort)
		c.checkText("EVT-047", "/args_summary", p.ArgsSummary, 0, maxText)
		c.checkMillis("/expected_duration_ms", p.ExpectedDurationMS)
		c.checkOptionalOneOf("EVT-046", "/risk_level", string(p.RiskLevel), "low", "medium", "high")
	case *ToolCompleted:
		c.checkTool(p.Tool, p.ToolCallID)
		c.checkOneOf("EVT-049", "/status", string(p.Status), "success", "error", "timeout")
		c.checkMillis("/duration_ms", p.DurationMS)
		c.checkText("EVT-053", "/error_message", p.ErrorMessage, 0, maxShort)
	case *OutputStreaming:
		checkOutput(c, p)
	case *AwaitingConfirmation:
		checkConfirmation(c, p)
	case *AwaitingClarification:
		checkClarification(c, p)
	case *HandoffRequested:
		checkHandoff(c, p)
	default:
		c.addViolation("ENV-011", "/type", notPayload)
	}
}

// checkStarted checks the start of a session (§4.1.1).
func checkStarted(c *checker, p *SessionStarted) {
	c.checkMillis("/expected_duration_ms", p.ExpectedDurationMS)
	c.checkText("EVT-009", "/requested_by", p.RequestedBy, 0, 256)
	c.checkText("EVT-009", "/request_text", p.RequestText, 0, maxText)
	if len(p.ToolsAvailable) > 256 || hasRepeats(p.ToolsAvailable) {
		c.addViolation("EVT-010", "/tools_available", "must be at most 256 different names")
	}
	c.checkEach("/tools_available", len(p.ToolsAvailable),
		func(i int) { c.checkText("EVT-010", "", p.ToolsAvailable[i], 1, 256) })
}

// checkHandoff checks a request that another agent or a person takes over (§4.4.3).
func checkHandoff(c *checker, p *HandoffRequested) {
	c.checkText("EVT-087", "/reason", p.Reason, 1, maxText)
	c.checkOneOf("EVT-087", "/target_kind", string(p.TargetKind), "human", "specialist_agent", "escalation_queue")
	c.checkOptionalURI("EVT-089", "/target_uri", p.TargetURI)
	c.checkOptionalObject("EVT-089", "/packaged_context", p.PackagedContext, maxEventDepth)
	c.checkOptionalOneOf("EVT-089", "/urgency_for_handoff", string(p.UrgencyForHandoff), "low", "medium", "high")
}

// checkProgress checks how far an agent says that it has come (§4.2.2): at least one of its members
// is set, each is in range, and the step is not above the total.
func checkProgress(c *checker, p Progress) {
	if p == (Progress{}) {
		c.addViolation("EVT-034", "/progress",
			"must have at least one of percent, step, total_steps and description")
	}
	c.checkFraction("EVT-035", "/progress/percent", p.Percent, 100)
	c.checkCount("EVT-035", "/progress/step", p.Step)
	c.checkCount("EVT-035", "/progress/total_steps", p.TotalSteps)
	if p.TotalSteps > 0 && p.Step > p.TotalSteps {
		c.addViolation("EVT-036", "/progress/step", "step %d is above total_steps %d", p.Step, p.TotalSteps)
	}
	c.checkText("EVT-035", "/progress/description", p.Description, 0, maxShort)
}

// checkOutput checks one chunk of an output (§4.3.3). Only the last one may be empty.
func checkOutput(c *checker, p *OutputStreaming) {
	c.part = true
	c.checkText("EVT-055", "/chunk", p.Chunk, 0, maxText)
	c.part = false
	if p.Chunk == "" && !p.Complete {
		c.addViolation("EVT-055", "/chunk", "may be empty only on the closing chunk")
	}
	c.checkCount("EVT-056", "/position", p.Position)
	c.checkOptionalOneOf("EVT-062", "/coalesce_hint", string(p.CoalesceHint), "none", "word", "sentence",
		"paragraph", "completion")
	c.checkOptionalID("EVT-063", "/output_id", p.OutputID, "out_")
	if p.ContentType != "" && !validContentType(p.ContentType) {
		c.addViolation("EVT-064", "/content_type", "must be type/subtype without parameters")
	}
	if p.Language != "" {
		c.checkTag("EVT-065", "/language", p.Language)
	}
}

// checkConfirmation checks a question for a yes to an action (§4.4.1): silence must not allow an
// action that cannot be undone, and the two members that say so must not contradict each other.
func checkConfirmation(c *checker, p *AwaitingConfirmation) {
	c.checkText("EVT-069", "/action", p.Action, 1, maxText)
	c.checkText("EVT-069", "/consequence", p.Consequence, 1, maxText)
	c.checkID("CONF-007", "/reply_token", string(p.ReplyToken), "rpl_")
	c.checkTimeout(p.TimeoutSeconds)
	c.checkOneOf("EVT-071", "/default_decision", string(p.DefaultDecision), "accept", "reject")
	c.checkOptionalOneOf("EVT-073", "/risk_level", string(p.RiskLevel), "low", "medium", "high")
	c.checkOptionalOneOf("EVT-073", "/reversibility", string(p.Reversibility), "reversible",
		"reversible_with_effort", "irreversible")
	if p.IsIrreversible() && p.DefaultDecision == Accept {
		c.addViolation("CONF-031", "/default_decision", "an irreversible action must default to reject")
	}
	if p.Irreversible != nil && p.Reversibility != "" && *p.Irreversible != (p.Reversibility == Irreversible) {
		c.addViolation("D-21", "/reversibility", "contradicts irreversible; the action counts as irreversible")
	}
	if n := len(p.AllowedReplies); n > 32 || hasRepeats(p.AllowedReplies) || p.AllowedReplies != nil && n == 0 {
		c.addViolation("EVT-074", "/allowed_replies", "must be 1 to 32 different strings")
	}
	c.checkEach("/allowed_replies", len(p.AllowedReplies),
		func(i int) { c.checkText("EVT-074", "", string(p.AllowedReplies[i]), 0, maxText) })
	c.checkOptionalObject("EVT-075", "/extra_context", p.ExtraContext, maxEventDepth)
}

// checkClarification checks a question for an answer (§4.4.2).
func checkClarification(c *checker, p *AwaitingClarification) {
	c.checkText("EVT-080", "/question", p.Question, 1, maxText)
	c.checkID("CONF-007", "/reply_token", string(p.ReplyToken), "rpl_")
	c.checkTimeout(p.TimeoutSeconds)
	c.checkText("EVT-085", "/context", p.Context, 0, maxShort)
	c.checkText("EVT-085", "/default_response", p.DefaultResponse, 0, maxShort)
	checkKinds(c, p)
}

// checkKinds checks that choices are there exactly when one may be chosen, and that a list of kinds
// is not empty (§6.5.2, D-24).
func checkKinds(c *checker, p *AwaitingClarification) {
	kinds := p.AcceptedResponseKinds
	if kinds != nil && len(kinds) == 0 || hasRepeats(kinds) {
		c.addViolation("EVT-082", "/accepted_response_kinds", "must be at least one kind, and none twice")
	}
	c.checkEach("/accepted_response_kinds", len(kinds), func(i int) {
		c.checkOneOf("EVT-082", "", string(kinds[i]), "freetext", "yes_no", "multiple_choice", "numeric")
	})
	n := len(p.Choices)
	if slices.Contains(kinds, ResponseMultipleChoice) != (n > 0) {
		c.addViolation("EVT-084", "/choices", "must be there exactly when multiple_choice is accepted")
	}
	switch {
	case p.Choices != nil && n < 2 || n > 32:
		c.addViolation("EVT-083", "/choices", "are %d, and must be 2 to 32; of more, one question can choose a group, "+
			"and the next one of that", n)
	case hasRepeats(p.Choices):
		c.addViolation("EVT-083", "/choices", "have one twice, and must all be different")
	}
	c.checkEach("/choices", n, func(i int) {
		c.checkText("EVT-083", "/value", p.Choices[i].Value, 1, 256)
		c.checkText("EVT-083", "/label", p.Choices[i].Label, 1, 1024)
	})
}
