package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer"
)

// Elicit returns a client's handler for what servers want to know from the user: each field of the form is one question, put
// through p: what is required in that order, then the others by their names, for the MCP SDK keeps no other order. A question that is
// not answered cancels the form; so does a form that has to be filled in elsewhere (a URL). A form without fields is one question, to be
// answered with yes or no. A choice that cannot be put as one, as of a single value, of more than 32 or of long ones, is asked for in
// words, with what there is to choose from; it is asked at most three times, until the answer is one of them.
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

// attempts are how often a field is asked for until the form takes the answer.
const attempts = 3

// fill asks the questions of a form, one after the other.
func fill(ctx context.Context, s *producer.Session, questions []question) (*sdk.ElicitResult, error) {
	content := map[string]any{}
	for _, q := range questions {
		var value any
		ok := false
		for n := 0; n < attempts && !ok; n++ {
			answer, err := s.Clarify(ctx, q.Question)
			if err != nil {
				return nil, err
			}
			value, ok = q.take(answer)
		}
		switch {
		case !ok:
			return &sdk.ElicitResult{Action: "cancel"}, nil
		case q.field == "" && value == true:
			return &sdk.ElicitResult{Action: "accept"}, nil
		case q.field == "":
			return &sdk.ElicitResult{Action: "decline"}, nil
		}
		content[q.field] = value
	}
	return &sdk.ElicitResult{Action: "accept", Content: content}, nil
}

// A question is one field of a form; without a name it is the form itself.
type question struct {
	field   string
	options []option // what the field can be; none is anything of its type
	whole   bool     // it takes whole numbers only
	about   string   // what the form is about
	producer.Question
}

// An option is one of the values that a field can have.
type option struct {
	value       any
	text, label string // the value as it is typed, and what it is called
}

// take returns what the form gets for an answer, if it takes that.
func (q question) take(answer any) (value any, ok bool) {
	if len(q.options) == 0 {
		n, number := answer.(float64)
		return answer, !q.whole || number && n == math.Trunc(n)
	}
	typed := strings.TrimSpace(text(answer))
	for _, same := range []func(string) bool{
		func(s string) bool { return s == typed },
		func(s string) bool { return strings.EqualFold(s, typed) },
	} {
		for _, o := range q.options {
			if o.value == answer || same(o.text) || same(o.label) {
				return o.value, true
			}
		}
	}
	return nil, false
}

// text is a value as a person types it.
func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// offer puts the options of q as choices where the protocol can (EVT-083), and else names them beside the question.
func (q *question) offer(number bool) {
	choices, seen, fit := []producer.Choice{}, map[string]bool{}, len(q.options) >= 2 && len(q.options) <= 32
	labels, length := []string{}, 0
	for _, o := range q.options {
		label := aaep.SafeText(o.label)
		fit = fit && !seen[o.text] && o.text != "" && len(o.text) <= 256 && len(label) <= 1024 && aaep.SafeText(o.text) == o.text
		seen[o.text] = true
		choices = append(choices, producer.Choice{Value: o.text, Label: aaep.Say(cmp.Or(label, o.text))})
		if length += len(label) + 2; length <= mostNamed {
			labels = append(labels, label)
		}
	}
	switch {
	case len(q.options) == 0:
	case fit:
		q.Choices, q.Kinds = choices, []aaep.ResponseKind{aaep.ResponseMultipleChoice}
	default:
		named := strings.Join(labels, ", ")
		if len(labels) < len(q.options) {
			named += ", …"
		}
		q.Context = aaep.Say(strings.TrimSpace(q.about + "\n" + named))
		q.Kinds = []aaep.ResponseKind{aaep.ResponseFreetext}
	}
	if number && len(q.options) > 0 {
		q.Kinds = append(q.Kinds, aaep.ResponseNumeric)
	}
}

// mostNamed is how many bytes of options are named beside a question.
const mostNamed = 2000

// A field is what MCP allows in a form.
type field struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []any    `json:"enum"`
	EnumNames   []string `json:"enumNames"`
	OneOf       []struct {
		Const any    `json:"const"`
		Title string `json:"title"`
	} `json:"oneOf"`
}

// options are the values that the field can have.
func (f field) options() (options []option) {
	for i, value := range f.Enum {
		o := option{value, text(value), text(value)}
		if i < len(f.EnumNames) {
			o.label = f.EnumNames[i]
		}
		options = append(options, o)
	}
	for _, one := range f.OneOf {
		options = append(options, option{one.Const, text(one.Const), cmp.Or(one.Title, text(one.Const))})
	}
	return options
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
		return []question{{Question: producer.Question{Text: context, Kinds: []aaep.ResponseKind{aaep.ResponseYesNo}}}}, nil
	}
	names := slices.SortedFunc(maps.Keys(form.Properties), func(a, b string) int {
		rank := func(name string) uint { return uint(slices.Index(form.Required, name)) } // of none, the highest
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		f := form.Properties[name]
		q := question{field: name, about: p.Message, Question: producer.Question{Text: aaep.Say(cmp.Or(f.Title, f.Description, name) + "?"), Context: context}}
		switch f.Type {
		case "boolean":
			q.Kinds = []aaep.ResponseKind{aaep.ResponseYesNo}
		case "number", "integer":
			q.Kinds, q.whole = []aaep.ResponseKind{aaep.ResponseNumeric}, f.Type == "integer"
			q.options = f.options()
		case "string":
			q.options = f.options()
		default:
			return nil, fmt.Errorf("mcp: the form of an elicitation: the field %q is of the type %q, which nobody can be asked for", name, f.Type)
		}
		q.offer(f.Type != "string")
		questions = append(questions, q)
	}
	return questions, nil
}
