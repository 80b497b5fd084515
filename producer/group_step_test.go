package producer_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// streamWords writes text without a pause, a word each ten milliseconds, until end is called, which
// returns what was written.
func streamWords(out io.WriteCloser) (end func() (text string)) {
	over, all := make(chan struct{}), make(chan string, 1)
	go func() {
		var text strings.Builder
		for n := 1; ; n++ {
			select {
			case <-over:
				all <- text.String()
				return
			case <-time.After(10 * time.Millisecond):
			}
			word := fmt.Sprint("word", n, " ")
			if n%(13+n%7) == 0 {
				word = fmt.Sprint("end", n, ". ")
			}
			text.WriteString(word)
			if _, err := io.WriteString(out, word); err != nil {
				return // the session is over
			}
		}
	}()
	return func() string {
		close(over)
		defer out.Close()
		return <-all
	}
}

// checkHeard returns the text that has come, which must have no hole and keep the rate.
func (l *listener) checkHeard(rate int) string {
	l.t.Helper()
	synctest.Wait()
	var text strings.Builder
	var times []time.Time
	next := int64(-1)
	for _, a := range l.arrivals() {
		ev, ok := a.msg.(*aaep.Event)
		if !ok {
			continue
		}
		if !ev.Critical() {
			if times = append(times, a.at); len(times) > rate && a.at.Sub(times[len(times)-1-rate]) < time.Second {
				l.t.Errorf("%d events within %v", rate+1, a.at.Sub(times[len(times)-1-rate]))
			}
		}
		if out, ok := ev.Payload.(*aaep.OutputStreaming); ok {
			if next >= 0 && out.Position != next {
				l.t.Fatalf("after %d characters come those from %d on", next, out.Position)
			}
			text.WriteString(out.Chunk)
			next = out.Position + int64(len(out.Chunk))
		}
	}
	return text.String()
}

// Many subscriptions that come while text goes on are served in groups before it ends. Each
// receives it without a hole and within its rate, and critical events at once. P3, P4, P6, P7
func TestSubscriptionsJoinGroupsWhileTextGoesOn(t *testing.T) {
	bubbleWith(t, producer.Config{MaxSubscriptions: 1000}, func(t *testing.T, st *stage) {
		s := st.startSession("Reading.")
		end := streamWords(s.Output())
		time.Sleep(time.Second)
		var all []*listener
		for range 100 {
			all = append(all, st.listen(termsWith(3, aaep.BoundarySentence)))
			time.Sleep(7 * time.Millisecond)
		}
		most := 0
		for range 50 { // a link that seems full for chance has its listener go on alone
			sum := 0
			for _, n := range st.p.Grouped() {
				sum += n
			}
			most = max(most, sum)
			time.Sleep(100 * time.Millisecond)
		}
		for range 50 {
			asked := time.Now()
			if err := s.Handoff(aaep.Say("Come."), aaep.HandoffRequested{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			for _, l := range all {
				got := l.arrivals()
				if last := got[len(got)-1]; !last.at.Equal(asked) {
					t.Fatalf("what is critical comes %v late", time.Since(asked))
				}
			}
			time.Sleep(97 * time.Millisecond)
		}
		if most < 30 { // half of them, less those whose link seemed full
			t.Errorf("%d of 100 were served together, at most", most)
		}
		text := end()
		time.Sleep(3 * time.Second)
		for _, l := range all {
			if heard := l.checkHeard(3); len(heard) < len(text)/2 || !strings.HasSuffix(text, heard) {
				t.Errorf("it hears %d of %d characters, to the end: %t", len(heard), len(text), strings.HasSuffix(text, heard))
			}
		}
	})
}

// Where there are few subscriptions, none of them holds text back to join a group.
func TestFewSubscriptionsHoldNoTextBack(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		s := st.startSession("Reading.")
		end := streamWords(s.Output())
		time.Sleep(time.Second)
		var all []*listener
		for range 20 {
			all = append(all, st.listen(termsWith(100, aaep.BoundarySentence)))
		}
		time.Sleep(10 * time.Second)
		end()
		for _, l := range all {
			l.checkHeard(100)
			for _, a := range l.arrivals() {
				if ev, ok := a.msg.(*aaep.Event); ok && ev.Type() == aaep.TypeOutputStreaming && a.at.Sub(ev.Timestamp) > 20*time.Millisecond {
					t.Fatalf("a sentence comes %v late", a.at.Sub(ev.Timestamp))
				}
			}
		}
	})
}

// A subscription that gets another stream while it waits to join in step sends nothing more over
// the old one, though that would still take it. P8
func TestAnotherStreamWhileInStep(t *testing.T) {
	bubbleWith(t, producer.Config{MaxSubscriptions: 1000}, func(t *testing.T, st *stage) {
		s := st.startSession("Reading.")
		end := streamWords(s.Output())
		time.Sleep(time.Second)
		type moved struct {
			l        *listener
			old, new *eventStream
			had      int // events over the old one
		}
		var all []*moved
		for range 40 {
			l, open := st.listenResumable(termsWith(3, aaep.BoundarySentence))
			all = append(all, &moved{l: l, old: open("")})
			time.Sleep(7 * time.Millisecond)
		}
		changed := 0
		for range 1000 {
			synctest.Wait()
			for _, m := range all {
				if m.new != nil || !st.p.Waits(m.l.id) {
					continue
				}
				had := m.old.events()
				m.had, m.new = len(had), &eventStream{link: m.l.wire, last: had[len(had)-1].EventID, done: make(chan struct{})}
				m.l.wire.open(m.new)
				synctest.Wait()
				changed++
			}
			time.Sleep(10 * time.Millisecond)
		}
		end()
		if changed < 10 {
			t.Errorf("%d waited to be in step, too few to show anything", changed)
		}
		for _, m := range all {
			if m.new == nil {
				continue
			}
			if n := len(m.old.events()); n > m.had {
				t.Errorf("%d events came over a stream that another has taken the place of", n-m.had)
			}
			if len(m.new.events()) == 0 {
				t.Error("nothing came over the new stream")
			}
		}
	})
}
