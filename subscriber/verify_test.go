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

// notary signs manifests, by agent_id, and trust believes it.
func notary(t *testing.T) (sign func(agentID string) string, trust *manifest.Trust) {
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
		signed, err := s.Sign(&manifest.Manifest{AgentID: agentID, AgentName: "Bank", AAEPVersionsSupported: []string{"1.0.0"}, ConformanceLevelsSupported: []int64{1, 2},
			TransportsSupported: []string{manifest.SSE}, LanguagesSupported: []string{"en-US"}, EventTypesEmitted: []string{"aaep:agent.*"},
			DefaultVerbosity: aaep.VerbosityNormal, MaxConcurrentSubscriptions: 1}, time.Now())
		must(err)
		return signed
	}, &manifest.Trust{Verifier: manifest.Verifier{Keys: keys}}
}

// proved is an acceptance with a proof.
func proved(signed string) string {
	return strings.Replace(accepted("sub_1", `{}`), `{"type"`, `{"signed_manifest":"`+signed+`","type"`, 1)
}

// proving subscribes to a producer that proves who it is, and which the test plays from then on.
func proving(t *testing.T, st *stage, signed string, trust *manifest.Trust) (*Subscription, *peer) {
	t.Helper()
	done := make(chan *Subscription, 1)
	go func() {
		sub, err := Dial(t.Context(), st, Config{ID: "reader", Trust: trust})
		if err != nil {
			t.Error(err)
		}
		done <- sub
	}()
	p := st.next(t)
	want[*aaep.SubscriptionRequest](t, p)
	p.say(t, proved(signed))
	return <-done, p
}

// INV-40, T3: an event of another agent than the one that proved who it is ends the subscription before anybody hears it.
func TestImpostor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sign, trust := notary(t)
		st := newStage()
		sub, p := proving(t, st, sign("agent"), trust)
		if v := sub.Verified(); v == nil || v.Manifest.AgentName != "Bank" {
			t.Fatalf("Verified = %+v", v)
		}
		p.say(t, evt(1))
		if _, err := sub.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.say(t, strings.Replace(evt(2), `"agent_id":"agent"`, `"agent_id":"mallory"`, 1))
		if ev, err := sub.Next(t.Context()); !errors.Is(err, aaep.ManifestSignatureRequired) || !errors.Is(err, errImpostor) {
			t.Errorf("Next = %v, %v", ev, err)
		}
		if m := want[*aaep.SubscriptionClose](t, p); m.ReasonCode != manifestNotVerified {
			t.Errorf("the producer is told %+v", m)
		}
		sub.Close()
	})
}

// INV-41: every later handshake has to prove it again, also to somebody who did not demand it at first: whoever takes the place of an
// agent that was verified does not pass for it by proving nothing.
func TestProvedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sign, trust := notary(t)
		st := newStage()
		sub, p := proving(t, st, sign("agent"), trust)
		p.Close()
		p = st.next(t)
		p.accept(t, "sub_2") // and proves nothing
		if _, err := sub.Next(t.Context()); !errors.Is(err, manifest.ErrUnsigned) {
			t.Errorf("Next = %v, want that there is no proof", err)
		}
		sub.Close()
	})
}

// INV-41: another agent does not go on where one that was verified broke off, though its own proof holds.
func TestProvedToBeAnother(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sign, trust := notary(t)
		st := newStage()
		sub, p := proving(t, st, sign("agent"), trust)
		p.Close()
		p = st.next(t)
		want[*aaep.SubscriptionRequest](t, p)
		p.say(t, strings.Replace(proved(sign("mallory")), `"agent_id":"agent"`, `"agent_id":"mallory"`, 1))
		if _, err := sub.Next(t.Context()); !errors.Is(err, aaep.ManifestSignatureRequired) || !errors.Is(err, manifest.ErrAgent) || !strings.Contains(err.Error(), `"mallory"`) {
			t.Errorf("Next = %v, want that it is another agent", err)
		}
		if v := sub.Verified(); v.Manifest.AgentID != "agent" {
			t.Errorf("Verified = %+v", v.Manifest)
		}
		sub.Close()
	})
}
