package cli

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// These tests read the whole screen, as the person at it does: whatever becomes of a question, nobody may be in doubt
// about it.

// A talk is one question to a person at a terminal.
type talk struct {
	*ear
	s        *producer.Session
	dial     dialerFunc
	began    time.Time
	withdraw context.CancelFunc
	paid     chan error // what became of it
}

// asked puts a question that has a minute to somebody who listens, and lets them read it.
func asked(t *testing.T, cfg producer.Config, caps aaep.Capabilities, f func(*talk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, dial := agentOf(t, cfg)
		defer p.Shutdown(t.Context())
		listenTo(t, dial, caps, func(e *ear) {
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			ctx, withdraw := context.WithCancel(t.Context())
			k := &talk{ear: e, s: s, dial: dial, began: time.Now(), withdraw: withdraw, paid: make(chan error, 1)}
			defer withdraw()
			go func() {
				_, err := s.Tool(ctx, producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Timeout: time.Minute,
					Action: aaep.Say("Pay $20 to Ada."), Consequence: aaep.Say("The money is gone.")},
					func(context.Context) (string, error) { return "", nil })
				s.Complete(aaep.Say("Ready."))
				k.paid <- err
			}()
			pass(8 * time.Second)
			want := `Decide: Pay $20 to Ada.
Consequence: The money is gone.
High risk.
You have 1 minute to answer. No answer: it will not be done.
Not verified: asked in the name of asker.
Type y to accept or n to reject, then Enter. /more asks for more time.
`
			if got := e.screen.String(); !strings.Contains(got, want) || strings.Contains(got, "Waiting for an answer:") {
				t.Fatalf("the question:\n%s", got)
			}
			e.screen.Reset()
			f(k)
		})
	})
}

// until lets time pass to so long after the question.
func (k *talk) until(d time.Duration) { pass(d - time.Since(k.began)) }

// shows checks what came to the screen since it was looked at last, the end of the session included if it is over.
func (k *talk) shows(when, want string) {
	k.t.Helper()
	got := k.screen.String()
	k.screen.Reset()
	if got != want {
		k.t.Errorf("%s:\n%s\nwant:\n%s", when, got, want)
	}
}

const warning = "The time to answer is almost over. Time left: about 25 seconds.\n"

func TestOutcomeAccept(t *testing.T) {
	asked(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *talk) {
		k.until(15 * time.Second) // all of it can have been heard
		k.types("y")
		pass(5 * time.Second)
		k.shows("after a yes", "aaep: Answer sent: accept.\nAccepted, and being done: Pay $20 to Ada.\nPay finished.\nDone. Ready.\n")
	})
}

func TestOutcomeReject(t *testing.T) {
	asked(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *talk) {
		k.types("n")
		pass(5 * time.Second)
		k.shows("after a no", "aaep: Answer sent: reject.\nRejected, and not done: Pay $20 to Ada.\nDone. Ready.\n")
	})
}

func TestOutcomeTimeout(t *testing.T) {
	asked(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *talk) {
		k.until(70 * time.Second)
		k.shows("without an answer", warning+"Nobody answered in time, so this was not done: Pay $20 to Ada.\n"+
			"aaep: The question is no longer open. You did not answer it.\nDone. Ready.\n")
		k.types("y")
		k.shows("after a late yes", "aaep: Nothing is being asked.\naaep: The last question: Nobody answered in time, so this was not done: Pay $20 to Ada.\n")
	})
}

// An agent takes a question back, or gives up altogether. CONF-053
func TestOutcomeCancelled(t *testing.T) {
	asked(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *talk) {
		k.withdraw()
		pass(5 * time.Second)
		k.shows("withdrawn", "Withdrawn, and not done: Pay $20 to Ada.\naaep: The question is no longer open. You did not answer it.\nDone. Ready.\n")
		k.types("y")
		k.shows("after a late yes", "aaep: Nothing is being asked.\naaep: The last question: Withdrawn, and not done: Pay $20 to Ada.\n")
	})
	asked(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *talk) {
		k.s.Cancel(aaep.CancelledBySystem, aaep.Say("The account is closed."))
		pass(5 * time.Second)
		k.shows("cancelled", "Withdrawn, and not done: Pay $20 to Ada.\naaep: The question is no longer open. You did not answer it.\nCancelled. The account is closed.\n")
		k.types("y")
		k.shows("after a late yes", "aaep: Nothing is being asked.\naaep: The last question: Withdrawn, and not done: Pay $20 to Ada.\n")
	})
}

// other is another listener to the agent that has been asked too.
func (k *talk) other() (*subscriber.Subscription, *aaep.Event) {
	k.t.Helper()
	sub, err := subscriber.Dial(k.t.Context(), k.dial, subscriber.Config{ID: "other", Capabilities: subscriber.ScreenReader("en-US")})
	if err != nil {
		k.t.Fatal(err)
	}
	for {
		ev, err := sub.Next(k.t.Context())
		if err != nil {
			k.t.Fatal(err)
		}
		if ev.Type() == aaep.TypeAwaitingConfirmation {
			return sub, ev
		}
	}
}

// EVT-078: whoever did not answer is told that it was not them.
func TestOutcomeElsewhere(t *testing.T) {
	late := map[aaep.Decision]string{aaep.Accept: "Accepted, and being done:", aaep.Reject: "Rejected, and not done:"}
	for d, want := range map[aaep.Decision]string{
		aaep.Accept: "aaep: The question is no longer open. You did not answer it.\nAccepted, and being done: Pay $20 to Ada.\nPay finished.\nDone. Ready.\n",
		aaep.Reject: "Rejected, and not done: Pay $20 to Ada.\naaep: The question is no longer open. You did not answer it.\nDone. Ready.\n",
	} {
		asked(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *talk) {
			sub, ev := k.other()
			defer sub.Close()
			if err := sub.Reply(k.t.Context(), ev, d); err != nil {
				k.t.Fatal(err)
			}
			pass(5 * time.Second)
			k.shows("somebody else said "+string(d), want)
			k.types("n")
			k.shows("after a late no", "aaep: Nothing is being asked.\naaep: The last question: "+late[d]+" Pay $20 to Ada.\n")
		})
	}
}

// CONF-036, WCAG 2.2.1: more time is one short line, and an answer in the time that was added counts. Announcements go on.
func TestOutcomeMoreTime(t *testing.T) {
	asked(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *talk) {
		k.types("/more please")
		k.shows("with a word too many", "aaep: Not understood: /more please. Right would be: /more.\n")
		k.types("/more")
		pass(10 * time.Second)
		k.shows("more time", "There is more time to answer. Time left: about 1 minute 50 seconds.\n")
		k.until(90 * time.Second) // it would have been over
		k.shows("until the warning", "Half of the time to answer is over. Time left: 1 minute.\n")
		k.types("y")
		pass(5 * time.Second)
		k.shows("a yes in the added time", "aaep: Answer sent: accept.\nAccepted, and being done: Pay $20 to Ada.\nPay finished.\nDone. Ready.\n")
		k.types("/more")
		k.shows("when nothing is asked", "aaep: Nothing is being asked.\naaep: The last question: Accepted, and being done: Pay $20 to Ada.\n")
	})
}

// Where few events are wanted the agent's own words do not come, and it is told all the same.
func TestMoreTimeUntold(t *testing.T) {
	caps := subscriber.ScreenReader("en-US")
	caps.CognitiveLoad = aaep.LoadLow
	asked(t, producer.Config{}, caps, func(k *talk) {
		k.types("/more")
		pass(10 * time.Second)
		k.shows("more time", "aaep: There is more time. You have about 1 minute 50 seconds to answer.\n")
		k.until(110 * time.Second)
		k.shows("until the warning", warning)
		k.types("n")
		pass(5 * time.Second)
		k.shows("a no in the added time", "aaep: Answer sent: reject.\nRejected, and not done: Pay $20 to Ada.\nDone. Ready.\n")
	})
}

// More time that another listener asked for is time for this one too.
func TestMoreTimeForAnother(t *testing.T) {
	asked(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *talk) {
		sub, ev := k.other()
		defer sub.Close()
		for range 2 {
			if err := sub.MoreTime(k.t.Context(), ev); err != nil {
				k.t.Fatal(err)
			}
		}
		pass(5 * time.Second)
		k.until(170 * time.Second)
		if left := k.l.asked.First().Left(time.Now()).Round(time.Second); left != 10*time.Second {
			k.t.Errorf("%v are left, want 10s", left)
		}
		k.screen.Reset()
		k.types("y")
		pass(5 * time.Second)
		k.shows("a yes in the added time", "aaep: Answer sent: accept.\nAccepted, and being done: Pay $20 to Ada.\nPay finished.\nDone. Ready.\n")
	})
}

// Where this listener was not told of more time, an answer does not go out after the time that it knows of (CONF-039).
func TestLateAnswer(t *testing.T) {
	caps := subscriber.ScreenReader("en-US")
	caps.CognitiveLoad = aaep.LoadLow
	asked(t, producer.Config{}, caps, func(k *talk) {
		sub, ev := k.other()
		defer sub.Close()
		if err := sub.MoreTime(k.t.Context(), ev); err != nil {
			k.t.Fatal(err)
		}
		k.until(70 * time.Second)
		k.shows("until then, by its own clock", "The time to answer is almost over: you have about 25 seconds.\n")
		k.types("y")
		pass(5 * time.Second)
		k.shows("a yes", "aaep: The time to answer is over. Your answer was not sent.\n")
	})
}

func TestNoMoreTime(t *testing.T) {
	asked(t, producer.Config{Extensions: []handshake.Extension{}}, subscriber.ScreenReader("en-US"), func(k *talk) {
		k.types("/more")
		k.shows("no more time", "aaep: The agent gives no more time for this question. You have about 50 seconds to answer.\n")
		k.types("n")
		pass(5 * time.Second)
		k.shows("a no", "aaep: Answer sent: reject.\nRejected, and not done: Pay $20 to Ada.\nDone. Ready.\n")
	})
}

// Whoever comes late to a question, or to it again, is told how much of its time is left.
func TestLateToAQuestion(t *testing.T) {
	asked(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *talk) {
		k.until(30 * time.Second)
		listenTo(k.t, k.dial, subscriber.ScreenReader("en-US"), func(e *ear) {
			pass(time.Second)
			if got := e.out.String(); !strings.Contains(got, "\nYou have 30 seconds to answer.") {
				k.t.Errorf("who comes late reads:\n%s", got)
			}
		})
	})
}

// A choice that is chosen before it can have been heard is asked for once more, as a yes is. A number means the choice that is labelled
// with it, and where another is in that place, the person is asked. What is typed in full is an answer at once.
func TestChoices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := agentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *ear) {
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan any, 1)
			ask := func(kinds ...aaep.ResponseKind) {
				q := producer.Question{Text: aaep.Say("How many pages shall be printed?"), Kinds: kinds, Timeout: 10 * time.Minute}
				if len(kinds) == 0 {
					q.Choices = []producer.Choice{{Value: "five", Label: aaep.Say("5")}, {Value: "one", Label: aaep.Say("1")}, {Value: "two", Label: aaep.Say("2")}}
				}
				go func() {
					answer, _ := s.Clarify(t.Context(), q)
					got <- answer
				}()
				pass(1500 * time.Millisecond)
			}
			const early = "You may not have heard all of it."
			ask()
			e.wants("5", early)
			if n := strings.Count(e.out.String(), "Question: How many pages"); n != 2 {
				t.Errorf("it is put %d times:\n%s", n, e.out.String())
			}
			pass(2 * time.Second)
			e.wants("5", "Answer sent: 5.")
			if got := <-got; got != "five" {
				t.Errorf("5 is %v", got)
			}
			ask()
			pass(20 * time.Second)
			const meant = "That may mean two of the choices. Given once more, it means this one: "
			e.wants("1", meant+"1.")
			e.wants("2", meant+"2.")
			e.wants("1", meant+"1.")
			e.wants("1", "Answer sent: 1.")
			if got := <-got; got != "one" {
				t.Errorf("1 is %v", got)
			}
			ask(aaep.ResponseYesNo)
			e.wants("n", early)
			pass(2 * time.Second)
			e.wants("n", "Answer sent: no.")
			if got := <-got; got != false {
				t.Errorf("n is %v", got)
			}
			ask(aaep.ResponseFreetext)
			e.wants("twelve", "Answer sent.")
			if got := <-got; got != "twelve" {
				t.Errorf("twelve is %v", got)
			}
		})
	})
}
