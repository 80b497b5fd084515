package subscriber

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/transports"
)

// An answer goes to the first renegotiation that it fits, however late it is: none is taken for
// another's (P5).
func TestRenegotiateAnswersInOrder(t *testing.T) {
	replies := func(rate int64, yes bool) aaep.Capabilities {
		return aaep.Capabilities{MaxEventsPerSecond: rate, SupportsConfirmationReply: &yes}
	}
	for name, tt := range map[string]struct {
		first, second aaep.Capabilities
		answers       []string // when both were asked for
		lost          bool     // the first goes without an answer
	}{
		"faster, then slower": {replies(50, true), replies(1, true),
			[]string{`{"max_events_per_second":50}`, `{"max_events_per_second":1}`}, false},
		"less, then more": {replies(1, false), replies(5, true),
			[]string{`{"max_events_per_second":1,"supports_confirmation_reply":false}`,
				`{"max_events_per_second":5,"supports_confirmation_reply":true}`}, false},
		"never answered": {replies(1, false), replies(5, true),
			[]string{`{"max_events_per_second":5,"supports_confirmation_reply":true}`}, true},
	} {
		t.Run(name, func(t *testing.T) {
			runVirtual(t, func(t *testing.T) {
				sub, p := openSubscription(t, newStage(),
					Config{ID: "reader", Capabilities: replies(2, true), NoReconnect: true})
				_, err := sub.Renegotiate(t.Context(), tt.first)
				wantError(t, "the first", err, "in time")
				mustRead[*aaep.SubscriptionRenegotiate](t, p)
				second := renegotiateAsync(t.Context(), sub, tt.second)
				mustRead[*aaep.SubscriptionRenegotiate](t, p)
				for i, honored := range tt.answers {
					p.sendRaw(t, acceptedMessage("sub_1", honored))
					synctest.Wait()
					got := sub.Accepted().HonoredCapabilities
					if i == 0 && !tt.lost && got.MaxEventsPerSecond != tt.first.MaxEventsPerSecond {
						t.Errorf("Accepted = %+v after the late answer", got)
					}
				}
				r := <-second
				if r.err != nil || r.got != sub.Accepted() ||
					r.got.HonoredCapabilities.MaxEventsPerSecond != tt.second.MaxEventsPerSecond {
					t.Errorf("the second = %+v, %v", r.got, r.err)
				}
				p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
				if err := sub.Question(takeEvent(t, sub, "evt_1")).Reject(t.Context()); err != nil {
					t.Errorf("Reply = %v", err)
				}
				mustRead[*aaep.ConfirmationReply](t, p)
				if len(sub.pending) != 0 {
					t.Errorf("%d are still waited for", len(sub.pending))
				}
				closeBoth(t, sub, p)
			})
		})
	}
}

// A renegotiation that did not leave takes no answer. Those that are not answered are not kept
// without end (P10).
func TestRenegotiatePending(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		a, b := transports.Pipe()
		conn, p := &refusingTerms{Conn: a}, &peer{b}
		done := make(chan *Subscription, 1)
		go func() {
			sub, err := Dial(t.Context(), dialer(func(context.Context) (transports.Conn, error) { return conn, nil }),
				Config{ID: "reader"})
			if err != nil {
				t.Error(err)
			}
			done <- sub
		}()
		p.acceptRequest(t, "sub_1")
		sub := <-done
		conn.refuses.Store(true)
		_, err := sub.Renegotiate(t.Context(), aaep.Capabilities{MaxEventsPerSecond: 9})
		wantError(t, "Renegotiate", err, "refused")
		conn.refuses.Store(false)
		second := renegotiateAsync(t.Context(), sub, aaep.Capabilities{MaxEventsPerSecond: 5})
		mustRead[*aaep.SubscriptionRenegotiate](t, p)
		p.sendRaw(t, acceptedMessage("sub_1", `{"max_events_per_second":5}`))
		if r := <-second; r.err != nil || r.got.HonoredCapabilities.MaxEventsPerSecond != 5 {
			t.Errorf("the second = %+v, %v", r.got, r.err)
		}
		for range 20 {
			_, err := sub.Renegotiate(t.Context(), aaep.Capabilities{PaceWPM: 100})
			wantError(t, "Renegotiate", err, "in time")
			mustRead[*aaep.SubscriptionRenegotiate](t, p)
		}
		if most := int(lateAnswer/handshakeTimeout) + 2; len(sub.pending) > most {
			t.Errorf("%d are waited for, want at most %d", len(sub.pending), most)
		}
		time.Sleep(lateAnswer + time.Second) // then the answers were lost
		last := renegotiateAsync(t.Context(), sub, aaep.Capabilities{PaceWPM: 200})
		mustRead[*aaep.SubscriptionRenegotiate](t, p)
		p.sendRaw(t, acceptedMessage("sub_1", `{"pace_wpm":200}`))
		if r := <-last; r.err != nil || r.got.HonoredCapabilities.PaceWPM != 200 {
			t.Errorf("the last = %+v, %v", r.got, r.err)
		}
		closeBoth(t, sub, p)
	})
}

// refusingTerms sends nothing while it refuses.
type refusingTerms struct {
	transports.Conn
	refuses atomic.Bool
}

func (r *refusingTerms) Send(ctx context.Context, msg []byte) error {
	if r.refuses.Load() {
		return errors.New("refused")
	}
	return r.Conn.Send(ctx, msg)
}

// While the proof in an answer is looked at, the next renegotiation may begin; it waits for its own
// answer. INV-41
func TestRenegotiateWhileVerifying(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sign, trust := newNotary(t)
		slow := &manifest.Trust{Source: func(context.Context, string) (*manifest.KeySet, error) {
			time.Sleep(2 * time.Second)
			return trust.Keys, nil
		}}
		sub, p := openSubscription(t, newStage(), Config{ID: "reader", Trust: slow, NoReconnect: true})
		go func() {
			mustRead[*aaep.SubscriptionRenegotiate](t, p)
			time.Sleep(9 * time.Second)
			p.sendRaw(t, provedMessage(sign("agent")))
		}()
		_, err := sub.Renegotiate(t.Context(), aaep.Capabilities{MaxEventsPerSecond: 5})
		wantError(t, "the first", err, "in time")
		second := renegotiateAsync(t.Context(), sub, aaep.Capabilities{MaxEventsPerSecond: 3})
		mustRead[*aaep.SubscriptionRenegotiate](t, p)
		time.Sleep(5 * time.Second)
		if sub.Verified() == nil {
			t.Error("the late proof does not count")
		}
		select {
		case r := <-second:
			t.Fatalf("the second = %+v, %v before its answer", r.got, r.err)
		default:
		}
		p.sendRaw(t, provedMessage(sign("agent")))
		if r := <-second; r.err != nil || r.got != sub.Accepted() {
			t.Errorf("the second = %+v, %v", r.got, r.err)
		}
		closeBoth(t, sub, p)
	})
}
