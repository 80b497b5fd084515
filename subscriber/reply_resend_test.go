package subscriber

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// After an error the same bytes may go again, while there is time to answer, and nothing else.
// INV-19
func TestReplyResend(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		var events []*aaep.Event
		for n := range 17 {
			p.sendRaw(t, confirmationMessage(fmt.Sprintf("evt_%d", n), fmt.Sprintf("rpl_%d", n), ""))
			events = append(events, takeEvent(t, sub, ""))
		}
		for _, ev := range events[:16] { // the link is full now
			if err := sub.Question(ev).Accept(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ev, at := events[16], time.Now()
		if err := sub.Question(ev).Accept(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Reply = %v", err)
		}
		wantError(t, "another decision", sub.Question(ev).Reject(t.Context()), "cannot be changed")
		time.Sleep(time.Second)
		for range 16 {
			mustRead[*aaep.ConfirmationReply](t, p)
		}
		if err := sub.Question(ev).Accept(t.Context()); err != nil {
			t.Fatalf("Reply again = %v", err)
		}
		if r := mustRead[*aaep.ConfirmationReply](t, p); !r.Timestamp.Equal(at) { // CONF-015
			t.Errorf("stamped %v, want the moment of the decision %v", r.Timestamp, at)
		}
		if err := sub.Question(ev).Accept(t.Context()); !errors.Is(err, ErrUnknownEvent) {
			t.Errorf("Reply once more = %v", err)
		}
		closeBoth(t, sub, p)
	})
}

// refusing fails every Send of a reply but keeps what was to be sent.
type refusing struct {
	transports.Conn
	sent [][]byte
}

func (r *refusing) Send(ctx context.Context, msg []byte) error {
	if strings.Contains(string(msg), ".reply") {
		r.sent = append(r.sent, []byte(string(msg)))
		return errors.New("it is unknown whether the message was delivered")
	}
	return r.Conn.Send(ctx, msg)
}

// INV-19: a reply of which it is not known whether it arrived is sent again byte for byte, and
// cannot become another.
func TestResendSameBytes(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		a, b := transports.Pipe()
		r, p := &refusing{Conn: a}, &peer{b}
		p.sendRaw(t, acceptedMessage("sub_1", "{}"))
		sub, err := Dial(t.Context(), dialer(func(context.Context) (transports.Conn, error) { return r, nil }),
			Config{ID: "reader", Capabilities: allReplies()})
		if err != nil {
			t.Fatal(err)
		}
		mustRead[*aaep.SubscriptionRequest](t, p)
		p.sendRaw(t, clarificationMessage("evt_1", "rpl_1", ""))
		ev := takeEvent(t, sub, "evt_1")
		for range 3 {
			wantError(t, "Answer", sub.Question(ev).AnswerText(t.Context(), "blue"), "unknown whether")
			time.Sleep(15 * time.Second)
		}
		wantError(t, "Answer", sub.Question(ev).AnswerText(t.Context(), "red"), "cannot be changed")
		if len(r.sent) != 3 || string(r.sent[0]) != string(r.sent[1]) || string(r.sent[0]) != string(r.sent[2]) {
			t.Errorf("sent %s, want the same three times", r.sent)
		}
		closeBoth(t, sub, p)
	})
}

// refusedOnce fails the first Send of a reply, for nothing listens where it would go.
type refusedOnce struct {
	transports.Conn
	refused bool
}

func (r *refusedOnce) Send(ctx context.Context, msg []byte) error {
	if strings.Contains(string(msg), ".reply") && !r.refused {
		r.refused = true
		return fmt.Errorf("not delivered: %w", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
	}
	return r.Conn.Send(ctx, msg)
}

// An answer of which it is certain that nothing was sent is ErrNotSent, and another may be given in
// its place: where nothing took the connection, and where the link is known to be broken.
func TestAnswerNotSent(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		a, b := transports.Pipe()
		r, p := &refusedOnce{Conn: a}, &peer{b}
		p.sendRaw(t, acceptedMessage("sub_1", "{}"))
		sub, err := Dial(t.Context(), dialer(func(context.Context) (transports.Conn, error) { return r, nil }),
			Config{ID: "reader", Capabilities: allReplies()})
		if err != nil {
			t.Fatal(err)
		}
		mustRead[*aaep.SubscriptionRequest](t, p)
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
		ev := takeEvent(t, sub, "evt_1")
		if err := sub.Question(ev).Accept(t.Context()); !errors.Is(err, ErrNotSent) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Accept = %v", err)
		}
		if err := sub.Question(ev).Reject(t.Context()); err != nil {
			t.Errorf("another decision = %v", err)
		}
		if m := mustRead[*aaep.ConfirmationReply](t, p); m.Decision != aaep.Reject {
			t.Errorf("sent %q", m.Decision)
		}
		p.sendRaw(t, confirmationMessage("evt_2", "rpl_2", ""))
		ev = takeEvent(t, sub, "evt_2")
		p.Close()
		synctest.Wait()
		if err := sub.Question(ev).Accept(t.Context()); !errors.Is(err, ErrNotSent) {
			t.Errorf("over a broken link: Accept = %v", err)
		}
		sub.Close()
	})
}

// The stamp is in the producer's time when the clocks differ by more than two seconds. D-35,
// CONF-015
func TestReplyStamp(t *testing.T) {
	for offset, own := range map[time.Duration]bool{
		0: true, 1900 * time.Millisecond: true, -1900 * time.Millisecond: true,
		2100 * time.Millisecond: false, -2100 * time.Millisecond: false, 10 * time.Minute: false,
		-10 * time.Minute: false,
	} {
		runVirtual(t, func(t *testing.T) {
			sub, p := openSubscription(t, newStage(), Config{})
			theirs := aaep.FormatTimestamp(time.Now().Add(offset))
			p.sendRaw(t, strings.Replace(confirmationMessage("evt_1", "rpl_1", ""), aaep.FormatTimestamp(time.Now()),
				theirs, 1))
			synctest.Wait() // received now, looked at later
			time.Sleep(20 * time.Second)
			ev := takeEvent(t, sub, "evt_1")
			time.Sleep(10 * time.Second)
			if err := sub.Question(ev).Reject(t.Context()); err != nil {
				t.Fatal(err)
			}
			at := time.Now()
			if !own {
				at = ev.Timestamp.Add(30 * time.Second)
			}
			if r := mustRead[*aaep.ConfirmationReply](t, p); !r.Timestamp.Equal(at) {
				t.Errorf("offset %v: stamped %v, want %v", offset, r.Timestamp, at)
			}
			closeBoth(t, sub, p)
		})
	}
}
