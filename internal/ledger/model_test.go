package ledger

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aaep-go/aaep"
)

// reference is chapter 6 in a few lines: what each question came to, and when.
type reference struct {
	now time.Time
	qs  []*asked
}

type asked struct {
	token        aaep.ReplyToken
	session      string
	confirm      bool
	due          time.Time       // of the producer's clock
	last         time.Time       // a reply is stamped before
	who          map[string]bool // may answer
	silence, cut string          // what a timeout and a lost line come to
	extended     int
	settled      bool
	at           time.Time
	outcome      string
}

func (r *reference) find(token aaep.ReplyToken) *asked {
	for _, a := range r.qs {
		if a.token == token {
			return a
		}
	}
	return nil
}

// settle settles every open question for which f gives an outcome, by deadline and token.
func (r *reference) settle(f func(*asked) string) (outcomes []string) {
	slices.SortFunc(r.qs, func(a, b *asked) int {
		if a.due.Equal(b.due) && a.token < b.token || a.due.Before(b.due) {
			return -1
		}
		return 1
	})
	for _, a := range r.qs {
		if a.settled {
			continue
		}
		if a.outcome = f(a); a.outcome != "" {
			a.settled, a.at = true, r.now
			outcomes = append(outcomes, fmt.Sprintf("%s: %s", string(a.token), a.outcome))
		}
	}
	return outcomes
}

func (r *reference) reply(s step) []string {
	return r.settle(func(a *asked) string {
		if a.token != s.token || !a.who[s.on] || s.names != s.on || a.confirm != s.decides ||
			!r.now.Before(a.due) || !s.stamp.Before(a.last) || !s.proper {
			return ""
		}
		return fmt.Sprintf("replied %s by %q", s.says, s.on)
	})
}

func (r *reference) leave(id string, confirmations, clarifications bool) []string {
	return r.settle(func(a *asked) string {
		if !a.who[id] || a.confirm && !confirmations || !a.confirm && !clarifications {
			return ""
		}
		if delete(a.who, id); len(a.who) > 0 {
			return ""
		}
		return "unreachable " + a.cut + ` by ""`
	})
}

// A step is one thing that happens to a ledger.
type step struct {
	kind  string
	ask   *Question
	cut   string // of ask: what is expected when no recipient is left
	quiet string // of ask: what is expected at the deadline

	token   aaep.ReplyToken
	session string
	on      string

	message aaep.Message // of a reply
	names   string
	decides bool   // it is a confirmation.reply
	proper  bool   // its answer is one the question allows
	says    string // its answer, as an outcome tells it
	stamp   time.Time

	confirmations, clarifications bool

	later time.Duration // since the step before
}

// real takes the step on a ledger; "wait" does nothing but wait.
func (s step) real(l *Ledger, now time.Time) (outs []*Outcome, err error) {
	switch s.kind {
	case "ask":
		return nil, l.Open(now, s.ask)
	case "reply":
		out, err := l.Reply(now, s.on, "ada", s.message)
		if out != nil {
			outs = []*Outcome{out}
		}
		return outs, err
	case "join":
		l.Join(s.token, s.on)
	case "extend":
		if _, ok := l.Extend(now, s.on, s.token); !ok {
			return nil, errors.New("no more time")
		}
	case "gone":
		return l.Gone(now, s.on), nil
	case "unable":
		return l.Unable(now, s.on, s.confirmations, s.clarifications), nil
	case "withdraw":
		return l.Withdraw(now, s.token, s.session), nil
	case "expire":
		return l.Expire(now), nil
	}
	return nil, nil
}

// told takes the step on the reference, and says whether a ledger must take it without an error.
func (s step) told(r *reference) (outs []string, ok bool) {
	switch s.kind {
	case "ask":
		if len(s.ask.Recipients) == 0 || r.find(s.ask.Token) != nil {
			return nil, false
		}
		c := s.ask.Confirmation
		a := &asked{token: s.ask.Token, session: s.ask.SessionID, confirm: c != nil, who: map[string]bool{},
			due: r.now.Add(limit), last: s.ask.Stamp.Add(limit), silence: s.quiet, cut: s.cut}
		for _, id := range s.ask.Recipients {
			a.who[id] = true
		}
		r.qs = append(r.qs, a)
	case "reply":
		outs = r.reply(s)
		return outs, len(outs) == 1
	case "join":
		if a := r.find(s.token); a != nil && !a.settled {
			a.who[s.on] = true
		}
	case "extend":
		a := r.find(s.token)
		if a == nil || a.settled || !a.who[s.on] || !r.now.Before(a.due) || a.extended == 10 {
			return nil, false
		}
		a.extended++
		a.due, a.last = a.due.Add(limit), a.last.Add(limit)
	case "gone":
		return r.leave(s.on, true, true), true
	case "unable":
		return r.leave(s.on, s.confirmations, s.clarifications), true
	case "withdraw":
		return r.settle(func(a *asked) string {
			if s.token != "" && a.token != s.token || s.session != "" && a.session != s.session {
				return ""
			}
			if !a.confirm { // which decides nothing
				return `withdrawn "" <nil> by ""`
			}
			return `withdrawn "reject" <nil> by ""`
		}), true
	case "expire":
		r.qs = slices.DeleteFunc(r.qs, func(a *asked) bool { return a.settled && r.now.Sub(a.at) > 24*time.Hour })
		return r.settle(func(a *asked) string {
			if r.now.Before(a.due) {
				return ""
			}
			return "timed_out " + a.silence + ` by ""`
		}), true
	}
	return nil, true
}

// take does a step on both and says where they differ.
func take(l *Ledger, r *reference, s step) error {
	if s.kind == "reply" && s.stamp.IsZero() {
		s.stamp = start
	}
	r.now = r.now.Add(s.later)
	got, err := s.real(l, r.now)
	want, ok := s.told(r)
	if !slices.Equal(toldAll(got), want) || (err == nil) != ok {
		return fmt.Errorf("%s: %q, %v; want %q, ok %v", s.kind, toldAll(got), err, want, ok)
	}
	var pending, open []string
	var next time.Time
	for _, q := range l.pending() {
		pending = append(pending, string(q.Token))
	}
	for _, a := range r.qs {
		if !a.settled {
			open = append(open, string(a.token))
			if next.IsZero() || a.due.Before(next) {
				next = a.due
			}
		}
	}
	slices.Sort(pending)
	slices.Sort(open)
	if !slices.Equal(pending, open) || l.Next() != next {
		return fmt.Errorf("%s: pending %q until %v; want %q until %v", s.kind, pending, l.Next(), open, next)
	}
	return nil
}

// INV-01, 03, 05, 06, 07, 09, 12, 15: whatever happens in whatever order, the ledger says what
// chapter 6 says.
func TestAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Ledger
		r := &reference{now: start}
		if rapid.Bool().Draw(t, "monotonic") {
			r.now = time.Now()
		}
		repliers := rapid.IntRange(1, 10).Draw(t, "repliers")
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			s := anyStep(t, r.now, repliers)
			if err := take(&l, r, s); err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
		}
	})
}

func anyStep(t *rapid.T, now time.Time, repliers int) step {
	id := func(label string) string {
		return fmt.Sprintf("sub_%d", rapid.IntRange(1, repliers).Draw(t, label))
	}
	n := rapid.IntRange(1, 6).Draw(t, "token")
	s := step{token: aaep.ReplyToken(fmt.Sprintf("rpl_%d", n)), on: id("on")}
	s.kind = rapid.SampledFrom([]string{"ask", "ask", "reply", "reply", "reply", "join", "gone", "unable", "withdraw",
		"expire", "wait", "extend"}).Draw(t, "kind")
	switch s.kind {
	case "ask":
		anyQuestion(t, &s, now, repliers)
	case "reply":
		anyReply(t, &s, now)
		if s.names = s.on; rapid.IntRange(0, 9).Draw(t, "spoof") == 0 {
			s.names = id("names")
		}
		switch m := s.message.(type) {
		case *aaep.ConfirmationReply:
			m.ReplyToken, m.SubscriptionID, m.Timestamp = s.token, s.names, s.stamp
		case *aaep.ClarificationReply:
			m.ReplyToken, m.SubscriptionID, m.Timestamp = s.token, s.names, s.stamp
		}
	case "unable":
		s.confirmations, s.clarifications = rapid.Bool().Draw(t, "confirmations"), rapid.Bool().Draw(t, "clarifications")
	case "withdraw":
		how := rapid.IntRange(0, 9).Draw(t, "what")
		if how > 0 {
			s.session = fmt.Sprintf("sess_%d", rapid.IntRange(1, 3).Draw(t, "session"))
		}
		if how < 5 {
			s.token = ""
		}
	case "wait":
		s.later = rapid.SampledFrom([]time.Duration{1, limit / 2, limit - 1, limit, 24 * time.Hour}).Draw(t, "later")
	}
	return s
}

func anyQuestion(t *rapid.T, s *step, now time.Time, repliers int) {
	stamp := now.Round(0).Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "skew")) * 10 * time.Minute)
	s.ask = clarification(s.token, aaep.AwaitingClarification{AcceptedResponseKinds: []aaep.ResponseKind{yesNo}, DefaultResponse: "true"})
	s.quiet, s.cut = `"" true`, `"" true`
	if rapid.IntRange(0, 2).Draw(t, "confirmation") > 0 {
		risk := rapid.SampledFrom([]aaep.Risk{"", aaep.RiskLow, aaep.RiskMedium, aaep.RiskHigh}).Draw(t, "risk")
		s.ask = confirmation(s.token, risk, rapid.SampledFrom([]aaep.Decision{"", aaep.Accept, aaep.Accept, aaep.Reject}).Draw(t, "default"))
		c := s.ask.Confirmation
		final := rapid.IntRange(0, 5).Draw(t, "irreversible")
		if final == 0 {
			c.Irreversible = new(true)
		} else if final == 1 {
			c.Reversibility = aaep.Irreversible
		}
		s.quiet, s.cut = `"reject" <nil>`, `"reject" <nil>`
		if c.DefaultDecision == aaep.Accept && final > 1 {
			if s.quiet = `"accept" <nil>`; risk == aaep.RiskLow {
				s.cut = s.quiet
			}
		}
	}
	s.ask.Stamp, s.ask.SessionID = stamp, fmt.Sprintf("sess_%d", rapid.IntRange(1, 3).Draw(t, "session"))
	for i := range repliers {
		if rapid.Bool().Draw(t, "asked") {
			s.ask.Recipients = append(s.ask.Recipients, fmt.Sprintf("sub_%d", i+1))
		}
	}
}

func anyReply(t *rapid.T, s *step, now time.Time) {
	skew := rapid.SampledFrom([]time.Duration{0, 0, 0, -10 * time.Minute, 10 * time.Minute, limit, limit - 1}).Draw(t, "stamped")
	s.stamp = now.Round(0).Add(skew)
	if s.decides = rapid.IntRange(0, 2).Draw(t, "decides") > 0; s.decides {
		d := rapid.SampledFrom([]aaep.Decision{aaep.Accept, aaep.Accept, aaep.Reject, "", "later"}).Draw(t, "decision")
		m := &aaep.ConfirmationReply{Decision: d}
		s.message, s.proper, s.says = m, d == aaep.Accept || d == aaep.Reject, fmt.Sprintf("%q <nil>", d)
		if rapid.IntRange(0, 4).Draw(t, "modified") == 0 {
			m.ModifiedAction, s.says = []byte(`{}`), `"reject" <nil>`
		}
		return
	}
	v := rapid.SampledFrom([]any{true, false, "true", 1.0, nil}).Draw(t, "response")
	_, s.proper = v.(bool)
	s.message, s.says = &aaep.ClarificationReply{Response: v}, fmt.Sprintf(`"" %v`, v)
}
