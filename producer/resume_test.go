package producer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// P8, INV-21: a subscriber that comes back misses nothing and gets nothing twice, wherever the cut
// was.
func TestResume(t *testing.T) {
	for cut := range 12 {
		bubble(t, func(t *testing.T, st *stage) {
			whole := st.addWatcher()
			_, open := st.listenResumable(termsWith(2, aaep.BoundarySentence))
			s := st.startSession("Talking.")
			first := open("")
			out := s.Output()
			for i := range 12 {
				if i == cut {
					first.breakStream()
				}
				out.WriteString("One sentence. And another")
				s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{}) // overtakes, and is not where to go on (D-65)
				time.Sleep(300 * time.Millisecond)
			}
			second := open(first.resume)
			out.Close()
			s.Complete(aaep.Text{})
			time.Sleep(time.Minute)
			var all []*aaep.Event
			for _, ev := range second.events() {
				if ev.EventID == first.resume {
					t.Errorf("cut at %d: the event to go on after came again", cut)
				}
			}
			seen := map[string]bool{}
			for _, ev := range append(first.events(), second.events()...) {
				if !seen[ev.EventID] {
					seen[ev.EventID], all = true, append(all, ev)
				}
			}
			var want string
			for _, p := range payloadsOf[*aaep.OutputStreaming](whole.events()) {
				want += p.Chunk
			}
			if err := onlyText(all, want); err != nil {
				t.Errorf("cut at %d: %v", cut, err)
			}
			if n := len(payloadsOf[*aaep.HandoffRequested](all)); n != 12 {
				t.Errorf("cut at %d: %d handoffs", cut, n)
			}
		})
	}
}

// INV-22, TR-025: a subscriber that cannot go on from where it was is told what the agent is doing.
func TestResumeFromNowhere(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		_, open := st.listenResumable(allEvents())
		s := st.startSession("Talking.")
		open("").breakStream()
		s.State(aaep.StateDeciding, aaep.Text{})
		if got := storyOf(open("evt_1").events()); got != "thinking>deciding" {
			t.Errorf("it is told %s", got)
		}
	})
}

// A subscriber that comes late and loses the first stream is told again what the agent is doing and
// what it asks (D-34).
func TestLateJoinerLosesTheStream(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		st.addRecorder()
		s := st.startSession("Paying.")
		go s.Tool(context.Background(), pay, succeed)
		synctest.Wait()
		s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{}) // before its time
		_, open := st.listenResumable(mayAnswer(allEvents()))
		_, openOther := st.listenResumable(allEvents()) // without the right to answer it gets nothing to go on after
		openOther("").breakStream()
		if got := storyOf(openOther("").events()); got != "thinking>awaiting_input" {
			t.Errorf("who may not answer is told %s", got)
		}
		first := open("")
		want := storyOf(first.events())
		first.breakStream()
		if first.resume == "" {
			t.Error("the question is no place to go on after")
		}
		for _, last := range []string{"", first.resume} {
			again := open(last)
			if got := storyOf(again.events()); last == "" && got != want || last != "" && got != "" {
				t.Errorf("after %q it is told %s; first it was %s", last, got, want)
			}
			again.breakStream()
		}
	})
}

// A question that was settled before the first stream came is not asked.
func TestQuestionBeforeTheStream(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Paying.")
		paid := callTool(s, pay, &action{})
		q := l.question()
		_, open := st.listenResumable(mayAnswer(allEvents()))
		l.reply(q, aaep.Reject)
		<-paid
		if n := len(payloadsOf[*aaep.AwaitingConfirmation](open("").events())); n != 0 {
			t.Errorf("%d questions", n)
		}
	})
}

// D-38: a stream may be away for its grace time; then its subscriber is gone.
func TestGrace(t *testing.T) {
	for _, c := range []struct {
		away time.Duration
		gone bool
	}{{9 * time.Second, false}, {11 * time.Second, true}} {
		bubble(t, func(t *testing.T, st *stage) {
			l, open := st.listenResumable(mayAnswer(allEvents()))
			s := st.startSession("Paying.")
			paid := callTool(s, pay, &action{})
			first := open("")
			qs := payloadsOf[*aaep.AwaitingConfirmation](first.events())
			first.breakStream()
			time.Sleep(c.away)
			if !c.gone {
				open(first.resume)
				l.reply(qs[0], aaep.Reject)
			}
			if r := <-paid; errors.Is(r.err, producer.ErrUnreachable) != c.gone {
				t.Errorf("away for %v: Tool = %v", c.away, r.err)
			}
		})
	}
}

// P7: a subscriber whose streams break before they bring it any further is not waited for, however
// often it opens another.
func TestStreamsThatBreakAtOnceAreNotAwaited(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		payer := st.addRecorder()
		l, open := st.listenResumable(allEvents())
		s, d := st.startSession("Paying."), &action{}
		open("").breakStream()
		paid := callTool(s, pay, d)
		payer.reply(payer.question(), aaep.Accept)
		began := time.Now()
		go func() {
			useless := &eventStream{link: l.wire, done: make(chan struct{})}
			useless.breakStream()
			for {
				select {
				case <-time.After(9 * time.Second):
				case <-l.served:
					return
				}
				select {
				case l.wire.streams <- useless:
					l.wire.notifyOwner()
				case <-l.served:
					return
				}
			}
		}()
		<-paid
		if waited := time.Since(began); d.times != 1 || waited > 20*time.Second {
			t.Errorf("the tool ran %d times after %v", d.times, waited)
		}
	})
}

// A subscription that opens one stream after the other is on record once for each question.
func TestAskedOnce(t *testing.T) {
	kept := &sink{}
	bubbleWith(t, producer.Config{Audit: kept}, func(t *testing.T, st *stage) {
		l, open := st.listenResumable(mayAnswer(allEvents()))
		paid := callTool(st.startSession("Paying."), pay, &action{})
		var again []*aaep.AwaitingConfirmation
		for range 20 {
			stream := open("evt_unknown")
			again = payloadsOf[*aaep.AwaitingConfirmation](stream.events())
			stream.breakStream()
		}
		l.reply(again[0], aaep.Reject)
		<-paid
		if got := kindsOf(kept.records()); got != "asked replied settled" {
			t.Errorf("on record: %s", got)
		}
	})
}

// §5.7, P8: a network that is gone for a moment, just when the terms change, costs neither the
// subscription nor the answer. The answer comes on the next stream, before what the new terms hold
// for, and a question that was put may still be answered.
func TestRenegotiationInACut(t *testing.T) {
	for _, broken := range []bool{true, false} { // before the change is made, or found to be when it is answered
		bubble(t, func(t *testing.T, st *stage) {
			l, open := st.listenResumable(mayAnswer(allEvents()))
			s, d := st.startSession("Paying."), &action{}
			stream := open("")
			paid := callTool(s, pay, d)
			q := payloadsOf[*aaep.AwaitingConfirmation](stream.events())[0]
			l.wire.hangUp()
			if broken {
				stream.breakStream()
			} else {
				stream.mu.Lock()
				stream.broken = true
				stream.mu.Unlock()
			}
			l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: l.id, Capabilities: aaep.Capabilities{MaxEventsPerSecond: 5}})
			synctest.Wait()
			s.Progress(aaep.Text{}, aaep.Progress{Step: 1}, 0)
			time.Sleep(3 * time.Second)
			select {
			case r := <-paid:
				t.Fatalf("Tool = %v, though whoever was asked may yet come back", r.err)
			default:
			}
			again := open(stream.resume)
			got := again.arrivals()
			if len(got) < 2 {
				t.Fatalf("%d messages came after the cut", len(got))
			}
			if acc, ok := got[0].msg.(*aaep.SubscriptionAccepted); !ok || acc.HonoredCapabilities.MaxEventsPerSecond != 5 {
				t.Errorf("after the cut came %s", got[0].raw)
			}
			l.reply(q, aaep.Accept)
			if r := <-paid; r.err != nil || d.times != 1 {
				t.Errorf("Tool = %v after %d runs", r.err, d.times)
			}
		})
	}
}
