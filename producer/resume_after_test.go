package producer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// D-34, P2: a subscriber that comes back while a question is open is asked it again, and may
// answer. The log in memory has its place.
func TestComeBackToAQuestion(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, _ := st.listenAccepted(resumeAfter(mayAnswer(allEvents()), ""))
		s := st.startSession("Paying.")
		done := &action{}
		paid := callTool(s, pay, done)
		asked := l.question()
		st.addRecorder() // the question stays open meanwhile
		last := l.events()[len(l.events())-1].EventID
		l.conn.Close()
		l, acc := st.listenAccepted(resumeAfter(mayAnswer(allEvents()), last))
		if honoredPlace(t, acc) != last {
			t.Error(acc.NegotiationNotes)
		}
		if q := l.question(); q.ReplyToken != asked.ReplyToken || len(l.events()) != 1 {
			t.Errorf("it is told %s", storyOf(l.events()))
		}
		l.reply(asked, aaep.Accept)
		if r := <-paid; r.err != nil {
			t.Error(r.err)
		}
	})
}

// D-65, D-82: an event that overtook earlier ones says that it is no place to go on after, on links
// that have no ids, to subscribers that named the extension, with its other data.
func TestOvertakingSaysSo(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		knows, _ := st.listenAccepted(resumeAfter(termsWith(1, aaep.BoundaryNone), ""))
		knowsNot, _ := st.listenAccepted(termsWith(1, aaep.BoundaryNone))
		s := st.startSession("Talking.")
		for range 3 {
			s.Progress(aaep.Say("On."), aaep.Progress{Step: 1}, 0)
		}
		help := aaep.Say("Help.")
		s.Handoff(help, aaep.HandoffRequested{})
		overtook := func(l *listener) (marked []string) {
			for _, ev := range l.events() {
				if data := ev.Extensions["delivery"]; data != nil {
					marked = append(marked, string(ev.Type())+string(data))
				}
			}
			return marked
		}
		if got := overtook(knows); !slices.Equal(got, []string{`aaep:agent.handoff.requested{"resumable":false}`}) {
			t.Errorf("marked: %q", got)
		}
		if got := overtook(knowsNot); got != nil {
			t.Errorf("who knows nothing of it gets %q", got)
		}
		time.Sleep(time.Minute)
		if got := overtook(knows); len(got) != 1 {
			t.Errorf("marked in the end: %q", got)
		}
	})
}

// INV-21, INV-23: how states were folded for another subscription is not known. So a subscriber
// with a rate is told anew what it may have been told of them there, under other ids; and those are
// places to go on after, too.
func TestGoOnAfterWhatIsToldAnew(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		terms := termsWith(5, aaep.BoundaryNone)
		first, _ := st.listenAccepted(resumeAfter(terms, ""))
		s := st.startSession("Talking.")
		s.State(aaep.StateDeciding, aaep.Text{})
		time.Sleep(time.Second)
		states := func(l *listener) (ids, to []string) {
			for _, ev := range l.events() {
				if p, ok := ev.Payload.(*aaep.StateChanged); ok {
					ids, to = append(ids, ev.EventID), append(to, string(p.ToState))
				}
			}
			return ids, to
		}
		was, _ := states(first)
		start := first.events()[0]
		if start.Type() != aaep.TypeSessionStarted || len(was) != 2 {
			t.Fatalf("it begins with %v, and %d states", start.Type(), len(was))
		}
		second, acc := st.listenAccepted(resumeAfter(terms, start.EventID))
		time.Sleep(time.Second)
		ids, to := states(second)
		if honoredPlace(t, acc) != start.EventID || !slices.Equal(to, []string{"thinking", "deciding"}) || ids[0] == was[0] || ids[1] == was[1] {
			t.Errorf("after %s: %v %v, which was %v", honoredPlace(t, acc), ids, to, was)
		}
		third, acc := st.listenAccepted(resumeAfter(terms, ids[0]))
		time.Sleep(time.Second)
		if _, to := states(third); honoredPlace(t, acc) != ids[0] || !slices.Equal(to, []string{"deciding"}) || len(third.events()) != 1 {
			t.Errorf("after %s: %v", honoredPlace(t, acc), to)
		}
		s.State(aaep.StateThinking, aaep.Text{})
		time.Sleep(time.Second)
		a, _ := states(first)
		if b, _ := states(third); a[len(a)-1] != b[len(b)-1] {
			t.Error("what is new has two ids")
		}
	})
}

// P8, P7: a subscriber that was away for long and has a low rate gets everything, at its rate, and
// is not closed as too slow; nor does the agent wait for it.
func TestFarBehind(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		const tools = 530 // each told in two events, which never merge
		l, _ := st.listenAccepted(allEvents())
		s := st.startSession("Working.")
		first := l.events()[0].EventID
		for range tools {
			if _, err := s.Tool(context.Background(), look, succeed); err != nil {
				t.Fatal(err)
			}
		}
		l, _ = st.listenAccepted(resumeAfter(mayAnswer(termsWith(2, aaep.BoundaryNone)), first))
		paid := callTool(s, pay, &action{})
		time.Sleep(2 * time.Second)
		l.reply(l.question(), aaep.Reject) // which comes before a thousand other events
		if r := <-paid; !errors.Is(r.err, producer.ErrRejected) {
			t.Error(r.err)
		}
		began := time.Now()
		if _, err := s.Tool(context.Background(), look, succeed); err != nil || time.Since(began) > time.Second {
			t.Errorf("a tool waited for %v, %v", time.Since(began), err)
		}
		s.Complete(aaep.Text{})
		time.Sleep(time.Hour)
		evs := l.events()
		if n := len(payloadsOf[*aaep.AwaitingConfirmation](evs)); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
		if n := len(payloadsOf[*aaep.ToolCompleted](evs)); n != tools+1 || evs[len(evs)-1].Type() != aaep.TypeSessionCompleted {
			t.Errorf("%d of %d tools: %v", n, tools+1, l.lastMessage())
		}
	})
}

// P8: text that waits for the end of a sentence keeps no subscription from reading on to it.
func TestFarBehindInAText(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, _ := st.listenAccepted(allEvents())
		s := st.startSession("Working.")
		first := l.events()[0].EventID
		out := s.Output()
		for range 300 {
			out.WriteString("word ")
			synctest.Wait()
		}
		out.Close()
		s.Complete(aaep.Text{})
		l, _ = st.listenAccepted(resumeAfter(termsWith(30, aaep.BoundaryCompletion), first))
		time.Sleep(time.Minute)
		if evs := l.events(); len(evs) == 0 || evs[len(evs)-1].Type() != aaep.TypeSessionCompleted {
			t.Errorf("%d events came, and not the end", len(evs))
		}
	})
}

// INV-26: new events wait for no subscription that catches up, for those prepare what they send in
// turns of their own.
func TestLiveBesideCatchingUp(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		endTurns := producer.HoldPastBatches(t.Cleanup)
		live, _ := st.listenAccepted(allEvents())
		s := st.startSession("Working.")
		first := live.events()[0].EventID
		for range 300 {
			if _, err := s.Tool(context.Background(), look, succeed); err != nil {
				t.Fatal(err)
			}
		}
		behind, _ := st.listenAccepted(resumeAfter(allEvents(), first))
		for range 20 { // more than may leave without a turn
			s.Tool(context.Background(), look, succeed)
		}
		synctest.Wait()
		if n := len(payloadsOf[*aaep.ToolCompleted](live.events())); n != 320 {
			t.Errorf("the live subscription has %d of 320 tools", n)
		}
		if n := len(payloadsOf[*aaep.ToolCompleted](behind.events())); n != 0 {
			t.Errorf("the one that catches up has %d tools before its turn", n)
		}
		endTurns()
		synctest.Wait()
		if n := len(payloadsOf[*aaep.ToolCompleted](behind.events())); n != 320 {
			t.Errorf("the one that catches up has %d of 320 tools", n)
		}
	})
}

// D-50, INV-24: a subscription that is far behind, and has a rate, is put an open question before
// its turn. With it goes what it belongs to: the start of its session, how the questions before it
// ended, and that the agent waits. Nothing of that comes behind it, or again.
func TestEarlyQuestionHasItsState(t *testing.T) {
	for name, begins := range map[string]string{"before the session": "before", "in the middle of it": "within"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				first, _ := st.listenAccepted(resumeAfter(mayAnswer(allEvents()), ""))
				requireNoError(t, st.startSession("Something else.").Complete(aaep.Text{}))
				s := st.startSession("Paying.")
				work := func(n int) {
					for range n {
						done, err := s.Invoked(look)
						requireNoError(t, err)
						done(nil)
						synctest.Wait()
					}
				}
				place := first.events()[0].EventID
				if work(150); begins == "within" {
					evs := first.events()
					place = evs[len(evs)-1].EventID
				}
				rejected := callTool(s, pay, &action{})
				synctest.Wait()
				first.reply(first.question(), aaep.Reject)
				if r := <-rejected; !errors.Is(r.err, producer.ErrRejected) {
					t.Fatal(r.err)
				}
				work(300)
				d := &action{}
				paid := callTool(s, pay, d)
				q := first.question()
				far, _ := st.listenAccepted(resumeAfter(mayAnswer(termsWith(5, aaep.BoundaryNone)), place))
				time.Sleep(time.Second)
				evs := far.events()
				at := slices.IndexFunc(evs, func(ev *aaep.Event) bool {
					p, is := ev.Payload.(*aaep.AwaitingConfirmation)
					return is && p.ReplyToken == q.ReplyToken
				})
				if at < 0 {
					t.Fatal("it is not asked before its turn")
				}
				var before []*aaep.Event
				for _, ev := range evs[:at+1] {
					if ev.SessionID == s.ID() && !strings.HasPrefix(string(ev.Type()), "aaep:agent.tool.") {
						before = append(before, ev)
					}
				}
				story := storyOf(before)
				if begins == "before" && !strings.HasPrefix(story, "session.started ") {
					t.Errorf("before the question: %s", story)
				}
				ended := strings.Index(story, ">awaiting_input awaiting.confirmation awaiting_input>thinking ")
				if ended < 0 || !strings.HasSuffix(story[ended+10:], ">awaiting_input awaiting.confirmation") || len(before) > 20 {
					t.Errorf("before the question: %s", story)
				}
				far.reply(q, aaep.Accept)
				if r := <-paid; r.err != nil || d.times != 1 {
					t.Errorf("Tool = %v", r.err)
				}
				s.Complete(aaep.Text{})
				time.Sleep(10 * time.Minute)
				seen := map[string]bool{}
				asked := 0
				for _, ev := range far.events() {
					if seen[ev.EventID] {
						t.Errorf("%s came twice", ev.EventID)
					}
					if seen[ev.EventID] = true; ev.Type() == aaep.TypeAwaitingConfirmation {
						asked++
					}
				}
				if n := len(payloadsOf[*aaep.ToolCompleted](far.events())); asked != 2 || begins == "before" && n != 451 {
					t.Errorf("it is asked %d times and hears of %d calls", asked, n)
				}
			})
		})
	}
}
