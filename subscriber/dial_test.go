package subscriber

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/transports"
)

// The first message is the request, with what Config says. HS-001, HS-004 to HS-007, HS-009
func TestDialAccepted(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		cfg := Config{ID: "orca", Name: "Orca", Version: "49.1", Capabilities: ScreenReader("en-US")}
		var sub *Subscription
		done := make(chan error, 1)
		go func() {
			var err error
			sub, err = Dial(t.Context(), st, cfg)
			done <- err
		}()
		p := st.nextPeer(t)
		msg, m := p.readMessage(t)
		req, ok := m.(*aaep.SubscriptionRequest)
		if !ok || !strings.HasPrefix(string(msg), `{"type":"subscription.request"`) {
			t.Fatalf("first message = %s, want a subscription.request", msg)
		}
		if req.AAEPVersion != "1.0.0" || req.SubscriberID != "orca" || req.SubscriberName != "Orca" ||
			req.SubscriberVersion != "49.1" ||
			req.Capabilities.MaxEventsPerSecond != 2 || req.Capabilities.Languages[0] != "en-US" {
			t.Errorf("request = %s", msg)
		}
		// HS-054, LVL-035: less than requested is fine.
		p.sendRaw(t, acceptedMessage("sub_1",
			`{"max_events_per_second":2,"supports_confirmation_reply":false,"coalesce_boundaries":["completion"],"languages":["en"]}`))
		if err := <-done; err != nil {
			t.Fatalf("Dial = %v", err)
		}
		if got := sub.Accepted(); got.SubscriptionID != "sub_1" || got.HonoredCapabilities.MaxEventsPerSecond != 2 {
			t.Errorf("Accepted = %+v", got)
		}
		if st, _ := sub.Status(); st != (Status{Connected: true, Subscribed: 1}) {
			t.Errorf("Status = %+v", st)
		}
		closeBoth(t, sub, p)
	})
}

// What the agent says that it does not serve is in the log: an author who asked for another version
// of an extension looks nowhere else.
func TestNotesAreLogged(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		log := new(strings.Builder)
		st, done := newStage(), make(chan error, 1)
		var sub *Subscription
		go func() {
			var err error
			sub, err = Dial(t.Context(), st, Config{ID: "reader", Logger: slog.New(slog.NewTextHandler(log, nil))})
			done <- err
		}()
		p := st.nextPeer(t)
		mustRead[*aaep.SubscriptionRequest](t, p)
		p.sendRaw(t, strings.Replace(acceptedMessage("sub_1", "{}"), "{", `{"negotiation_notes":"med is not used.",`, 1))
		if err := <-done; err != nil || !strings.Contains(log.String(), `notes="med is not used."`) {
			t.Errorf("Dial = %v, and the log is %q", err, log)
		}
		closeBoth(t, sub, p)
	})
}

// tryDial lets act play the producer and returns what Dial does.
func tryDial(t *testing.T, cfg Config, act func(*peer)) (time.Duration, error) {
	t.Helper()
	st := newStage()
	start := time.Now()
	done := make(chan error, 1)
	go func() {
		sub, err := Dial(t.Context(), st, cfg)
		if err == nil {
			t.Error("Dial succeeded")
			_ = sub.Close()
		}
		done <- err
	}()
	p := st.nextPeer(t)
	act(p)
	err := <-done
	took := time.Since(start)
	if n := st.dials.Load(); n != 1 {
		t.Errorf("%d dials, want 1", n)
	}
	// INV-51: a Dial that fails leaves no link behind.
	for {
		if _, eof := p.Receive(t.Context()); eof != nil {
			if eof != io.EOF && eof != transports.ErrClosed {
				t.Errorf("the link ended with %v", eof)
			}
			return took, err
		}
	}
}

// Every reason of a refusal is an error of its own. HS-056 to HS-059, D-56
func TestDialRejected(t *testing.T) {
	for _, code := range []aaep.ReasonCode{aaep.VersionUnsupported, aaep.ManifestSignatureRequired,
		aaep.CapabilitiesIncompatible,
		aaep.RateLimit, aaep.AuthenticationRequired, aaep.AuthorizationDenied, aaep.TransportUnavailable,
		aaep.ReasonUnknown, "acme_full_moon"} {
		t.Run(string(code), func(t *testing.T) {
			runVirtual(t, func(t *testing.T) {
				took, err := tryDial(t, Config{ID: "reader"}, func(p *peer) {
					mustRead[*aaep.SubscriptionRequest](t, p)
					p.sendRaw(t, rejectedMessage(string(code), `,"retry_after_seconds":90`))
				})
				var r *aaep.Rejection
				if !errors.Is(err, code) || !errors.As(err, &r) || !r.Remote || r.RetryAfter != 90*time.Second ||
					r.Message != "no" {
					t.Errorf("Dial = %#v, want a remote rejection %q after 90s", err, code)
				}
				if took != 0 {
					t.Errorf("Dial took %v, want no second attempt", took)
				}
			})
		})
	}
}

// A wait that makes no sense is brought within bounds. HS-059
func TestRetryAfterBounds(t *testing.T) {
	for value, want := range map[string]time.Duration{"-5": 0, "0": 0, "86400": 24 * time.Hour,
		"9007199254740991": 24 * time.Hour} {
		runVirtual(t, func(t *testing.T) {
			_, err := tryDial(t, Config{ID: "reader"},
				func(p *peer) { p.sendRaw(t, rejectedMessage("rate_limit", `,"retry_after_seconds":`+value)) })
			var r *aaep.Rejection
			if !errors.As(err, &r) || r.RetryAfter != want {
				t.Errorf("retry_after_seconds %s: %#v, want %v", value, err, want)
			}
		})
	}
}

// What is no answer is an error that says so. HS-080, INV-31
func TestDialBadAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		words  string
		local  aaep.ReasonCode
	}{
		"garbage":         {"\x00\xff not json", "cannot be read", ""},
		"empty":           {"", "cannot be read", ""},
		"repeated member": {`{"type":"subscription.rejected","type":"subscription.accepted"}`, "cannot be read", ""},
		"an event":        {numberedEvent(1), "acme:thing instead of subscription.accepted", aaep.ReasonUnknown},
		"a request":       {`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"x","capabilities":{}}`, "subscription.request instead", aaep.ReasonUnknown},
		"a close": {closeMessage("sub_1", "producer_shutdown"), "subscription.close instead",
			aaep.ReasonUnknown},
		"version 2": {strings.Replace(acceptedMessage("sub_1", "{}"), "1.0.0", "2.0.0", 1), `"2.0.0"`,
			aaep.VersionUnsupported}, // D-57
		"version 10": {strings.Replace(acceptedMessage("sub_1", "{}"), "1.0.0", "10.0.0", 1), `"10.0.0"`,
			aaep.VersionUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			runVirtual(t, func(t *testing.T) {
				_, err := tryDial(t, Config{ID: "reader"}, func(p *peer) { p.sendRaw(t, tt.answer) })
				wantError(t, "Dial", err, tt.words)
				var r *aaep.Rejection
				if got := errors.As(err, &r); got != (tt.local != "") || got && (r.Code != tt.local || r.Remote) {
					t.Errorf("Dial = %#v, want local code %q", err, tt.local)
				}
			})
		})
	}
}

// A version with our MAJOR is taken as a counter-offer. D-57
func TestDialCounterOffer(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		done := make(chan error, 1)
		go func() {
			sub, err := Dial(t.Context(), st, Config{ID: "reader"})
			if err == nil {
				err = sub.Close()
			}
			done <- err
		}()
		st.nextPeer(t).sendRaw(t, strings.Replace(acceptedMessage("sub_1", "{}"), "1.0.0", "1.9.3", 1))
		if err := <-done; err != nil {
			t.Errorf("Dial = %v", err)
		}
	})
}

// A producer that promises more than was asked for is left, and told why. HS-050 to HS-053, INV-51
func TestDialWiderAnswer(t *testing.T) {
	asked := aaep.Capabilities{MaxEventsPerSecond: 3, Languages: []string{"en-US"},
		CoalesceBoundaries:        []aaep.Boundary{aaep.BoundarySentence},
		SupportsConfirmationReply: new(false),
		EventFilters: &aaep.EventFilters{Include: []string{"aaep:agent.session.*"},
			Exclude: []string{"aaep:agent.session.started"}}}
	for name, tt := range map[string]struct{ honored, words string }{
		"rate":           {`{"max_events_per_second":4}`, "4 events per second"},
		"confirmations":  {`{"supports_confirmation_reply":true}`, "replies that were not offered"},
		"clarifications": {`{"supports_clarification_reply":true}`, "replies that were not offered"},
		"boundary":       {`{"coalesce_boundaries":["sentence","word"]}`, `"word"`},
		"language":       {`{"languages":["en-US","de"]}`, `"de"`},
		"wider filter":   {`{"event_filters":{"include":["aaep:agent.*"]}}`, `"aaep:agent.*"`},
		"extension":      {`{"supported_extensions":["https://x.example/v1"]}`, `"https://x.example/v1"`},
		"capability":     {`{"haptic":{"patterns_supported":["buzz"]}}`, `"haptic"`},
		"exclusion gone": {`{"event_filters":{"include":["aaep:agent.session.*"],"exclude":[]}}`,
			`"aaep:agent.session.started"`},
		"exclusion taken": {`{"event_filters":{"include":["aaep:agent.session.started"],"exclude":["acme:*"]}}`,
			`"aaep:agent.session.started"`},
	} {
		t.Run(name, func(t *testing.T) {
			runVirtual(t, func(t *testing.T) {
				_, err := tryDial(t, Config{ID: "reader", Capabilities: asked}, func(p *peer) {
					mustRead[*aaep.SubscriptionRequest](t, p)
					p.sendRaw(t, acceptedMessage("sub_1", tt.honored))
					if m := mustRead[*aaep.SubscriptionClose](t, p); m.SubscriptionID != "sub_1" ||
						m.ReasonCode != aaep.PolicyViolation {
						t.Errorf("close = %+v", m)
					}
				})
				wantError(t, "Dial", err, tt.words)
				var r *aaep.Rejection
				if !errors.As(err, &r) || r.Code != aaep.PolicyViolation || r.Remote {
					t.Errorf("Dial = %#v, want a local policy_violation", err)
				}
			})
		})
	}
}

// Filters that hold back more, or the same in other words, are fine. HS-054, D-45
func TestNarrowerFilters(t *testing.T) {
	asked := &aaep.EventFilters{Include: []string{"aaep:agent.*", "acme:*"},
		Exclude: []string{"aaep:agent.state.changed"}}
	for _, honored := range []*aaep.EventFilters{
		{}, asked,
		{Include: []string{"acme:thing"}, Exclude: []string{}},
		{Include: []string{"aaep:agent.*"}, Exclude: []string{"aaep:agent.state.*"}},
		{Include: []string{"aaep:agent.state.changed", "acme:*"}, Exclude: []string{"aaep:*"}},
	} {
		if p := letsThrough(asked, honored); p != "" {
			t.Errorf("letsThrough(%+v) = %q, want nothing", honored, p)
		}
	}
	if p := letsThrough(&aaep.EventFilters{}, &aaep.EventFilters{Include: []string{"acme:*"}}); p != "acme:*" {
		t.Errorf("no filter is AAEP's own types: got %q", p)
	}
}

// A signed manifest that was demanded must be there, and a subscriber that demands one says whose
// signature counts. LVL-039, D-54
func TestDialDemandsManifest(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		demanding := aaep.Capabilities{AcceptSignedManifestsOnly: new(true)}
		if _, err := Dial(t.Context(), newStage(), Config{ID: "reader", Capabilities: demanding}); !errors.Is(err,
			errNoTrust) {
			t.Errorf("Dial without Trust = %v", err)
		}
		_, err := tryDial(t, Config{ID: "reader", Trust: &manifest.Trust{}, Capabilities: demanding}, func(p *peer) {
			p.acceptRequest(t, "sub_1")
			if m := mustRead[*aaep.SubscriptionClose](t, p); m.ReasonCode != "manifest_verification_failed" {
				t.Errorf("close = %+v", m)
			}
		})
		if !errors.Is(err, aaep.ManifestSignatureRequired) {
			t.Errorf("Dial = %v", err)
		}
	})
}

// Silence ends the handshake after ten seconds, the end of the link at once. HS-080, INV-54
func TestDialNoAnswer(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		took, err := tryDial(t, Config{ID: "reader"}, func(p *peer) { mustRead[*aaep.SubscriptionRequest](t, p) })
		if !errors.Is(err, context.DeadlineExceeded) || took != 10*time.Second {
			t.Errorf("Dial = %v after %v, want the deadline after 10s", err, took)
		}
		took, err = tryDial(t, Config{ID: "reader"},
			func(p *peer) { mustRead[*aaep.SubscriptionRequest](t, p); _ = p.Close() })
		if !errors.Is(err, io.ErrUnexpectedEOF) || took != 0 {
			t.Errorf("Dial = %v after %v, want io.ErrUnexpectedEOF at once", err, took)
		}
		if _, err = tryDial(t, Config{ID: "reader"}, func(p *peer) { _ = p.Close() }); err == nil ||
			errors.Is(err, io.EOF) {
			t.Errorf("Dial = %v, want an error that is not the io.EOF of Close", err)
		}
	})
}

// The caller's ctx bounds Dial, also while the refused producer is told. INV-51
func TestDialCancelled(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, err := Dial(ctx, st, Config{ID: "reader"})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("Dial = %v after %v", err, time.Since(start))
		}
		p := st.nextPeer(t)
		mustRead[*aaep.SubscriptionRequest](t, p)
		p.checkGone(t)

		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		blocked := dialer(func(ctx context.Context) (transports.Conn, error) { <-ctx.Done(); return nil, ctx.Err() })
		if _, err := Dial(cancelled, blocked, Config{ID: "reader"}); !errors.Is(err, context.Canceled) {
			t.Errorf("Dial = %v, want context.Canceled", err)
		}
	})
}

// What cannot be asked for is an error before the producer is dialed. HS-006, HS-009
func TestDialInvalidConfig(t *testing.T) {
	for name, cfg := range map[string]Config{
		"/subscriber_id":                      {},
		"/subscriber_name":                    {ID: "r", Name: strings.Repeat("x", 257)},
		"/capabilities/max_events_per_second": {ID: "r", Capabilities: aaep.Capabilities{MaxEventsPerSecond: -1}},
		"/capabilities/languages":             {ID: "r", Capabilities: aaep.Capabilities{Languages: []string{}}},
		"/capabilities/preferred_verbosity":   {ID: "r", Capabilities: aaep.Capabilities{PreferredVerbosity: "chatty"}},
	} {
		st := newStage()
		_, err := Dial(t.Context(), st, cfg)
		wantError(t, "Dial", err, name)
		var invalid *aaep.InvalidError
		if !errors.As(err, &invalid) || st.dials.Load() != 0 {
			t.Errorf("%s: %v, %d dials; want an *aaep.InvalidError and none", name, err, st.dials.Load())
		}
	}
	_, err := Dial(t.Context(), nil, Config{ID: "r"})
	wantError(t, "Dial", err, "Dialer")
	down := errors.New("no route")
	if _, err := Dial(t.Context(), &fixture{fail: down}, Config{ID: "r"}); !errors.Is(err, down) {
		t.Errorf("Dial = %v, want the dialer's error", err)
	}
}

// EXT-007: a request whose extensions cannot be had together is made again without them, once; and
// so it stays.
func TestDialAgainWithoutExtensions(t *testing.T) {
	extended := allReplies()
	if err := extended.AddExtension(aaep.Vocabulary{Prefix: "med", URI: "https://a.example/med/v1"},
		map[string]int{"letters": 5}); err != nil {
		t.Fatal(err)
	}
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		done := make(chan *Subscription)
		go func() {
			sub, err := Dial(t.Context(), st, Config{ID: "reader", Capabilities: extended})
			if err != nil {
				t.Error(err)
			}
			done <- sub
		}()
		first := st.nextPeer(t)
		if req := mustRead[*aaep.SubscriptionRequest](t, first); len(req.Capabilities.SupportedExtensions) != 1 ||
			string(req.Capabilities.Extensions["med"]) != `{"letters":5}` {
			t.Errorf("asked for %+v", req.Capabilities)
		}
		first.sendRaw(t, rejectedMessage("capabilities_incompatible", ""))
		first.checkGone(t)
		second := st.nextPeer(t)
		req := second.acceptRequest(t, "sub_1")
		if c := req.Capabilities; extendedBy(c) != 0 || !isTrue(c.SupportsConfirmationReply) {
			t.Errorf("asked again for %+v", c)
		}
		sub := <-done
		second.Close() // it begins anew, with what could be had
		third := st.nextPeer(t)
		if c := third.acceptRequest(t, "sub_2").Capabilities; extendedBy(c) != 0 {
			t.Errorf("asked a third time for %+v", c)
		}
		closeBoth(t, sub, third)
	})
	runVirtual(t, func(t *testing.T) { // twice is enough
		st := newStage()
		done := make(chan error)
		go func() {
			_, err := Dial(t.Context(), st, Config{ID: "reader", Capabilities: extended})
			done <- err
		}()
		for range 2 {
			p := st.nextPeer(t)
			mustRead[*aaep.SubscriptionRequest](t, p)
			p.sendRaw(t, rejectedMessage("capabilities_incompatible", ""))
		}
		if err := <-done; !errors.Is(err, aaep.CapabilitiesIncompatible) || st.dials.Load() != 2 {
			t.Errorf("%v after %d dials", err, st.dials.Load())
		}
	})
}

func extendedBy(c aaep.Capabilities) int { return len(c.SupportedExtensions) + len(c.Extensions) }
