package subscriber

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
)

// asked is what a Renegotiate came to.
type asked struct {
	got *aaep.SubscriptionAccepted
	err error
}

func renegotiateAsync(ctx context.Context, sub *Subscription, change aaep.Capabilities) chan asked {
	done := make(chan asked, 1)
	go func() {
		got, err := sub.Renegotiate(ctx, change)
		done <- asked{got, err}
	}()
	return done
}

// New terms are agreed upon and asked for again on a new subscription. HS-072, HS-074, LVL-036
func TestRenegotiate(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		base := ScreenReader("en-US")
		base.Extensions = map[string]json.RawMessage{"acme": json.RawMessage(`{"a":1}`)}
		sub, p := openSubscription(t, st, Config{ID: "reader", Capabilities: base})
		change := aaep.Capabilities{
			MaxEventsPerSecond: 1, PreferredVerbosity: aaep.VerbosityTerse, Languages: []string{"de"},
			SupportsConfirmationReply: new(false), SupportsClarificationReply: new(false),
			CoalesceBoundaries:         []aaep.Boundary{aaep.BoundaryCompletion},
			EventFilters:               &aaep.EventFilters{Exclude: []string{"acme:*"}},
			SupportedConformanceLevels: []int64{1}, SupportedExtensions: []string{"https://acme.example/x"},
			CognitiveLoad: aaep.LoadLow, PaceWPM: 120, AcceptSignedManifestsOnly: new(false),
			Extensions: map[string]json.RawMessage{"wave": json.RawMessage(`{"b":2}`)},
		}
		done := renegotiateAsync(t.Context(), sub, change)
		m := mustRead[*aaep.SubscriptionRenegotiate](t, p)
		if m.SubscriptionID != "sub_1" || m.Capabilities.PaceWPM != 120 {
			t.Errorf("renegotiate = %+v", m)
		}
		p.sendRaw(t, numberedEvent(1)) // still under the old terms: HS-077
		p.sendRaw(t, acceptedMessage("sub_1", `{"max_events_per_second":1,"languages":["de"]}`))
		if r := <-done; r.err != nil || r.got != sub.Accepted() || r.got.HonoredCapabilities.MaxEventsPerSecond != 1 {
			t.Errorf("Renegotiate = %+v", r)
		}
		takeEvent(t, sub, "evt_1")
		_ = p.Close()
		p = st.nextPeer(t)
		msg, got := p.readMessage(t)
		want := change
		want.Extensions = map[string]json.RawMessage{"acme": json.RawMessage(`{"a":1}`),
			"wave": json.RawMessage(`{"b":2}`)}
		wanted, err := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "reader",
			Capabilities: want})
		if _, ok := got.(*aaep.SubscriptionRequest); !ok || err != nil || string(msg) != string(wanted) {
			t.Errorf("asked for anew:\n%s, want\n%s", msg, wanted)
		}
		p.sendRaw(t, acceptedMessage("sub_2", "{}"))
		synctest.Wait()
		closeBoth(t, sub, p)
		if len(base.Extensions) != 1 {
			t.Error("the caller's map was changed")
		}
	})
}

// A language that the agent lacks is asked for again before those that it may have: for it alone a
// new subscription would be refused, and a user would hear nothing more because of a key they
// pressed an hour ago. D-46
func TestRenegotiateLanguageThatIsLacking(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{ID: "reader",
			Capabilities: aaep.Capabilities{Languages: []string{"en-US", "es"}}})
		for _, tags := range [][]string{{"yo"}, {"es", "ig"}} {
			done := renegotiateAsync(t.Context(), sub, aaep.Capabilities{Languages: tags})
			mustRead[*aaep.SubscriptionRenegotiate](t, p)
			p.sendRaw(t, acceptedMessage("sub_1", "{}"))
			if r := <-done; r.err != nil {
				t.Fatal(r.err)
			}
		}
		_ = p.Close()
		p = st.nextPeer(t)
		if req := p.acceptRequest(t, "sub_2"); !slices.Equal(req.Capabilities.Languages,
			[]string{"es", "ig", "yo", "en-US"}) {
			t.Errorf("asked anew for %q", req.Capabilities.Languages)
		}
		synctest.Wait()
		closeBoth(t, sub, p)
	})
}

// A subscriber that is refused other terms has those of before, on a new subscription: the old one
// is over. HS-073, D-54
func TestRenegotiateRefusedGoesOn(t *testing.T) {
	for _, code := range []aaep.ReasonCode{aaep.CapabilitiesIncompatible, aaep.AuthorizationDenied} {
		runVirtual(t, func(t *testing.T) {
			st := newStage()
			sub, p := openSubscription(t, st,
				Config{ID: "reader", Capabilities: aaep.Capabilities{MaxEventsPerSecond: 3}})
			done := renegotiateAsync(t.Context(), sub, aaep.Capabilities{MaxEventsPerSecond: 4})
			mustRead[*aaep.SubscriptionRenegotiate](t, p)
			p.sendRaw(t, rejectedMessage(string(code), ""))
			if r := <-done; !errors.Is(r.err, code) || r.got != nil {
				t.Errorf("Renegotiate = %+v, want %s", r, code)
			}
			p.checkGone(t)
			p = st.nextPeer(t)
			if req := p.acceptRequest(t, "sub_2"); req.Capabilities.MaxEventsPerSecond != 3 {
				t.Errorf("asked anew for %d events a second, want 3", req.Capabilities.MaxEventsPerSecond)
			}
			synctest.Wait()
			closeBoth(t, sub, p)
		})
	}
}

// A refusal that comes while the stream is opened again, and is gone, is told in its words, and is
// why the subscription ended.
func TestRenegotiateRefusedWhileMending(t *testing.T) {
	for _, code := range []aaep.ReasonCode{aaep.CapabilitiesIncompatible, aaep.PolicyViolation} {
		runVirtual(t, func(t *testing.T) {
			st := newStage()
			sub, f, p := openFlaky(t, st, Config{ID: "reader"})
			f.reopen = func(int) error {
				f.in <- rejectedMessage(string(code), "")
				return errors.New("status 404")
			}
			done := renegotiateAsync(t.Context(), sub, aaep.Capabilities{MaxEventsPerSecond: 4})
			mustRead[*aaep.SubscriptionRenegotiate](t, p)
			f.cutAll()
			if r := <-done; !errors.Is(r.err, code) {
				t.Errorf("Renegotiate = %+v, want %s", r, code)
			}
			p.checkGone(t)
			if code == aaep.CapabilitiesIncompatible {
				p = st.nextPeer(t)
				p.acceptRequest(t, "sub_2")
				synctest.Wait()
			} else if _, err := sub.Next(t.Context()); !errors.Is(err, code) {
				t.Errorf("Next = %v, want %s", err, code)
			}
			closeBoth(t, sub, p)
		})
	}
}

// A refusal is the end where NoReconnect is set, an answer that is too wide or about another
// subscription always. HS-053, D-54
func TestRenegotiateRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		code   aaep.ReasonCode
		remote bool
	}{
		"refused": {rejectedMessage("capabilities_incompatible", ""), aaep.CapabilitiesIncompatible, true},
		"wider":   {acceptedMessage("sub_1", `{"max_events_per_second":5}`), aaep.PolicyViolation, false},
		"renamed": {acceptedMessage("sub_2", `{}`), aaep.PolicyViolation, false}, // D-44
	} {
		t.Run(name, func(t *testing.T) {
			runVirtual(t, func(t *testing.T) {
				st := newStage()
				sub, p := openSubscription(t, st, Config{ID: "reader", NoReconnect: tt.remote})
				done := renegotiateAsync(t.Context(), sub, aaep.Capabilities{MaxEventsPerSecond: 4})
				mustRead[*aaep.SubscriptionRenegotiate](t, p)
				p.sendRaw(t, tt.answer)
				r := <-done
				var no *aaep.Rejection
				if !errors.Is(r.err, tt.code) || !errors.As(r.err, &no) || no.Remote != tt.remote || r.got != nil {
					t.Errorf("Renegotiate = %+v, want %s", r, tt.code)
				}
				if _, err := sub.Next(t.Context()); err != r.err {
					t.Errorf("Next = %v, want %v", err, r.err)
				}
				if !tt.remote {
					mustRead[*aaep.SubscriptionClose](t, p)
				}
				p.checkGone(t)
				if _, err := sub.Renegotiate(t.Context(), aaep.Capabilities{}); err != r.err {
					t.Errorf("Renegotiate after the end = %v, want %v", err, r.err)
				}
				closeBoth(t, sub, p)
			})
		})
	}
}

// What cannot be sent is an error and changes nothing.
func TestRenegotiateInvalid(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		_, err := sub.Renegotiate(t.Context(), aaep.Capabilities{PaceWPM: 1})
		wantError(t, "Renegotiate", err, "/capabilities/pace_wpm")
		_, err = sub.Renegotiate(t.Context(), Braille(0)) // HS-041
		wantError(t, "Renegotiate", err, "/capabilities/braille/cells")
		p.checkSilent(t, time.Second)
		done := renegotiateAsync(t.Context(), sub, aaep.Capabilities{PaceWPM: 100})
		mustRead[*aaep.SubscriptionRenegotiate](t, p)
		p.sendRaw(t, acceptedMessage("sub_1", "{}"))
		if r := <-done; r.err != nil {
			t.Errorf("Renegotiate = %v", r.err)
		}
		closeBoth(t, sub, p)
	})
}

// An answer that is no longer awaited holds, and is not taken for that to the next question.
func TestRenegotiateLateAnswer(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{ID: "reader"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r := <-renegotiateAsync(ctx, sub, aaep.Capabilities{PaceWPM: 100}); !errors.Is(r.err,
			context.DeadlineExceeded) {
			t.Errorf("Renegotiate = %v", r.err)
		}
		mustRead[*aaep.SubscriptionRenegotiate](t, p)
		second := renegotiateAsync(t.Context(), sub, aaep.Capabilities{PaceWPM: 200})
		third, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if r := <-renegotiateAsync(third, sub, aaep.Capabilities{}); !errors.Is(r.err, context.DeadlineExceeded) {
			t.Errorf("a Renegotiate that waits for its turn = %v, want its ctx's error", r.err)
		}
		p.sendRaw(t, acceptedMessage("sub_1", `{"pace_wpm":100}`))
		if m := mustRead[*aaep.SubscriptionRenegotiate](t, p); m.Capabilities.PaceWPM != 200 {
			t.Errorf("asked for %+v", m.Capabilities)
		}
		if got := sub.Accepted().HonoredCapabilities.PaceWPM; got != 100 {
			t.Errorf("Accepted has pace %d, want the late answer's 100", got)
		}
		p.sendRaw(t, acceptedMessage("sub_1", `{"pace_wpm":200}`))
		if r := <-second; r.err != nil || r.got.HonoredCapabilities.PaceWPM != 200 {
			t.Errorf("Renegotiate = %+v, want its own answer", r)
		}
		closeBoth(t, sub, p)
	})
}

// Silence is not waited for without end, nor is a link that broke.
func TestRenegotiateNoAnswer(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{ID: "reader"})
		start := time.Now()
		_, err := sub.Renegotiate(context.Background(), aaep.Capabilities{PaceWPM: 100})
		if wantError(t, "Renegotiate", err, "in time"); time.Since(start) != 10*time.Second {
			t.Errorf("it took %v, want 10s", time.Since(start))
		}
		mustRead[*aaep.SubscriptionRenegotiate](t, p)

		done := renegotiateAsync(context.Background(), sub, aaep.Capabilities{PaceWPM: 200})
		mustRead[*aaep.SubscriptionRenegotiate](t, p)
		_ = p.Close()
		wantError(t, "Renegotiate", (<-done).err, "ended the link")
		p = st.nextPeer(t)
		if req := p.acceptRequest(t, "sub_2"); req.Capabilities.PaceWPM != 0 {
			t.Errorf("asked anew for %+v, want what was agreed upon", req.Capabilities)
		}
		synctest.Wait()
		done = renegotiateAsync(context.Background(), sub, aaep.Capabilities{PaceWPM: 300})
		mustRead[*aaep.SubscriptionRenegotiate](t, p)
		closeBoth(t, sub, p)
		if r := <-done; r.err != io.EOF {
			t.Errorf("Renegotiate during Close = %v, want io.EOF", r.err)
		}
	})
}

// From inside the loop, with more events waiting than fit, Reply and Renegotiate do not hang.
// HS-072, LVL-023
func TestInsideTheLoop(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{})
		const total = 1000
		next := make(chan bool)
		go func() { // reads only when everything was written
			p.sendRaw(t, confirmationMessage("evt_ask", "rpl_1", ""))
			for n := range total {
				p.sendRaw(t, numberedEvent(n))
			}
			p.answerSecond(t, next)
		}()
		n := 0
		for ev, err := range sub.Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := ev.Payload.(*aaep.AwaitingConfirmation); !ok {
				if want := fmt.Sprintf("evt_%d", n); ev.EventID != want {
					t.Fatalf("event %s, want %s", ev.EventID, want)
				}
				if n++; n == total {
					break
				}
				continue
			}
			synctest.Wait() // the inbox is full, and so is the link
			if err := sub.Question(ev).Reject(t.Context()); err != nil {
				t.Errorf("Reply = %v", err)
			}
			if got, err := sub.Renegotiate(t.Context(), aaep.Capabilities{PaceWPM: 150}); err != nil ||
				got.HonoredCapabilities.PaceWPM != 150 {
				t.Errorf("Renegotiate = %v, %v", got, err)
			}
		}
		<-next
		closeBoth(t, sub, p)
	})
}

// answerSecond reads a reply and a renegotiation and answers the second.
func (p *peer) answerSecond(t *testing.T, done chan bool) {
	mustRead[*aaep.ConfirmationReply](t, p)
	mustRead[*aaep.SubscriptionRenegotiate](t, p)
	p.sendRaw(t, acceptedMessage("sub_1", `{"pace_wpm":150}`))
	close(done)
}

// An answer behind an endless flood is given up, and no memory is spent on it. P10
func TestRenegotiateCrowded(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, p := openSubscription(t, newStage(), Config{ID: "reader"})
		var sent atomic.Int64
		go func() {
			for n := 0; p.Send(context.Background(), []byte(numberedEvent(n))) == nil; n++ {
				sent.Store(int64(n))
			}
		}()
		_, err := sub.Renegotiate(context.Background(), aaep.Capabilities{PaceWPM: 100})
		wantError(t, "Renegotiate", err, "behind more events")
		time.Sleep(time.Hour)
		if most := int64(widerTimes*waitingEvents + 20); sent.Load() > most {
			t.Errorf("%d events were taken, want at most %d", sent.Load(), most)
		}
		for n := range 5000 {
			takeEvent(t, sub, fmt.Sprintf("evt_%d", n))
		}
		closeBoth(t, sub, nil)
	})
}
