package subscriber

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/manifest"
)

// newNotary returns a function that signs manifests, by agent_id, and a trust that accepts them.
func newNotary(t *testing.T) (sign func(agentID string) string, trust *manifest.Trust) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	s, err := manifest.NewSigner(key, manifest.SignerOptions{})
	must(err)
	public, err := manifest.PublicKeys(s)
	must(err)
	keys, err := manifest.ParseKeys(public)
	must(err)
	return func(agentID string) string {
		signed, err := s.Sign(&manifest.Manifest{AgentID: agentID, AgentName: "Bank",
			AAEPVersionsSupported: []string{"1.0.0"}, ConformanceLevelsSupported: []int64{1, 2},
			TransportsSupported: []string{manifest.SSE}, LanguagesSupported: []string{"en-US"},
			EventTypesEmitted: []string{"aaep:agent.*"},
			DefaultVerbosity:  aaep.VerbosityNormal, MaxConcurrentSubscriptions: 1}, time.Now())
		must(err)
		return signed
	}, &manifest.Trust{Verifier: manifest.Verifier{Keys: keys}}
}

// provedMessage is an acceptance with a proof.
func provedMessage(signed string) string {
	return strings.Replace(acceptedMessage("sub_1", `{}`), `{"type"`, `{"signed_manifest":"`+signed+`","type"`, 1)
}

// dialProving subscribes to a producer that proves who it is, and which the test acts as from then
// on.
func dialProving(t *testing.T, st *fixture, signed string, trust *manifest.Trust) (*Subscription, *peer) {
	t.Helper()
	done := make(chan *Subscription, 1)
	go func() {
		sub, err := Dial(t.Context(), st, Config{ID: "reader", Trust: trust})
		if err != nil {
			t.Error(err)
		}
		done <- sub
	}()
	p := st.nextPeer(t)
	mustRead[*aaep.SubscriptionRequest](t, p)
	p.sendRaw(t, provedMessage(signed))
	return <-done, p
}

// INV-40, T3: an event of another agent than the one that proved who it is ends the subscription
// before a user hears it.
func TestImpostor(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sign, trust := newNotary(t)
		st := newStage()
		sub, p := dialProving(t, st, sign("agent"), trust)
		if v := sub.Verified(); v == nil || v.Manifest.AgentName != "Bank" {
			t.Fatalf("Verified = %+v", v)
		}
		p.sendRaw(t, numberedEvent(1))
		if _, err := sub.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.sendRaw(t, strings.Replace(numberedEvent(2), `"agent_id":"agent"`, `"agent_id":"mallory"`, 1))
		if ev, err := sub.Next(t.Context()); !errors.Is(err, aaep.ManifestSignatureRequired) ||
			!errors.Is(err, errImpostor) {
			t.Errorf("Next = %v, %v", ev, err)
		}
		if m := mustRead[*aaep.SubscriptionClose](t, p); m.ReasonCode != manifestNotVerified {
			t.Errorf("the producer is told %+v", m)
		}
		sub.Close()
	})
}

// INV-41: every later handshake has to prove it again, also to a subscriber that did not demand it
// at first: an agent that takes the place of an agent that was verified does not pass for it by
// proving nothing.
func TestProvedAgain(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sign, trust := newNotary(t)
		st := newStage()
		sub, p := dialProving(t, st, sign("agent"), trust)
		p.Close()
		p = st.nextPeer(t)
		p.acceptRequest(t, "sub_2") // and proves nothing
		if _, err := sub.Next(t.Context()); !errors.Is(err, manifest.ErrUnsigned) {
			t.Errorf("Next = %v, want that there is no proof", err)
		}
		sub.Close()
	})
}

// INV-41: another agent does not go on where one that was verified broke off, though its own proof
// holds.
func TestProvedToBeAnother(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sign, trust := newNotary(t)
		st := newStage()
		sub, p := dialProving(t, st, sign("agent"), trust)
		p.Close()
		p = st.nextPeer(t)
		mustRead[*aaep.SubscriptionRequest](t, p)
		p.sendRaw(t, strings.Replace(provedMessage(sign("mallory")), `"agent_id":"agent"`, `"agent_id":"mallory"`, 1))
		if _, err := sub.Next(t.Context()); !errors.Is(err, aaep.ManifestSignatureRequired) ||
			!errors.Is(err, manifest.ErrAgent) || !strings.Contains(err.Error(), `"mallory"`) {
			t.Errorf("Next = %v, want that it is another agent", err)
		}
		if v := sub.Verified(); v.Manifest.AgentID != "agent" {
			t.Errorf("Verified = %+v", v.Manifest)
		}
		sub.Close()
	})
}
