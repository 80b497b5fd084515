package subscriber

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/transports"
)

// A stream that broke goes on where it was, and the subscription never notices. SSE-012, TR-024,
// INV-21
func TestResume(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, f, p := openFlaky(t, st, Config{})
		f.in <- confirmationMessage("evt_1", "rpl_1", "")
		ask := takeEvent(t, sub, "evt_1")
		f.cutAll()
		if status := awaitStatus(sub, false); !errors.Is(status.Err, transports.ErrInterrupted) {
			t.Errorf("Status = %+v, want what broke", status)
		}
		if status := awaitStatus(sub, true); status != (Status{Connected: true, Subscribed: 1, Resumed: true,
			Received: 1}) {
			t.Errorf("Status = %+v, want connected and one handshake", status)
		}
		f.in <- confirmationMessage("evt_1", "rpl_1", "") // repeated by the resumed stream
		f.in <- numberedEvent(2)
		takeEvent(t, sub, "evt_2")
		if err := sub.Question(ask).Accept(t.Context()); err != nil {
			t.Errorf("Reply = %v", err)
		}
		mustRead[*aaep.ConfirmationReply](t, p)
		if st.dials.Load() != 0 || f.attempts() != 1 {
			t.Errorf("%d dials and %d reopenings, want none and one", st.dials.Load(), f.attempts())
		}
		closeBoth(t, sub, p)
	})
}

// While the stream is away, replies and the last words still go out. TR-024, LVL-038
func TestWhileInterrupted(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, f, p := openFlaky(t, newStage(), Config{})
		f.in <- confirmationMessage("evt_1", "rpl_1", "")
		ask := takeEvent(t, sub, "evt_1")
		f.reopen = func(int) error { return interruptedError() }
		f.cutAll()
		synctest.Wait()
		if err := sub.Question(ask).Reject(t.Context()); err != nil {
			t.Errorf("Reply = %v", err)
		}
		mustRead[*aaep.ConfirmationReply](t, p)
		closeBoth(t, sub, nil)
		mustRead[*aaep.SubscriptionClose](t, p)
		p.checkGone(t)
	})
}

// A stream that does not come back costs the subscription: after a minute and some tries, or at
// once where the producer says that it is gone. However unlucky the delays, no producer is given up
// sooner. TR-024
func TestResumeFails(t *testing.T) {
	for name, tt := range map[string]struct {
		err         error
		least, most int
		away        time.Duration
	}{
		"still interrupted": {interruptedError(), 5, 30, time.Minute},
		"gone":              {errors.New("status 404"), 1, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			runVirtual(t, func(t *testing.T) {
				st := newStage()
				sub, f, old := openFlaky(t, st, Config{})
				f.reopen = func(int) error { return tt.err }
				cut := time.Now()
				f.cutAll()
				p := st.nextPeer(t)
				if away := time.Since(cut); away < tt.away || away > tt.away+2*time.Minute {
					t.Errorf("the subscription was given up after %v", away)
				}
				p.acceptRequest(t, "sub_2")
				p.sendRaw(t, numberedEvent(1))
				takeEvent(t, sub, "evt_1")
				if got, _ := sub.Status(); !got.Connected || got.Subscribed != 2 || got.Resumed || got.Err != nil ||
					f.attempts() < tt.least || f.attempts() > tt.most {
					t.Errorf("Status = %+v after %d tries, want two handshakes after %d to %d", got, f.attempts(),
						tt.least, tt.most)
				}
				old.checkGone(t)
				closeBoth(t, sub, p)
			})
		})
	}
}

// A producer that is restarted goes on being heard, and Status tells what happened. HS-080, TR-024
func TestProducerRestarted(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{})
		p.sendRaw(t, numberedEvent(1))
		_, changed := sub.Status()
		_ = p.Close() // killed: no word
		<-changed
		if got, _ := sub.Status(); got.Connected || got.Err == nil || got.Over {
			t.Errorf("Status = %+v, want why the link is broken", got)
		}
		p = st.nextPeer(t)
		mustRead[*aaep.SubscriptionRequest](t, p)
		_ = p.Close() // starting
		p = st.nextPeer(t)
		p.sendRaw(t, "starting…")
		_ = st.nextPeer(t) // hangs
		time.Sleep(11 * time.Second)
		p = st.nextPeer(t)
		p.acceptRequest(t, "sub_2")
		p.sendRaw(t, numberedEvent(1)) // the id is known
		p.sendRaw(t, numberedEvent(2))
		takeEvent(t, sub, "evt_1")
		takeEvent(t, sub, "evt_2")
		if got, _ := sub.Status(); !got.Connected || got.Subscribed != 2 || got.Resumed || got.Err != nil {
			t.Errorf("Status = %+v", got)
		}
		if id := sub.Accepted().SubscriptionID; id != "sub_2" {
			t.Errorf("Accepted is of %s, want sub_2", id)
		}
		closeBoth(t, sub, p)
	})
}

// Old questions die with their subscription. One that is still open is asked again on the new one,
// and only there it can be answered. INV-18, INV-19, D-34
func TestQuestionsAfterReconnect(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, old := openSubscription(t, st, Config{})
		old.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
		old.sendRaw(t, confirmationMessage("evt_2", "rpl_2", ""))
		first, second := takeEvent(t, sub, "evt_1"), takeEvent(t, sub, "evt_2")
		if err := sub.Question(first).Accept(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = old.Close() // perhaps before it was read
		p := st.nextPeer(t)
		p.acceptRequest(t, "sub_2")
		synctest.Wait()
		for _, ev := range []*aaep.Event{first, second} {
			if err := sub.Question(ev).Accept(t.Context()); !errors.Is(err, ErrUnknownEvent) {
				t.Errorf("Reply to an old question = %v, want ErrUnknownEvent", err)
			}
		}
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", "")) // this one is a duplicate
		p.sendRaw(t, numberedEvent(3))
		again := takeEvent(t, sub, "evt_1")
		takeEvent(t, sub, "evt_3")
		p.checkSilent(t, time.Minute/2) // yes to one is not yes to the other
		if err := sub.Question(first).Accept(t.Context()); !errors.Is(err, ErrUnknownEvent) {
			t.Errorf("Reply to the old copy = %v, want ErrUnknownEvent", err)
		}
		if err := sub.Question(again).Reject(t.Context()); err != nil {
			t.Errorf("Reply = %v", err)
		}
		if r := mustRead[*aaep.ConfirmationReply](t, p); r.SubscriptionID != "sub_2" || r.Decision != aaep.Reject {
			t.Errorf("reply = %+v", r)
		}
		closeBoth(t, sub, p)
	})
}

// A reply that hangs on the old link is not sent on the new one. INV-19
func TestReplyUnderWayWhileReconnecting(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, old := openSubscription(t, st, Config{})
		for n := range 17 {
			old.sendRaw(t, confirmationMessage(fmt.Sprintf("evt_%d", n), fmt.Sprintf("rpl_%d", n), ""))
			ev := takeEvent(t, sub, "")
			go func() {
				if err := sub.Question(ev).Accept(context.Background()); n == 16 && err == nil {
					t.Error("Reply on a full link that broke = nil")
				}
			}()
			synctest.Wait()
		}
		_ = old.Close()
		p := st.nextPeer(t)
		p.acceptRequest(t, "sub_2")
		p.checkSilent(t, time.Minute)
		closeBoth(t, sub, p)
	})
}

// What a producer closes with decides whether the subscriber comes back. D-54, INV-52
func TestClosedByProducer(t *testing.T) {
	for code, back := range map[aaep.ReasonCode]bool{
		aaep.ProducerShutdown: true, aaep.SlowSubscriber: true, aaep.SubscriberShutdown: true, aaep.RateLimit: true,
		aaep.TransportUnavailable: true, aaep.ReasonUnknown: true, "acme_tea_break": true,
		aaep.PolicyViolation: false, "manifest_verification_failed": false, "session_ended": false,
		aaep.AuthenticationRequired: false, aaep.AuthorizationDenied: false,
	} {
		t.Run(string(code), func(t *testing.T) {
			runVirtual(t, func(t *testing.T) {
				st := newStage()
				sub, p := openSubscription(t, st, Config{})
				p.sendRaw(t, closeMessage("sub_1", string(code)))
				p.checkGone(t)
				if back {
					p = st.nextPeer(t)
					p.acceptRequest(t, "sub_2")
					synctest.Wait()
				} else {
					time.Sleep(24 * time.Hour)
					_, err := sub.Next(t.Context())
					var r *aaep.Rejection
					if !errors.Is(err, code) || !errors.As(err, &r) || !r.Remote {
						t.Errorf("Next = %v, want a remote %s", err, code)
					}
					if got, _ := sub.Status(); got.Connected || !got.Over || got.Err != err {
						t.Errorf("Status = %+v, want over because of %v", got, err)
					}
					if err := sub.Question(&aaep.Event{Payload: &aaep.AwaitingConfirmation{}}).Accept(t.Context()); !errors.Is(err, ErrUnknownEvent) {
						t.Errorf("Reply after the end = %v", err)
					}
				}
				if n, want := st.dials.Load(), int64(1); n != want && !back || back && n != 2 {
					t.Errorf("%d dials", n)
				}
				closeBoth(t, sub, p)
			})
		})
	}
	runVirtual(t, func(t *testing.T) { // D-54: without a reason
		sub, p := openSubscription(t, newStage(), Config{ID: "reader", NoReconnect: true})
		p.sendRaw(t, `{"type":"subscription.close","subscription_id":"sub_1"}`)
		if _, err := sub.Next(t.Context()); !errors.Is(err, aaep.ReasonUnknown) {
			t.Errorf("Next = %v, want unknown", err)
		}
		closeBoth(t, sub, p)
	})
}

// Refusals that will not change end the subscription for good; others do not. INV-52, HS-057
func TestRejectedWhileReconnecting(t *testing.T) {
	for code, final := range map[aaep.ReasonCode]bool{
		aaep.VersionUnsupported: true, aaep.ManifestSignatureRequired: true, aaep.CapabilitiesIncompatible: true,
		aaep.AuthenticationRequired: true, aaep.AuthorizationDenied: true,
		aaep.RateLimit: false, aaep.TransportUnavailable: false, aaep.ReasonUnknown: false,
	} {
		t.Run(string(code), func(t *testing.T) {
			runVirtual(t, func(t *testing.T) {
				st := newStage()
				sub, p := openSubscription(t, st, Config{})
				_ = p.Close()
				p = st.nextPeer(t)
				p.sendRaw(t, rejectedMessage(string(code), ""))
				if final {
					if _, err := sub.Next(t.Context()); !errors.Is(err, code) {
						t.Errorf("Next = %v, want %s", err, code)
					}
					time.Sleep(24 * time.Hour)
					if n := st.dials.Load(); n != 2 {
						t.Errorf("%d dials, want no more than 2", n)
					}
				} else {
					p = st.nextPeer(t)
					p.acceptRequest(t, "sub_2")
				}
				synctest.Wait()
				closeBoth(t, sub, p)
			})
		})
	}
	runVirtual(t, func(t *testing.T) { // a producer that came back and promises too much
		st := newStage()
		sub, p := openSubscription(t, st, Config{ID: "reader"})
		_ = p.Close()
		p = st.nextPeer(t)
		p.sendRaw(t, acceptedMessage("sub_2", `{"supports_confirmation_reply":true}`))
		if _, err := sub.Next(t.Context()); !errors.Is(err, aaep.PolicyViolation) {
			t.Errorf("Next = %v, want policy_violation", err)
		}
		mustRead[*aaep.SubscriptionRequest](t, p)
		mustRead[*aaep.SubscriptionClose](t, p)
		closeBoth(t, sub, p)
	})
}

// NoReconnect ends the subscription with the link, and says why; that is not the io.EOF of Close.
func TestNoReconnect(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{ID: "reader", NoReconnect: true})
		p.sendRaw(t, numberedEvent(1))
		_ = p.Close()
		takeEvent(t, sub, "evt_1")
		pairs := 0
		for _, err := range sub.Events(t.Context()) {
			pairs++
			wantError(t, "the last pair", err, "ended the link")
		}
		if _, err := sub.Next(t.Context()); pairs != 1 || errors.Is(err, io.EOF) || st.dials.Load() != 1 {
			t.Errorf("%d pairs, Next = %v, %d dials", pairs, err, st.dials.Load())
		}
		closeBoth(t, sub, p)

		sub, f, q := openFlaky(t, st, Config{NoReconnect: true})
		f.cutAll()
		pairs = 0
		for _, err := range sub.Events(t.Context()) { // there is an io.EOF inside this error
			if pairs++; !errors.Is(err, transports.ErrInterrupted) {
				t.Errorf("the last pair has %v", err)
			}
		}
		if pairs != 1 || f.attempts() != 0 {
			t.Errorf("%d pairs, %d tries; want one and none", pairs, f.attempts())
		}
		mustRead[*aaep.SubscriptionClose](t, q) // the producer still had it
		closeBoth(t, sub, q)
	})
}

// Status never compares errors, for some cannot be.
func TestStatusWithOddErrors(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{})
		st.fail = oddError{"no", "route"}
		_ = p.Close()
		time.Sleep(10 * time.Minute)
		if got, _ := sub.Status(); got.Connected || !errors.As(got.Err, new(oddError)) {
			t.Errorf("Status = %+v", got)
		}
		closeBoth(t, sub, p)
	})
}

type oddError []string

func (e oddError) Error() string { return fmt.Sprint([]string(e)) }

// A subscription that ends as it was asked to is over; one that ends like that unasked is begun
// anew, and does not say any more that its user is typing.
func TestAskedToEnd(t *testing.T) {
	delivery := func(d extensions.Delivery) aaep.Capabilities {
		c := allReplies()
		if err := c.AddExtension(extensions.DeliveryVocabulary, d); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for name, tc := range map[string]struct {
		caps   aaep.Capabilities
		code   string
		again  bool
		object string
	}{
		"old":     {delivery(extensions.Delivery{MaxDurationSeconds: 60}), "ttl", false, ""},
		"idle":    {delivery(extensions.Delivery{IdleTimeoutSeconds: 60}), "idle_timeout", false, ""},
		"unasked": {allReplies(), "idle_timeout", true, ""},
		"other": {delivery(extensions.Delivery{MinRelevance: 0.5, Presence: extensions.PresenceTyping}),
			"producer_shutdown", true, `{"min_relevance":0.5}`},
	} {
		runVirtual(t, func(t *testing.T) {
			st := newStage()
			sub, p := openSubscription(t, st, Config{ID: "reader", Capabilities: tc.caps})
			p.sendRaw(t, fmt.Sprintf(`{"type":"subscription.close","subscription_id":"sub_1","reason_code":%q,"reason_message":"As asked."}`, tc.code))
			synctest.Wait()
			if !tc.again {
				time.Sleep(time.Hour)
				if s, _ := sub.Status(); !s.Over || st.dials.Load() != 1 {
					t.Errorf("%s: %+v after %d dials", name, s, st.dials.Load())
				}
				return
			}
			p = st.nextPeer(t)
			if req := p.acceptRequest(t, "sub_2"); string(req.Capabilities.Extensions["delivery"]) != tc.object {
				t.Errorf("%s: asked anew for %s", name, req.Capabilities.Extensions)
			}
			closeBoth(t, sub, p)
		})
	}
}

// After a new subscription that went on where the one before it was, a renegotiation is answered
// with that place, too, which was asked for: nothing ends, also where terms change again. P8
func TestRenegotiateAfterGoingOn(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st, c := newStage(), allReplies()
		c.SupportedExtensions = []string{extensions.DeliveryVocabulary.URI}
		served := fmt.Sprintf(`"supported_extensions":[%q]`, extensions.DeliveryVocabulary.URI)
		var sub *Subscription
		dialed := make(chan error, 1)
		go func() {
			var err error
			sub, err = Dial(t.Context(), st, Config{ID: "reader", Capabilities: c})
			dialed <- err
		}()
		first := st.nextPeer(t)
		mustRead[*aaep.SubscriptionRequest](t, first)
		first.sendRaw(t, acceptedMessage("sub_1", "{"+served+"}"))
		if err := <-dialed; err != nil {
			t.Fatal(err)
		}
		first.sendRaw(t, numberedEvent(1))
		takeEvent(t, sub, "evt_1")
		_ = first.Close() // the agent is killed, and started again
		second := st.nextPeer(t)
		if req := mustRead[*aaep.SubscriptionRequest](t, second); req.Capabilities.Extensions["delivery"] == nil {
			t.Fatalf("it asks for %+v", req.Capabilities)
		}
		goesOn := served + `,"delivery":{"resume_after":"evt_1"}`
		second.sendRaw(t, acceptedMessage("sub_2", "{"+goesOn+"}"))
		awaitStatus(sub, true)
		for rate := int64(5); rate > 3; rate-- {
			answered := make(chan error, 1)
			go func() {
				_, err := sub.Renegotiate(t.Context(), aaep.Capabilities{MaxEventsPerSecond: rate})
				answered <- err
			}()
			mustRead[*aaep.SubscriptionRenegotiate](t, second)
			second.sendRaw(t, acceptedMessage("sub_2", fmt.Sprintf(`{"max_events_per_second":%d,%s}`, rate, goesOn)))
			if err := <-answered; err != nil {
				t.Fatalf("Renegotiate to %d = %v", rate, err)
			}
		}
		second.sendRaw(t, numberedEvent(2))
		takeEvent(t, sub, "evt_2")
		closeBoth(t, sub, second)
	})
}
