package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer"
)

// Elicit returns a client's handler for what servers want to know from the user: each field of the form is one question, put
// through p: what is required in that order, then the others by their names, for the MCP SDK keeps no other order. A question that is
// not answered cancels the form; so does a form that has to be filled in elsewhere (a URL). A form without fields is one question, to be
// answered with yes or no.
func Elicit(p *producer.Producer) func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	return func(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		cancel := &sdk.ElicitResult{Action: "cancel"}
		if req.Params.Mode == "url" || req.Params.URL != "" {
			return cancel, nil
		}
		questions, err := ask(req.Params)
		if err != nil {
			return nil, err
		}
		s := producer.SessionOf(ctx)
		own := s == nil
		if own { // its questions say what it is about
			if s, err = p.StartSession(context.WithoutCancel(ctx), phrase.Text(languages(p), phrase.Request, "")); err != nil {
				return nil, err
			}
			defer s.Close()
		}
		result, err := fill(ctx, s, questions)
		timedOut, unreachable := errors.Is(err, producer.ErrTimedOut), errors.Is(err, producer.ErrUnreachable)
		switch {
		case !own:
		case err == nil:
			s.Complete(aaep.Text{})
		case timedOut:
			s.Cancel(aaep.CancelledByTimeout, aaep.Text{})
		case unreachable:
			s.Cancel(aaep.CancelledBySystem, aaep.Text{})
		case ctx.Err() == nil: // else Close cancels it
			s.Fail(err, aaep.Text{})
		}
		if timedOut || unreachable {
			return cancel, nil
		}
		return result, err
	}
}

// fill asks the questions of a form, one after the other.
func fill(ctx context.Context, s *producer.Session, questions []question) (*sdk.ElicitResult, error) {
	content := map[string]any{}
	for _, q := range questions {
		answer, err := s.Clarify(ctx, q.Question)
		switch {
		case err != nil:
			return nil, err
		case q.field == "" && answer == true:
			return &sdk.ElicitResult{Action: "accept"}, nil
		case q.field == "":
			return &sdk.ElicitResult{Action: "decline"}, nil
		}
		content[q.field] = answer
	}
	return &sdk.ElicitResult{Action: "accept", Content: content}, nil
}

// A question is one field of a form; without a name it is the form itself.
type question struct {
	field string
	producer.Question
}

// A field is what MCP allows in a form.
type field struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	EnumNames   []string `json:"enumNames"`
	OneOf       []struct {
		Const string `json:"const"`
		Title string `json:"title"`
	} `json:"oneOf"`
}

// ask makes questions of a form.
func ask(p *sdk.ElicitParams) (questions []question, err error) {
	var form struct {
		Properties map[string]field `json:"properties"`
		Required   []string         `json:"required"`
	}
	schema, err := json.Marshal(p.RequestedSchema)
	if err == nil {
		err = json.Unmarshal(schema, &form)
	}
	if err != nil {
		return nil, fmt.Errorf("mcp: the form of an elicitation: %w", err)
	}
	context := aaep.Say(p.Message)
	if len(form.Properties) == 0 {
		return []question{{"", producer.Question{Text: context, Kinds: []aaep.ResponseKind{aaep.ResponseYesNo}}}}, nil
	}
	names := slices.SortedFunc(maps.Keys(form.Properties), func(a, b string) int {
		rank := func(name string) uint { return uint(slices.Index(form.Required, name)) } // of none, the highest
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		f := form.Properties[name]
		q := producer.Question{Text: aaep.Say(cmp.Or(f.Title, f.Description, name) + "?"), Context: context}
		switch f.Type {
		case "boolean":
			q.Kinds = []aaep.ResponseKind{aaep.ResponseYesNo}
		case "number", "integer":
			q.Kinds = []aaep.ResponseKind{aaep.ResponseNumeric}
		case "string":
		default:
			return nil, fmt.Errorf("mcp: the form of an elicitation: the field %q is of the type %q, which nobody can be asked for", name, f.Type)
		}
		for i, value := range f.Enum {
			label := value
			if i < len(f.EnumNames) {
				label = f.EnumNames[i]
			}
			q.Choices = append(q.Choices, producer.Choice{Value: value, Label: aaep.Say(label)})
		}
		for _, one := range f.OneOf {
			q.Choices = append(q.Choices, producer.Choice{Value: one.Const, Label: aaep.Say(cmp.Or(one.Title, one.Const))})
		}
		questions = append(questions, question{name, q})
	}
	return questions, nil
}
