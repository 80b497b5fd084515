package subscriber

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// What panics in a Dialer or in a function of Config ends no program: the link is tried again, and events go on. (P10)
func TestShield(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var logged bytes.Buffer
		st, dials := newStage(), 0
		way := dialer(func(ctx context.Context) (transports.Conn, error) {
			if dials++; dials == 2 {
				panic("no network")
			}
			return st.Dial(ctx)
		})
		var sub *Subscription
		done := make(chan error, 1)
		go func() {
			var err error
			sub, err = Dial(t.Context(), way, Config{ID: "reader", Capabilities: able(), Unreadable: func(error) { panic("unread") },
				Logger: slog.New(slog.NewTextHandler(&logged, nil))})
			done <- err
		}()
		p := st.next(t)
		p.accept(t, "sub_1")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		p.say(t, "no JSON")
		p.say(t, evt(1))
		take(t, sub, "evt_1")
		_ = p.Close()
		p = st.next(t)
		p.accept(t, "sub_2")
		p.say(t, evt(2))
		take(t, sub, "evt_2")
		leave(t, sub, p)
		for _, what := range []string{"Config.Unreadable", "Dialer.Dial"} {
			if !strings.Contains(logged.String(), what) || !strings.Contains(logged.String(), "shield_test.go") {
				t.Errorf("%s is not logged with its stack: %s", what, &logged)
			}
		}
	})
	if _, err := Dial(t.Context(), dialer(func(context.Context) (transports.Conn, error) { panic("never") }), Config{ID: "reader"}); err == nil ||
		!strings.Contains(err.Error(), "panic in Dialer.Dial: never") {
		t.Errorf("Dial = %v", err)
	}
}

// A Subscription that Dial did not make says so, and waits for nothing.
func TestNotDialed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, sub := range []*Subscription{nil, {}} {
			if _, err := sub.Next(t.Context()); err != errNotDialed {
				t.Errorf("Next = %v", err)
			}
			for _, err := range sub.Events(t.Context()) {
				if err != errNotDialed {
					t.Errorf("Events yields %v", err)
				}
			}
			if _, err := sub.Renegotiate(t.Context(), aaep.Capabilities{}); err != errNotDialed {
				t.Errorf("Renegotiate = %v", err)
			}
			for range sub.Outages(t.Context()) {
				t.Error("an outage of nothing")
			}
			if err := sub.Close(); err != errNotDialed {
				t.Errorf("Close = %v", err)
			}
		}
		sub, ev := new(Subscription), &aaep.Event{Payload: &aaep.AwaitingConfirmation{ReplyToken: "rpl_1"}}
		if err := sub.Reply(t.Context(), ev, aaep.Accept); !errors.Is(err, ErrUnknownEvent) {
			t.Errorf("Reply = %v", err)
		}
		if err := sub.MoreTime(t.Context(), ev); !errors.Is(err, ErrUnknownEvent) {
			t.Errorf("MoreTime = %v", err)
		}
		if sub.Open(ev).Err() == nil || sub.Accepted() != nil || sub.Verified() != nil || sub.ResumeAfter() != "" {
			t.Error("it has something")
		}
		time.Sleep(time.Hour)
	})
}
