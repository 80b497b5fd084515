package producer_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// §6.5, CONF-045: an answer comes back as what it is; one of another kind is none, and does no harm.
func TestClarify(t *testing.T) {
	choices := []producer.Choice{{Value: "1", Label: aaep.Say("One")}, {Value: "2", Label: aaep.Say("Two")}}
	kinds := func(k ...aaep.ResponseKind) producer.Question { return producer.Question{Kinds: k} }
	for name, c := range map[string]struct {
		q         producer.Question
		bad, good any
	}{
		"free text":         {producer.Question{}, true, "blue"},
		"not empty":         {producer.Question{}, "", "blue"},
		"yes or no":         {kinds(aaep.ResponseYesNo), "true", true},
		"a number":          {kinds(aaep.ResponseNumeric), "7", 7.5},
		"a choice":          {producer.Question{Choices: choices}, "One", "1"},
		"a choice by label": {producer.Question{Choices: []producer.Choice{{Label: aaep.Say("One")}, {Label: aaep.Say("Two")}}}, "1", "One"},
		"a choice, no no.":  {producer.Question{Choices: choices}, 1.0, "1"},
		"two kinds":         {kinds(aaep.ResponseYesNo, aaep.ResponseNumeric), "no", false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				l, s := st.record(), st.session("Asking.")
				c.q.Text = aaep.Say("What?")
				answer := later(func() (any, error) { return s.Clarify(t.Context(), c.q) })
				q := of[*aaep.AwaitingClarification](l.events())[0]
				for _, r := range []any{c.bad, c.good} {
					l.sendObject(map[string]any{"type": "clarification.reply", "reply_token": q.ReplyToken, "response": r,
						"subscription_id": l.id, "timestamp": aaep.FormatTimestamp(time.Now())})
				}
				if r := <-answer; r.value != c.good || r.err != nil {
					t.Errorf("Clarify = %v, %v, want %v", r.value, r.err, c.good)
				}
				wantStory(t, l.events(), "session.started idle>thinking thinking>awaiting_input awaiting.clarification awaiting_input>thinking")
			})
		})
	}
}

// Silence is the default, as a value of its kind, or an error that says which silence it was (EVT-086). With nobody to
// ask, that is at once, and the question is not told (HS-021).
func TestClarifyWithoutAnswer(t *testing.T) {
	number := producer.Question{Text: aaep.Say("How much?"), Kinds: []aaep.ResponseKind{aaep.ResponseNumeric}, Default: "7"}
	for name, c := range map[string]struct {
		q       producer.Question
		nobody  bool
		want    any
		wantErr error
	}{
		"silence, default": {number, false, 7.0, nil},
		"nobody, default":  {number, true, 7.0, nil},
		"silence":          {producer.Question{Text: aaep.Say("What?")}, false, nil, producer.ErrTimedOut},
		"nobody":           {producer.Question{Text: aaep.Say("What?")}, true, nil, producer.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				if !c.nobody {
					st.record()
				}
				w, s, began := st.watch(), st.session("Asking."), time.Now()
				v, err := s.Clarify(t.Context(), c.q)
				if v != c.want || !errors.Is(err, c.wantErr) {
					t.Errorf("Clarify = %v, %v; want %v, %v", v, err, c.want, c.wantErr)
				}
				if took := time.Since(began); c.nobody && took > 0 || !c.nobody && took != 2*time.Minute {
					t.Errorf("it took %v", took)
				}
				wantStory(t, untimed(w.events()), "session.started idle>thinking thinking>awaiting_input awaiting_input>thinking")
			})
		})
	}
}
