package producer_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
)

// emitBacklog emits n events that cannot be merged, for a subscriber that falls behind.
func emitBacklog(st *stage, n int) {
	for range n / 2 {
		st.startSession("Something else.")
	}
	synctest.Wait()
}

// INV-24, P3, HS-014, HS-067: a question overtakes 200 held events, at once; those keep their rate.
func TestQuestionOvertakesABacklog(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(mayAnswer(termsWith(1, aaep.BoundarySentence)))
		emitBacklog(st, 200)
		s, d := st.startSession("Paying."), &action{}
		asked := time.Now()
		paid := callTool(s, pay, d)
		l.reply(l.question(), aaep.Accept)
		if at := arrivalOf(l, aaep.TypeAwaitingConfirmation); at != asked {
			t.Errorf("the question came after %v", at.Sub(asked))
		}
		<-paid
		time.Sleep(time.Hour)
		if n := mostInOneSecond(l.arrivals()); n > 1 { // INV-25
			t.Errorf("%d events in a second, want 1", n)
		}
		if n := len(payloadsOf[*aaep.SessionStarted](l.events())); n != 101 { // D-51
			t.Errorf("%d sessions began, want 101", n)
		}
	})
}

// D-50, HS-062: an error comes at once and last, after all of the text and the tools of its
// session.
func TestErrorOvertakesABacklog(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(termsWith(1, aaep.BoundarySentence))
		emitBacklog(st, 200)
		s := st.startSession("Talking.")
		out := s.Output()
		text := strings.Repeat("All of this counts. ", 50) + "The rest"
		out.WriteString(text)
		running := callLater(func() (string, error) { return s.Tool(t.Context(), look, waitForEnd) })
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
		l := st.listen(mayAnswer(termsWith(10, aaep.BoundaryNone)))
		s := st.startSession("Paying.")
		paid := callTool(s, pay, &action{})
		l.reply(l.question(), aaep.Reject)
		<-paid
		s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
		s.Fail(nil, aaep.Text{})
		wantStory(t, l.events(), asked+"awaiting_input>thinking handoff.requested session.errored:unknown")
	})
}

// D-50, SM-007: where no rate holds anything, nothing is overtaken, however much is emitted at
// once: neither in a group nor for a subscription that is ungrouped, new, or resumed.
func TestQuestionOvertakesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		const written = 100
		s := st.startSession("Paying.")
		judge, all := st.addRecorder(), st.addCrowd(3, mayAnswer(allEvents()))
		st.awaitGroups(4)
		lone := st.listen(mayAnswer(termsWith(0, aaep.BoundaryWord)))
		_, open := st.listenResumable(mayAnswer(allEvents()))
		stream := open("")
		stream.breakStream()
		synctest.Wait()
		out := s.Output()
		for range written { // at once, with what goes on beside it
			out.WriteString("One. ")
			s.State(aaep.StateDeciding, aaep.Text{})
			s.State(aaep.StateThinking, aaep.Text{})
		}
		paid := callTool(s, pay, &action{})
		q := judge.question()
		heard := [][]*aaep.Event{open("").events(), judge.events(), lone.events()}
		for _, l := range all {
			heard = append(heard, l.events())
		}
		for i, evs := range heard {
			at := slices.IndexFunc(evs, func(ev *aaep.Event) bool { return ev.Type() == aaep.TypeAwaitingConfirmation })
			if at != len(evs)-1 || at < 1 || payloadsOf[*aaep.StateChanged](evs[at-1:])[0].ToState != aaep.StateAwaitingInput {
				t.Errorf("listener %d: the question is at %d of %d, after %s", i, at, len(evs), storyOf(evs[max(at-2, 0):]))
			}
			if n := len(payloadsOf[*aaep.OutputStreaming](evs)); n != written {
				t.Errorf("listener %d had %d of %d texts", i, n, written)
			}
		}
		out.Close()
		judge.reply(q, aaep.Reject)
		<-paid
		late := st.listen(mayAnswer(allEvents()))
		later := callTool(s, pay, &action{})
		synctest.Wait()
		latest := st.listen(mayAnswer(termsWith(1, aaep.BoundaryNone)))
		wantStory(t, latest.events(), "thinking>awaiting_input awaiting.confirmation")
		if shown := latest.events()[1]; !shown.Timestamp.Equal(late.events()[len(late.events())-1].Timestamp) {
			t.Error("the question is stamped anew for those who come later: its time would seem to last longer")
		}
		late.reply(late.question(), aaep.Reject)
		<-later
	})
}

// But what a link keeps waiting that takes long over every event is overtaken (P3), and not what
// the question belongs to.
func TestCriticalOvertakesOnASlowLink(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(allEvents())
		l.stopReading()
		emitBacklog(st, 200)
		st.startSession("Helping.").Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
		ctx := t.Context()
		var evs []*aaep.Event
		for range 203 {
			time.Sleep(100 * time.Millisecond)
			data, err := l.conn.Receive(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if m, err := aaep.Decode(data); err == nil {
				evs = append(evs, m.(*aaep.Event))
			}
		}
		at := slices.IndexFunc(evs, func(ev *aaep.Event) bool { return ev.Type() == aaep.TypeHandoffRequested })
		if overtaken := len(evs) - 1 - at; at < 2 || overtaken < 30 { // of 64 that are read ahead
			t.Fatalf("the handoff is at %d of %d", at, len(evs))
		}
		wantStory(t, evs[at-2:at+1], "session.started idle>thinking handoff.requested")
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
				c := mayAnswer(allEvents())
				c.EventFilters = f
				l := st.listen(c)
				s := st.startSession("Paying.")
				paid := callTool(s, pay, &action{})
				l.reply(l.question(), aaep.Accept) // and its run does not wait for what is filtered
				if r := <-paid; r.err != nil {
					t.Error(r.err)
				}
				s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
				s.Cancel(aaep.CancelledByUser, aaep.Text{})
				st.startSession("Failing.").Fail(nil, aaep.Text{})
				wantStory(t, l.events(), "awaiting.confirmation handoff.requested session.errored:unknown")
			})
		})
	}
}

// D-34: questions go only to those who can answer them; errors and handoffs go to all.
func TestQuestionsOnlyToThoseWhoAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		a, w, s := st.addRecorder(), st.addWatcher(), st.startSession("Paying.")
		paid := callTool(s, pay, &action{})
		a.reply(a.question(), aaep.Reject)
		<-paid
		s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
		wantStory(t, w.events(), "session.started idle>thinking thinking>awaiting_input awaiting_input>thinking handoff.requested")
	})
}
