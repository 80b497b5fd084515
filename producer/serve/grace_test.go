package serve_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// TestGrace: a question whose only recipient stays away is given up after the grace time and not
// before; one whose recipient comes back within it can be answered (INV-15, D-38, TR-013).
func TestGrace(t *testing.T) {
	const grace = 500 * time.Millisecond
	for _, comesBack := range []bool{false, true} {
		t.Run(fmt.Sprintf("back=%v", comesBack), func(t *testing.T) {
			t.Parallel()
			cfg := producer.Config{Grace: grace}
			if comesBack {
				cfg.Grace = patience
			}
			st := startFixture(t, cfg)
			px := newProxy(t, st.addr)
			sub := dialSubscriberThrough(t, px, everything)
			s := st.startSession("Planning.")
			defer s.Close()
			agent := runAsync(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
			evs := mustCollect(t, sub, isA(aaep.TypeAwaitingConfirmation))
			cut := time.Now()
			px.cutAll(true)
			awaitStatus(t, sub, "broken", broken)
			if !comesBack {
				if r := awaitResult(t, agent); !errors.Is(r.err, producer.ErrUnreachable) || time.Since(cut) < grace {
					t.Errorf("%v after %v, want ErrUnreachable after %v", r.err, time.Since(cut), grace)
				}
				// What comes then begins anew, and is told so.
				px.reopen()
				awaitStatus(t, sub, "back", connected)
				if status, _ := sub.Status(); status.Subscribed != 2 {
					t.Errorf("subscribed %d times, want 2", status.Subscribed)
				}
				if err := sub.Question(evs[len(evs)-1]).Accept(context.Background()); err == nil {
					t.Error("a question of the old subscription can be answered")
				}
				return
			}
			px.reopen()
			awaitStatus(t, sub, "back", connected)
			check(t, sub.Question(evs[len(evs)-1]).Accept(context.Background()))
			if r := awaitResult(t, agent); r.err != nil || r.value != "done" {
				t.Errorf("the tool returned %q, %v", r.value, r.err)
			}
		})
	}
}

// TestOneOfTwoStaysAway: while one recipient is left, the question stays open (INV-15).
func TestOneOfTwoStaysAway(t *testing.T) {
	st := startFixture(t, producer.Config{Grace: 50 * time.Millisecond})
	px := newProxy(t, st.addr)
	gone, stays := dialSubscriberThrough(t, px, everything), dialSubscriber(t, st.addr, everything)
	s := st.startSession("Planning.")
	defer s.Close()
	agent := runAsync(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
	mustCollect(t, gone, isA(aaep.TypeAwaitingConfirmation))
	evs := mustCollect(t, stays, isA(aaep.TypeAwaitingConfirmation))
	px.cutAll(true)
	waitUntil(t, "the one counts as gone", func() bool { return len(st.p.Subscriptions()) == 1 })
	check(t, stays.Question(evs[len(evs)-1]).Accept(context.Background()))
	if r := awaitResult(t, agent); r.err != nil {
		t.Error(r.err)
	}
}

// TestAskedAgain: a subscriber that was away for too long subscribes anew. A question that is still
// open, for another was asked too, is put to it again, and it can answer.
func TestAskedAgain(t *testing.T) {
	st := startFixture(t, producer.Config{Grace: 50 * time.Millisecond})
	px := newProxy(t, st.addr)
	sub, other := dialSubscriberThrough(t, px, everything), subscribeRaw(t, st.addr, everything)
	other.openStream("")
	s := st.startSession("Planning.")
	defer s.Close()
	agent := runAsync(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
	mustCollect(t, sub, isA(aaep.TypeAwaitingConfirmation))
	px.cutAll(true)
	waitUntil(t, "it counts as gone", func() bool { return len(st.p.Subscriptions()) == 1 })
	px.reopen()
	evs := mustCollect(t, sub, isA(aaep.TypeAwaitingConfirmation))
	check(t, sub.Question(evs[len(evs)-1]).Accept(context.Background()))
	if r := awaitResult(t, agent); r.err != nil {
		t.Error(r.err)
	}
}
