package subscriber

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// testWays are three ways to one producer, of which the test plays each; tried notes the order in
// which they were.
type testWays struct {
	stages [3]*fixture
	tried  []int
}

func newWays() *testWays { return &testWays{stages: [3]*fixture{newStage(), newStage(), newStage()}} }

func (w *testWays) dialerOf(i int) transports.Dialer {
	return dialer(func(ctx context.Context) (transports.Conn, error) {
		w.tried = append(w.tried, i)
		return w.stages[i].Dial(ctx)
	})
}

func (w *testWays) dialFirst(t *testing.T) (*Subscription, error) {
	return Dial(t.Context(), w.dialerOf(0), Config{ID: "orca", Capabilities: allReplies(),
		Fallback: []transports.Dialer{w.dialerOf(1), w.dialerOf(2)}})
}

// XT-002, B.7.2: where a way is blocked, or leads to something that does not answer, the next is
// tried with a new handshake, and the subscription says which it was. A link that breaks is renewed
// on the way that worked, before the others.
func TestFallback(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		w := newWays()
		w.stages[0].fail = errors.New("blocked")
		done := make(chan *Subscription, 1)
		go func() {
			sub, err := w.dialFirst(t)
			if err != nil {
				t.Error(err)
			}
			done <- sub
		}()
		w.stages[1].nextPeer(t) // it takes the request and never answers
		p := w.stages[2].nextPeer(t)
		mustRead[*aaep.SubscriptionRequest](t, p)
		p.sendRaw(t, acceptedMessage("sub_1", `{}`))
		sub := <-done
		if st, _ := sub.Status(); st.Way != 2 || !st.Connected {
			t.Errorf("Status = %+v, want the third way", st)
		}
		if !slices.Equal(w.tried, []int{0, 1, 2}) {
			t.Errorf("tried %v", w.tried)
		}
		w.tried = nil
		w.stages[0].fail, w.stages[2].fail = nil, errors.New("blocked now")
		p.Close()
		p = w.stages[0].nextPeer(t)
		mustRead[*aaep.SubscriptionRequest](t, p)
		p.sendRaw(t, acceptedMessage("sub_2", `{}`))
		time.Sleep(time.Minute)
		if st, _ := sub.Status(); st.Way != 0 || st.Subscribed != 2 || !slices.Equal(w.tried, []int{2, 0}) {
			t.Errorf("Status = %+v after trying %v", st, w.tried)
		}
		closeBoth(t, sub, p)
	})
}

// What a further way leads to does not end a subscription whose own way is down for a moment, nor
// keep it waiting.
func TestFallbackSpeaksForItself(t *testing.T) {
	for name, answer := range map[string]string{
		"too wide": acceptedMessage("sub_9", `{"supports_confirmation_reply":true}`),
		"later":    rejectedMessage(string(aaep.TransportUnavailable), `,"retry_after_seconds":300`),
	} {
		t.Run(name, func(t *testing.T) {
			runVirtual(t, func(t *testing.T) {
				st, other := newStage(), newStage()
				sub, p := openSubscription(t, st, Config{ID: "reader", Fallback: []transports.Dialer{other}})
				var up atomic.Bool
				sub.ways[0] = dialer(func(ctx context.Context) (transports.Conn, error) {
					if !up.Load() {
						return nil, errors.New("connection refused")
					}
					return st.Dial(ctx)
				})
				_ = p.Close()
				q := other.nextPeer(t)
				mustRead[*aaep.SubscriptionRequest](t, q)
				q.sendRaw(t, answer)
				up.Store(true)
				start := time.Now()
				p = st.nextPeer(t)
				p.acceptRequest(t, "sub_2")
				synctest.Wait()
				if status, _ := sub.Status(); !status.Connected || status.Way != 0 || time.Since(start) > time.Minute {
					t.Errorf("Status = %+v after %v", status, time.Since(start))
				}
				_ = q.Close()
				closeBoth(t, sub, p)
			})
		})
	}
}

// A producer that says no is not asked again by another door (T-DOWNGRADE); one that cannot serve
// this way is.
func TestNoFallbackAfterRefusal(t *testing.T) {
	for code, tried := range map[aaep.ReasonCode]int{aaep.AuthenticationRequired: 1, aaep.RateLimit: 1,
		aaep.VersionUnsupported: 1, aaep.TransportUnavailable: 3} {
		runVirtual(t, func(t *testing.T) {
			w := newWays()
			done := make(chan error, 1)
			go func() {
				_, err := w.dialFirst(t)
				done <- err
			}()
			for i := range tried {
				p := w.stages[i].nextPeer(t)
				mustRead[*aaep.SubscriptionRequest](t, p)
				p.sendRaw(t, `{"type":"subscription.rejected","reason_code":"`+string(code)+`","reason_message":"No."}`)
			}
			if err := <-done; !errors.Is(err, code) || len(w.tried) != tried {
				t.Errorf("%s: Dial = %v after trying %v, want %d", code, err, w.tried, tried)
			}
		})
	}
}

// Where no way leads to the producer, the error says so of each.
func TestEveryWayFails(t *testing.T) {
	w := newWays()
	for i, err := range []error{errors.New("no route"), io.ErrUnexpectedEOF, errors.New("no such file")} {
		w.stages[i].fail = err
	}
	_, err := w.dialFirst(t)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "no route") ||
		!strings.Contains(err.Error(), "no such file") {
		t.Errorf("Dial = %v", err)
	}
}
