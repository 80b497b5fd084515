package ledger

import (
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// INV-03, INV-04, D-33, D-80, CONF-030, 031 and 033: what silence, a lost line and a withdrawal
// come to.
func TestConfirmationDefaults(t *testing.T) {
	const accept, reject = aaep.Accept, aaep.Reject
	for _, tc := range []struct {
		risk                   aaep.Risk
		irreversible           *bool
		reversibility          aaep.Reversibility
		byDefault              aaep.Decision
		silence, cut, withdraw aaep.Decision
	}{
		{aaep.RiskLow, nil, "", accept, accept, accept, reject},
		{aaep.RiskLow, nil, "", reject, reject, reject, reject},
		{aaep.RiskLow, nil, "", "", reject, reject, reject},       // no default is not accept
		{aaep.RiskLow, nil, "", "ACCEPT", reject, reject, reject}, // nor is anything else
		{aaep.RiskMedium, nil, "", accept, accept, reject, reject},
		{aaep.RiskHigh, nil, "", accept, accept, reject, reject}, // its author insisted
		{"", nil, "", accept, accept, reject, reject},            // no risk is not low risk
		{"extreme", nil, "", accept, accept, reject, reject},
		{aaep.RiskLow, new(false), aaep.Reversible, accept, accept, accept, reject},
		{aaep.RiskLow, nil, aaep.ReversibleWithEffort, accept, accept, accept, reject},
		{aaep.RiskLow, new(true), "", accept, reject, reject, reject},
		{aaep.RiskLow, nil, aaep.Irreversible, accept, reject, reject, reject},
		{aaep.RiskLow, new(false), aaep.Irreversible, accept, reject, reject, reject},
		{aaep.RiskLow, new(true), aaep.Reversible, accept, reject, reject, reject},
		{aaep.RiskHigh, new(true), aaep.Irreversible, reject, reject, reject, reject},
	} {
		q := confirmation("rpl_1", tc.risk, tc.byDefault, "sub_1")
		q.Confirmation.Irreversible, q.Confirmation.Reversibility = tc.irreversible, tc.reversibility
		wantOutcomes(t, opened(t, q).Expire(start.Add(limit)), `rpl_1: timed_out "`+string(tc.silence)+`" <nil> by ""`)
		wantOutcomes(t, opened(t, q).Gone(start, "sub_1"), `rpl_1: unreachable "`+string(tc.cut)+`" <nil> by ""`)
		wantOutcomes(t, opened(t, q).Unable(start, "sub_1", true, false), `rpl_1: unreachable "`+string(tc.cut)+`" <nil> by ""`)
		wantOutcomes(t, opened(t, q).Withdraw(start, "", ""), `rpl_1: withdrawn "`+string(tc.withdraw)+`" <nil> by ""`)
		// A line cut after the deadline, but before the next call that looks at the clock, does not
		// consent either.
		wantOutcomes(t, opened(t, q).Gone(start.Add(limit), "sub_1"), `rpl_1: unreachable "`+string(tc.cut)+`" <nil> by ""`)
		if t.Failed() {
			t.Fatalf("at %+v", tc)
		}
	}
}

var (
	freetext = aaep.ResponseFreetext
	yesNo    = aaep.ResponseYesNo
	choose   = aaep.ResponseMultipleChoice
	numeric  = aaep.ResponseNumeric
	colours  = []aaep.Choice{{Value: "red", Label: "Red"}, {Value: "true", Label: "True blue"}, {Value: "3", Label: "Number three"}}
)

// D-24, EVT-085: the default is applied as a value of its kind.
func TestDefaultResponse(t *testing.T) {
	for _, tc := range []struct {
		kinds     []aaep.ResponseKind
		byDefault string
		want      any
	}{
		{[]aaep.ResponseKind{freetext}, "", nil},
		{[]aaep.ResponseKind{freetext}, "hello", "hello"},
		{[]aaep.ResponseKind{freetext}, "true", "true"},
		{[]aaep.ResponseKind{freetext}, "3", "3"},
		{nil, "hello", "hello"}, // no kinds is free text
		{[]aaep.ResponseKind{yesNo}, "true", true},
		{[]aaep.ResponseKind{yesNo}, "false", false},
		{[]aaep.ResponseKind{yesNo}, "True", nil},
		{[]aaep.ResponseKind{yesNo}, "yes", nil},
		{[]aaep.ResponseKind{yesNo}, "1", nil},
		{[]aaep.ResponseKind{numeric}, "3", 3.0},
		{[]aaep.ResponseKind{numeric}, "-0.5", -0.5},
		{[]aaep.ResponseKind{numeric}, "+1.5e3", 1500.0},
		{[]aaep.ResponseKind{numeric}, "three", nil},
		{[]aaep.ResponseKind{numeric}, "0x10", nil},
		{[]aaep.ResponseKind{numeric}, "1_000", nil},
		{[]aaep.ResponseKind{numeric}, "1,5", nil},
		{[]aaep.ResponseKind{numeric}, " 3", nil},
		{[]aaep.ResponseKind{numeric}, "Inf", nil},
		{[]aaep.ResponseKind{numeric}, "NaN", nil},
		{[]aaep.ResponseKind{numeric}, "1e999", nil}, // larger than any number
		{[]aaep.ResponseKind{numeric}, "-", nil},
		{[]aaep.ResponseKind{numeric}, "٣", nil},
		{[]aaep.ResponseKind{choose}, "red", "red"},
		{[]aaep.ResponseKind{choose}, "Red", nil},
		{[]aaep.ResponseKind{choose}, "green", nil},
		// Several kinds: a choice is that choice; then yes and no, a number, text.
		{[]aaep.ResponseKind{choose, freetext}, "green", "green"},
		{[]aaep.ResponseKind{numeric, choose}, "3", "3"},
		{[]aaep.ResponseKind{numeric, choose}, "4", 4.0},
		{[]aaep.ResponseKind{yesNo, choose}, "true", "true"},
		{[]aaep.ResponseKind{yesNo, choose}, "false", false},
		{[]aaep.ResponseKind{freetext, numeric}, "3", 3.0},
		{[]aaep.ResponseKind{freetext, yesNo}, "true", true},
		{[]aaep.ResponseKind{freetext, numeric}, "three", "three"},
		{[]aaep.ResponseKind{yesNo, numeric}, "3", 3.0},
		{[]aaep.ResponseKind{"date"}, "2026-07-01", nil},
	} {
		c := aaep.AwaitingClarification{AcceptedResponseKinds: tc.kinds, Choices: colours, DefaultResponse: tc.byDefault}
		if got := DefaultResponse(&c); got != tc.want {
			t.Errorf("%q of %v: %T %v; want %T %v", tc.byDefault, tc.kinds, got, got, tc.want, tc.want)
		}
		for name, out := range map[Cause]*Outcome{
			TimedOut:    opened(t, clarification("rpl_1", c, "sub_1")).Expire(start.Add(limit))[0],
			Unreachable: opened(t, clarification("rpl_1", c, "sub_1")).Gone(start, "sub_1")[0],
		} {
			if out.Response != tc.want || out.Cause != name || out.Decision == aaep.Accept {
				t.Errorf("%s: %q of %v: %s", name, tc.byDefault, tc.kinds, told(out))
			}
		}
		if out := opened(t, clarification("rpl_1", c, "sub_1")).Withdraw(start, "", "")[0]; out.Response != nil {
			t.Errorf("withdrawn, yet answered with its default: %s", told(out))
		}
	}
}

// CONF-041, 042, 043, 044 and 045: a response of the wrong kind is no reply; the right one after it
// is used.
func TestResponses(t *testing.T) {
	all := []any{"red", "green", "", "true", true, false, 0.0, 3.5, int64(3), nil, []any{"red"}, map[string]any{}, []byte("red")}
	for _, tc := range []struct {
		kinds []aaep.ResponseKind
		right []any
	}{
		{[]aaep.ResponseKind{freetext}, []any{"red", "green", "true"}},
		{nil, []any{"red", "green", "true"}},
		{[]aaep.ResponseKind{choose}, []any{"red", "true"}},
		{[]aaep.ResponseKind{yesNo}, []any{true, false}},
		{[]aaep.ResponseKind{numeric}, []any{0.0, 3.5}},
		{[]aaep.ResponseKind{yesNo, numeric}, []any{true, false, 0.0, 3.5}},
		{[]aaep.ResponseKind{choose, freetext}, []any{"red", "green", "true"}},
		{[]aaep.ResponseKind{"date"}, nil},
	} {
		isRight := func(v any) bool {
			for _, r := range tc.right {
				switch v.(type) {
				case string, bool, float64:
					if v == r {
						return true
					}
				}
			}
			return false
		}
		c := aaep.AwaitingClarification{AcceptedResponseKinds: tc.kinds, Choices: colours}
		l := opened(t, clarification("rpl_1", c, "sub_1"))
		for _, v := range all {
			if isRight(v) {
				continue
			}
			if out, err := l.Reply(start, "sub_1", "", respond("rpl_1", "sub_1", v)); out != nil || err == nil {
				t.Errorf("%v: %T %v counted", tc.kinds, v, v)
			}
		}
		if _, err := l.Reply(start, "sub_1", "", decide("rpl_1", "sub_1", aaep.Accept)); err == nil ||
			!strings.Contains(err.Error(), "with a decision") {
			t.Errorf("a decision answered a clarification: %v", err)
		}
		for _, v := range tc.right {
			out, err := l.copied().Reply(start, "sub_1", "", respond("rpl_1", "sub_1", v))
			if err != nil || out.Response != v || out.Decision != "" {
				t.Errorf("%v after wrong ones: %T %v: %v, %v", tc.kinds, v, v, out, err)
			}
		}
	}
}
