package subscriber

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// What panics in a Dialer or in a function of Config ends no program: the link is tried again, and
// events go on. (P10)
func TestShield(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
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
			sub, err = Dial(t.Context(), way,
				Config{ID: "reader", Capabilities: allReplies(), Unreadable: func(error) { panic("unread") },
					Logger: slog.New(slog.NewTextHandler(&logged, nil))})
			done <- err
		}()
		p := st.nextPeer(t)
		p.acceptRequest(t, "sub_1")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		p.sendRaw(t, "no JSON")
		p.sendRaw(t, numberedEvent(1))
		takeEvent(t, sub, "evt_1")
		_ = p.Close()
		p = st.nextPeer(t)
		p.acceptRequest(t, "sub_2")
		p.sendRaw(t, numberedEvent(2))
		takeEvent(t, sub, "evt_2")
		closeBoth(t, sub, p)
		for _, what := range []string{"Config.Unreadable", "Dialer.Dial"} {
			if !strings.Contains(logged.String(), what) || !strings.Contains(logged.String(), "shield_test.go") {
				t.Errorf("%s is not logged with its stack: %s", what, &logged)
			}
		}
	})
	if _, err := Dial(t.Context(), dialer(func(context.Context) (transports.Conn, error) { panic("never") }),
		Config{ID: "reader"}); err == nil ||
		!strings.Contains(err.Error(), "panic in Dialer.Dial: never") {
		t.Errorf("Dial = %v", err)
	}
}

// A Subscription that Dial did not make says so, and waits for nothing.
func TestNotDialed(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
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
			if st, _ := sub.Status(); !st.Over || sub.Accepted() != nil || sub.Verified() != nil || sub.ResumeAfter() != "" {
				t.Error("it has something")
			}
		}
		var none *Question
		<-none.Done()
		if none.Err() == nil || none.Accept(t.Context()) == nil || none.AnswerText(t.Context(), "a") == nil || none.MoreTime(t.Context()) == nil {
			t.Error("no question can be answered")
		}
		var sub *Subscription
		ev := &aaep.Event{Payload: &aaep.AwaitingConfirmation{ReplyToken: "rpl_1"}}
		if err := sub.Question(ev).Accept(t.Context()); !errors.Is(err, ErrUnknownEvent) {
			t.Errorf("Reply = %v", err)
		}
		if err := sub.Question(ev).MoreTime(t.Context()); !errors.Is(err, ErrUnknownEvent) {
			t.Errorf("MoreTime = %v", err)
		}
		if sub.Question(ev).Err() == nil {
			t.Error("it is open")
		}
		time.Sleep(time.Hour)
	})
}

// brittleConn panics in one of its methods once it is armed.
type brittleConn struct {
	transports.Conn
	in    string
	armed *atomic.Bool
}

func (c brittleConn) panicIf(method string) {
	if c.in == method && c.armed.Load() {
		panic("the link is broken")
	}
}

func (c brittleConn) Receive(ctx context.Context) ([]byte, error) {
	msg, err := c.Conn.Receive(ctx)
	c.panicIf("Receive")
	return msg, err
}

func (c brittleConn) Send(ctx context.Context, msg []byte) error {
	c.panicIf("Send")
	return c.Conn.Send(ctx, msg)
}

func (c brittleConn) Close() error {
	defer c.panicIf("Close")
	return c.Conn.Close()
}

// A link of others that panics is one that broke: the agent is subscribed to anew.
func TestBrittleLink(t *testing.T) {
	for _, in := range []string{"Receive", "Send", "Close"} {
		runVirtual(t, func(t *testing.T) {
			st, armed := newStage(), new(atomic.Bool)
			way := dialer(func(ctx context.Context) (transports.Conn, error) {
				conn, err := st.Dial(ctx)
				return brittleConn{conn, in, armed}, err
			})
			var sub *Subscription
			done := make(chan error, 1)
			go func() {
				var err error
				sub, err = Dial(t.Context(), way, Config{ID: "reader", Capabilities: allReplies()})
				done <- err
			}()
			p := st.nextPeer(t)
			p.acceptRequest(t, "sub_1")
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
			ask := takeEvent(t, sub, "evt_1")
			armed.Store(true)
			if in == "Send" {
				if err := sub.Question(ask).Reject(t.Context()); err == nil {
					t.Error("Reply = nil")
				}
			}
			if in == "Receive" {
				p.sendRaw(t, numberedEvent(2))
			} else {
				_ = p.Close()
			}
			synctest.Wait()
			armed.Store(in == "Close")
			p = st.nextPeer(t)
			p.acceptRequest(t, "sub_2")
			p.sendRaw(t, numberedEvent(3))
			takeEvent(t, sub, "evt_3")
			closeBoth(t, sub, p)
		})
	}
}
