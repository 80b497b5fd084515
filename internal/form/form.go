// Package form makes questions of a form that a program wants its user to fill in, as the Model
// Context Protocol and the Agent Client Protocol have it: each field is one question. It asks them
// through a producer.Session and waits for the answers; what no question can be made of is an
// error, and nothing is asked.
package form

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// The actions with which a form can end, as both protocols call them.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

// Answer is what came of a form. Content is there with Accept, and has a value for each field.
type Answer struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitzero"`
}

// attempts are how often a field is asked for until the form takes the answer.
const attempts = 3

// Fill asks the questions of a form, one after the other. A question that is not answered, or in
// several attempts not so that the form takes it, cancels the form; only the first comes with an
// error, which may be producer.ErrTimedOut or producer.ErrUnreachable. A form without fields is
// accepted or declined by its one question.
func Fill(ctx context.Context, s *producer.Session, questions []Question) (Answer, error) {
	content := map[string]any{}
	for _, q := range questions {
		value, ok, err := q.askForValue(ctx, s)
		switch {
		case err != nil || !ok:
			return Answer{Action: Cancel}, err
		case q.field == "" && value == true:
			return Answer{Action: Accept}, nil
		case q.field == "":
			return Answer{Action: Decline}, nil
		}
		content[q.field] = value
	}
	return Answer{Action: Accept, Content: content}, nil
}

// Unanswered reports whether an error of Fill says that no answer came.
func Unanswered(err error) bool {
	return errors.Is(err, producer.ErrTimedOut) || errors.Is(err, producer.ErrUnreachable)
}

// A Question is one field of a form; without a name it is the form itself.
type Question struct {
	field   string
	options []option // what the field can be; none is anything of its type
	limits           // of a number, of the characters of a text, or of how many options
	whole   bool     // it takes whole numbers only
	several bool     // it takes any number of the options
	about   string   // what the form is about
	ask     askFunc  // asks for an answer of the kind that the field takes
	producer.Question
}

// askFunc is one of the methods with which a session asks, whatever it returns.
type askFunc func(*producer.Session, context.Context, producer.Question) (any, error)

// askForValue asks q until the form takes the answer, attempts times at most, and returns the value
// for the form; ok is false where it took none.
func (q Question) askForValue(ctx context.Context, s *producer.Session) (value any, ok bool, err error) {
	for range attempts {
		answer, err := q.ask(s, ctx, q.Question)
		if err != nil {
			return nil, false, err
		}
		if value, ok = q.convertAnswer(answer); ok {
			return value, true, nil
		}
	}
	return nil, false, nil
}

// untyped returns a method of a session that asks as an askFunc.
func untyped[T any](ask func(*producer.Session, context.Context, producer.Question) (T, error)) askFunc {
	return func(s *producer.Session, ctx context.Context, q producer.Question) (any, error) {
		return ask(s, ctx, q)
	}
}

var (
	askText   = untyped((*producer.Session).AskText)
	askYesNo  = untyped((*producer.Session).AskYesNo)
	askChoice = untyped((*producer.Session).AskChoice)
	askNumber = untyped((*producer.Session).AskNumber)
)

// An option is one of the values that a field can have.
type option struct {
	value       any
	text, label string // the value as it is typed, and what it is called for people, which no other is
}

// convertAnswer returns the value that the form gets for an answer of the person's; ok is false for
// one that the field does not take: a fraction for a whole number, or what is none of its options.
func (q Question) convertAnswer(answer any) (value any, ok bool) {
	if q.several {
		values, ok := q.takeSeveral(typedText(answer))
		return values, ok && q.admit(float64(len(values)))
	}
	if len(q.options) == 0 {
		switch a := answer.(type) {
		case float64:
			return answer, (!q.whole || a == math.Trunc(a)) && q.admit(a)
		case string:
			return answer, !q.whole && q.admit(float64(utf8.RuneCountInString(a)))
		}
		return answer, !q.whole
	}
	if q.Choices == nil {
		return q.optionNamed(typedText(answer))
	}
	i := slices.IndexFunc(q.options, func(o option) bool { return o.text == answer }) // never the label of another
	if i < 0 {
		return nil, false
	}
	return q.options[i].value, true
}

// takeSeveral returns the options that are named in a line, each once, with commas between them;
// options may have commas themselves. A single dash is none of them. ok is false where something is
// no option.
func (q Question) takeSeveral(typed string) (values []any, ok bool) {
	values = []any{}
	if _, isOption := q.optionNamed("-"); strings.TrimSpace(typed) == "-" && !isOption {
		return values, true
	}
	most := 1 // pieces of an option
	for _, o := range q.options {
		most = max(most, 1+strings.Count(o.label, ","), 1+strings.Count(o.text, ","))
	}
	for pieces := strings.Split(typed, ","); len(pieces) > 0; {
		value, length := q.takeOption(pieces[:min(most, len(pieces))])
		if length == 0 {
			return nil, false
		}
		if pieces = pieces[length:]; !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values, true
}

// takeOption returns the option that the most pieces of a line name, from its beginning, and how
// many those are; 0 is none.
func (q Question) takeOption(pieces []string) (value any, length int) {
	for length = len(pieces); length > 0; length-- {
		if value, ok := q.optionNamed(strings.Join(pieces[:length], ",")); ok {
			return value, length
		}
	}
	return nil, 0
}

// optionNamed returns the option that a person's words name: by its label, which is what they were
// told, before any by its value.
func (q Question) optionNamed(typed string) (value any, ok bool) {
	typed = strings.TrimSpace(typed)
	for _, isNamed := range []func(option) bool{
		func(o option) bool { return strings.TrimSpace(o.label) == typed },
		func(o option) bool { return strings.TrimSpace(o.text) == typed },
		func(o option) bool { return strings.EqualFold(strings.TrimSpace(o.label), typed) },
		func(o option) bool { return strings.EqualFold(strings.TrimSpace(o.text), typed) },
	} {
		if i := slices.IndexFunc(q.options, isNamed); i >= 0 {
			return q.options[i].value, true
		}
	}
	return nil, false
}

// typedText returns a value of JSON as a person types it.
func typedText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// offerOptions puts the options of q as choices where the protocol can (EVT-083), and else names
// them beside the question, as it does the limits. Several at once are always typed.
func (q *Question) offerOptions() {
	if len(q.options) > 0 && !q.several {
		q.limits = limits{}
	}
	hint := q.limits.describe()
	switch {
	case len(q.options) == 0:
	case !q.several && canBeChoices(q.options):
		for _, o := range q.options {
			q.Choices = append(q.Choices, producer.Choice{Value: o.text, Label: aaep.Say(o.label)})
		}
		q.ask = askChoice
	default:
		if q.several {
			hint = strings.TrimSpace(hint + " Any of these, with commas between them, or - for none: ")
		}
		hint = strings.TrimSpace(hint + " " + nameOptions(q.options))
		q.ask = askText
	}
	if hint != "" {
		q.Context = aaep.Say(strings.TrimSpace(words.Fit(q.about, mostContext-len(hint)-1) + "\n" + hint))
	}
}

// canBeChoices reports whether the protocol can have the options as choices: 2 to 32 of them, whose
// values differ, are short, and can be told as they are.
func canBeChoices(options []option) bool {
	seen := map[string]bool{}
	for _, o := range options {
		fits := o.text != "" && len(o.text) <= 256 && len(o.label) <= 1024 && aaep.SafeText(o.text) == o.text
		if !fits || seen[o.text] {
			return false
		}
		seen[o.text] = true
	}
	return len(options) >= 2 && len(options) <= 32
}

// nameOptions lists the labels of the options with commas between them, as many as fit into
// mostNamed bytes; an ellipsis stands for the rest.
func nameOptions(options []option) string {
	var labels []string
	length := 0
	for _, o := range options {
		if length += len(o.label) + 2; length > mostNamed {
			return strings.Join(append(labels, "…"), ", ")
		}
		labels = append(labels, o.label)
	}
	return strings.Join(labels, ", ")
}

const (
	mostNamed   = 2000 // bytes of options that are named beside a question
	mostContext = 4096 // bytes that the protocol takes beside a question
)

// A field is what the protocols allow in a form.
type field struct {
	Minimum     *float64 `json:"minimum"`
	Maximum     *float64 `json:"maximum"`
	MinLength   *float64 `json:"minLength"`
	MaxLength   *float64 `json:"maxLength"`
	MinItems    *float64 `json:"minItems"`
	MaxItems    *float64 `json:"maxItems"`
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []any    `json:"enum"`
	EnumNames   []string `json:"enumNames"`
	OneOf       []titled `json:"oneOf"`
	AnyOf       []titled `json:"anyOf"`
	Items       *field   `json:"items"` // of an array
}

type titled struct {
	Const any    `json:"const"`
	Title string `json:"title"`
}

// limits are the least and the most that an answer can be or have, and in which words; nil is no
// limit.
type limits struct {
	least, most *float64
	unit        string // of a text "characters", of options "of these"
}

// admit reports whether n is within the limits.
func (l limits) admit(n float64) bool {
	return (l.least == nil || n >= *l.least) && (l.most == nil || n <= *l.most)
}

// describe returns the limits as a sentence, or "" where there are none.
func (l limits) describe() string {
	var parts []string
	if l.least != nil {
		parts = append(parts, "at least "+typedText(*l.least))
	}
	if l.most != nil {
		parts = append(parts, "at most "+typedText(*l.most))
	}
	if parts == nil {
		return ""
	}
	sentence := strings.TrimSpace(strings.Join(parts, ", ")+" "+l.unit) + "."
	return strings.ToUpper(sentence[:1]) + sentence[1:]
}

// parseOptions returns the values that the field can have, with their labels; none for a field that
// takes any. Options with the same label get their values behind it. One that a person cannot type,
// such as an object, is an error.
func (f field) parseOptions() (options []option, err error) {
	for i, value := range f.Enum {
		o := option{value, typedText(value), typedText(value)}
		if i < len(f.EnumNames) {
			o.label = f.EnumNames[i]
		}
		options = append(options, o)
	}
	for _, one := range slices.Concat(f.OneOf, f.AnyOf) {
		options = append(options, option{one.Const, typedText(one.Const), cmp.Or(one.Title, typedText(one.Const))})
	}
	count := map[string]int{}
	for i, o := range options {
		switch o.value.(type) {
		case string, float64, bool:
		default:
			return nil, errors.New("has a choice that is neither text nor a number nor true or false")
		}
		options[i].label = cmp.Or(aaep.SafeText(o.label), aaep.SafeText(o.text))
		count[options[i].label]++
	}
	for i, o := range options {
		if count[o.label] > 1 && o.label != o.text { // or no person could tell which of them they choose
			options[i].label = fmt.Sprintf("%s (%s)", o.label, aaep.SafeText(o.text))
		}
	}
	return options, nil
}

// Questions makes questions of a form's JSON Schema: what is required in that order, then the
// others by their names. A form without fields is one question, to be answered with yes or no. A
// choice that cannot be put as one is asked for in words. The error says which field cannot be
// asked for.
func Questions(message string, schema []byte) (questions []Question, err error) {
	var form struct {
		Properties map[string]field `json:"properties"`
		Required   []string         `json:"required"`
	}
	if len(schema) > 0 {
		if err = jsonv2.Unmarshal(schema, &form); err != nil {
			return nil, fmt.Errorf("the form cannot be read: %w", err)
		}
	}
	message = aaep.SafeText(message)
	context := aaep.Say(words.Fit(message, mostContext))
	if len(form.Properties) == 0 {
		return []Question{{ask: askYesNo, Question: producer.Question{Text: context}}}, nil
	}
	names := slices.SortedFunc(maps.Keys(form.Properties), func(a, b string) int {
		rank := func(name string) uint { return uint(slices.Index(form.Required, name)) } // of none, the highest
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	for _, name := range names {
		f := form.Properties[name]
		text := words.Fit(aaep.SafeText(cmp.Or(f.Title, f.Description, name)), 15000) + "?"
		q := Question{field: name, about: message, ask: askText,
			Question: producer.Question{Text: aaep.Say(text), Context: context}}
		if err := q.setKind(f); err != nil {
			return nil, fmt.Errorf("the field %q of the form %w", name, err)
		}
		q.offerOptions()
		questions = append(questions, q)
	}
	return questions, nil
}

// setKind sets how q is asked by the type of its field, and its options. The error says, after the
// name of the field, why it cannot be asked for.
func (q *Question) setKind(f field) (err error) {
	switch f.Type {
	case "boolean":
		q.ask = askYesNo
	case "number", "integer":
		q.ask, q.whole = askNumber, f.Type == "integer"
		q.limits = limits{f.Minimum, f.Maximum, ""}
		q.options, err = f.parseOptions()
	case "string":
		q.limits = limits{f.MinLength, f.MaxLength, "characters"}
		q.options, err = f.parseOptions()
	case "array":
		q.several, q.limits = true, limits{f.MinItems, f.MaxItems, "of these"}
		if f.Items != nil {
			q.options, err = f.Items.parseOptions()
		}
		if err == nil && len(q.options) == 0 {
			err = errors.New("takes a list without saying of what")
		}
	default:
		err = fmt.Errorf("is of the type %q, which no one can be asked for", f.Type)
	}
	return err
}
