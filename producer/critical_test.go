package producer_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
)

// backlog makes n events that a slow listener cannot have merged.
func backlog(st *stage, n int) {
	for range n / 2 {
		st.session("Something else.")
	}
	synctest.Wait()
}

// INV-24, P3, HS-014, HS-067: a question overtakes 200 held events, at once; the others keep their rate.
func TestQuestionOvertakesABacklog(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(answering(caps(1, aaep.BoundarySentence)))
		backlog(st, 200)
		s, d := st.session("Paying."), &deed{}
		asked := time.Now()
		paid := tool(s, pay, d)
		l.reply(l.question(), aaep.Accept)
		if at := arrivalOf(l, aaep.TypeAwaitingConfirmation); at != asked {
			t.Errorf("the question came after %v", at.Sub(asked))
		}
		<-paid
		time.Sleep(time.Hour)
		if n := mostInOneSecond(l.arrivals()); n > 1 { // INV-25
			t.Errorf("%d events in a second, want 1", n)
		}
		if n := len(of[*aaep.SessionStarted](l.events())); n != 101 { // D-51
			t.Errorf("%d sessions began, want 101", n)
		}
	})
}

// D-50, HS-062: an error comes at once and last, after all of the text and the tools of its session.
func TestErrorOvertakesABacklog(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(caps(1, aaep.BoundarySentence))
		backlog(st, 200)
		s := st.session("Talking.")
		out := s.Output()
		text := strings.Repeat("All of this counts. ", 50) + "The rest"
		out.WriteString(text)
		running := later(func() (string, error) { return s.Tool(t.Context(), look, wait) })
		synctest.Wait()
		failed := time.Now()
		s.Fail(nil, aaep.Text{})
		<-running
		if at := arrivalOf(l, aaep.TypeSessionErrored); at != failed {
			t.Errorf("the error came after %v", at.Sub(failed))
		}
		time.Sleep(time.Hour)
		var mine []*aaep.Event
		for _, ev := range l.events() {
			if ev.SessionID == s.ID() {
				mine = append(mine, ev)
			}
		}
		if last := mine[len(mine)-1]; last.Type() != aaep.TypeSessionErrored {
			t.Errorf("the last event is %s", last.Type())
		}
		if err := onlyText(mine, text); err != nil {
			t.Error(err)
		}
		if got := toolEvents(mine); len(got) != 2 {
			t.Errorf("tool events %v", got)
		}
		if n := mostInOneSecond(l.arrivals()); n > 1 {
			t.Errorf("%d events in a second, want 1", n)
		}
		if !slices.IsSortedFunc(mine, func(a, b *aaep.Event) int { return a.Timestamp.Compare(b.Timestamp) }) { // D-09
			t.Error("stamps go backwards")
		}
	})
}

// INV-24: where nothing has to wait, a critical event stays in its place.
func TestCriticalKeepsItsPlace(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(answering(caps(10, aaep.BoundaryNone)))
		s := st.session("Paying.")
		paid := tool(s, pay, &deed{})
		l.reply(l.question(), aaep.Reject)
		<-paid
		s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
		s.Fail(nil, aaep.Text{})
		wantStory(t, l.events(), asked+"awaiting_input>thinking handoff.requested session.errored:unknown")
	})
}

// But on a link that is behind, only a few of the events that were read ahead may stay in front (P3).
func TestCriticalOvertakesOnASlowLink(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(everything())
		l.hold()
		backlog(st, 200)
		st.session("Helping.").Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
		synctest.Wait()
		l.read()
		evs := l.events()
		at := slices.IndexFunc(evs, func(ev *aaep.Event) bool { return ev.Type() == aaep.TypeHandoffRequested })
		if overtaken := len(evs) - 1 - at; at < 0 || overtaken < 40 { // of 64 that are read ahead
			t.Errorf("the handoff is at %d of %d", at, len(evs))
		}
	})
}

// D-48, HS-062: filters never keep a critical event away, and keep every other.
func TestFilters(t *testing.T) {
	for name, f := range map[string]*aaep.EventFilters{
		"exclude all":  {Exclude: []string{"*"}},
		"include none": {Include: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				c := answering(everything())
				c.EventFilters = f
				l := st.listen(c)
				s := st.session("Paying.")
				paid := tool(s, pay, &deed{})
				l.reply(l.question(), aaep.Accept) // and its run does not wait for what is filtered
				if r := <-paid; r.err != nil {
					t.Error(r.err)
				}
				s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
				s.Cancel(aaep.CancelledByUser, aaep.Text{})
				st.session("Failing.").Fail(nil, aaep.Text{})
				wantStory(t, l.events(), "awaiting.confirmation handoff.requested session.errored:unknown")
			})
		})
	}
}

// D-34: questions go only to those who can answer them; errors and handoffs go to all.
func TestQuestionsOnlyToThoseWhoAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		a, w, s := st.record(), st.watch(), st.session("Paying.")
		paid := tool(s, pay, &deed{})
		a.reply(a.question(), aaep.Reject)
		<-paid
		s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
		wantStory(t, w.events(), "session.started idle>thinking thinking>awaiting_input awaiting_input>thinking handoff.requested")
	})
}
