package ledger

import (
	"slices"

	"github.com/aaep-go/aaep"
)

// Silence is the outcome of a question that was not answered in time.
func Silence(q *Question) *Outcome { return defaultOutcome(q, TimedOut) }

// Unanswerable returns the outcome of a question that no subscription can answer, from the start or
// any more. The default applies, but a broken link never consents: above low risk the outcome is a
// rejection (§5.8.2, D-34, D-80).
func Unanswerable(q *Question) *Outcome {
	out := defaultOutcome(q, Unreachable)
	if c := q.Confirmation; c != nil && c.RiskLevel != aaep.RiskLow {
		out.Decision = aaep.Reject
	}
	return out
}

// WithdrawnOutcome returns the outcome of a question that was taken back: an action is rejected,
// and a clarification decides nothing.
func WithdrawnOutcome(q *Question) *Outcome {
	out := &Outcome{Question: q, Cause: Withdrawn}
	if q.Confirmation != nil {
		out.Decision = aaep.Reject
	}
	return out
}

// defaultOutcome returns the outcome of a question that is not answered, for this cause: its
// default decision or response. Without a default a confirmation is rejected, and so is an
// irreversible action in any case.
func defaultOutcome(q *Question, cause Cause) *Outcome {
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

// DefaultResponse returns a clarification's default as a value of a kind that the question accepts:
// a string, a bool or a float64. It is nil where there is no default, or where that is no answer to
// the question. A choice's value is that choice, even if it reads like a number (D-24).
func DefaultResponse(q *aaep.AwaitingClarification) any {
	text := q.DefaultResponse
	if text == "" {
		return nil
	}
	if slices.Contains(q.AcceptedResponseKinds, aaep.ResponseMultipleChoice) && isChoice(q, text) {
		return text
	}
	for _, k := range q.AcceptedResponseKinds {
		switch k {
		case aaep.ResponseYesNo:
			if text == "true" || text == "false" {
				return text == "true"
			}
		case aaep.ResponseNumeric:
			if f, ok := parseNumber(text); ok {
				return f
			}
		}
	}
	if isAnswerTo(q, text) {
		return text
	}
	return nil
}
