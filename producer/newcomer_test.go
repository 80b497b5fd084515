package producer_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/transports"
)

// Who comes while several questions are open hears them in the order in which they were put. D-34
func TestNewSubscriptionHearsQuestionsInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		st.addRecorder()
		want := ""
		for n := range 8 {
			each := pay
			each.Action = aaep.Say(fmt.Sprint("Pay $", n, "."))
			callTool(st.startSession("Paying."), each, &action{})
			synctest.Wait()
			want += each.Action.Normal + " "
		}
		got := ""
		for _, q := range payloadsOf[*aaep.AwaitingConfirmation](st.listen(mayAnswer(allEvents())).events()) {
			got += q.Action + " "
		}
		if got != want {
			t.Errorf("it hears %q, want %q", got, want)
		}
	})
}

// INV-22: who comes while the agent goes from one state to the next hears first what it does.
func TestStateComesFirst(t *testing.T) {
	st := newStage(t, producer.Config{MaxRequestsPerSecond: -1})
	defer st.p.Shutdown(t.Context())
	s := st.startSession("Working.")
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() {
		for ctx.Err() == nil {
			s.State(aaep.StateDeciding, aaep.Text{})
			if done, err := s.Invoked(look); err == nil {
				done(nil)
			}
		}
	})
	defer working.Wait()
	defer stop()
	comers := 2000
	if testing.Short() {
		comers = 500
	}
	for range comers {
		conn, other := transports.Pipe()
		go st.p.ServeConn(other)
		l := &listener{t: t, conn: conn}
		l.send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw", Capabilities: allEvents()})
		for {
			data, err := conn.Receive(t.Context())
			requireNoError(t, err)
			m, err := aaep.Decode(data)
			requireNoError(t, err)
			ev, is := m.(*aaep.Event)
			if is && ev.Type() != aaep.TypeStateChanged {
				t.Fatalf("what comes first is %s", ev.Type())
			}
			if is {
				break
			}
		}
		conn.Close()
	}
}

// A session that starts as soon as WaitSubscriber returns is received from its beginning, though
// another session changes its state all the time.
func TestSessionThatStartsWhileAListenerComes(t *testing.T) {
	st := newStage(t, producer.Config{MaxRequestsPerSecond: -1})
	defer st.p.Shutdown(t.Context())
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	other := st.startSession("Working.")
	working.Go(func() {
		for ctx.Err() == nil {
			other.State(aaep.StateDeciding, aaep.Text{})
			other.State(aaep.StateThinking, aaep.Text{})
			runtime.Gosched()
		}
	})
	defer working.Wait()
	defer stop()
	for range 40 {
		conn, far := transports.Pipe()
		go st.p.ServeConn(far)
		l := &listener{t: t, conn: conn}
		l.send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw", Capabilities: allEvents()})
		requireNoError(t, st.p.WaitSubscriber(t.Context()))
		s, err := st.p.StartSession(t.Context(), aaep.Say("Looking."))
		requireNoError(t, err)
		first := aaep.Type("")
		for first == "" {
			data, err := conn.Receive(t.Context())
			requireNoError(t, err)
			m, err := aaep.Decode(data)
			requireNoError(t, err)
			if ev, is := m.(*aaep.Event); is && ev.SessionID == s.ID() {
				first = ev.Type()
			}
		}
		if first != aaep.TypeSessionStarted {
			t.Fatalf("what comes first of the session is %s", first)
		}
		requireNoError(t, s.Complete(aaep.Say("Done.")))
		conn.Close()
		for len(st.p.Subscriptions()) > 0 {
			runtime.Gosched()
		}
	}
}

// INV-22, INV-26: who comes while the agent changes its state faster than its log keeps it is let
// in after a few tries, and hears what the agent does.
func TestRegistrationEnds(t *testing.T) {
	onDisk(t, producer.Config{}, func(s log.Store) log.Store { return slowDisk{s} },
		func(t *testing.T, st *stage) {
			s := st.startSession("Working.")
			ctx, stop := context.WithCancel(t.Context())
			var working sync.WaitGroup
			defer time.Sleep(10 * time.Second) // until the disk has all of it
			defer working.Wait()
			defer stop()
			working.Go(func() {
				for range 600 { // two minutes
					if ctx.Err() != nil {
						return
					}
					s.State(aaep.StateDeciding, aaep.Text{})
					time.Sleep(100 * time.Millisecond)
					s.State(aaep.StateThinking, aaep.Text{})
					time.Sleep(100 * time.Millisecond)
				}
			})
			time.Sleep(3 * time.Second)
			began := time.Now()
			l := st.listen(allEvents())
			if took := time.Since(began); took < 5*time.Second || took > 25*time.Second {
				t.Errorf("it is let in after %v, want about ten appends of a second or two", took)
			}
			time.Sleep(3 * time.Second)
			if evs := l.events(); len(evs) == 0 || evs[0].Type() != aaep.TypeStateChanged {
				t.Errorf("it hears %s", storyOf(evs))
			}
		})
}
