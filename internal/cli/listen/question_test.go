package listen

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// These tests read the whole screen, as the person at it does: whatever becomes of a question, no
// person may be in doubt about it.

// A questionSession is one question to a person at a terminal.
type questionSession struct {
	*testListener
	s        *producer.Session
	dial     clitest.DialerFunc
	began    time.Time
	withdraw context.CancelFunc
	paid     chan error // what became of it
}

// putTestQuestion puts a question that has a minute to a person who listens, and lets them read it.
func putTestQuestion(t *testing.T, cfg producer.Config, caps aaep.Capabilities, f func(*questionSession)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, cfg)
		defer p.Shutdown(t.Context())
		listenTo(t, dial, caps, func(e *testListener) {
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			ctx, withdraw := context.WithCancel(t.Context())
			k := &questionSession{testListener: e, s: s, dial: dial, began: time.Now(), withdraw: withdraw,
				paid: make(chan error, 1)}
			defer withdraw()
			go func() {
				_, err := s.Tool(ctx, producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Timeout: time.Minute,
					Action: aaep.Say("Pay $20 to Ada."), Consequence: aaep.Say("The money is gone.")},
					func(context.Context) (string, error) { return "", nil })
				s.Complete(aaep.Say("Ready."))
				k.paid <- err
			}()
			clitest.PassTime(8 * time.Second)
			want := `Decide: Pay $20 to Ada.
Consequence: The money is gone.
High risk.
You have 1 minute to answer.
No answer: it will not be done.
Not verified: asked in the name of asker.
/more asks for more time.
Type y to accept or n to reject, then Enter.
`
			if got := e.screen.String(); !strings.Contains(got, want) ||
				strings.Contains(got, "Waiting for an answer:") {
				t.Fatalf("the question:\n%s", got)
			}
			e.screen.Reset()
			f(k)
		})
	})
}

// passUntil lets time pass to so long after the question.
func (k *questionSession) passUntil(d time.Duration) { clitest.PassTime(d - time.Since(k.began)) }

// wantShown checks what came to the screen since it was looked at last, the end of the session
// included if it is over.
func (k *questionSession) wantShown(when, want string) {
	k.t.Helper()
	got := k.screen.String()
	k.screen.Reset()
	if got != want {
		k.t.Errorf("%s:\n%s\nwant:\n%s", when, got, want)
	}
}

const warning = "The time to answer is almost over. Time left: about 25 seconds.\n"

func TestOutcomeAccept(t *testing.T) {
	putTestQuestion(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *questionSession) {
		k.passUntil(15 * time.Second) // all of it can have been heard
		k.typeLine("y")
		clitest.PassTime(5 * time.Second)
		k.wantShown("after a yes", "aaep: Answer sent: accept.\nAccepted, and being done: Pay $20 to Ada.\nPay finished.\nDone. Ready.\n")
	})
}

func TestOutcomeReject(t *testing.T) {
	putTestQuestion(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *questionSession) {
		k.typeLine("n")
		clitest.PassTime(5 * time.Second)
		k.wantShown("after a no", "aaep: Answer sent: reject.\nRejected, and not done: Pay $20 to Ada.\nDone. Ready.\n")
	})
}

func TestOutcomeTimeout(t *testing.T) {
	putTestQuestion(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *questionSession) {
		k.passUntil(70 * time.Second)
		k.wantShown("without an answer", warning+"Nobody answered in time, so this was not done: Pay $20 to Ada.\nDone. Ready.\n")
		k.typeLine("y")
		k.wantShown("after a late yes", "aaep: No question is open. What came of the last one: Nobody answered in time, so this was not done: Pay $20 to Ada.\n")
	})
}

// An agent takes a question back, or gives up altogether. CONF-053
func TestOutcomeCancelled(t *testing.T) {
	putTestQuestion(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *questionSession) {
		k.withdraw()
		clitest.PassTime(5 * time.Second)
		k.wantShown("withdrawn", "Withdrawn, and not done: Pay $20 to Ada.\nDone. Ready.\n")
		k.typeLine("y")
		k.wantShown("after a late yes", "aaep: No question is open. What came of the last one: Withdrawn, and not done: Pay $20 to Ada.\n")
	})
	putTestQuestion(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *questionSession) {
		k.s.Cancel(aaep.CancelledBySystem, aaep.Say("The account is closed."))
		clitest.PassTime(5 * time.Second)
		k.wantShown("cancelled", "Withdrawn, and not done: Pay $20 to Ada.\nCancelled. The account is closed.\n")
		k.typeLine("y")
		k.wantShown("after a late yes", "aaep: No question is open. What came of the last one: Withdrawn, and not done: Pay $20 to Ada.\n")
	})
}

// dialOther is another listener to the agent that has been asked too.
func (k *questionSession) dialOther() (*subscriber.Subscription, *aaep.Event) {
	k.t.Helper()
	sub, err := subscriber.Dial(k.t.Context(), k.dial,
		subscriber.Config{ID: "other", Capabilities: subscriber.ScreenReader("en-US")})
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

// Where the input has ended, what is said of a question that is still open for others names no key,
// for none can be pressed.
func TestInputEnded(t *testing.T) {
	putTestQuestion(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *questionSession) {
		sub, _ := k.dialOther()
		defer sub.Close()
		close(k.lines)
		clitest.PassTime(5 * time.Second)
		out := k.s.Output()
		io.WriteString(out, "Ada sent the bill on Monday. It is the second one.")
		out.Close()
		k.passUntil(55 * time.Second)
		got := k.screen.String()
		if !strings.Contains(got, "Nobody can type here any more") || !strings.Contains(got, "Pay $20 to Ada") ||
			strings.Contains(got, "Type y") || strings.Contains(got, "/more") {
			k.t.Errorf("after the end of the input is said:\n%s", got)
		}
	})
}

// EVT-078: a listener who did not answer is told that it was not them.
func TestOutcomeElsewhere(t *testing.T) {
	late := map[aaep.Decision]string{aaep.Accept: "Pay finished.", aaep.Reject: "Rejected, and not done: Pay $20 to Ada."}
	for d, want := range map[aaep.Decision]string{
		aaep.Accept: "Accepted, and being done: Pay $20 to Ada.\nPay finished.\nDone. Ready.\n",
		aaep.Reject: "Rejected, and not done: Pay $20 to Ada.\nDone. Ready.\n",
	} {
		putTestQuestion(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *questionSession) {
			sub, ev := k.dialOther()
			defer sub.Close()
			if err := replies.Send(k.t.Context(), sub.Question(ev), d, nil); err != nil {
				k.t.Fatal(err)
			}
			clitest.PassTime(5 * time.Second)
			k.wantShown("somebody else said "+string(d), want)
			k.typeLine("n")
			k.wantShown("after a late no", "aaep: No question is open. What came of the last one: "+late[d]+"\n")
		})
	}
}

// CONF-036, WCAG 2.2.1: more time is one short line, and an answer in the time that was added
// counts. Announcements go on.
func TestOutcomeMoreTime(t *testing.T) {
	putTestQuestion(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *questionSession) {
		k.typeLine("/more please")
		k.wantShown("with a word too many", "aaep: Not understood: /more please. Right would be: /more.\n")
		k.typeLine("/more")
		clitest.PassTime(10 * time.Second)
		k.wantShown("more time", "There is more time to answer. Time left: about 1 minute 50 seconds.\n")
		k.passUntil(90 * time.Second) // it would have been over
		k.wantShown("until the warning", "Half of the time to answer is over. Time left: 1 minute.\n")
		k.typeLine("y")
		clitest.PassTime(5 * time.Second)
		k.wantShown("a yes in the added time",
			"aaep: Answer sent: accept.\nAccepted, and being done: Pay $20 to Ada.\nPay finished.\nDone. Ready.\n")
		k.typeLine("/more")
		k.wantShown("when nothing is asked", "aaep: No question is open. What came of the last one: Pay finished.\n")
	})
}

// Where few events are wanted the agent's own words do not come, and it is told all the same.
func TestMoreTimeUntold(t *testing.T) {
	caps := subscriber.ScreenReader("en-US")
	caps.CognitiveLoad = aaep.LoadLow
	putTestQuestion(t, producer.Config{}, caps, func(k *questionSession) {
		k.typeLine("/more")
		clitest.PassTime(10 * time.Second)
		k.wantShown("more time", "aaep: There is more time. You have about 1 minute 50 seconds to answer.\n")
		k.passUntil(110 * time.Second)
		k.wantShown("until the warning", warning)
		k.typeLine("n")
		clitest.PassTime(5 * time.Second)
		k.wantShown("a no in the added time",
			"aaep: Answer sent: reject.\nRejected, and not done: Pay $20 to Ada.\nDone. Ready.\n")
	})
}

// More time that another listener asked for is time for this one too.
func TestMoreTimeForAnother(t *testing.T) {
	putTestQuestion(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *questionSession) {
		sub, ev := k.dialOther()
		defer sub.Close()
		for range 2 {
			if err := sub.Question(ev).MoreTime(k.t.Context()); err != nil {
				k.t.Fatal(err)
			}
		}
		clitest.PassTime(5 * time.Second)
		k.passUntil(170 * time.Second)
		if left := time.Until(k.l.controlState().Question.Until).Round(time.Second); left != 10*time.Second {
			k.t.Errorf("%v are left, want 10s", left)
		}
		k.screen.Reset()
		k.typeLine("y")
		clitest.PassTime(5 * time.Second)
		k.wantShown("a yes in the added time",
			"aaep: Answer sent: accept.\nAccepted, and being done: Pay $20 to Ada.\nPay finished.\nDone. Ready.\n")
	})
}

// Where this listener was not told of more time, an answer does not go out after the time that it
// knows of (CONF-039).
func TestLateAnswer(t *testing.T) {
	caps := subscriber.ScreenReader("en-US")
	caps.CognitiveLoad = aaep.LoadLow
	putTestQuestion(t, producer.Config{}, caps, func(k *questionSession) {
		sub, ev := k.dialOther()
		defer sub.Close()
		if err := sub.Question(ev).MoreTime(k.t.Context()); err != nil {
			k.t.Fatal(err)
		}
		k.passUntil(70 * time.Second)
		k.wantShown("until then, by its own clock", "aaep: The time to answer is almost over: you have about 25 seconds.\n")
		k.typeLine("y")
		clitest.PassTime(5 * time.Second)
		k.wantShown("a yes", "aaep: The time to answer is over. Your answer was not sent.\n")
	})
}

func TestNoMoreTime(t *testing.T) {
	putTestQuestion(t, producer.Config{Extensions: []handshake.Extension{}}, subscriber.ScreenReader("en-US"),
		func(k *questionSession) {
			k.typeLine("/more")
			k.wantShown("no more time", "aaep: The agent gives no more time for this question. You have about 50 seconds to answer.\n")
			k.typeLine("n")
			clitest.PassTime(5 * time.Second)
			k.wantShown("a no", "aaep: Answer sent: reject.\nRejected, and not done: Pay $20 to Ada.\nDone. Ready.\n")
		})
}

// A listener that comes late to a question, or to it again, is told how much of its time is left.
func TestLateToAQuestion(t *testing.T) {
	putTestQuestion(t, producer.Config{}, subscriber.ScreenReader("en-US"), func(k *questionSession) {
		k.passUntil(30 * time.Second)
		listenTo(k.t, k.dial, subscriber.ScreenReader("en-US"), func(e *testListener) {
			clitest.PassTime(time.Second)
			if got := e.out.String(); !strings.Contains(got, "\nYou have 30 seconds to answer.") {
				k.t.Errorf("who comes late reads:\n%s", got)
			}
		})
	})
}

// A choice that is chosen before it can have been heard is asked for once more, as a yes is. A
// number means the choice that is labelled with it, and where another is in that place, the person
// is asked. What is typed in full is an answer at once.
func TestChoices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, producer.Config{})
		defer p.Shutdown(t.Context())
		listenTo(t, dial, subscriber.ScreenReader("en-US"), func(e *testListener) {
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan any, 1)
			ask := func(put func(producer.Question) (any, error)) {
				go func() {
					answer, _ := put(producer.Question{Text: aaep.Say("How many pages shall be printed?"), Timeout: 10 * time.Minute})
					got <- answer
				}()
				clitest.PassTime(1500 * time.Millisecond)
			}
			choice := func(q producer.Question) (any, error) {
				q.Choices = []producer.Choice{{Value: "five", Label: aaep.Say("5")},
					{Value: "one", Label: aaep.Say("1")}, {Value: "two", Label: aaep.Say("2")}}
				return s.AskChoice(t.Context(), q)
			}
			const early = "You may not have heard all of it."
			ask(choice)
			e.wantSaid("5", early)
			if n := strings.Count(e.out.String(), "Question: How many pages"); n != 2 {
				t.Errorf("it is put %d times:\n%s", n, e.out.String())
			}
			clitest.PassTime(2 * time.Second)
			e.wantSaid("5", "Answer sent: 5.")
			if got := <-got; got != "five" {
				t.Errorf("5 is %v", got)
			}
			ask(choice)
			clitest.PassTime(20 * time.Second)
			const meant = "That may mean two of the choices. Given once more, it means this one: "
			e.wantSaid("1", meant+"1.")
			e.wantSaid("2", meant+"2.")
			e.wantSaid("1", meant+"1.")
			clitest.PassTime(10 * time.Second)
			e.wantSaid("1", "Answer sent: 1.")
			if got := <-got; got != "one" {
				t.Errorf("1 is %v", got)
			}
			ask(func(q producer.Question) (any, error) { return s.AskYesNo(t.Context(), q) })
			e.wantSaid("n", early)
			clitest.PassTime(2 * time.Second)
			e.wantSaid("n", "Answer sent: no.")
			if got := <-got; got != false {
				t.Errorf("n is %v", got)
			}
			ask(func(q producer.Question) (any, error) { return s.AskText(t.Context(), q) })
			e.wantSaid("twelve", "Answer sent.")
			if got := <-got; got != "twelve" {
				t.Errorf("twelve is %v", got)
			}
		})
	})
}
