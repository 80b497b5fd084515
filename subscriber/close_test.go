package subscriber

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// Close tells the producer, once. HS-079, HS-081, LVL-038
func TestClose(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		_, changed := sub.Status()
		for range 3 {
			if err := sub.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
		}
		m := mustRead[*aaep.SubscriptionClose](t, p)
		if m.SubscriptionID != "sub_1" || m.ReasonCode != aaep.SubscriberShutdown || m.ReasonMessage == "" {
			t.Errorf("close = %+v", m)
		}
		p.checkGone(t)
		<-changed
		if got, _ := sub.Status(); got.Connected || !got.Over || got.Err != io.EOF {
			t.Errorf("Status = %+v, want over", got)
		}
		if _, err := sub.Renegotiate(t.Context(), aaep.Capabilities{}); err != io.EOF {
			t.Errorf("Renegotiate after Close = %v", err)
		}
	})
}

// Many may close at once; each returns when it is over. Next wakes up.
func TestCloseConcurrent(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := sub.Next(context.Background()); err != io.EOF {
					t.Errorf("Next = %v, want io.EOF", err)
				}
			})
		}
		synctest.Wait()
		for range 10 {
			all.Go(func() {
				if err := sub.Close(); err != nil {
					t.Errorf("Close = %v", err)
				}
				if got, _ := sub.Status(); !got.Over {
					t.Error("Close returned before the end")
				}
			})
		}
		all.Wait()
		mustRead[*aaep.SubscriptionClose](t, p)
		p.checkGone(t)
	})
}

// A producer that does not read is waited for two seconds. INV-51
func TestCloseNotRead(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		for i := range 16 { // fill the link
			go func() { _ = sub.writeMessage(t.Context(), sub.conn, []byte{byte(i)}) }()
		}
		synctest.Wait()
		start := time.Now()
		err := sub.Close()
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Second {
			t.Errorf("Close = %v after %v, want the deadline after 2s", err, time.Since(start))
		}
		_ = p.Close()
	})
}

// A Close that finds too many events, or no peer, ends at once.
func TestCloseInOddMoments(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *fixture, *peer){
		"with a full inbox": func(t *testing.T, _ *fixture, p *peer) {
			for n := 0; n < waitingEvents+10; n++ {
				p.sendRaw(t, numberedEvent(n))
			}
		},
		"between two attempts": func(t *testing.T, st *fixture, p *peer) {
			st.fail = errors.New("nobody there")
			_ = p.Close()
			time.Sleep(time.Hour)
		},
		"while dialing": func(t *testing.T, st *fixture, p *peer) {
			_ = p.Close()
			st.nextPeer(t) // and no answer
		},
		"when the producer has just gone": func(t *testing.T, _ *fixture, p *peer) { _ = p.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			runVirtual(t, func(t *testing.T) {
				st := newStage()
				sub, p := openSubscription(t, st, Config{})
				prepare(t, st, p)
				synctest.Wait()
				start := time.Now()
				closeBoth(t, sub, p)
				if took := time.Since(start); took != 0 {
					t.Errorf("Close took %v", took)
				}
				for { // whatever came before the end is handed on
					_, err := sub.Next(t.Context())
					if err == nil {
						continue
					}
					if err != io.EOF {
						t.Errorf("Next = %v, want io.EOF", err)
					}
					break
				}
				if st, _ := sub.Status(); !st.Over || st.Connected {
					t.Errorf("Status = %+v", st)
				}
			})
		})
	}
}

// A Close at the moment of a new handshake leaves that subscription too. HS-078, LVL-038
func TestCloseRacesWithHandshake(t *testing.T) {
	for range 200 {
		runVirtual(t, func(t *testing.T) {
			st := newStage()
			sub, p := openSubscription(t, st, Config{})
			_ = p.Close()
			p = st.nextPeer(t)
			mustRead[*aaep.SubscriptionRequest](t, p)
			closed := make(chan error, 1)
			go func() { closed <- sub.Close() }()
			_ = p.Send(t.Context(), []byte(acceptedMessage("sub_2", "{}")))
			if err := <-closed; err != nil {
				t.Errorf("Close = %v", err)
			}
			// Either it never learned that it was accepted, or it says goodbye.
			got, _ := sub.Status()
			msg, err := p.Receive(t.Context())
			if got.Subscribed == 2 {
				m, _ := aaep.Decode(msg)
				if c, ok := m.(*aaep.SubscriptionClose); !ok || c.SubscriptionID != "sub_2" {
					t.Errorf("the new subscription was left with %s, %v; want a subscription.close", msg, err)
				}
				p.checkGone(t)
			} else if err != io.EOF {
				t.Errorf("Receive = %s, %v", msg, err)
			}
		})
	}
}

// Close ends what other calls wait for: a reply and a renegotiation that the producer does not
// take.
func TestCloseUnblocks(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
		ev := takeEvent(t, sub, "evt_1")
		for i := range 16 {
			if err := sub.writeMessage(t.Context(), sub.conn, []byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		all.Go(func() {
			if err := sub.Question(ev).Accept(context.Background()); !errors.Is(err, transports.ErrClosed) {
				t.Errorf("Reply = %v, want that the link was closed", err)
			}
		})
		for range 2 {
			all.Go(func() {
				if _, err := sub.Renegotiate(context.Background(), aaep.Capabilities{}); err == nil {
					t.Error("Renegotiate = nil")
				}
			})
		}
		synctest.Wait()
		_ = sub.Close()
		all.Wait()
		_ = p.Close()
	})
}

// Two thousand links that come and go leave nothing. INV-51
func TestManyLinks(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{})
		for n := range 2000 {
			p.sendRaw(t, numberedEvent(n))
			p.sendRaw(t, confirmationMessage("evt_q", "rpl_1", ""))
			if n%3 == 0 {
				p.sendRaw(t, closeMessage("sub_1", "producer_shutdown"))
			}
			_ = p.Close()
			p = st.nextPeer(t)
			p.acceptRequest(t, "sub_1")
			takeEvent(t, sub, "")
			takeEvent(t, sub, "evt_q") // asked again each time
		}
		closeBoth(t, sub, p) // which waits for the goroutine that keeps them
		if n := len(sub.questions); n > 1 {
			t.Errorf("%d questions are open", n)
		}
	})
}
