package ledger

import (
	"maps"
	"testing"

	"github.com/aaep-go/aaep"
)

func (r *reference) copied() *reference {
	c := &reference{now: r.now}
	for _, a := range r.qs {
		a := *a
		a.who = maps.Clone(a.who)
		c.qs = append(c.qs, &a)
	}
	return c
}

func answer(token aaep.ReplyToken, on string, d aaep.Decision) step {
	return step{kind: "reply", token: token, on: on, names: on, message: decide(token, on, d), decides: true, proper: true,
		says: `"` + string(d) + `" <nil>`}
}

// Three questions: one that silence accepts and a cut line does not, one that is never accepted
// unasked, and one that anything but a withdrawal accepts.
var three = []step{
	{kind: "ask", ask: confirmation("rpl_1", aaep.RiskMedium, aaep.Accept, "sub_1", "sub_2"),
		quiet: `"accept" <nil>`, cut: `"reject" <nil>`},
	{kind: "ask", ask: confirmation("rpl_2", aaep.RiskHigh, aaep.Reject, "sub_1"),
		quiet: `"reject" <nil>`, cut: `"reject" <nil>`},
	{kind: "ask", ask: confirmation("rpl_3", aaep.RiskLow, aaep.Accept, "sub_2"),
		quiet: `"accept" <nil>`, cut: `"accept" <nil>`},
}

// INV-01, 05, 06, 15: every order of a few things that may happen to two and to three questions.
func TestEveryInterleaving(t *testing.T) {
	everything := []step{
		answer("rpl_1", "sub_1", aaep.Accept),
		answer("rpl_1", "sub_2", aaep.Reject),
		{kind: "gone", on: "sub_1"},
		{kind: "gone", on: "sub_2"},
		{kind: "withdraw", token: "rpl_1"},
		{kind: "expire", later: limit / 2},
		{kind: "wait", later: limit / 2},
		answer("rpl_2", "sub_1", aaep.Accept),
		{kind: "join", token: "rpl_2", on: "sub_2"},
		{kind: "ask", ask: confirmation("rpl_1", aaep.RiskLow, aaep.Accept, "sub_1")}, // its token again
	}
	for _, tc := range []struct {
		name      string
		questions []step
		alphabet  []step
		depth     int
	}{
		{"two questions, ten things, five deep", three[:2], everything, 5},
		{"two questions, six things, six deep", three[:2], everything[:6], 6},
		{"two questions, six things with more time, six deep", three[:2], append([]step{{kind: "extend", token: "rpl_1", on: "sub_1"}}, everything[:5]...), 6},
		{"three questions, five things, seven deep", three, []step{everything[0], everything[1], everything[3],
			{kind: "withdraw", session: "sess_1"}, {kind: "expire", later: limit}}, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l, r := new(Ledger), &reference{now: start}
			for _, s := range tc.questions {
				if err := take(l, r, s); err != nil {
					t.Fatal(err)
				}
			}
			count := 0
			var path []int
			var explore func(*Ledger, *reference)
			explore = func(l *Ledger, r *reference) {
				if count++; len(path) == tc.depth {
					return
				}
				for i, s := range tc.alphabet {
					l, r := l.copied(), r.copied()
					path = append(path, i)
					if err := take(l, r, s); err != nil {
						t.Fatalf("after %v: %v", path, err)
					}
					explore(l, r)
					path = path[:len(path)-1]
				}
			}
			explore(l, r)
			t.Logf("%d states", count)
		})
	}
}
