package subscriber

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aaep-go/aaep"
)

// SEC-009: for any rate, a producer that keeps to it is never limited, though the network holds up
// to a minute of it back and hands that on at once; and of one that does not, no span of t seconds
// carries more than a minute's worth and twice the rate.
func TestFloodBounds(t *testing.T) {
	news := &aaep.Event{Payload: &aaep.ProgressUpdated{}}
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Int64Range(1, 50).Draw(t, "rate")
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var honest flood
		arrived := begin
		for sent := begin; sent.Before(begin.Add(5 * time.Minute)); sent = sent.Add(time.Second) {
			late := time.Duration(rapid.Int64Range(0, int64(floodBurst-time.Second)).Draw(t, "held up"))
			if at := sent.Add(late); at.After(arrived) {
				arrived = at
			}
			for range rate {
				if over, _ := honest.countEvent(news, arrived, rate); over {
					t.Fatalf("%v after the beginning an event is left out of a producer that keeps to %d a second",
						arrived.Sub(begin), rate)
				}
			}
		}
		var rogue flood
		var passed []time.Time
		tolds := 0
		for n, now := 0, begin; n < 5000; n++ {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(time.Second)/rate/3).Draw(t, "gap")))
			over, told := rogue.countEvent(news, now, rate)
			if !over {
				passed = append(passed, now)
			}
			if told {
				tolds++
			}
		}
		if tolds > 1 {
			t.Fatalf("one flood was told %d times", tolds)
		}
		for i, from := range passed {
			for _, j := range []int{i + 60*int(rate), len(passed) - 1} {
				if j < len(passed) && j > i {
					span := passed[j].Sub(from).Seconds()
					if most := float64(rate)*(floodBurst.Seconds()+floodTimes*span) + 1; float64(j-i+1) > most {
						t.Fatalf("%d events passed in %v seconds, where %v may", j-i+1, span, most)
					}
				}
			}
		}
	})
}

// SEC-009, EVT-022: of a flood a person gets a bounded part and learns of it once, and of errors,
// questions and ends gets all.
func TestFlood(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		var log bytes.Buffer
		var told []error
		caps := allReplies()
		caps.MaxEventsPerSecond = 2
		cfg := Config{ID: "reader", Capabilities: caps, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Unreadable: func(err error) { told = append(told, err) }}
		dialed := make(chan *Subscription)
		go func() {
			sub, err := Dial(t.Context(), st, cfg)
			if err != nil {
				t.Error(err)
			}
			dialed <- sub
		}()
		p := st.nextPeer(t)
		mustRead[*aaep.SubscriptionRequest](t, p)
		p.sendRaw(t, acceptedMessage("sub_1", `{"max_events_per_second":2}`))
		sub := <-dialed
		go func() {
			for n := range 1000 {
				p.sendRaw(t, numberedEvent(n))
			}
			p.sendRaw(t, confirmationMessage("evt_ask", "rpl_1", ""))
			p.sendRaw(t, eventMessage("evt_error", "aaep:agent.session.errored",
				`,"urgency":"critical","summary_normal":"It failed.","error_category":"unknown"`))
			p.sendRaw(t, strings.Replace(eventMessage("evt_end", "aaep:agent.session.completed",
				`,"summary_normal":"Done."`), "sess_1", "sess_2", 1))
			time.Sleep(2 * time.Minute) // in which the allowance is full again
			for n := range 200 {
				p.sendRaw(t, numberedEvent(2000+n))
			}
			_ = p.Close()
		}()
		var ids []string
		for len(ids) == 0 || ids[len(ids)-1] != "evt_2119" {
			ev, err := sub.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, ev.EventID)
		}
		var right []string
		for n := range 120 {
			right = append(right, fmt.Sprintf("evt_%d", n))
		}
		right = append(right, "evt_ask", "evt_error", "evt_end")
		for n := range 120 {
			right = append(right, fmt.Sprintf("evt_%d", 2000+n))
		}
		if !slices.Equal(ids, right) {
			t.Errorf("%d events came, want %d: %.2000v", len(ids), len(right), ids)
		}
		again := st.nextPeer(t) // the link ended: all that came on it is judged
		if len(told) != 2 || !errors.Is(told[0], ErrFlood) ||
			strings.Count(log.String(), "far more events than it agreed to") != 2 {
			t.Errorf("two floods were told as %v and logged as\n%s", told, &log)
		}
		again.acceptRequest(t, "sub_2")
		closeBoth(t, sub, again)
	})
}

// SEC-009: a subscriber that asked for no rate gets all, and a producer that states none has room
// for a word at a time.
func TestFloodUnstated(t *testing.T) {
	for _, c := range []struct{ asked, honored, want int64 }{{0, 0, 0}, {3, 0, unstatedRate}, {500, 0, 500}, {3, 2, 2},
		{0, 20, 20}} {
		s := &Subscription{wanted: aaep.Capabilities{MaxEventsPerSecond: c.asked},
			accepted: &aaep.SubscriptionAccepted{HonoredCapabilities: aaep.Capabilities{MaxEventsPerSecond: c.honored}}}
		if got := s.agreedRate(); got != c.want {
			t.Errorf("%d asked for and %d honored: %d, want %d", c.asked, c.honored, got, c.want)
		}
	}
}
