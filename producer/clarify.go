package producer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/lookalike"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/questions"
)

// Question is what an agent wants to know from its user. AskText, AskYesNo, AskChoice and AskNumber
// ask it, each for an answer of its kind.
type Question struct {
	// Text is the question itself; Context is what the user should know to answer it. The question
	// is asked in the languages that all its texts are in, the labels of the choices included.
	Text    aaep.Text
	Context aaep.Text
	// Choices are the answers to choose from, from 2 to 32. AskChoice needs them, AskText offers
	// them beside an answer in the user's own words, and the others take none. All of them are
	// heard, at a voice's pace. Of more than 32 ask first for a group, such as the first letter,
	// and then for one of that.
	Choices []Choice
	// Default is taken as the answer when none comes: a choice's value, "true" or "false", a
	// number, or text. Empty is none.
	Default string
	// Timeout is how long the user has, as in Tool. Zero is two minutes.
	Timeout time.Duration
}

// Choice is one answer to choose: {Label: aaep.Say("Savings")}, or, where the agent knows it by
// another name, {Value: "account-2", Label: aaep.Say("Savings")}.
type Choice struct {
	Value string    // what the agent gets; empty is the label in the agent's own language
	Label aaep.Text // what the user hears
}

// AskText asks the user and waits for an answer in words, or for the value of one of q.Choices,
// which the user may choose instead. Without an answer it returns q.Default or, if there is none,
// ErrTimedOut or ErrUnreachable. Other errors are *aaep.InvalidError for a question that cannot be
// put, ErrNotRecorded, ErrSessionOver, and that of ctx.
//
// Any goroutine may ask. A session puts one question at a time; the next one waits for its turn.
func (s *Session) AskText(ctx context.Context, q Question) (string, error) {
	kinds := []aaep.ResponseKind{aaep.ResponseFreetext}
	if len(q.Choices) > 0 {
		kinds = []aaep.ResponseKind{aaep.ResponseMultipleChoice, aaep.ResponseFreetext}
	}
	return askFor[string](ctx, s, q, kinds...)
}

// AskYesNo asks the user and waits for yes, which is true, or no. Everything else is as with
// AskText. For a yes to an action, use Tool: that is the agent's promise to wait for it.
func (s *Session) AskYesNo(ctx context.Context, q Question) (bool, error) {
	return askFor[bool](ctx, s, q, aaep.ResponseYesNo)
}

// AskChoice asks the user and returns the value of the choice that was made. Everything else is as
// with AskText.
func (s *Session) AskChoice(ctx context.Context, q Question) (string, error) {
	return askFor[string](ctx, s, q, aaep.ResponseMultipleChoice)
}

// AskNumber asks the user and waits for a number. Everything else is as with AskText.
func (s *Session) AskNumber(ctx context.Context, q Question) (float64, error) {
	return askFor[float64](ctx, s, q, aaep.ResponseNumeric)
}

// askFor asks for an answer of one of these kinds, all of which have the type T. An answer that has
// another type cannot come: the ledger takes only replies of the kinds that the question names.
func askFor[T string | bool | float64](ctx context.Context, s *Session, q Question, kinds ...aaep.ResponseKind) (
	answer T, err error) {
	response, err := s.clarify(ctx, q, kinds)
	answer, _ = response.(T)
	return answer, err
}

// clarify puts a question that takes answers of these kinds, and waits for the answer. The agent's
// goroutine calls it, holding no lock. Nothing is put, and the error says which field is wrong,
// where q.check or the event's validation refuses the question. The answer is a string, a bool or a
// float64, by its kind; it is q.Default if that is what silence means.
func (s *Session) clarify(ctx context.Context, q Question, kinds []aaep.ResponseKind) (answer any, err error) {
	if s == nil || s.p == nil {
		return nil, ErrNoSession
	}
	defer func() { s.warnIfInvalid("question", string(kinds[0]), err) }()
	q.Timeout = cmp.Or(q.Timeout, clarificationTimeout)
	if err := q.check(s.p, kinds); err != nil {
		return nil, err
	}
	asked := &aaep.AwaitingClarification{
		ReplyToken:            aaep.ReplyToken(newID("rpl_")),
		TimeoutSeconds:        questions.WholeSeconds(q.Timeout),
		AcceptedResponseKinds: kinds,
		DefaultResponse:       q.Default,
	}
	q.fillIn(asked, "")
	words := s.p.authoredSpeech(q.Text)
	words.data = s.p.checkData(q.Text)
	s.warnOfLeftOut("question", string(kinds[0]), words.setPayloads(func(tag string) (aaep.Payload, bool) {
		translated := *asked
		ok := q.fillIn(&translated, tag)
		return &translated, ok
	}))
	if q.Default != "" && ledger.DefaultResponse(asked) == nil {
		return nil, nameFields(asked, invalidMember(aaep.TypeAwaitingClarification, "EVT-085",
			"/default_response", "is no answer to this question: "+answersTo(asked)))
	}
	out, _, err := s.askQuestion(ctx, words,
		&ledger.Question{Token: asked.ReplyToken, SessionID: s.id, Clarification: asked},
		func(out *ledger.Outcome) (speech, error) { return s.explainAnswer(out, q) }, nil)
	if err != nil {
		return nil, err
	}
	return out.Response, nil
}

// check returns the first mistake in the fields of a question that the validation of its event
// cannot see: its timeout, choices where no choice is asked for, and texts that carry data. kinds
// are the answers that it takes, the preferred one first. clarify calls it first.
func (q Question) check(p *Producer, kinds []aaep.ResponseKind) error {
	if err := p.checkTimeout(aaep.TypeAwaitingClarification, q.Timeout); err != nil {
		return fmt.Errorf("producer: Question.Timeout: %w", err)
	}
	if len(q.Choices) > 0 && kinds[0] != aaep.ResponseMultipleChoice {
		return errors.New("producer: Question.Choices: only AskChoice and AskText offer choices")
	}
	if n := len(q.Choices); n < 2 && len(kinds) == 1 && kinds[0] == aaep.ResponseMultipleChoice {
		return nameFields(&aaep.AwaitingClarification{}, invalidMember(aaep.TypeAwaitingClarification, "EVT-084",
			"/choices", fmt.Sprintf("AskChoice needs 2 to 32 Choices, and there are %d", n)))
	}
	if err := checkSecondText("Question.Context", q.Context); err != nil {
		return err
	}
	values := map[string]int{} // the place of the choice with each value
	for i, c := range q.Choices {
		if err := checkSecondText(fmt.Sprintf("Question.Choices[%d].Label", i), c.Label); err != nil {
			return err
		}
		value, label := c.wordsIn("")
		if label == "" {
			return q.invalidChoice(i, "label", "is empty, and is what the user hears")
		}
		if before, is := values[value]; is {
			return q.invalidChoice(i, "value", fmt.Sprintf("is %q, as that of choice %d: the agent could not tell "+
				"which of them its user chose", value, before))
		}
		values[value] = i
	}
	return nil
}

// invalidChoice returns the error about a member of the choice at an index.
func (q Question) invalidChoice(i int, member, problem string) error {
	return nameFields(&aaep.AwaitingClarification{}, invalidMember(aaep.TypeAwaitingClarification, "EVT-083",
		fmt.Sprintf("/choices/%d/%s", i, member), problem))
}

// wordsIn returns the value of a choice, which is the same in every language, and its label in one,
// "" where it has none in that. The tag "" stands for the first language.
func (c Choice) wordsIn(tag string) (value, label string) {
	label, _ = textIn(c.Label, tag)
	firstLabel, _ := textIn(c.Label, "")
	return cmp.Or(c.Value, firstLabel), label
}

// fillIn sets the texts of asked in a language, and reports whether the question has all of them in
// it. The tag "" stands for the first language of each text.
func (q Question) fillIn(asked *aaep.AwaitingClarification, tag string) (complete bool) {
	var hasText, hasContext bool
	asked.Question, hasText = textIn(q.Text, tag)
	asked.Context, hasContext = textIn(q.Context, tag)
	complete = hasText && hasContext
	asked.Choices = nil
	for _, c := range q.Choices {
		value, label := c.wordsIn(tag)
		asked.Choices = append(asked.Choices, aaep.Choice{Value: value, Label: label})
		complete = complete && label != ""
	}
	distinguishLabels(asked.Choices)
	return complete
}

// distinguishLabels puts its value behind each label that is like that of another choice, and then
// its place, until no two are: a user who hears or sees the same twice could not choose.
func distinguishLabels(choices []aaep.Choice) {
	for round := range choices { // a label with its value may be that of another
		count, distinct := map[string]int{}, true
		for _, c := range choices {
			count[soundOf(c.Label)]++
		}
		for i, c := range choices {
			behind := c.Value
			if round > 0 {
				behind = strconv.Itoa(i + 1)
			}
			if count[soundOf(c.Label)] > 1 {
				choices[i].Label, distinct = c.Label+" ("+behind+")", false
			}
		}
		if distinct {
			return
		}
	}
}

// soundOf returns a label as it is compared with others: how it looks, without capitals and without
// the marks at its end, which no voice says.
func soundOf(label string) string {
	return lookalike.Skeleton(strings.TrimRightFunc(strings.TrimSpace(label), unicode.IsPunct), true)
}

// explainAnswer maps the outcome of a clarification to the words that announce it, and to the error
// that the agent gets. An answer has no words and no error. It takes no lock, as askQuestion
// demands.
func (s *Session) explainAnswer(out *ledger.Outcome, q Question) (speech, error) {
	id, err := phrase.QuestionTimedOut, ErrTimedOut
	switch {
	case out.Cause == ledger.Replied && out.Unrecorded:
		id, err = phrase.QuestionNotRecorded, ErrNotRecorded
	case out.Cause == ledger.Replied:
		return speech{}, nil
	case out.Cause == ledger.Withdrawn:
		id, err = phrase.QuestionWithdrawn, context.Canceled
	case out.Response != nil:
		id, err = phrase.DefaultUsed, nil
	case out.Cause == ledger.Unreachable:
		id, err = phrase.QuestionUnreachable, ErrUnreachable
	}
	return s.p.phraseAbout(id, q.Text), err
}

// answersTo returns, in words, which answers a question takes: "it takes …". clarify puts it into
// the error about a Default that is none of them.
func answersTo(p *aaep.AwaitingClarification) string {
	var all []string
	for _, kind := range p.AcceptedResponseKinds {
		switch kind {
		case aaep.ResponseMultipleChoice:
			for _, c := range p.Choices {
				all = append(all, strconv.Quote(c.Value))
			}
		case aaep.ResponseYesNo:
			all = append(all, `"true"`, `"false"`)
		case aaep.ResponseNumeric:
			all = append(all, `a number such as "12.5"`)
		case aaep.ResponseFreetext:
			all = append(all, "any text")
		}
	}
	return "it takes " + strings.Join(all, ", ")
}
