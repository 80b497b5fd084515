package ledger

import (
	"testing"

	"github.com/aaep-go/aaep"
)

// D-34, D-38, INV-06: what cannot be asked is refused, and leaves no trace.
func TestOpenRefuses(t *testing.T) {
	ok := confirmation("rpl_1", aaep.RiskLow, aaep.Accept, "sub_1")
	both := confirmation("rpl_2", aaep.RiskLow, aaep.Accept, "sub_1")
	both.Clarification = clarification("rpl_2", aaep.AwaitingClarification{}).Clarification
	for name, q := range map[string]*Question{
		"nobody to ask":           confirmation("rpl_2", aaep.RiskLow, aaep.Accept),
		"a token in use":          confirmation("rpl_1", aaep.RiskHigh, aaep.Reject, "sub_2"),
		"neither kind":            {Token: "rpl_2", Recipients: []string{"sub_1"}},
		"a question of two kinds": both,
	} {
		l := opened(t, ok)
		if err := l.Open(start, q); err == nil {
			t.Errorf("%s: Open = nil", name)
		}
		if p := l.pending(); len(p) != 1 || p[0] != ok {
			t.Errorf("%s: pending %v", name, p)
		}
	}
}

// INV-15, HS-083, CONF-049: a question stays open while one recipient is left; a later one is as
// good as the first.
func TestRecipients(t *testing.T) {
	asked := func() *Ledger {
		return opened(t, confirmation("rpl_1", aaep.RiskLow, aaep.Accept, "sub_1", "sub_2", "sub_1"))
	}
	answers := func(l *Ledger, id string) bool {
		_, err := l.copied().Reply(start, id, "", decide("rpl_1", id, aaep.Accept))
		return err == nil
	}
	l := asked()
	wantOutcomes(t, l.Gone(start, "sub_9"))
	wantOutcomes(t, l.Gone(start, "sub_1"))
	if answers(l, "sub_1") || !answers(l, "sub_2") {
		t.Error("who left may answer, or who stayed may not")
	}
	wantOutcomes(t, l.Gone(start, "sub_1"))
	wantOutcomes(t, l.Gone(start, "sub_2"), `rpl_1: unreachable "accept" <nil> by ""`)
	wantOutcomes(t, l.Gone(start, "sub_2"))

	// D-34: a subscriber that came later is asked too, and then keeps the question open.
	l = asked()
	if answers(l, "sub_3") {
		t.Error("sub_3 answered without having been asked")
	}
	l.Join("rpl_1", "sub_3")
	l.Join("rpl_9", "sub_3") // no such question
	if !answers(l, "sub_3") {
		t.Error("sub_3 joined and may not answer")
	}
	wantOutcomes(t, l.Gone(start, "sub_1"))
	wantOutcomes(t, l.Gone(start, "sub_2"))
	wantOutcomes(t, l.Gone(start, "sub_3"), `rpl_1: unreachable "accept" <nil> by ""`)

	// Who came back may answer again.
	l = asked()
	wantOutcomes(t, l.Gone(start, "sub_1"))
	l.Join("rpl_1", "sub_1")
	if !answers(l, "sub_1") {
		t.Error("sub_1 came back and may not answer")
	}
}

// INV-15: a question stays open for a subscription that is about to be asked, which has no say
// before it is asked.
func TestExpectedRecipients(t *testing.T) {
	q := confirmation("rpl_1", aaep.RiskLow, aaep.Accept, "sub_1")
	q.Expected = []string{"sub_2"}
	const unreachable = `rpl_1: unreachable "accept" <nil> by ""`
	for name, l := range map[string]*Ledger{"from the first": opened(t, q), "later": opened(t, confirmation("rpl_1", aaep.RiskLow, aaep.Accept, "sub_1"))} {
		if name == "later" {
			l.Expect("rpl_1", "sub_2")
		}
		l.Expect("rpl_1", "sub_1") // it was asked before
		l.Expect("rpl_9", "sub_2") // no such question
		if _, err := l.copied().Reply(start, "sub_1", "", decide("rpl_1", "sub_1", aaep.Accept)); err != nil {
			t.Errorf("%s: who was asked cannot answer: %v", name, err)
		}
		if _, err := l.copied().Reply(start, "sub_2", "", decide("rpl_1", "sub_2", aaep.Accept)); err == nil {
			t.Errorf("%s: who was not asked answered", name)
		}
		if _, ok := l.copied().Extend(start, "sub_2", "rpl_1"); ok {
			t.Errorf("%s: who was not asked had more time", name)
		}
		wantOutcomes(t, l.Dismiss(start, "rpl_1", "sub_1")) // it was asked
		wantOutcomes(t, l.Dismiss(start, "rpl_9", "sub_2"))
		wantOutcomes(t, l.Gone(start, "sub_1"))
		wantOutcomes(t, l.copied().Gone(start, "sub_2"), unreachable)
		wantOutcomes(t, l.copied().Unable(start, "sub_2", true, false), unreachable)
		wantOutcomes(t, l.copied().Dismiss(start, "rpl_1", "sub_2"), unreachable)
		l.Join("rpl_1", "sub_2")
		if _, err := l.copied().Reply(start, "sub_2", "", decide("rpl_1", "sub_2", aaep.Accept)); err != nil {
			t.Errorf("%s: who was asked at last cannot answer: %v", name, err)
		}
		wantOutcomes(t, l.Dismiss(start, "rpl_1", "sub_2"))
		wantOutcomes(t, l.Gone(start, "sub_2"), unreachable)
	}
}

// The caller's list of recipients may change afterwards (INV-16).
func TestRecipientsAreCopied(t *testing.T) {
	q := confirmation("rpl_1", aaep.RiskLow, aaep.Accept, "sub_1")
	l := opened(t, q)
	q.Recipients[0] = "sub_2"
	if _, err := l.Reply(start, "sub_2", "", decide("rpl_1", "sub_2", aaep.Accept)); err == nil {
		t.Error("sub_2 was never asked")
	}
}

// HS-075: a renegotiation takes away the kinds it names, and no other.
func TestUnable(t *testing.T) {
	for _, tc := range []struct {
		confirmations, clarifications bool
		want                          []string
	}{
		{false, false, nil},
		{true, false, []string{`rpl_1: unreachable "reject" <nil> by ""`}},
		{false, true, []string{`rpl_2: unreachable "" text by ""`}},
		{true, true, []string{`rpl_1: unreachable "reject" <nil> by ""`, `rpl_2: unreachable "" text by ""`}},
	} {
		l := opened(t,
			confirmation("rpl_1", aaep.RiskMedium, aaep.Accept, "sub_1"),
			clarification("rpl_2", aaep.AwaitingClarification{DefaultResponse: "text"}, "sub_1"),
			confirmation("rpl_3", aaep.RiskLow, aaep.Accept, "sub_1", "sub_2"),
			clarification("rpl_4", aaep.AwaitingClarification{}, "sub_1", "sub_2"),
			confirmation("rpl_5", aaep.RiskLow, aaep.Accept, "sub_2"))
		wantOutcomes(t, l.Unable(start, "sub_1", tc.confirmations, tc.clarifications), tc.want...)
		if got, want := len(l.pending()), 5-len(tc.want); got != want {
			t.Errorf("%+v: %d pending; want %d", tc, got, want)
		}
		_, err := l.Reply(start, "sub_1", "", decide("rpl_3", "sub_1", aaep.Accept))
		if (err == nil) != !tc.confirmations {
			t.Errorf("%+v: sub_1 and the confirmation: %v", tc, err)
		}
		_, err = l.Reply(start, "sub_1", "", respond("rpl_4", "sub_1", "text"))
		if (err == nil) != !tc.clarifications {
			t.Errorf("%+v: sub_1 and the clarification: %v", tc, err)
		}
	}
}

// CONF-051, CONF-052, INV-14: a withdrawal takes what it names; nothing of it is accepted, and its
// tokens die.
func TestWithdraw(t *testing.T) {
	for _, tc := range []struct {
		token   aaep.ReplyToken
		session string
		want    []string
	}{
		{"rpl_1", "", []string{"rpl_1"}},
		{"rpl_1", "sess_1", []string{"rpl_1"}},
		{"rpl_1", "sess_2", nil},
		{"rpl_9", "", nil},
		{"", "sess_1", []string{"rpl_1", "rpl_2"}},
		{"", "sess_2", []string{"rpl_3"}},
		{"", "sess_9", nil},
		{"", "", []string{"rpl_1", "rpl_2", "rpl_3"}},
	} {
		other := confirmation("rpl_3", aaep.RiskLow, aaep.Accept, "sub_1")
		other.SessionID = "sess_2"
		l := opened(t, confirmation("rpl_1", aaep.RiskLow, aaep.Accept, "sub_1"),
			confirmation("rpl_2", aaep.RiskLow, aaep.Accept, "sub_1"), other)
		var want []string
		for _, token := range tc.want {
			want = append(want, token+`: withdrawn "reject" <nil> by ""`)
		}
		wantOutcomes(t, l.Withdraw(start, tc.token, tc.session), want...)
		for _, token := range tc.want {
			if _, err := l.Reply(start, "sub_1", "", decide(aaep.ReplyToken(token), "sub_1", aaep.Accept)); err == nil {
				t.Errorf("%+v: %s was accepted after its withdrawal", tc, token)
			}
		}
		if got := len(l.pending()); got != 3-len(tc.want) {
			t.Errorf("%+v: %d pending", tc, got)
		}
	}
}
