package ledger

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// A reply on its way: when it arrives, on what, and what it says.
type attempt struct {
	now   time.Time
	on    string
	reply aaep.ConfirmationReply
	other aaep.Message // sent instead of reply
}

func valid() *attempt {
	return &attempt{now: start.Add(time.Second), on: "sub_1", reply: *decide("rpl_1", "sub_1", aaep.Accept)}
}

func (a *attempt) send(l *Ledger) (*Outcome, error) {
	if a.other != nil {
		return l.Reply(a.now, a.on, "ada", a.other)
	}
	return l.Reply(a.now, a.on, "ada", &a.reply)
}

// Every condition of a valid reply, and how to break it alone. INV-09, CONF-013..025, D-37.
var conditions = []struct {
	name, says string
	spoil      func(*attempt)
}{
	{"its token is open", "no such question", func(a *attempt) { a.reply.ReplyToken = "rpl_2" }},
	{"it names the subscription it came on", "names another", func(a *attempt) { a.reply.SubscriptionID = "sub_2" }},
	{"its subscription was asked", "was not asked", func(a *attempt) {
		a.on = "sub_9"
		if a.reply.SubscriptionID == "sub_1" {
			a.reply.SubscriptionID = "sub_9"
		}
	}},
	{"it is in time", "came after", func(a *attempt) { a.now = start.Add(limit) }},
	{"it is stamped in time", "stamped after", func(a *attempt) { a.reply.Timestamp = start.Add(limit) }},
	{"its decision is allowed", "not allowed", func(a *attempt) { a.reply.Decision = aaep.Reject }},
	{"its kind matches", "answers a confirmation", func(a *attempt) {
		r := a.reply
		a.other = &aaep.ClarificationReply{ReplyToken: r.ReplyToken, Response: "accept",
			SubscriptionID: r.SubscriptionID, Timestamp: r.Timestamp}
	}},
}

// acceptOnly makes every decision but accept one that is not allowed.
func acceptOnly() *Question {
	q := confirmation("rpl_1", aaep.RiskMedium, aaep.Reject, "sub_1", "sub_2")
	q.Confirmation.AllowedReplies = []aaep.Decision{aaep.Accept}
	return q
}

// INV-09: a reply that breaks any of the conditions changes nothing, and the question can still be
// answered.
func TestReplyConditions(t *testing.T) {
	for broken := 1; broken < 1<<len(conditions); broken++ {
		l, a := opened(t, acceptOnly()), valid()
		var names []string
		for i, c := range conditions {
			if broken>>i&1 == 1 {
				c.spoil(a)
				names = append(names, c.name)
			}
		}
		before := l.copied()
		if out, err := a.send(l); out != nil || err == nil {
			t.Errorf("%q broken: Reply = %v, %v; want an error", names, out, err)
		}
		if !reflect.DeepEqual(l, before) {
			t.Errorf("%q broken: the ledger changed", names)
		}
		if out, err := valid().send(l); err != nil || out.Decision != aaep.Accept {
			t.Errorf("%q broken, then a good reply: %v, %v", names, out, err)
		}
	}
}

// CONF-027: the audit record says which check failed.
func TestReplyErrors(t *testing.T) {
	for _, c := range conditions {
		a := valid()
		c.spoil(a)
		if _, err := a.send(opened(t, acceptOnly())); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v does not say %q", c.name, err, c.says)
		}
	}
	l := opened(t, confirmation("rpl_1", aaep.RiskLow, aaep.Accept, "sub_1"))
	if _, err := l.Reply(start, "sub_1", "ada", &aaep.SubscriptionClose{}); err == nil {
		t.Error("a close counted as a reply")
	}
	if _, err := new(Ledger).Reply(start, "sub_1", "ada", decide("rpl_1", "sub_1", aaep.Accept)); err == nil {
		t.Error("an empty ledger took a reply")
	}
}

// CONF-013, CONF-024, INV-03: only accept and reject are decisions, and only if they are allowed.
func TestDecisions(t *testing.T) {
	both := []aaep.Decision{aaep.Accept, aaep.Reject}
	for _, tc := range []struct {
		allowed  []aaep.Decision
		decision aaep.Decision
		counts   bool
	}{
		{nil, aaep.Accept, true},
		{nil, aaep.Reject, true},
		{both, aaep.Accept, true},
		{both, aaep.Reject, true},
		{both[:1], aaep.Reject, false},
		{both[1:], aaep.Accept, false},
		{[]aaep.Decision{}, aaep.Accept, false}, // an empty list allows nothing
		{nil, "", false},
		{nil, "ACCEPT", false},
		{nil, "accept_once", false},
		{[]aaep.Decision{"accept_once", aaep.Reject}, "accept_once", false}, // D-23
		{[]aaep.Decision{"accept_once", aaep.Reject}, aaep.Reject, true},
		{[]aaep.Decision{""}, "", false},
	} {
		q := confirmation("rpl_1", aaep.RiskHigh, aaep.Reject, "sub_1")
		q.Confirmation.AllowedReplies = tc.allowed
		out, err := opened(t, q).Reply(start, "sub_1", "", decide("rpl_1", "sub_1", tc.decision))
		if counts := err == nil; counts != tc.counts || counts && out.Decision != tc.decision {
			t.Errorf("%q where %q is allowed: %v, %v", tc.decision, tc.allowed, out, err)
		}
	}
}

// INV-12, CONF-018, D-41: a changed action, even an empty one, is a rejection.
func TestModifiedAction(t *testing.T) {
	for _, tc := range []struct {
		modified json.RawMessage
		decision aaep.Decision
		want     aaep.Decision
	}{
		{nil, aaep.Accept, aaep.Accept},
		{json.RawMessage(`{"amount":1}`), aaep.Accept, aaep.Reject},
		{json.RawMessage(`{}`), aaep.Accept, aaep.Reject},
		{json.RawMessage(`null`), aaep.Accept, aaep.Reject},
		{json.RawMessage{}, aaep.Accept, aaep.Reject},
		{json.RawMessage(`{}`), aaep.Reject, aaep.Reject},
	} {
		r := decide("rpl_1", "sub_1", tc.decision)
		r.ModifiedAction = tc.modified
		l := opened(t, confirmation("rpl_1", aaep.RiskLow, aaep.Accept, "sub_1"))
		out, err := l.Reply(start, "sub_1", "", r)
		if err != nil || out.Decision != tc.want {
			t.Errorf("%s with modified_action %q: %v, %v; want %s", tc.decision, tc.modified, out, err, tc.want)
		}
		if _, err := l.Reply(start, "sub_1", "", decide("rpl_1", "sub_1", aaep.Accept)); err == nil {
			t.Error("an accept counted after a changed action")
		}
	}
}

// D-84: the outcome records what the connection says beside what the reply claims.
func TestAuditRecord(t *testing.T) {
	q := confirmation("rpl_1", aaep.RiskLow, aaep.Reject, "sub_1")
	r := decide("rpl_1", "sub_1", aaep.Accept)
	r.DecidedBy = "somebody else"
	got, err := opened(t, q).Reply(start.Add(time.Second), "sub_1", "ada", r)
	want := &Outcome{Question: q, Cause: Replied, Decision: aaep.Accept, Reply: r, By: "sub_1", Principal: "ada", Until: start.Add(limit), At: start.Add(time.Second)}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Reply = %+v, %v; want %+v", got, err, want)
	}
}

// The first valid reply counts, of whichever recipient it is; the others change nothing. INV-05,
// HS-087, CONF-028, CONF-048.
func TestFirstReplyCounts(t *testing.T) {
	for _, first := range []aaep.Decision{aaep.Accept, aaep.Reject} {
		for _, second := range []aaep.Decision{aaep.Accept, aaep.Reject} {
			l := opened(t, confirmation("rpl_1", aaep.RiskHigh, aaep.Reject, "sub_1", "sub_2"))
			out, err := l.Reply(start, "sub_2", "", decide("rpl_1", "sub_2", first))
			if err != nil || out.Decision != first || out.By != "sub_2" {
				t.Fatalf("the first reply: %v, %v", out, err)
			}
			for _, id := range []string{"sub_1", "sub_2"} {
				if out, err := l.Reply(start, id, "", decide("rpl_1", id, second)); out != nil || err == nil ||
					!strings.Contains(err.Error(), "settled before") {
					t.Errorf("%s after %s from %s: %v, %v", second, first, id, out, err)
				}
			}
			wantOutcomes(t, l.Expire(start.Add(limit)))
			wantOutcomes(t, l.Withdraw(start.Add(limit), "", ""))
		}
	}
}
