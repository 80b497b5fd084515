// Package replies sends an answer of any kind to a question, for callers that hold what a person
// decided as a value. Whether it may be sent is the question's to say.
package replies

import (
	"context"
	"fmt"

	"github.com/aaep-go/aaep"
)

// Question takes an answer, as a subscriber.Question does.
type Question interface {
	Accept(context.Context) error
	Reject(context.Context) error
	AnswerText(context.Context, string) error
	AnswerYesNo(context.Context, bool) error
	AnswerNumber(context.Context, float64) error
}

// Send answers a question by a response, which is a string, a bool or a float64, or where that is
// nil by the decision d. Any other value is an error; else the error is the question's.
func Send(ctx context.Context, q Question, d aaep.Decision, response any) error {
	switch r := response.(type) {
	case string:
		return q.AnswerText(ctx, r)
	case bool:
		return q.AnswerYesNo(ctx, r)
	case float64:
		return q.AnswerNumber(ctx, r)
	case nil:
		switch d {
		case aaep.Accept:
			return q.Accept(ctx)
		case aaep.Reject:
			return q.Reject(ctx)
		}
		return fmt.Errorf("the decision %q is neither accept nor reject", d)
	}
	return fmt.Errorf("an answer is a string, a bool or a float64, not a %T", response)
}
