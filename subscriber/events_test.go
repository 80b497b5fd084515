package subscriber

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
)

// Events come in order and each once; ids differ by case. ENV-015, ENV-016, TR-006, TR-010,
// LVL-037, HS-068
func TestEventsInOrderEachOnce(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		for _, id := range []string{"evt_a", "evt_b", "evt_a", "evt_A", "evt_b", "evt_c", "evt_A"} {
			p.sendRaw(t, eventMessage(id, "acme:thing", ""))
		}
		for _, id := range []string{"evt_a", "evt_b", "evt_A", "evt_c"} {
			takeEvent(t, sub, id)
		}
		checkNoEvent(t, sub, time.Minute)
		closeBoth(t, sub, p)
	})
}

// One bad message costs one message, and what is not known is handed on. INV-35, D-05, LVL-013,
// LVL-016, HS-034, HS-077, ENV-010, D-39, D-54
func TestBadAndUnknownMessages(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		var log bytes.Buffer
		var unreadable []string
		sub, p := openSubscription(t, newStage(), Config{ID: "reader", Unreadable: func(err error) {
			var invalid *aaep.InvalidError
			if errors.As(err, &invalid) {
				unreadable = append(unreadable, invalid.Message)
			}
		}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for _, msg := range []string{
			"", "null", "[]", "{}", "\xff", `{"type":7}`, `{"type":"subscription.close"}`,
			eventMessage("bad id", "acme:thing", ""),
			// an envelope that is not one
			eventMessage("evt_9", "aaep:agent.awaiting.confirmation", ""), // nothing is asked
			`{"type":"subscription.renegotiate","subscription_id":"sub_1","capabilities":{}}`,
			// not a producer's to send
			acceptedMessage("sub_1", `{"max_events_per_second":9}`), // an answer to nothing
			closeMessage("sub_2", "producer_shutdown"),              // for another
			eventMessage("evt_1", "acme:agent.alert", `,"summary_normal":"Look","acme:level":7`),
			eventMessage("evt_2", "aaep:agent.medical.alert", `,"urgency":"critical"`),
			eventMessage("evt_3", "aaep:agent.state.changed", `,"from_state":"idle","to_state":"acme_dreaming"`),
			eventMessage("evt_4", "aaep:agent.session.completed", `,"extensions":{"acme":{"x":[1]}}`),
		} {
			p.sendRaw(t, msg)
		}
		ev := takeEvent(t, sub, "evt_1")
		if x, ok := ev.Payload.(*aaep.ExtensionPayload); !ok || x.Type != "acme:agent.alert" ||
			ev.Text(aaep.VerbosityNormal) != "Look" || !strings.Contains(string(ev.Unknown), "acme:level") {
			t.Errorf("event = %+v", ev)
		}
		if ev := takeEvent(t, sub, "evt_2"); !ev.Critical() {
			t.Error("an unknown critical event is not critical")
		}
		takeEvent(t, sub, "evt_3")
		takeEvent(t, sub, "evt_4")
		if st, _ := sub.Status(); !st.Connected || st.Subscribed != 1 {
			t.Errorf("Status = %+v", st)
		}
		if sub.Accepted().HonoredCapabilities.MaxEventsPerSecond != 0 {
			t.Error("terms changed that nobody asked for")
		}
		closeBoth(t, sub, p)
		if len(unreadable) != 9 || unreadable[8] != "aaep:agent.awaiting.confirmation" {
			t.Errorf("it is told of %q", unreadable)
		}
		for _, words := range []string{"message dropped", "answer without a question", "message ignored"} {
			if !strings.Contains(log.String(), words) {
				t.Errorf("the log does not say %q", words)
			}
		}
	})
}

// Where a program does not look at what could not be read, maybe a question, its user learns that
// something is missing: once in the place of all that came between two events, and once more where
// a question was among it.
func TestUnreadableIsLost(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{ID: "reader"})
		alert := func(id string) string { return eventMessage(id, "acme:agent.alert", `,"summary_normal":"Look"`) }
		for _, msg := range []string{alert("evt_1"), "{}", "null", eventMessage("evt_9", "aaep:agent.awaiting.confirmation", ""),
			alert("evt_2"), alert("evt_3"), "[]"} {
			p.sendRaw(t, msg)
		}
		for _, want := range []string{"evt_1", "", "", "evt_2", "evt_3", ""} {
			ev, err := sub.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if isLost := ev.Type() == aaep.TypeLost; isLost != (want == "") || want != "" && ev.EventID != want {
				t.Errorf("%s %s came, want %s", ev.Type(), ev.EventID, cmp.Or(want, "that something is lost"))
			}
		}
		closeBoth(t, sub, p)
	})
}

// Numbers that run backwards are reported. TR-008, LVL-037, D-10
func TestOutOfOrderIsReported(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		var log bytes.Buffer
		sub, p := openSubscription(t, newStage(),
			Config{ID: "reader", Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for i, n := range []int{0, 2, 1, 3} { // a gap is no error
			p.sendRaw(t, eventMessage(fmt.Sprintf("evt_%d", i), "acme:thing", fmt.Sprintf(`,"sequence_number":%d`, n)))
			takeEvent(t, sub, "")
		}
		closeBoth(t, sub, p)
		if n := strings.Count(log.String(), "event out of order"); n != 1 ||
			!strings.Contains(log.String(), "sequence_number=1 after=2") {
			t.Errorf("%d reports, want one: %s", n, &log)
		}
	})
}

// A cancelled Next loses nothing, and neither does leaving the loop.
func TestNextCancelled(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		for n := range 200 {
			ctx, cancel := context.WithCancel(t.Context())
			got := make(chan *aaep.Event, 1)
			go func() {
				ev, _ := sub.Next(ctx)
				got <- ev
			}()
			if n%2 == 0 {
				synctest.Wait()
			}
			go cancel()
			p.sendRaw(t, numberedEvent(n))
			if ev := <-got; ev == nil { // cancelled first: it is still there
				takeEvent(t, sub, fmt.Sprintf("evt_%d", n))
			} else if want := fmt.Sprintf("evt_%d", n); ev.EventID != want {
				t.Fatalf("Next = %s, want %s", ev.EventID, want)
			}
			cancel()
		}
		for n := range 6 {
			p.sendRaw(t, eventMessage(fmt.Sprintf("evt_loop%d", n), "acme:thing", ""))
		}
		n := 0
		for range 3 { // three loops of two
			for ev, err := range sub.Events(t.Context()) {
				if err != nil || ev.EventID != fmt.Sprintf("evt_loop%d", n) {
					t.Fatalf("event %d = %v, %v", n, ev, err)
				}
				if n++; n%2 == 0 {
					break
				}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		pairs := 0
		for ev, err := range sub.Events(ctx) {
			if pairs++; ev != nil || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("pair = %v, %v; want the ctx's error", ev, err)
			}
		}
		if pairs != 1 {
			t.Errorf("%d pairs, want the error as the last one", pairs)
		}
		closeBoth(t, sub, p)
	})
}

// Many may wait in Next; each event goes to one of them.
func TestNextConcurrent(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		got := make(chan string, 1000)
		for range 8 {
			go func() {
				for ev, err := range sub.Events(context.Background()) {
					if err != nil {
						t.Error(err)
						return
					}
					got <- ev.EventID
				}
			}()
		}
		for n := range 1000 {
			p.sendRaw(t, numberedEvent(n))
		}
		seen := map[string]bool{}
		for range 1000 {
			seen[<-got] = true
		}
		if len(seen) != 1000 {
			t.Errorf("%d different events, want 1000", len(seen))
		}
		closeBoth(t, sub, p)
	})
}

// Two events that came before a call of Next wake two.
func TestInboxWakesEveryone(t *testing.T) {
	b := newInbox()
	b.addEvent(arrival{event: &aaep.Event{}, size: 1})
	b.addEvent(arrival{event: &aaep.Event{}, size: 1})
	for range 2 {
		select {
		case <-b.arrived:
		default:
			t.Fatal("nobody is woken for the second event")
		}
		if ev, _ := b.takeOldest(false); ev == nil {
			t.Fatal("no event after the token")
		}
	}
	if len(b.arrived) > 0 || b.bytes != 0 {
		t.Errorf("%d tokens and %d bytes are left", len(b.arrived), b.bytes)
	}
}

// An event that comes just before the end is not lost to it, in whatever order Next learns of the
// two.
func TestNextRacesWithTheEnd(t *testing.T) {
	for range 20_000 {
		s := &Subscription{inbox: newInbox(), done: make(chan struct{}), err: io.EOF}
		go func() {
			s.inbox.addEvent(arrival{event: &aaep.Event{}, size: 1})
			close(s.done)
		}()
		if ev, err := s.Next(t.Context()); ev == nil {
			t.Fatalf("Next = %v, want the event", err)
		}
	}
}

// What was received before the end is handed on, then the reason comes, again and again.
func TestNextAfterTheEnd(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		p.sendRaw(t, numberedEvent(1))
		p.sendRaw(t, numberedEvent(2))
		p.sendRaw(t, closeMessage("sub_1", "policy_violation"))
		p.checkGone(t) // and no close in return: the producer said it
		takeEvent(t, sub, "evt_1")
		takeEvent(t, sub, "evt_2")
		var last error
		for ev, err := range sub.Events(t.Context()) {
			if last = err; ev != nil {
				t.Errorf("event %v after the end", ev)
			}
		}
		for range 2 {
			_, err := sub.Next(t.Context())
			var r *aaep.Rejection
			if !errors.Is(err, aaep.PolicyViolation) || !errors.As(err, &r) || !r.Remote || last != err {
				t.Errorf("Next = %v, loop ended with %v; want policy_violation from the peer", err, last)
			}
		}
		closeBoth(t, sub, p)

		sub, p = openSubscription(t, newStage(), Config{})
		p.sendRaw(t, numberedEvent(1))
		synctest.Wait()
		closeBoth(t, sub, p)
		takeEvent(t, sub, "evt_1")
		if _, err := sub.Next(t.Context()); err != io.EOF {
			t.Errorf("Next after Close = %v, want io.EOF", err)
		}
		for ev, err := range sub.Events(t.Context()) {
			t.Errorf("loop after Close has %v, %v; want nothing", ev, err)
		}
	})
}

// A reader that is slow holds the producer back, and loses nothing. INV-21, HS-070, TR-026, TR-027
func TestBackPressure(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		const total = 2000
		sent := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := range total {
				p.sendRaw(t, numberedEvent(n))
				sent = n + 1
			}
		}()
		time.Sleep(time.Hour) // virtual: the user listens to something else
		synctest.Wait()
		const pipe = 16
		if most := waitingEvents + 1 + pipe; sent > most || sent < waitingEvents {
			t.Errorf("%d events were taken from the producer while nobody read, want about %d", sent, most)
		}
		for n := range total {
			takeEvent(t, sub, fmt.Sprintf("evt_%d", n))
		}
		<-done
		closeBoth(t, sub, p)
	})
}

// Large events are bounded by their size.
func TestBackPressureBytes(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		big := fmt.Sprintf(`,"acme:blob":%q`, strings.Repeat("x", 1<<19))
		sent := 0
		go func() {
			for n := range 100 {
				if p.Send(context.Background(),
					[]byte(eventMessage(fmt.Sprintf("evt_%d", n), "acme:thing", big))) != nil {
					return
				}
				sent = n + 1
			}
		}()
		synctest.Wait()
		if most := waitingBytes>>19 + 2 + 16; sent > most {
			t.Errorf("%d events of half a MiB were taken, want at most %d", sent, most)
		}
		for n := range 50 {
			takeEvent(t, sub, fmt.Sprintf("evt_%d", n))
		}
		closeBoth(t, sub, p)
	})
}

// A hundred thousand events go through; of their ids only the newest are kept. INV-51, P10
func TestRememberedIDs(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		total := 100_000
		if testing.Short() {
			total = 5 * remembered
		}
		go func() {
			for n := range total {
				p.sendRaw(t, numberedEvent(n))
			}
			p.sendRaw(t, numberedEvent(total-1))             // twice
			p.sendRaw(t, numberedEvent(total-remembered))    // twice, and the oldest that is known
			p.sendRaw(t, numberedEvent(total-remembered-11)) // forgotten
		}()
		for n := range total {
			takeEvent(t, sub, fmt.Sprintf("evt_%d", n))
		}
		takeEvent(t, sub, fmt.Sprintf("evt_%d", total-remembered-11))
		closeBoth(t, sub, p)
		if n := len(sub.seen); n != remembered || len(sub.order) != remembered || cap(sub.order) > 4*remembered {
			t.Errorf("%d ids in %d of %d places are remembered, want %d", n, len(sub.order), cap(sub.order), remembered)
		}
	})
}

// Questions that are not answered, and sessions without an end, do not pile up. P10
func TestOpenQuestionsBounded(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		var first, last *aaep.Event
		for n := range 3 * openQuestions {
			p.sendRaw(t, confirmationMessage(fmt.Sprintf("evt_%d", n), fmt.Sprintf("rpl_%d", n),
				fmt.Sprintf(`,"sequence_number":%d`, n)))
			last = takeEvent(t, sub, "")
			if first == nil {
				first = last
			}
			time.Sleep(time.Millisecond)
		}
		for n := range 3 * openQuestions {
			p.sendRaw(t, strings.Replace(eventMessage(fmt.Sprintf("evt_s%d", n), "acme:thing", `,"sequence_number":1`),
				"sess_1", fmt.Sprintf("sess_%d", n), 1))
			takeEvent(t, sub, "")
		}
		if n := len(sub.questions); n != openQuestions {
			t.Errorf("%d questions are kept, want %d", n, openQuestions)
		}
		if err := sub.Question(first).Accept(t.Context()); !errors.Is(err, ErrUnknownEvent) {
			t.Errorf("Reply to a forgotten question = %v", err)
		}
		if err := sub.Question(last).Accept(t.Context()); err != nil {
			t.Errorf("Reply to the newest question = %v", err)
		}
		closeBoth(t, sub, p)
		if n := len(sub.numbers); n > openQuestions {
			t.Errorf("%d sessions are kept, want at most %d", n, openQuestions)
		}
	})
}
