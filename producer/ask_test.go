package producer_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// INV-14: a question whose asker gave up is dead, and a late yes runs nothing.
func TestAskerGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s, d := st.addRecorder(), st.startSession("Paying."), &action{}
		ctx, cancel := context.WithCancel(t.Context())
		paid := callLater(func() (string, error) { return s.Tool(ctx, pay, d.do) })
		q := l.question()
		cancel()
		if r := <-paid; !errors.Is(r.err, context.Canceled) {
			t.Errorf("Tool = %v", r.err)
		}
		l.reply(q, aaep.Accept)
		wantStory(t, l.events(), asked+"awaiting_input>thinking")
		if d.times != 0 {
			t.Error("it ran")
		}
	})
}

// A yes and the asker's end at the same moment: the action is done once or not, and the story is
// whole (INV-01).
func TestAskerGivesUpWithTheReply(t *testing.T) {
	for range 50 {
		bubble(t, func(t *testing.T, st *stage) {
			l, s, d := st.addRecorder(), st.startSession("Paying."), &action{}
			ctx, cancel := context.WithCancel(t.Context())
			paid := callLater(func() (string, error) { return s.Tool(ctx, pay, d.do) })
			q := l.question()
			go cancel()
			l.reply(q, aaep.Accept)
			r := <-paid
			if r.err == nil != (d.times == 1) || d.times > 1 {
				t.Errorf("Tool = %v after %d runs", r.err, d.times)
			}
			if n := len(toolEvents(l.events())); n > 0 && n != 2 || n == 0 && d.times > 0 {
				t.Errorf("%d tool events after %d runs", n, d.times)
			}
		})
	}
}

// The context's own error comes back, not another.
func TestAskerRunsOutOfTime(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		_, s := st.addRecorder(), st.startSession("Paying.")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Tool(ctx, pay, succeed); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Tool = %v", err)
		}
	})
}

// No user is asked for an asker that is gone already.
func TestAskWithADeadContext(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s, d := st.addRecorder(), st.startSession("Paying."), &action{}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.State(aaep.StateDeciding, aaep.Text{})
		for range 20 { // a select chooses at random
			for _, tool := range []producer.Tool{pay, look} {
				if _, err := s.Tool(ctx, tool, d.do); !errors.Is(err, context.Canceled) {
					t.Errorf("Tool = %v", err)
				}
			}
			if _, err := s.AskText(ctx, producer.Question{Text: aaep.Say("How much?")}); !errors.Is(err, context.Canceled) {
				t.Errorf("AskText = %v", err)
			}
		}
		wantStory(t, l.events(), "session.started idle>thinking thinking>deciding")
	})
}

// The session's end settles its question as no (D-30, INV-06), and says what was not done: each
// user who was asked could wonder.
func TestSessionEndsWhileAsking(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s, d := st.addRecorder(), st.startSession("Paying."), &action{}
		paid := callTool(s, pay, d)
		q := l.question()
		s.Cancel(aaep.CancelledByUser, aaep.Text{})
		l.reply(q, aaep.Accept)
		if r := <-paid; !errors.Is(r.err, producer.ErrSessionOver) || d.times != 0 {
			t.Errorf("Tool = %v after %d runs", r.err, d.times)
		}
		wantStory(t, l.events(), asked+"awaiting_input>thinking session.cancelled:user")
		if evs := l.events(); evs[len(evs)-2].Text(aaep.VerbosityNormal) != "Withdrawn, and not done: Pay $5." {
			t.Errorf("before the end it is told: %q", evs[len(evs)-2].Text(aaep.VerbosityNormal))
		}
	})
}

// So does the end of the context the session was started with.
func TestSessionContextEndsWhileAsking(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, d := st.addRecorder(), &action{}
		ctx, cancel := context.WithCancel(t.Context())
		s, err := st.p.StartSession(ctx, aaep.Say("Paying."))
		if err != nil {
			t.Fatal(err)
		}
		first, second := callTool(s, pay, d), callTool(s, pay, d)
		l.question()
		cancel()
		for _, paid := range []<-chan result[string]{first, second} {
			if r := <-paid; !errors.Is(r.err, producer.ErrSessionOver) || d.times != 0 {
				t.Errorf("Tool = %v after %d runs", r.err, d.times)
			}
		}
		wantStory(t, l.events(), asked+"awaiting_input>thinking session.cancelled:producer")
	})
}

// countOutcomes returns how many were told: each leaves awaiting_input.
func countOutcomes(evs []*aaep.Event) (n int) {
	for _, p := range payloadsOf[*aaep.StateChanged](evs) {
		if p.FromState == aaep.StateAwaitingInput {
			n++
		}
	}
	return n
}

// D-40: two questions of a session are put one after the other, and each outcome is told (INV-11,
// INV-13).
func TestTwoQuestionsQueue(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s, d := st.addRecorder(), st.startSession("Paying."), &action{}
		first := callTool(s, pay, d)
		q := l.question()
		second := callTool(s, pay, d)
		if n := len(payloadsOf[*aaep.AwaitingConfirmation](l.events())); n != 1 {
			t.Fatalf("%d questions are open, want 1", n)
		}
		l.reply(q, aaep.Accept)
		if r := <-first; r.err != nil {
			t.Errorf("the first Tool = %v", r.err)
		}
		l.reply(l.question(), aaep.Reject)
		if r := <-second; !errors.Is(r.err, producer.ErrRejected) || d.times != 1 {
			t.Errorf("the second Tool = %v after %d runs", r.err, d.times)
		}
		if n := countOutcomes(l.events()); n != 2 {
			t.Errorf("%d outcomes were told, want 2: %s", n, storyOf(l.events()))
		}
	})
}

// INV-11, INV-13, SM-005: each yes is told before the next question is put, however many wait, and
// the call that it allows follows it at once: else the call would come in the state awaiting_input.
func TestEveryOutcomeIsTold(t *testing.T) {
	for range 30 {
		bubble(t, func(t *testing.T, st *stage) {
			l, s := st.addRecorder(), st.startSession("Paying.")
			var all []<-chan result[string]
			for range 5 {
				all = append(all, callTool(s, pay, &action{}))
			}
			for range all {
				l.reply(l.question(), aaep.Accept)
			}
			for _, c := range all {
				<-c
			}
			if n := countOutcomes(l.events()); n != len(all) {
				t.Errorf("%d outcomes were told, want %d", n, len(all))
			}
			events := l.events()
			for i, ev := range events[:len(events)-1] {
				p, ok := ev.Payload.(*aaep.StateChanged)
				if next := events[i+1].Type(); ok && p.FromState == aaep.StateAwaitingInput && next != aaep.TypeToolInvoked {
					t.Fatalf("after a yes comes %s: %s", next, storyOf(events))
				}
			}
		})
	}
}

// A question while another tool runs, and that tool's end while the question is open (§6.1).
func TestQuestionWhileAToolRuns(t *testing.T) {
	for _, answer := range []aaep.Decision{aaep.Accept, aaep.Reject} {
		bubble(t, func(t *testing.T, st *stage) {
			l, s, d := st.addRecorder(), st.startSession("Paying."), &action{}
			release := make(chan struct{})
			running := callLater(func() (string, error) {
				return s.Tool(t.Context(), look, func(context.Context) (string, error) { <-release; return "", nil })
			})
			synctest.Wait()
			paid := callTool(s, pay, d)
			q := l.question()
			close(release)
			if r := <-running; r.err != nil {
				t.Errorf("Tool = %v", r.err)
			}
			begun := "session.started idle>thinking thinking>calling_tool tool.invoked calling_tool>awaiting_input awaiting.confirmation tool.success"
			wantStory(t, l.events(), begun)
			l.reply(q, answer)
			<-paid
			if answer == aaep.Accept {
				wantStory(t, l.events(), begun+" awaiting_input>calling_tool tool.invoked tool.success calling_tool>thinking")
			} else {
				wantStory(t, l.events(), begun+" awaiting_input>thinking")
			}
		})
	}
}

// Other work goes on while a question is open, and the state stays that of the question (§6.1).
func TestToolWhileAQuestionIsOpen(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Paying.")
		paid := callTool(s, pay, &action{})
		q := l.question()
		if _, err := s.Tool(t.Context(), look, succeed); err != nil {
			t.Error(err)
		}
		out := s.Output()
		out.WriteString("Meanwhile. ")
		out.Close()
		l.reply(q, aaep.Reject)
		<-paid
		wantStory(t, l.events(), asked+`tool.invoked tool.success "Meanwhile. " ""! awaiting_input>thinking`)
	})
}

// INV-16: what is shown is what was asked, whatever the caller does to its slices meanwhile.
func TestQuestionDoesNotChange(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.listen(mayAnswer(termsWith(1, aaep.BoundaryCompletion))), st.startSession("Choosing.")
		choices := []producer.Choice{{Value: "a", Label: aaep.Say("A")}, {Value: "b", Label: aaep.Say("B")}}
		answer := callLater(func() (any, error) {
			return s.AskChoice(t.Context(), producer.Question{Text: aaep.Say("Which?"), Choices: choices})
		})
		synctest.Wait()
		choices[0] = producer.Choice{Value: "x", Label: aaep.Say("X")}
		late := st.listen(mayAnswer(allEvents()))
		for _, l := range []*listener{l, late} {
			if q := payloadsOf[*aaep.AwaitingClarification](l.events()); len(q) != 1 || q[0].Choices[0].Value != "a" {
				t.Errorf("the question is %+v", q)
			}
		}
		q := payloadsOf[*aaep.AwaitingClarification](l.events())[0]
		for _, choice := range []string{"x", "a"} { // the first is none
			l.send(&aaep.ClarificationReply{ReplyToken: q.ReplyToken, Response: choice, SubscriptionID: l.id, Timestamp: time.Now()})
		}
		if r := <-answer; r.value != "a" || r.err != nil {
			t.Errorf("AskChoice = %v, %v", r.value, r.err)
		}
	})
}

// withoutType returns a method that asks with a result of no type, so that one test can call them
// all.
func withoutType[T any](ask func(*producer.Session, context.Context, producer.Question) (T, error)) func(*producer.Session, context.Context, producer.Question) (any, error) {
	return func(s *producer.Session, ctx context.Context, q producer.Question) (any, error) {
		return ask(s, ctx, q)
	}
}

// §6.5, CONF-045: an answer comes back as what it is; one of another kind is none, and does no
// harm.
func TestClarify(t *testing.T) {
	choices := []producer.Choice{{Value: "1", Label: aaep.Say("One")}, {Value: "2", Label: aaep.Say("Two")}}
	text, yesNo := withoutType((*producer.Session).AskText), withoutType((*producer.Session).AskYesNo)
	choice, number := withoutType((*producer.Session).AskChoice), withoutType((*producer.Session).AskNumber)
	for name, c := range map[string]struct {
		ask       func(*producer.Session, context.Context, producer.Question) (any, error)
		choices   []producer.Choice
		bad, good any
	}{
		"free text":         {text, nil, true, "blue"},
		"not empty":         {text, nil, "", "blue"},
		"yes or no":         {yesNo, nil, "true", true},
		"a number":          {number, nil, "7", 7.5},
		"a choice":          {choice, choices, "One", "1"},
		"a choice by label": {choice, []producer.Choice{{Label: aaep.Say("One")}, {Label: aaep.Say("Two")}}, "1", "One"},
		"a choice, no no.":  {choice, choices, 1.0, "1"},
		"a choice, or text": {text, choices, 1.0, "1"},
		"text, or a choice": {text, choices, false, "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				l, s := st.addRecorder(), st.startSession("Asking.")
				answer := callLater(func() (any, error) {
					return c.ask(s, t.Context(), producer.Question{Text: aaep.Say("What?"), Choices: c.choices})
				})
				q := payloadsOf[*aaep.AwaitingClarification](l.events())[0]
				for _, r := range []any{c.bad, c.good} {
					l.sendObject(map[string]any{"type": "clarification.reply", "reply_token": q.ReplyToken, "response": r,
						"subscription_id": l.id, "timestamp": aaep.FormatTimestamp(time.Now())})
				}
				if r := <-answer; r.value != c.good || r.err != nil {
					t.Errorf("it answers %v, %v, want %v", r.value, r.err, c.good)
				}
				wantStory(t, l.events(), "session.started idle>thinking thinking>awaiting_input awaiting.clarification awaiting_input>thinking")
			})
		})
	}
}

// Silence is the default, as a value of its kind, or an error that says which silence it was
// (EVT-086). With no user to ask, that is at once, and the question is not told (HS-021).
func TestClarifyWithoutAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		byDefault string
		noUser    bool
		want      float64
		wantErr   error
	}{
		"silence, default": {"7", false, 7.0, nil},
		"nobody, default":  {"7", true, 7.0, nil},
		"silence":          {"", false, 0.0, producer.ErrTimedOut},
		"nobody":           {"", true, 0.0, producer.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				if !c.noUser {
					st.addRecorder()
				}
				w, s, began := st.addWatcher(), st.startSession("Asking."), time.Now()
				v, err := s.AskNumber(t.Context(), producer.Question{Text: aaep.Say("How much?"), Default: c.byDefault})
				if v != c.want || !errors.Is(err, c.wantErr) {
					t.Errorf("AskNumber = %v, %v; want %v, %v", v, err, c.want, c.wantErr)
				}
				if took := time.Since(began); c.noUser && took > 0 || !c.noUser && took != 2*time.Minute {
					t.Errorf("it took %v", took)
				}
				wantStory(t, withoutNotices(w.events()), "session.started idle>thinking thinking>awaiting_input awaiting_input>thinking")
			})
		})
	}
}

// A user who hears two choices alike could not tell them apart: each then has its value behind it,
// and where that does not help its place.
func TestChoicesOfOneLabel(t *testing.T) {
	for _, tc := range []struct {
		choices [][2]string // value and label
		want    []string
	}{
		{[][2]string{{"1234", "Visa card"}, {"5678", "visa  card"}, {"cash", "Cash"}},
			[]string{"Visa card (1234)", "visa  card (5678)", "Cash"}},
		{[][2]string{{"x", "Pay"}, {"y", "P\u0430y"}}, []string{"Pay (x)", "P\u0430y (y)"}}, // a Cyrillic letter
		{[][2]string{{"x", "Pay"}, {"y", "Pay\u200b"}}, []string{"Pay (x)", "Pay\u200b (y)"}},
		{[][2]string{{"pay", "Pay"}, {"y", "Pay"}, {"z", "Ｐａｙ"}}, []string{"Pay (pay)", "Pay (y)", "Ｐａｙ (z)"}},
		{[][2]string{{"x", "Pay"}, {"y", "Pay"}, {"z", "Pay (x)"}}, []string{"Pay (x) (1)", "Pay (y)", "Pay (x) (3)"}},
		{[][2]string{{"a", "Send"}, {"b", "Send."}, {"c", "send …"}}, []string{"Send (a)", "Send. (b)", "send … (c)"}},
		{[][2]string{{"a", "Pay"}, {"A", "Pay"}, {"b", "Wait"}}, []string{"Pay (a) (1)", "Pay (A) (2)", "Wait"}},
	} {
		bubble(t, func(t *testing.T, st *stage) {
			l, s := st.listen(mayAnswer(allEvents())), st.startSession("Paying.")
			var choices []producer.Choice
			for _, c := range tc.choices {
				choices = append(choices, producer.Choice{Value: c[0], Label: aaep.Say(c[1])})
			}
			asked := callLater(func() (string, error) {
				return s.AskChoice(t.Context(), producer.Question{Text: aaep.Say("Which card?"), Choices: choices})
			})
			synctest.Wait()
			var labels []string
			for _, q := range payloadsOf[*aaep.AwaitingClarification](l.events()) {
				for _, c := range q.Choices {
					labels = append(labels, c.Label)
				}
			}
			if !slices.Equal(labels, tc.want) {
				t.Errorf("the labels of %q are %q, want %q", tc.choices, labels, tc.want)
			}
			s.Close()
			<-asked
		})
	}
}
