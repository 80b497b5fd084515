package producer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// INV-12: we run what was shown or nothing.
func TestModifiedAction(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s, d := st.record(), st.session("Paying."), &deed{}
		paid := tool(s, pay, d)
		o := l.rawReply(l.question(), aaep.Accept)
		o["modified_action"] = map[string]any{}
		l.sendObject(o)
		if r := <-paid; !errors.Is(r.err, producer.ErrRejected) || d.times != 0 {
			t.Errorf("Tool = %v after %d runs", r.err, d.times)
		}
	})
}

// §6.3.2, INV-16: with a handler, what the user changed is asked about anew, in its own words, and runs only if that is
// accepted as it is; it is never less dangerous than before.
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
			l := st.record()
			s, d := st.session("Paying."), &deed{}
			open := pay
			open.Modified = func(changes json.RawMessage) (producer.Tool, error) {
				next, err := lower(changes)
				next.Modified = open.Modified
				return next, err
			}
			paid := tool(s, open, d)
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
			if inv := of[*aaep.ToolInvoked](l.events()); len(inv) != tc.runs || tc.runs > 0 && inv[0].Tool != "pay" {
				t.Errorf("%s: invoked %+v", name, inv)
			}
		})
	}
}
