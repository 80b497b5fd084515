package ledger

import (
	"slices"

	"github.com/aaep-go/aaep"
)

// Silence is the outcome of a question that was not answered in time.
func Silence(q *Question) *Outcome { return byDefault(q, TimedOut) }

// Unanswerable is the outcome of a question that no subscription can answer, from the start or any
// more. The
// default applies, but cutting a line never consents: above low risk the outcome is a rejection
// (§5.8.2, D-34, D-80).
func Unanswerable(q *Question) *Outcome {
	out := byDefault(q, Unreachable)
	if c := q.Confirmation; c != nil && c.RiskLevel != aaep.RiskLow {
		out.Decision = aaep.Reject
	}
	return out
}

// WithdrawnOutcome is the outcome of a question that was taken back: an action is rejected, and a
// clarification decides nothing.
func WithdrawnOutcome(q *Question) *Outcome {
	out := &Outcome{Question: q, Cause: Withdrawn}
	if q.Confirmation != nil {
		out.Decision = aaep.Reject
	}
	return out
}

func byDefault(q *Question, cause Cause) *Outcome {
	out := &Outcome{Question: q, Cause: cause}
	if c := q.Confirmation; c != nil {
		out.Decision = aaep.Reject
		if c.DefaultDecision == aaep.Accept && !c.IsIrreversible() {
			out.Decision = aaep.Accept
		}
		return out
	}
	out.Response = DefaultResponse(q.Clarification)
	return out
}

// DefaultResponse reads a clarification's default as a value of the kind it stands for, or nil. A
// choice's value is that choice, even if it reads like a number (D-24).
func DefaultResponse(q *aaep.AwaitingClarification) any {
	d := q.DefaultResponse
	if d == "" {
		return nil
	}
	if slices.Contains(q.AcceptedResponseKinds, aaep.ResponseMultipleChoice) && isChoice(q, d) {
		return d
	}
	for _, k := range q.AcceptedResponseKinds {
		switch k {
		case aaep.ResponseYesNo:
			if d == "true" || d == "false" {
				return d == "true"
			}
		case aaep.ResponseNumeric:
			if f, ok := parseNumber(d); ok {
				return f
			}
		}
	}
	if isAnswerTo(q, d) {
		return d
	}
	return nil
}
