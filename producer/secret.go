package producer

import "github.com/aaep-go/aaep"

// check is aaep.Validate in every language, and the author's wish that no secret is told.
func (p *Producer) check(ev *aaep.Event) error {
	for _, t := range ev.Translations {
		translated := *ev
		translated.In(t)
		if err := p.checkOne(&translated); err != nil {
			return err
		}
	}
	if err := p.checkLanguages(ev); err != nil {
		return err
	}
	return p.checkOne(ev)
}

func (p *Producer) checkOne(ev *aaep.Event) error {
	if err := aaep.Validate(ev); err != nil || !p.cfg.RefuseSecrets {
		return err
	}
	var found []aaep.Violation
	look := func(pointer, text string) {
		if kind, ok := aaep.Secret(text); ok {
			found = append(found, aaep.Violation{Requirement: "SEC-010", Pointer: pointer,
				Problem: "holds what looks like a " + kind + "; take it out, or say it in other words"})
		}
	}
	look("/summary_terse", ev.Summary.Terse)
	look("/summary_normal", ev.Summary.Normal)
	look("/summary_detailed", ev.Summary.Detailed)
	switch q := ev.Payload.(type) {
	case *aaep.SessionStarted:
		look("/request_text", q.RequestText)
	case *aaep.ToolInvoked:
		look("/args_summary", q.ArgsSummary)
		look("/description", q.Description)
	case *aaep.ToolCompleted:
		look("/error_message", q.ErrorMessage)
	case *aaep.ProgressUpdated:
		look("/progress/description", q.Progress.Description)
	case *aaep.SessionErrored:
		look("/remediation_hint", q.RemediationHint)
	case *aaep.AwaitingConfirmation:
		look("/action", q.Action)
		look("/consequence", q.Consequence)
	case *aaep.AwaitingClarification:
		look("/question", q.Question)
		look("/context", q.Context)
	case *aaep.HandoffRequested:
		look("/reason", q.Reason)
		look("/packaged_context", string(q.PackagedContext))
	}
	if found == nil {
		return nil
	}
	return &aaep.InvalidError{Message: string(ev.Type()), Violations: found}
}
