package aaep

import (
	"fmt"
	"slices"
	"strings"
)

// Validate reports everything that keeps m from being valid under the prose and the published schemas, as
// an *InvalidError, or nil. It judges one message; the order of messages is the affair of the
// session's two ends.
func Validate(m Message) error {
	var c checker
	if e, ok := m.(*Event); ok {
		checkEvent(&c, e)
	} else {
		checkReceived(&c, m)
		checkSent(&c, m)
	}
	return c.err(m.MessageType())
}

func checkEvent(c *checker, e *Event) {
	if e.Payload == nil {
		c.fail("ENV-011", "/type", "has no payload, and so no type")
		return
	}
	if len(e.Context) > 0 && e.Context[0] != CoreContext {
		c.fail("ENV-002", "/@context", "must start with %q", CoreContext)
	}
	if e.AAEPVersion != "" && !validVersion(e.AAEPVersion) {
		c.fail("ENV-051", "/aaep_version", "must be three numbers such as 1.0.0")
	}
	c.id("ENV-012", "/event_id", e.EventID, "evt_")
	c.id("ENV-017", "/session_id", e.SessionID, "sess_")
	if e.Timestamp.IsZero() {
		c.fail("ENV-020", "/timestamp", "is missing")
	}
	if e.SequenceNumber != nil && *e.SequenceNumber < 0 {
		c.fail("ENV-040", "/sequence_number", "must not be negative")
	}
	checkProducer(c, &e.Producer)
	c.oneOf("ENV-031", "/verbosity", string(e.Verbosity), "terse", "normal", "detailed")
	c.oneOf("ENV-033", "/urgency", string(e.Urgency), "background", "normal", "critical")
	if e.Type().Critical() && e.Urgency != UrgencyCritical {
		c.fail("EVT-068", "/urgency", "must be %q on %s", UrgencyCritical, e.Type())
	}
	checkHints(c, e.LocalizationHints)
	for prefix, v := range e.Extensions {
		if !isObject(v) {
			c.fail("ENV-046", "/extensions/"+prefix, "must be an object")
		}
	}
	if len(e.Extensions) > 0 && len(e.Context) < 2 {
		c.fail("ENV-047", "/@context", "must name the vocabulary of every extension prefix")
	}
	c.text("EVT-007", "/summary_terse", e.Summary.Terse, 0, maxShort)
	c.text("EVT-007", "/summary_detailed", e.Summary.Detailed, 0, maxText)
	if e.Type() == TypeOutputStreaming {
		if !e.Summary.IsZero() {
			c.fail("EVT-054", "/summary_normal", "an output event has no summary; its chunk is what is heard")
		}
	} else {
		c.text("LVL-010", "/summary_normal", e.Summary.Normal, 1, maxText)
	}
	if strings.HasPrefix(string(e.Type()), "aaep:") {
		if _, ok := e.Payload.(*Extension); ok {
			c.fail("ENV-008", "/type", "%q is not defined by AAEP; an extension uses a prefix of its own", e.Type())
		}
	}
	checkPayload(c, e)
}

func checkPayload(c *checker, e *Event) {
	switch p := e.Payload.(type) {
	case *SessionStarted:
		c.millis("/expected_duration_ms", p.ExpectedDurationMS)
		c.text("EVT-009", "/requested_by", p.RequestedBy, 0, 256)
		c.text("EVT-009", "/request_text", p.RequestText, 0, maxText)
		if len(p.ToolsAvailable) > 256 || repeats(p.ToolsAvailable) {
			c.fail("EVT-010", "/tools_available", "must be at most 256 different names")
		}
		for i, t := range p.ToolsAvailable {
			c.text("EVT-010", fmt.Sprintf("/tools_available/%d", i), t, 1, 256)
		}
	case *SessionCompleted:
		c.millis("/duration_ms", p.DurationMS)
		if p.ToolInvocationsCount != nil && *p.ToolInvocationsCount < 0 {
			c.fail("EVT-015", "/tool_invocations_count", "must not be negative")
		}
		c.text("EVT-015", "/output_summary", p.OutputSummary, 0, maxText)
		c.uri("EVT-015", "/result_uri", p.ResultURI)
	case *SessionErrored:
		c.required("EVT-018", "/error_category", string(p.ErrorCategory), "transient", "permanent", "requires_user", "unknown")
		c.snake("EVT-020", "/error_code", p.ErrorCode, 'A', 'Z')
		c.uri("EVT-021", "/error_uri", p.ErrorURI)
		c.text("EVT-021", "/remediation_hint", p.RemediationHint, 0, maxShort)
	case *SessionCancelled:
		c.required("EVT-024", "/cancelled_by", string(p.CancelledBy), "user", "producer", "timeout", "system")
		c.snake("EVT-025", "/cancellation_reason", p.CancellationReason, 'a', 'z')
		c.text("EVT-025", "/partial_result", p.PartialResult, 0, maxText)
	case *StateChanged:
		c.text("EVT-028", "/from_state", string(p.FromState), 1, 64)
		c.text("EVT-028", "/to_state", string(p.ToState), 1, 64)
		c.millis("/expected_duration_ms", p.ExpectedDurationMS)
	case *ProgressUpdated:
		g := p.Progress
		if g == (Progress{}) {
			c.fail("EVT-034", "/progress", "must have at least one of percent, step, total_steps and description")
		}
		if g.Percent != nil && !(*g.Percent >= 0 && *g.Percent <= 100) {
			c.fail("EVT-035", "/progress/percent", "must be from 0 to 100")
		}
		if g.Step < 0 || g.TotalSteps < 0 {
			c.fail("EVT-035", "/progress/step", "must count from 1")
		}
		if g.TotalSteps > 0 && g.Step > g.TotalSteps {
			c.fail("EVT-036", "/progress/step", "step %d is above total_steps %d", g.Step, g.TotalSteps)
		}
		c.text("EVT-035", "/progress/description", g.Description, 0, maxShort)
		c.millis("/eta_ms", p.ETAMS)
	case *ToolInvoked:
		c.tool("EVT-040", p.Tool)
		c.optionalID("EVT-044", "/tool_call_id", p.ToolCallID, "call_")
		c.text("EVT-047", "/description", p.Description, 0, maxShort)
		c.text("EVT-047", "/args_summary", p.ArgsSummary, 0, maxText)
		c.millis("/expected_duration_ms", p.ExpectedDurationMS)
		c.oneOf("EVT-046", "/risk_level", string(p.RiskLevel), "low", "medium", "high")
	case *ToolCompleted:
		c.tool("EVT-040", p.Tool)
		c.optionalID("EVT-044", "/tool_call_id", p.ToolCallID, "call_")
		c.required("EVT-049", "/status", string(p.Status), "success", "error", "timeout")
		c.millis("/duration_ms", p.DurationMS)
		c.text("EVT-053", "/error_message", p.ErrorMessage, 0, maxShort)
	case *OutputStreaming:
		c.text("EVT-055", "/chunk", p.Chunk, 0, maxText)
		if p.Chunk == "" && !p.Complete {
			c.fail("EVT-055", "/chunk", "may be empty only on the closing chunk")
		}
		if p.Position < 0 {
			c.fail("EVT-056", "/position", "must not be negative")
		}
		c.oneOf("EVT-062", "/coalesce_hint", string(p.CoalesceHint), "none", "word", "sentence", "paragraph", "completion")
		c.optionalID("EVT-063", "/output_id", p.OutputID, "out_")
		if p.ContentType != "" && !validContentType(p.ContentType) {
			c.fail("EVT-064", "/content_type", "must be type/subtype without parameters")
		}
		if p.Language != "" {
			c.tag("EVT-065", "/language", p.Language)
		}
	case *AwaitingConfirmation:
		c.text("EVT-069", "/action", p.Action, 1, maxText)
		c.text("EVT-069", "/consequence", p.Consequence, 1, maxText)
		c.id("CONF-007", "/reply_token", string(p.ReplyToken), "rpl_")
		c.timeout(p.TimeoutSeconds)
		c.required("EVT-071", "/default_decision", string(p.DefaultDecision), "accept", "reject")
		c.oneOf("EVT-073", "/risk_level", string(p.RiskLevel), "low", "medium", "high")
		c.oneOf("EVT-073", "/reversibility", string(p.Reversibility), "reversible", "reversible_with_effort", "irreversible")
		if p.IsIrreversible() && p.DefaultDecision == Accept {
			c.fail("CONF-031", "/default_decision", "an irreversible action must default to reject")
		}
		if p.Irreversible != nil && p.Reversibility != "" && *p.Irreversible != (p.Reversibility == Irreversible) {
			c.fail("EVT-073", "/reversibility", "contradicts irreversible")
		}
		if n := len(p.AllowedReplies); n > 32 || repeats(p.AllowedReplies) || p.AllowedReplies != nil && n == 0 {
			c.fail("EVT-074", "/allowed_replies", "must be 1 to 32 different strings")
		}
		c.object("EVT-075", "/extra_context", p.ExtraContext)
	case *AwaitingClarification:
		c.text("EVT-080", "/question", p.Question, 1, maxText)
		c.id("CONF-007", "/reply_token", string(p.ReplyToken), "rpl_")
		c.timeout(p.TimeoutSeconds)
		c.text("EVT-085", "/context", p.Context, 0, maxShort)
		c.text("EVT-085", "/default_response", p.DefaultResponse, 0, maxShort)
		if repeats(p.AcceptedResponseKinds) {
			c.fail("EVT-082", "/accepted_response_kinds", "must be different kinds")
		}
		for _, k := range p.AcceptedResponseKinds {
			c.required("EVT-082", "/accepted_response_kinds", string(k), "freetext", "yes_no", "multiple_choice", "numeric")
		}
		n := len(p.Choices)
		if slices.Contains(p.AcceptedResponseKinds, ResponseMultipleChoice) != (n > 0) {
			c.fail("EVT-084", "/choices", "must be there exactly when multiple_choice is accepted")
		}
		if n == 1 || n > 32 || repeats(p.Choices) {
			c.fail("EVT-083", "/choices", "must be 2 to 32 different choices")
		}
		for i, ch := range p.Choices {
			c.text("EVT-083", fmt.Sprintf("/choices/%d/value", i), ch.Value, 1, 256)
			c.text("EVT-083", fmt.Sprintf("/choices/%d/label", i), ch.Label, 1, 1024)
		}
	case *HandoffRequested:
		c.text("EVT-087", "/reason", p.Reason, 1, maxText)
		c.required("EVT-087", "/target_kind", string(p.TargetKind), "human", "specialist_agent", "escalation_queue")
		c.uri("EVT-089", "/target_uri", p.TargetURI)
		c.object("EVT-089", "/packaged_context", p.PackagedContext)
		c.oneOf("EVT-089", "/urgency_for_handoff", string(p.UrgencyForHandoff), "low", "medium", "high")
	}
}

func checkProducer(c *checker, p *Producer) {
	c.text("ENV-024", "/producer/agent_id", p.AgentID, 1, maxText)
	c.text("ENV-029", "/producer/agent_version", p.AgentVersion, 0, maxText)
	c.text("ENV-029", "/producer/agent_name", p.AgentName, 0, maxText)
	c.text("ENV-029", "/producer/model", p.Model, 0, maxText)
	c.uri("ENV-030", "/producer/manifest_uri", p.ManifestURI)
}

func checkHints(c *checker, h *LocalizationHints) {
	if h == nil {
		return
	}
	if h.PrimaryLanguage != "" {
		c.tag("ENV-036", "/localization_hints/primary_language", h.PrimaryLanguage)
	}
	c.oneOf("ENV-037", "/localization_hints/text_direction", string(h.TextDirection), "ltr", "rtl", "auto")
	if len(h.AvailableLanguages) > 32 || repeats(h.AvailableLanguages) {
		c.fail("ENV-038", "/localization_hints/available_languages", "must be at most 32 different tags")
	}
	if len(h.FallbackChain) > 16 {
		c.fail("ENV-038", "/localization_hints/fallback_chain", "must be at most 16 tags")
	}
	for _, t := range slices.Concat(h.AvailableLanguages, h.FallbackChain) {
		c.tag("ENV-036", "/localization_hints", t)
	}
}
