package producer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// action is what a tool does, and counts how often it was done.
type action struct{ times int }

// do does the action once more.
func (d *action) do(context.Context) (string, error) { d.times++; return "done", nil }

// callTool calls the tool t, whose function is d, and hands out the result.
func callTool(s *producer.Session, t producer.Tool, d *action) <-chan result[string] {
	return callLater(func() (string, error) { return s.Tool(context.Background(), t, d.do) })
}

const asked = "session.started idle>thinking thinking>awaiting_input awaiting.confirmation "

// D-31, EVT-041, EVT-042, EVT-093: ask, accept, announce, act, tell.
func TestAccept(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s, d := st.addRecorder(), st.startSession("Paying."), &action{}
		paid := callTool(s, pay, d)
		if l.question(); d.times != 0 { // INV-02
			t.Error("it ran before the answer")
		}
		l.reply(l.question(), aaep.Accept)
		if r := <-paid; r.value != "done" || r.err != nil || d.times != 1 {
			t.Errorf("Tool = %q, %v after %d runs", r.value, r.err, d.times)
		}
		wantStory(t, l.events(), asked+"awaiting_input>calling_tool tool.invoked tool.success calling_tool>thinking")
	})
}

// The three answers of a question that is about a tool, and no answer at all. None runs it, and
// each is told as what it is, also to one that was not asked (INV-03, INV-11, D-80, HS-088).
func TestNoAccept(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*listener)
		want error
		says string
	}{
		"reject":  {func(l *listener) { l.reply(l.question(), aaep.Reject) }, producer.ErrRejected, "Rejected, and not done: Pay $5."},
		"timeout": {func(*listener) { time.Sleep(time.Hour) }, producer.ErrTimedOut, "Nobody answered in time, so this was not done: Pay $5."},
		"gone":    {func(l *listener) { l.conn.Close() }, producer.ErrUnreachable, "Nobody could be asked, so this was not done: Pay $5."},
		"closed": {func(l *listener) {
			l.send(&aaep.SubscriptionClose{SubscriptionID: l.id, ReasonCode: aaep.SubscriberShutdown, ReasonMessage: "Bye."})
		}, producer.ErrUnreachable, "Nobody could be asked, so this was not done: Pay $5."},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				w, l, s, d := st.addWatcher(), st.listen(mayAnswer(allEvents())), st.startSession("Paying."), &action{}
				paid := callTool(s, pay, d)
				l.question()
				c.do(l)
				r := <-paid
				if !errors.Is(r.err, c.want) || d.times != 0 {
					t.Errorf("Tool = %v after %d runs, want %v", r.err, d.times, c.want)
				}
				told := withoutNotices(w.events())
				wantStory(t, told, "session.started idle>thinking thinking>awaiting_input awaiting_input>thinking")
				if got := told[3].Text(aaep.VerbosityNormal); got != c.says {
					t.Errorf("it is told as %q, want %q", got, c.says)
				}
			})
		})
	}
}

// INV-08: silence is the default at the deadline, not before and not after.
func TestTimeoutOnTime(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		_, s := st.addRecorder(), st.startSession("Paying.")
		slow := pay
		slow.Timeout = 90*time.Second + time.Millisecond // rounded up
		began := time.Now()
		r := <-callTool(s, slow, &action{})
		if took := r.at.Sub(began); took != 91*time.Second {
			t.Errorf("the default came after %v, want 91s", took)
		}
	})
}

// INV-07: a reply counts until the deadline, and not at it.
func TestReplyAtTheDeadline(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		runs  int
	}{{10*time.Second - 1, 1}, {10 * time.Second, 0}, {10*time.Second + 1, 0}} {
		bubble(t, func(t *testing.T, st *stage) {
			l, s, d := st.addRecorder(), st.startSession("Paying."), &action{}
			quick := pay
			quick.Timeout = 10 * time.Second
			paid := callTool(s, quick, d)
			q := l.question()
			stamp := time.Now()
			time.Sleep(c.after)
			l.send(&aaep.ConfirmationReply{ReplyToken: q.ReplyToken, Decision: aaep.Accept, SubscriptionID: l.id, Timestamp: stamp})
			if <-paid; d.times != c.runs {
				t.Errorf("a reply after %v: %d runs, want %d", c.after, d.times, c.runs)
			}
		})
	}
}

// D-34, HS-020: with no user to ask, the default applies at once and everyone is told. D-32: what
// is of high risk asks although nothing says Confirm.
func TestNoUserToAsk(t *testing.T) {
	risky := pay
	risky.Irreversible = false
	final := pay
	final.Risk = aaep.RiskLow
	for _, each := range []producer.Tool{risky, final} {
		bubble(t, func(t *testing.T, st *stage) {
			w, s, d := st.addWatcher(), st.startSession("Paying."), &action{}
			began := time.Now()
			r := <-callTool(s, each, d)
			if !errors.Is(r.err, producer.ErrUnreachable) || d.times != 0 || r.at != began {
				t.Errorf("Tool = %v after %v and %d runs", r.err, r.at.Sub(began), d.times)
			}
			wantStory(t, w.events(), "session.started idle>thinking thinking>awaiting_input awaiting_input>thinking")
		})
	}
}

// INV-15: while one who can answer is left, the question stays open.
func TestOneOfTwoLeaves(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		a, b, s, d := st.addRecorder(), st.listen(mayAnswer(allEvents())), st.startSession("Paying."), &action{}
		paid := callTool(s, pay, d)
		a.question()
		b.conn.Close()
		<-b.served
		time.Sleep(time.Minute)
		a.reply(a.question(), aaep.Accept)
		if r := <-paid; r.err != nil || d.times != 1 {
			t.Errorf("Tool = %v after %d runs", r.err, d.times)
		}
	})
}

// INV-03, D-80, CONF-032, CONF-033: silence says yes only where the author said so and nothing bad
// can come of it.
func TestDefaultAccept(t *testing.T) {
	for _, c := range []struct {
		name         string
		risk         aaep.Risk
		irreversible bool
		leaves       bool // instead of staying silent
		runs         int
		refused      bool
	}{
		{"low, silence", aaep.RiskLow, false, false, 1, false},
		{"low, nobody left", aaep.RiskLow, false, true, 1, false},
		{"absent, silence", "", false, false, 1, false},
		{"medium, silence", aaep.RiskMedium, false, false, 1, false},
		{"medium, nobody left", aaep.RiskMedium, false, true, 0, false},
		{"high", aaep.RiskHigh, false, false, 0, true},
		{"low, irreversible", aaep.RiskLow, true, false, 0, true},
		{"high, irreversible", aaep.RiskHigh, true, true, 0, true},
		{"unknown risk", "extreme", false, false, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				w, l, s, d := st.addWatcher(), st.listen(mayAnswer(allEvents())), st.startSession("Saving."), &action{}
				paid := callTool(s, producer.Tool{Name: "save", Confirm: true, Risk: c.risk, Irreversible: c.irreversible, Default: aaep.Accept,
					Action: aaep.Say("Save."), Consequence: aaep.Say("It is saved.")}, d)
				synctest.Wait()
				if c.leaves {
					l.conn.Close()
				}
				r := <-paid
				if d.times != c.runs {
					t.Errorf("%d runs, want %d (%v)", d.times, c.runs, r.err)
				}
				if _, invalid := errors.AsType[*aaep.InvalidError](r.err); invalid != c.refused {
					t.Errorf("Tool = %v", r.err)
				}
				if c.refused { // INV-04: nothing leaves
					wantStory(t, w.events(), "session.started idle>thinking")
					if c.risk != "extreme" && !strings.Contains(fmt.Sprint(r.err), "CONF-031") {
						t.Errorf("Tool = %v, want CONF-031 in it", r.err)
					}
				}
			})
		})
	}
}

// A yes by default needs no user at all (D-34), but it is one for low risk only (D-80).
func TestDefaultAcceptWithoutUsers(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		w, s, d := st.addWatcher(), st.startSession("Saving."), &action{}
		save := producer.Tool{Name: "save", Confirm: true, Default: aaep.Accept, Action: aaep.Say("Save."), Consequence: aaep.Say("Saved.")}
		<-callTool(s, save, d)
		if d.times != 1 {
			t.Errorf("%d runs, want 1", d.times)
		}
		wantStory(t, w.events(), "session.started idle>thinking thinking>awaiting_input awaiting_input>calling_tool tool.invoked tool.success calling_tool>thinking")
		save.Risk = aaep.RiskMedium
		if r := <-callTool(s, save, d); !errors.Is(r.err, producer.ErrUnreachable) || d.times != 1 {
			t.Errorf("with medium risk Tool = %v after %d runs", r.err, d.times)
		}
	})
}

// INV-04: a question without its words is refused before a subscriber is told to wait.
func TestQuestionWithoutWords(t *testing.T) {
	for name, tool := range map[string]producer.Tool{
		"no action":      {Name: "pay", Risk: aaep.RiskHigh, Consequence: aaep.Say("The money is gone.")},
		"no consequence": {Name: "pay", Risk: aaep.RiskHigh, Action: aaep.Say("Pay $5.")},
		"no name":        {Risk: aaep.RiskHigh, Action: aaep.Say("Pay $5."), Consequence: aaep.Say("The money is gone.")},
		"bidi override":  {Name: "pay", Risk: aaep.RiskHigh, Action: aaep.Say("Pay \u202e5$."), Consequence: aaep.Say("The money is gone.")},
		"unasked, bidi":  {Name: "look", Action: aaep.Say("Look \u202eback.")},
		"unasked, terse": {Name: "look", Action: aaep.Text{Terse: "\x1b[2J", Normal: "Looking."}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				l, s, d := st.addRecorder(), st.startSession("Paying."), &action{}
				_, err := s.Tool(t.Context(), tool, d.do)
				if _, invalid := errors.AsType[*aaep.InvalidError](err); !invalid || d.times != 0 {
					t.Errorf("Tool = %v after %d runs", err, d.times)
				}
				wantStory(t, l.events(), "session.started idle>thinking")
			})
		})
	}
}

// INV-12: we run what was shown or nothing.
func TestModifiedAction(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s, d := st.addRecorder(), st.startSession("Paying."), &action{}
		paid := callTool(s, pay, d)
		o := l.rawReply(l.question(), aaep.Accept)
		o["modified_action"] = map[string]any{}
		l.sendObject(o)
		if r := <-paid; !errors.Is(r.err, producer.ErrRejected) || d.times != 0 {
			t.Errorf("Tool = %v after %d runs", r.err, d.times)
		}
	})
}

// §6.3.2, INV-16: with a handler, what the user changed is asked about anew, in its own words, and
// runs only if that is accepted as it is; it is never less dangerous than before.
func TestModifiedActionTaken(t *testing.T) {
	lower := func(changes json.RawMessage) (producer.Tool, error) {
		var c struct{ Amount int }
		if err := json.Unmarshal(changes, &c); err != nil || c.Amount == 0 {
			return producer.Tool{}, errors.New("no amount")
		}
		return producer.Tool{Name: "other", Action: aaep.Say(fmt.Sprintf("Pay $%d.", c.Amount)), Consequence: aaep.Say("Less is gone.")}, nil
	}
	for name, tc := range map[string]struct {
		changes []string // of each answer; "" changes nothing
		accepts bool     // the last one
		runs    int
		err     string
		action  string // of the last question
	}{
		"accepted":       {[]string{`{"amount":3}`, ""}, true, 1, "", "Pay $3."},
		"changed twice":  {[]string{`{"amount":3}`, `{"amount":2}`, ""}, true, 1, "", "Pay $2."},
		"rejected":       {[]string{`{"amount":3}`, ""}, false, 0, "rejected", "Pay $3."},
		"not understood": {[]string{`{"much":3}`}, true, 0, "no amount", "Pay $5."},
		"for ever":       {slices.Repeat([]string{`{"amount":3}`}, 10), true, 0, "rejected", "Pay $3."},
	} {
		bubble(t, func(t *testing.T, st *stage) {
			l := st.addRecorder()
			s, d := st.startSession("Paying."), &action{}
			open := pay
			open.Modified = func(changes json.RawMessage) (producer.Tool, error) {
				next, err := lower(changes)
				next.Modified = open.Modified
				return next, err
			}
			paid := callTool(s, open, d)
			for i, changes := range tc.changes {
				q := l.question()
				o := l.rawReply(q, aaep.Accept)
				if changes != "" {
					o["modified_action"] = json.RawMessage(changes)
				}
				if i == len(tc.changes)-1 && !tc.accepts {
					o["decision"] = aaep.Reject
				}
				l.sendObject(o)
				synctest.Wait()
				if d.times > 0 && i < len(tc.changes)-1 {
					t.Errorf("%s: it ran before the last answer", name)
				}
			}
			r := <-paid
			if d.times != tc.runs || (r.err == nil) != (tc.err == "") || r.err != nil && !strings.Contains(r.err.Error(), tc.err) {
				t.Errorf("%s: %d runs, %v", name, d.times, r.err)
			}
			q := l.question()
			if q.Action != tc.action || !*q.Irreversible || q.RiskLevel != aaep.RiskHigh {
				t.Errorf("%s: asked at last %+v", name, q)
			}
			if inv := payloadsOf[*aaep.ToolInvoked](l.events()); len(inv) != tc.runs || tc.runs > 0 && inv[0].Tool != "pay" {
				t.Errorf("%s: invoked %+v", name, inv)
			}
		})
	}
}
