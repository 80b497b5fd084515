package serve_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/faultproxy"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// TestCutAtEveryByte cuts one short conversation after each byte of it, in each direction, on every
// wire, and lets the subscriber come back; in its short form after every eighth, from a random one
// on; "make faults" is the long one. Both ends learn of the cut at once; a resumed stream is whole,
// and one begun anew tells how things are (INV-21, INV-22, TR-009, TR-011, TR-012).
func TestCutAtEveryByte(t *testing.T) {
	for _, wire := range wireNames {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			for _, down := range []bool{true, false} {
				cutEverywhere(t, wire, down)
			}
		})
	}
}

// cutEverywhere stops at the first byte that the conversation has no more.
func cutEverywhere(t *testing.T, wire string, down bool) {
	const workers = 4
	var mu sync.Mutex
	stride := 8
	if os.Getenv("AAEP_LONG") != "" {
		stride = 1
	} else if testing.Short() {
		stride = 64
	}
	next, over := rand.IntN(stride), false
	take := func() (k int, more bool) {
		mu.Lock()
		defer mu.Unlock()
		k = next
		next += stride
		return k, !over
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			const each = 100 // conversations with one producer, whom lost requests cost something
			for more := true; more; {
				w := listenEverywhere(t, producer.Config{Grace: time.Minute, MaxSubscriptions: 2 * each,
					MaxRequestsPerSecond: -1})
				for range each {
					var k int
					if k, more = take(); !more || t.Failed() {
						more = false
						break
					}
					cut, err := cutAt(w, wire, down, k)
					if err != nil {
						t.Errorf("cut after byte %d (down: %t): %v", k, down, err)
					}
					if !cut {
						mu.Lock()
						over = true
						mu.Unlock()
					}
				}
				w.st.shutdown(10 * time.Millisecond)
			}
		})
	}
	all.Wait()
	if next < 200 {
		t.Errorf("the conversation had only %d bytes", next)
	}
	t.Logf("%d bytes, down: %t", next-stride, down)
}

// cutAt holds the conversation once, and reports whether it was long enough to be cut after k
// bytes.
func cutAt(w *wires, wire string, down bool, k int) (cut bool, err error) {
	end := []faultproxy.End{faultproxy.Close, faultproxy.Reset}[k%2]
	d, px := w.newDialer(wire, func(n int) (up, back faultproxy.Line) {
		switch {
		case n > 0:
		case down:
			back = faultproxy.Line{End: end, After: k}
		default:
			up = faultproxy.Line{End: end, After: k}
		}
		return up, back
	})
	defer px.Close()
	defer w.closeIdle()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	background, err := w.st.p.StartSession(ctx, aaep.Say("In the background."))
	if err != nil {
		return false, err
	}
	defer background.Close()
	f := &follower{dialer: d, ctx: ctx}
	var conn transports.Conn
	anew := 0
	again := func() error { // until it is answered
		for {
			if conn != nil {
				conn.Close()
			}
			if conn, err = f.subscribe(); err == nil {
				anew++
				return nil
			}
			if ctx.Err() != nil {
				return fmt.Errorf("not subscribed: %w", err)
			}
		}
	}
	if err := again(); err != nil {
		return false, err
	}
	defer func() { conn.Close() }()
	var s *producer.Session
	var heard []*aaep.Event
	meaning := map[string]string{} // of an id
	resumed, caughtUp := 0, 0
	for over := false; !over; {
		msg, err := conn.Receive(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return true, errors.New("the end was not heard")
			}
			if err = reopenStream(ctx, conn, err); err == nil {
				resumed++
			} else if err = again(); err != nil {
				return true, err
			}
			continue
		}
		m, err := aaep.Decode(msg)
		if err != nil {
			return true, err
		}
		ev, isEvent := m.(*aaep.Event)
		if !isEvent {
			return true, fmt.Errorf("heard %s", msg)
		}
		if ev.SessionID == background.ID() {
			if _, over = ev.Payload.(*aaep.ProgressUpdated); over {
				continue // all that there was has been told
			}
			if caughtUp++; s != nil {
				check(w.t, background.Progress(aaep.Text{}, aaep.Progress{Step: 1}, 0))
			} else if s, err = w.st.p.StartSession(ctx,
				aaep.Say("Working.")); err != nil { // it listens: now something happens
				return true, err
			} else {
				s.Complete(aaep.Say("Done."))
			}
			continue
		}
		if before, known := meaning[ev.EventID]; known && before != string(msg) {
			return true, fmt.Errorf("%s came before as %s (INV-23)", msg, before)
		} else if !known {
			meaning[ev.EventID], heard = string(msg), append(heard, ev)
		}
		over = isOver(ev)
	}
	return px.Ends()[end] > 0, errors.Join(checkCut(heard, wire, anew, caughtUp, resumed), w.awaitForgotten(conn))
}

func checkCut(heard []*aaep.Event, wire string, anew, caughtUp, resumed int) error {
	whole := summarize(heard) == "session.started idle>thinking session.completed"
	// Who comes back to an event stream and can name no event is sent the end of a session that it
	// missed, and no more.
	ended := wire == "sse" && anew == 1 && resumed > 0 && summarize(heard) == "session.completed"
	switch {
	case whole, ended:
		return nil
	case wire == "sse" && (anew > 1 || resumed == 0 || len(heard) > 0), wire != "sse" && anew == 1:
		return fmt.Errorf("heard %s; subscribed %d times, resumed %d times", summarize(heard), anew, resumed)
	case caughtUp < 2:
		return fmt.Errorf("nothing told of the gap; heard %s", summarize(heard))
	}
	return nil
}

// reopenStream opens an interrupted event stream again, and returns the error of a link that cannot
// be.
func reopenStream(ctx context.Context, conn transports.Conn, err error) error {
	r, ok := conn.(transports.Reopener)
	for ok && errors.Is(err, transports.ErrInterrupted) && ctx.Err() == nil {
		if err = r.Reopen(ctx); err == nil {
			return nil
		}
	}
	return err
}

// awaitForgotten waits until the producer has no connected subscription: it has learned of the cut,
// and of the end.
func (w *wires) awaitForgotten(conn transports.Conn) error {
	conn.Close()
	for late := time.Now().Add(patience); ; time.Sleep(100 * time.Microsecond) {
		n := 0
		for _, s := range w.st.p.Subscriptions() {
			if s.Connected {
				n++
			}
		}
		if n == 0 {
			return nil
		}
		if time.Now().After(late) {
			return fmt.Errorf("%d are still connected", n)
		}
	}
}
