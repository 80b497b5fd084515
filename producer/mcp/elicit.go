package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/form"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer"
)

// Elicit returns a client's handler for what servers want to know from the user: each field of the
// form is one question, put through p: what is required in that order, then the others by their
// names, for the MCP SDK keeps no other order. A question that is not answered cancels the form; so
// does a form that has to be filled in elsewhere (a URL). A form without fields is one question, to
// be answered with yes or no. A choice that cannot be put as one, as of a single value, of more
// than 32 or of long ones, is asked for in words, with what there is to choose from. What the form
// would not take, such as none of these or a number outside of its limits, is asked for again, at
// most three times in all.
func Elicit(p *producer.Producer) func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	return func(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		cancel := &sdk.ElicitResult{Action: form.Cancel}
		if req.Params.Mode == "url" || req.Params.URL != "" {
			return cancel, nil
		}
		schema, err := json.Marshal(req.Params.RequestedSchema)
		var questions []form.Question
		if err == nil {
			questions, err = form.Questions(req.Params.Message, schema)
		}
		if err != nil {
			return nil, fmt.Errorf("mcp: an elicitation: %w", err)
		}
		s := producer.SessionOf(ctx)
		ownsSession := s == nil
		if ownsSession { // its questions say what it is about
			if s, err = p.StartSession(context.WithoutCancel(ctx),
				phrase.Text(agentLanguages(p), phrase.Request, "")); err != nil {
				return nil, err
			}
			defer s.Close()
		}
		answer, err := form.Fill(ctx, s, questions)
		switch {
		case !ownsSession:
		case err == nil:
			s.Complete(aaep.Text{})
		case errors.Is(err, producer.ErrTimedOut):
			s.Cancel(aaep.CancelledByTimeout, aaep.Text{})
		case errors.Is(err, producer.ErrUnreachable):
			s.Cancel(aaep.CancelledBySystem, aaep.Text{})
		case ctx.Err() == nil: // else Close cancels it
			s.Fail(err, aaep.Text{})
		}
		switch {
		case form.Unanswered(err):
			return cancel, nil
		case err != nil:
			return nil, err
		}
		return &sdk.ElicitResult{Action: answer.Action, Content: answer.Content}, nil
	}
}
