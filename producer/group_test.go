package producer_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/producer"
)

// awaitGroups waits until all subscriptions are in groups of these sizes.
func (st *stage) awaitGroups(want ...int) {
	st.t.Helper()
	var sizes []int
	for range 100 { // a link that seems full by chance makes its member leave until the next event
		synctest.Wait()
		if sizes = st.p.Grouped(); slices.Equal(sizes, want) {
			return
		}
		time.Sleep(time.Second)
	}
	st.t.Fatalf("groups of %v, want %v", sizes, want)
}

// addCrowd adds n subscribers on terms c.
func (st *stage) addCrowd(n int, c aaep.Capabilities) (all []*listener) {
	for range n {
		all = append(all, st.listen(c))
	}
	return all
}

// progressSummaries returns the summaries of the progress events that have come, each with its
// time.
func (l *listener) progressSummaries() (said []string) {
	synctest.Wait()
	for _, a := range l.arrivals() {
		if ev, ok := a.msg.(*aaep.Event); ok && ev.Type() == aaep.TypeProgressUpdated {
			said = append(said, fmt.Sprint(ev.Summary.Normal, " at ", a.at.UnixNano()))
		}
	}
	return said
}

// Subscriptions with the same terms are served together, and those with other terms by themselves.
// A subscription that ends is no member, and nothing is left of a group without members.
func TestGroups(t *testing.T) {
	bubbleWith(t, producer.Config{Languages: []string{"de"}, MaxSubscriptions: 1000}, func(t *testing.T, st *stage) {
		s := st.startSession("Measuring.")
		german := allEvents()
		german.Languages = []string{"de"}
		before := runtime.NumGoroutine()
		english, others := st.addCrowd(200, allEvents()), st.addCrowd(3, german)
		st.awaitGroups(128, 72, 3)
		if n := runtime.NumGoroutine() - before; n >= 203*4 { // a reader, ServeConn and a receiver each
			t.Errorf("%d goroutines for 203 listeners", n)
		}
		s.Progress(aaep.Say("One.").In("de", aaep.Say("Eins.")), aaep.Progress{Step: 1}, 0)
		for _, l := range append(english, others...) {
			want := fmt.Sprint("One. at ", time.Now().UnixNano())
			if slices.Contains(others, l) {
				want = strings.Replace(want, "One.", "Eins.", 1)
			}
			if said := l.progressSummaries(); !slices.Equal(said, []string{want}) {
				t.Fatalf("it hears %q, want %q", said, want)
			}
		}
		for _, l := range english[:150] {
			l.conn.Close()
			<-l.served
		}
		if synctest.Wait(); len(st.p.Subscriptions()) != 53 {
			t.Errorf("%d are left, want 53", len(st.p.Subscriptions()))
		}
	})
}

// A member whose link is full leaves its group, loses nothing, and delays no other member. P7
func TestGroupFullLink(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		s := st.startSession("Measuring.")
		all := st.addCrowd(10, allEvents())
		st.awaitGroups(10)
		slow := all[4]
		slow.stopReading()
		want := []string{}
		for n := range 60 {
			text := fmt.Sprint("Step ", n, ".")
			if err := s.Progress(aaep.Say(text), aaep.Progress{Step: int64(n + 1)}, 0); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprint(text, " at ", time.Now().UnixNano()))
			synctest.Wait()
			time.Sleep(100 * time.Millisecond)
		}
		for _, l := range all {
			if said := l.progressSummaries(); l != slow && !slices.Equal(said, want) {
				t.Fatalf("another hears %q, want %q", said, want)
			}
		}
		slow.startReading()
		words := func(said []string) (words []string) {
			for _, s := range said {
				words = append(words, s[:strings.Index(s, " at ")])
			}
			return words
		}
		if said := words(slow.progressSummaries()); !slices.Equal(said, words(want)) {
			t.Errorf("it hears %q, want %q", said, words(want))
		}
		for _, status := range st.p.Subscriptions() {
			if status.Delivered != 61 || status.Held != 0 { // and the state at the beginning
				t.Errorf("%+v", status)
			}
		}
		st.awaitGroups(10)
	})
}

// What one member renegotiates holds for it alone, and the other members receive events meanwhile
// (§5.7).
func TestGroupRenegotiation(t *testing.T) {
	bubbleWith(t, producer.Config{Languages: []string{"de"}}, func(t *testing.T, st *stage) {
		s := st.startSession("Measuring.")
		all := st.addCrowd(5, allEvents())
		st.awaitGroups(5)
		say := func(n int64) {
			s.Progress(aaep.Say(fmt.Sprint("Step ", n, ".")).In("de", aaep.Say(fmt.Sprint("Schritt ", n, "."))), aaep.Progress{Step: n}, 0)
		}
		say(1)
		german := allEvents()
		german.Languages = []string{"de"}
		all[2].send(&aaep.SubscriptionRenegotiate{SubscriptionID: all[2].id, Capabilities: german})
		if acc, ok := all[2].lastMessage().(*aaep.SubscriptionAccepted); !ok || !slices.Equal(acc.HonoredCapabilities.Languages, []string{"de"}) {
			t.Fatalf("the answer is %+v", all[2].lastMessage())
		}
		say(2)
		st.awaitGroups(4, 1)
		say(3)
		for i, l := range all {
			want := "Step 1. Step 2. Step 3."
			if i == 2 {
				want = "Step 1. Schritt 2. Schritt 3."
			}
			var said []string
			for _, p := range l.events() {
				if p.Type() == aaep.TypeProgressUpdated {
					said = append(said, p.Summary.Normal)
				}
			}
			if got := strings.Join(said, " "); got != want {
				t.Errorf("listener %d hears %q, want %q", i, got, want)
			}
		}
		all[2].send(&aaep.SubscriptionRenegotiate{SubscriptionID: all[2].id, Capabilities: allEvents()})
		st.awaitGroups(5)
	})
}

// An action waits for members of a group that were asked as for any subscription, also for one that
// has left the group because it is slow (D-49).
func TestGroupIsWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		s := st.startSession("Paying.")
		judge := st.addRecorder()
		all := st.addCrowd(5, mayAnswer(allEvents()))
		st.awaitGroups(6)
		paid := callTool(s, pay, &action{})
		q := judge.question()
		all[3].stopReading()
		for n := range 16 { // as many as a Pipe holds
			s.Progress(aaep.Say(fmt.Sprint(n)), aaep.Progress{Step: int64(n + 1)}, 0)
			synctest.Wait()
		}
		answered := time.Now()
		time.AfterFunc(300*time.Millisecond, all[3].startReading)
		judge.reply(q, aaep.Accept)
		if r := <-paid; r.err != nil || r.at.Sub(answered) != 300*time.Millisecond {
			t.Errorf("it was done after %v: %v", r.at.Sub(answered), r.err)
		}
	})
}

// A subscription that ends after some time without events, or at an age, does so in a group too.
func TestGroupedSubscriptionExpires(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		s := st.startSession("Measuring.")
		all := st.addCrowd(3, declare(allEvents(), extensions.DeliveryVocabulary, extensions.Delivery{IdleTimeoutSeconds: 30}))
		st.awaitGroups(3)
		for n := int64(1); n < 5; n++ {
			time.Sleep(20 * time.Second)
			s.Progress(aaep.Say("On."), aaep.Progress{Step: n}, 0)
		}
		said := time.Now()
		synctest.Wait()
		if n := len(st.p.Subscriptions()); n != 3 {
			t.Fatalf("%d are there, want 3", n)
		}
		for _, l := range all {
			<-l.served
		}
		if d := time.Since(said); d < 30*time.Second || d > 31*time.Second {
			t.Errorf("they ended after %v", d)
		}
	})
}

// A subscription that would join a group that is busy receives its events meanwhile. P3, INV-26
func TestSubscriptionJoinsBusyGroup(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		s := st.startSession("Paying.")
		st.addCrowd(2, allEvents())
		st.awaitGroups(2)
		l := st.listen(allEvents())
		synctest.Wait()
		release := st.p.HoldGroup()
		time.Sleep(20 * time.Millisecond) // it has heard something, and joins no sooner
		heard := func() bool {
			for range 1_000_000 { // synctest.Wait does not wait for a goroutine that waits for a lock
				if len(payloadsOf[*aaep.HandoffRequested](eventsOf(l.arrivals()))) > 0 {
					return true
				}
				runtime.Gosched()
			}
			return false
		}
		for range 1000 {
			runtime.Gosched() // it tries to join
		}
		s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{})
		if !heard() {
			t.Error("it waits for the group, and does not hear what is critical")
		}
		release()
		st.awaitGroups(3)
	})
}

// A subscription that lost its place while a session ended is in a group again afterwards: nothing
// is left of that session.
func TestGroupAfterCatchUp(t *testing.T) {
	bubbleWith(t, producer.Config{KeepEvents: 16}, func(t *testing.T, st *stage) {
		other := st.startSession("Something else.")
		s := st.startSession("Paying.")
		_, open := st.listenResumable(allEvents())
		stream := open("")
		s.Progress(aaep.Say("One."), aaep.Progress{Step: 1}, 0)
		st.awaitGroups(1)
		stream.breakStream()
		synctest.Wait()
		s.Complete(aaep.Say("Done."))
		for n := range 40 {
			other.Progress(aaep.Say("On."), aaep.Progress{Step: int64(n + 1)}, 0)
		}
		open(stream.resume)
		_, join := st.listenResumable(allEvents())
		join("")
		st.awaitGroups(2)
	})
}

// An output that is not cut keeps no subscription from joining in the middle of it.
func TestJoinGroupInMiddleOfOutput(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		s := st.startSession("Talking.")
		st.addCrowd(2, allEvents())
		st.awaitGroups(2)
		out := s.Output()
		out.WriteString("Half a ")
		st.addCrowd(1, allEvents())
		st.awaitGroups(3)
		out.WriteString("sentence.")
		st.awaitGroups(3)
		out.Close()
	})
}

// A subscriber that comes back without naming an event gets everything since it came, unless the
// group has sent it an event that it could name.
func TestGroupNamesEventsToResumeAfter(t *testing.T) {
	for _, told := range []bool{true, false} {
		bubble(t, func(t *testing.T, st *stage) {
			_, open := st.listenResumable(allEvents())
			open("")
			st.awaitGroups(1)
			s := st.startSession("Measuring.") // the first receives this before the second joins
			synctest.Wait()
			l, again := st.listenResumable(allEvents())
			stream := again("")
			st.awaitGroups(2)
			had := len(stream.events())
			if told {
				s.Progress(aaep.Say("One."), aaep.Progress{Step: 1}, 0)
				synctest.Wait()
			}
			stream.breakStream()
			synctest.Wait()
			s.Progress(aaep.Say("Two."), aaep.Progress{Step: 2}, 0)
			l.events()
			progress := payloadsOf[*aaep.ProgressUpdated](again("").events())
			if want := map[bool]int{true: 0, false: 1}[told]; len(progress) != want {
				t.Errorf("told of a place %t: it hears of progress %d times, want %d; %d events before", told, len(progress), want, had)
			}
		})
	}
}
