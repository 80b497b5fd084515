package ledger

import (
	"slices"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// A clock as the owner of a ledger may have it: it shows the time d after it was asked.
type clock struct {
	name string
	show func(d time.Duration) time.Time
}

func clocks() []clock {
	base := time.Now() // with a monotonic reading, as the owner passes it
	all := []clock{
		{"wall time alone", func(d time.Duration) time.Time { return start.Add(d) }},
		{"monotonic", func(d time.Duration) time.Time { return base.Add(d) }},
	}
	for _, step := range []time.Duration{10 * time.Minute, 87600 * time.Hour} {
		for _, step := range []time.Duration{step, -step} {
			all = append(all, clock{"monotonic, wall set by " + step.String(), func(d time.Duration) time.Time {
				if d == 0 {
					return base
				}
				return stepped(base.Add(d), step)
			}})
		}
	}
	return all
}

// INV-07, D-35, CONF-022: a reply counts if it comes before the deadline and is stamped before the
// end of its question; setting the wall clock changes neither.
func TestReplyInTime(t *testing.T) {
	around := []time.Duration{-limit - 87600*time.Hour, -1, 0, 1, 10 * time.Minute}
	for _, c := range clocks() {
		for _, arrival := range []time.Duration{1 - limit, -1, 0, 1, 10 * time.Minute} {
			for _, stamp := range around {
				var l Ledger
				if err := l.Open(c.show(0), confirmation("rpl_1", aaep.RiskHigh, aaep.Reject, "sub_1")); err != nil {
					t.Fatal(err)
				}
				r := decide("rpl_1", "sub_1", aaep.Accept)
				r.Timestamp = start.Add(limit + stamp)
				_, err := l.Reply(c.show(limit+arrival), "sub_1", "", r)
				if counts := err == nil; counts != (arrival < 0 && stamp < 0) {
					t.Errorf("%s: came %v, stamped %v from the deadline: %v", c.name, arrival, stamp, err)
				}
			}
		}
	}
}

// INV-07, INV-08, CONF-030: silence counts from the deadline on and not before.
func TestExpireInTime(t *testing.T) {
	for _, c := range clocks() {
		for _, after := range []time.Duration{1 - limit, -1, 0, 1, 10 * time.Minute} {
			var l Ledger
			l.Open(c.show(0), confirmation("rpl_1", aaep.RiskHigh, aaep.Reject, "sub_1"))
			if next := l.Next(); next != c.show(0).Add(limit) {
				t.Errorf("%s: Next = %v", c.name, next)
			}
			now := c.show(limit + after)
			outs := l.Expire(now)
			if after < 0 {
				wantOutcomes(t, outs)
				continue
			}
			wantOutcomes(t, outs, `rpl_1: timed_out "reject" <nil> by ""`)
			if outs[0].At != now || !l.Next().IsZero() || l.pending() != nil {
				t.Errorf("%s: settled at %v, next %v, pending %v", c.name, outs[0].At, l.Next(), l.pending())
			}
			wantOutcomes(t, l.Expire(now)) // once
		}
	}
}

// Without a monotonic reading the wall clock is all there is: who wants steps to be harmless passes
// time.Now.
func TestWallTimeAlone(t *testing.T) {
	l := opened(t, confirmation("rpl_1", aaep.RiskHigh, aaep.Reject, "sub_1"))
	wantOutcomes(t, l.Expire(start.Add(-10*time.Minute)))
	wantOutcomes(t, l.Expire(start.Add(10*time.Minute)), `rpl_1: timed_out "reject" <nil> by ""`)
}

// Outcomes come in the order of the deadlines, then of the tokens.
func TestExpireOrder(t *testing.T) {
	var l Ledger
	for _, q := range []struct {
		token aaep.ReplyToken
		at    time.Duration
	}{{"rpl_d", 2}, {"rpl_c", 0}, {"rpl_e", 1}, {"rpl_b", 1}, {"rpl_a", 2}, {"rpl_f", 9}} {
		if err := l.Open(start.Add(q.at), confirmation(q.token, aaep.RiskLow, aaep.Reject, "sub_1")); err != nil {
			t.Fatal(err)
		}
	}
	if next := l.Next(); next != start.Add(limit) {
		t.Errorf("Next = %v", next)
	}
	var got []string
	for _, o := range l.Expire(start.Add(limit + 2)) {
		got = append(got, string(o.Question.Token))
	}
	if want := []string{"rpl_c", "rpl_b", "rpl_e", "rpl_a", "rpl_d"}; !slices.Equal(got, want) {
		t.Errorf("order %v; want %v", got, want)
	}
	if next := l.Next(); next != start.Add(limit+9) {
		t.Errorf("Next = %v; want that of the last", next)
	}
}

// T2, INV-06, CONF-009, CONF-021: a settled token stays dead for a day, however it was settled.
func TestTokensDie(t *testing.T) {
	for name, settle := range map[string]func(*Ledger, time.Time){
		"replied": func(l *Ledger, now time.Time) {
			l.Reply(now, "sub_1", "", decide("rpl_1", "sub_1", aaep.Reject))
		},
		"timed out":    func(l *Ledger, now time.Time) { l.Expire(now.Add(limit)) },
		"gone":         func(l *Ledger, now time.Time) { l.Gone(now, "sub_1") },
		"unable":       func(l *Ledger, now time.Time) { l.Unable(now, "sub_1", true, false) },
		"withdrawn":    func(l *Ledger, now time.Time) { l.Withdraw(now, "rpl_1", "") },
		"session over": func(l *Ledger, now time.Time) { l.Withdraw(now, "", "sess_1") },
		"all over":     func(l *Ledger, now time.Time) { l.Withdraw(now, "", "") },
	} {
		q := confirmation("rpl_1", aaep.RiskLow, aaep.Accept, "sub_1")
		l := opened(t, q)
		settle(l, start)
		dead := func(now time.Time) {
			t.Helper()
			l.Join("rpl_1", "sub_1")
			if out, err := l.Reply(now, "sub_1", "", decide("rpl_1", "sub_1", aaep.Accept)); err == nil {
				t.Errorf("%s: a reply counted: %s", name, told(out))
			}
			wantOutcomes(t, l.Gone(now, "sub_1"))
			wantOutcomes(t, l.Withdraw(now, "", ""))
			wantOutcomes(t, l.Expire(now))
		}
		dead(start)
		settledAt := l.settled["rpl_1"]
		dead(settledAt.Add(24 * time.Hour))
		if err := l.Open(start, q); err == nil {
			t.Errorf("%s: the token was taken for a new one within a day", name)
		}
		dead(settledAt.Add(24*time.Hour + 1))
		if len(l.settled)+len(l.queue) != 0 {
			t.Errorf("%s: %d tokens are remembered after a day", name, len(l.settled))
		}
		if err := l.Open(start, q); err != nil {
			t.Errorf("%s: a day later: %v", name, err)
		}
	}
}

// P10: what is settled is forgotten token by token, the oldest first.
func TestForget(t *testing.T) {
	var l Ledger
	for i, token := range []aaep.ReplyToken{"rpl_c", "rpl_a", "rpl_b"} {
		at := start.Add(time.Duration(i) * time.Hour)
		l.Open(at, confirmation(token, aaep.RiskLow, aaep.Reject, "sub_1"))
		l.Withdraw(at, token, "")
	}
	for i, want := range []int{3, 2, 1, 0} {
		l.Expire(start.Add(23*time.Hour + time.Duration(i)*time.Hour + 1))
		if got := len(l.settled); got != want || len(l.queue) != want {
			t.Errorf("after %d hours: %d tokens; want %d", 23+i, got, want)
		}
	}
}

// INV-06: only a question that was settled can be opened again, and then it has one outcome.
func TestReopen(t *testing.T) {
	var l Ledger
	now := time.Now()
	q := &Question{Token: "rt", Stamp: now, Recipients: []string{"sub"}, Confirmation: &aaep.AwaitingConfirmation{TimeoutSeconds: 60}}
	reply := &aaep.ConfirmationReply{ReplyToken: "rt", Decision: aaep.Accept, SubscriptionID: "sub", Timestamp: now}
	if l.Reopen(now, q) == nil {
		t.Error("a question that was never asked is opened again")
	}
	if err := l.Open(now, q); err != nil || l.Reopen(now, q) == nil {
		t.Errorf("Open: %v; a question that is open is opened again", err)
	}
	for range 2 {
		if out, err := l.Reply(now, "sub", "", reply); err != nil || out.Decision != aaep.Accept {
			t.Fatalf("the reply comes to %+v, %v", out, err)
		}
		if _, err := l.Reply(now, "sub", "", reply); err == nil {
			t.Error("a second reply counts")
		}
		if err := l.Reopen(now, q); err != nil {
			t.Error(err)
		}
	}
	if out := l.Expire(now.Add(time.Minute)); len(out) != 1 || out[0].Decision != aaep.Reject || l.Open(now, q) == nil {
		t.Errorf("the outcome is %+v", out)
	}
	l.Expire(now.Add(48 * time.Hour))
	if len(l.queue) != 0 || len(l.settled) != 0 {
		t.Errorf("%d tokens are remembered", len(l.settled))
	}
}
