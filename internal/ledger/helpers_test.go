package ledger

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/aaep-go/aaep"
)

// start is when the questions of the table tests are asked: wall time alone, as on the wire.
var start = time.Date(2026, 7, 1, 9, 30, 0, 0, time.UTC)

const limit = 60 * time.Second

// confirmation asks for a reversible action.
func confirmation(token aaep.ReplyToken, risk aaep.Risk, byDefault aaep.Decision, recipients ...string) *Question {
	return &Question{Token: token, SessionID: "sess_1", Stamp: start, Recipients: recipients,
		Confirmation: &aaep.AwaitingConfirmation{Action: "Pay.", Consequence: "Money leaves.", ReplyToken: token,
			TimeoutSeconds: int64(limit / time.Second), DefaultDecision: byDefault, RiskLevel: risk}}
}

func clarification(token aaep.ReplyToken, c aaep.AwaitingClarification, recipients ...string) *Question {
	c.ReplyToken, c.TimeoutSeconds = token, int64(limit/time.Second)
	return &Question{Token: token, SessionID: "sess_1", Stamp: start, Recipients: recipients, Clarification: &c}
}

func decide(token aaep.ReplyToken, subscription string, d aaep.Decision) *aaep.ConfirmationReply {
	return &aaep.ConfirmationReply{ReplyToken: token, Decision: d, SubscriptionID: subscription, Timestamp: start}
}

func respond(token aaep.ReplyToken, subscription string, response any) *aaep.ClarificationReply {
	return &aaep.ClarificationReply{ReplyToken: token, Response: response, SubscriptionID: subscription, Timestamp: start}
}

// opened returns a ledger with the questions asked at start.
func opened(t *testing.T, qs ...*Question) *Ledger {
	t.Helper()
	var l Ledger
	for _, q := range qs {
		if err := l.Open(start, q); err != nil {
			t.Fatalf("Open(%s) = %v", string(q.Token), err)
		}
	}
	return &l
}

// told writes an outcome down, to compare.
func told(o *Outcome) string {
	return fmt.Sprintf("%s: %s %q %v by %q", string(o.Question.Token), o.Cause, o.Decision, o.Response, o.By)
}

func toldAll(outs []*Outcome) []string {
	var all []string
	for _, o := range outs {
		all = append(all, told(o))
	}
	return all
}

func wantOutcomes(t *testing.T, got []*Outcome, want ...string) {
	t.Helper()
	if !slices.Equal(toldAll(got), want) {
		t.Errorf("outcomes\n\t%q\nwant\n\t%q", toldAll(got), want)
	}
}

// copied returns a ledger that shares nothing that changes.
func (l *Ledger) copied() *Ledger {
	c := *l
	c.settled, c.queue, c.open, c.due = maps.Clone(l.settled), slices.Clone(l.queue), maps.Clone(l.open), slices.Clone(l.due)
	for t, o := range c.open {
		o := *o
		o.recipients = maps.Clone(o.recipients)
		c.open[t], c.due[o.index] = &o, &o
	}
	return &c
}

// stepped returns t as a clock shows it whose wall time was set by d: its monotonic reading stays.
func stepped(t time.Time, d time.Duration) time.Time {
	p := (*struct {
		wall uint64 // 1 bit: has a monotonic reading; 33 bits: seconds; 30 bits: nanoseconds
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&t))
	p.wall += uint64(d/time.Second) << 30
	return t
}

// stepped moves the wall clock and nothing else.
func TestStepped(t *testing.T) {
	now := time.Now()
	for _, d := range []time.Duration{10 * time.Minute, -10 * time.Minute, 87600 * time.Hour, -87600 * time.Hour} {
		got := stepped(now, d)
		if got.Sub(now) != 0 || got.Round(0).Sub(now.Round(0)) != d {
			t.Errorf("stepped(%v): monotonic moved by %v, wall by %v", d, got.Sub(now), got.Round(0).Sub(now.Round(0)))
		}
	}
}

// pending returns the questions that are open.
func (l *Ledger) pending() []*Question {
	var qs []*Question
	for _, o := range l.open {
		qs = append(qs, o.q)
	}
	return qs
}
