package announce

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
)

// Kinds are the forms of answer a clarification takes. Without any it takes text.
type Kinds struct{ Choice, YesNo, Numeric, Text bool }

// KindsOf returns those of a clarification.
func KindsOf(p *aaep.AwaitingClarification) Kinds {
	has := func(k aaep.ResponseKind) bool { return slices.Contains(p.AcceptedResponseKinds, k) }
	return Kinds{
		Choice: has(aaep.ResponseMultipleChoice) && len(p.Choices) > 0, YesNo: has(aaep.ResponseYesNo),
		Numeric: has(aaep.ResponseNumeric), Text: has(aaep.ResponseFreetext) || len(p.AcceptedResponseKinds) == 0,
	}
}

// Text is what is said of an event at a verbosity; "" for nothing. A question has the whole time it
// was given.
func Text(ev *aaep.Event, v aaep.Verbosity) string {
	text := ev.Text(v)
	switch p := ev.Payload.(type) {
	case *aaep.SessionErrored:
		text = after("Error", text)
		if p.RemediationHint != "" {
			text = words.Sentence(text) + " " + p.RemediationHint
		}
	case *aaep.SessionCancelled:
		text = after("Cancelled", text)
	case *aaep.SessionCompleted:
		text = after("Done", text)
	case *aaep.HandoffRequested:
		text = after("Handover", text)
	case *aaep.StateChanged:
		// The text is that of the question, which alone would sound as if it were being done.
		if p.ToState == aaep.StateAwaitingInput && !strings.HasPrefix(text, "Waiting") {
			text = "Waiting for an answer: " + text
		}
	case *aaep.AwaitingConfirmation:
		return Confirmation(p, time.Duration(p.TimeoutSeconds)*time.Second)
	case *aaep.AwaitingClarification:
		return Clarification(p, time.Duration(p.TimeoutSeconds)*time.Second)
	}
	return quoted(strings.TrimSpace(text))
}

// after puts what kind of thing is told in front of the agent's text, unless that begins with it.
func after(kind, text string) string {
	if rest, ok := strings.CutPrefix(text, kind); ok && (rest == "" || strings.ContainsAny(rest[:1], ".:,!; ")) {
		return text
	}
	return kind + ". " + text
}

// A sentence of a question that says how much time there is.
const youHave, toAnswer = "You have ", " to answer."

// Confirmation puts the whole question: who reads only this must know what a yes does. Its parts cannot
// pretend to be other lines of it.
func Confirmation(p *aaep.AwaitingConfirmation, left time.Duration) string {
	risk := p.RiskLevel
	if risk != aaep.RiskLow && risk != aaep.RiskMedium {
		risk = aaep.RiskHigh // what is not said is taken as high
	}
	undo := ""
	switch {
	case p.IsIrreversible():
		undo = " This cannot be undone."
	case p.Reversibility == aaep.ReversibleWithEffort:
		undo = " This is hard to undo."
	}
	silence := "nobody knows what will happen" // the agent said something that is neither (D-13)
	switch p.DefaultDecision {
	case aaep.Accept:
		silence = "it will be done"
	case aaep.Reject:
		silence = "it will not be done"
	}
	return fmt.Sprintf("Please decide.%s The risk is %s.\nAction: %s\nConsequence: %s\n%s Without an answer %s.",
		undo, risk, words.OneLine(p.Action), words.OneLine(p.Consequence), youHave+words.Spoken(left)+toAnswer, silence)
}

// Clarification puts the whole question, with its choices by number.
func Clarification(p *aaep.AwaitingClarification, left time.Duration) string {
	var b strings.Builder
	b.WriteString("Question: " + words.OneLine(p.Question))
	if p.Context != "" {
		b.WriteString("\nContext: " + words.OneLine(p.Context))
	}
	silence, kinds := p.DefaultResponse, KindsOf(p)
	for i, c := range p.Choices {
		fmt.Fprintf(&b, "\n%d: %s", i+1, words.OneLine(c.Label))
		if c.Value == p.DefaultResponse {
			silence = cmp.Or(words.OneLine(c.Label), c.Value)
			kinds.YesNo = kinds.YesNo && !kinds.Choice // a choice comes first
		}
	}
	b.WriteString("\n" + youHave + words.Spoken(left) + toAnswer)
	switch {
	case silence == "":
	case kinds.YesNo && p.DefaultResponse == "true":
		b.WriteString(" No answer means yes.")
	case kinds.YesNo && p.DefaultResponse == "false":
		b.WriteString(" No answer means no.")
	default:
		b.WriteString(" No answer means: " + words.Sentence(words.OneLine(silence)))
	}
	return b.String()
}

// Closes reports whether an event says that a question of its session is no longer open. Changes of state may
// have been merged on their way, so that what counts is where they lead, after the question was asked.
func Closes(question, ev *aaep.Event) bool {
	if ev.SessionID != question.SessionID {
		return false
	}
	p, ok := ev.Payload.(*aaep.StateChanged)
	if !ok {
		return ev.Type().Terminal()
	}
	return p.ToState != aaep.StateAwaitingInput &&
		(p.FromState == aaep.StateAwaitingInput || ev.Timestamp.After(question.Timestamp))
}
