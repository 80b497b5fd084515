package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/sse"
)

// newSigner makes a key and signs with it.
func newSigner(t *testing.T) *manifest.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	s, err := manifest.NewSigner(key, manifest.SignerOptions{})
	check(t, err)
	return s
}

// publicKeys returns the keys of signers as they are published.
func publicKeys(t *testing.T, signers ...*manifest.Signer) *manifest.KeySet {
	t.Helper()
	data, err := manifest.PublicKeys(signers...)
	check(t, err)
	keys, err := manifest.ParseKeys(data)
	check(t, err)
	return keys
}

// serveSigned serves an agent that signs with what signers holds.
func serveSigned(t *testing.T, id string, signers *atomic.Pointer[[]*manifest.Signer]) (*producer.Producer, string) {
	t.Helper()
	cfg := producer.Config{Agent: aaep.Agent{AgentID: id, AgentName: "Bank"}}
	if signers != nil {
		cfg.Signers = func() []*manifest.Signer { return *signers.Load() }
	}
	p, err := producer.New(cfg)
	check(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	ended := make(chan error, 1)
	go func() { ended <- serve.Serve(context.Background(), ln, p) }()
	t.Cleanup(func() { p.Shutdown(context.Background()); <-ended })
	return p, "http://" + ln.Addr().String()
}

var demanding = everything.With(aaep.Capabilities{AcceptSignedManifestsOnly: new(true)})

// HS-040, HS-048, SEC-018, SEC-019, SEC-020, LVL-033, LVL-039, INV-41: who demands proof gets it
// with the answer, by the key that they trust and no other; who gets none leaves.
func TestProof(t *testing.T) {
	ours, stranger := newSigner(t), newSigner(t)
	var now atomic.Pointer[[]*manifest.Signer]
	now.Store(&[]*manifest.Signer{ours})
	_, bank := serveSigned(t, "bank", &now)
	_, plain := serveSigned(t, "bank", nil)
	trust := &manifest.Trust{Verifier: manifest.Verifier{Keys: publicKeys(t, ours)}}
	dial := func(at string, trust *manifest.Trust, c aaep.Capabilities) (*subscriber.Subscription, error) {
		return subscriber.Dial(t.Context(), sse.Dialer{URL: at},
			subscriber.Config{ID: "x", Capabilities: c, Trust: trust})
	}
	for name, c := range map[string]struct {
		at       string
		trust    *manifest.Trust
		caps     aaep.Capabilities
		why      error
		verified bool
	}{
		"proof demanded":     {bank, trust, demanding, nil, true},
		"proof not demanded": {bank, trust, everything, nil, true},
		"nothing trusted":    {bank, nil, everything, nil, false},
		"another key": {bank, &manifest.Trust{Verifier: manifest.Verifier{Keys: publicKeys(t,
			stranger)}}, demanding, manifest.ErrUnknownKey, false},
		"another key, not demanded": {bank, &manifest.Trust{Verifier: manifest.Verifier{Keys: publicKeys(t,
			stranger)}}, everything, manifest.ErrUnknownKey, false},
		"no proof":                  {plain, trust, everything, nil, false},
		"no proof, though demanded": {plain, trust, demanding, aaep.ManifestSignatureRequired, false},
	} {
		sub, err := dial(c.at, c.trust, c.caps)
		if !errors.Is(err, c.why) || (err == nil) != (c.why == nil) {
			t.Errorf("%s: Dial = %v, want %v", name, err, c.why)
		}
		if err == nil {
			if v := sub.Verified(); (v != nil) != c.verified || v != nil &&
				(v.Manifest.AgentName != "Bank" || v.Identity.Thumbprint == "") {
				t.Errorf("%s: Verified = %+v", name, v)
			}
			sub.Close()
		}
	}
}

// Keys change under a subscription that lives, and no subscription is dropped: the new one is
// published before it signs, the old one for as long as a client may remember it.
func TestKeysChange(t *testing.T) {
	first, second := newSigner(t), newSigner(t)
	var now atomic.Pointer[[]*manifest.Signer]
	now.Store(&[]*manifest.Signer{first})
	p, at := serveSigned(t, "bank", &now)
	keys, err := manifest.RemoteKeys(at+manifest.KeysPath, nil)
	check(t, err)
	trust := &manifest.Trust{Source: keys}
	follow := func(id string) *subscriber.Subscription {
		sub, err := subscriber.Dial(t.Context(), sse.Dialer{URL: at},
			subscriber.Config{ID: id, Capabilities: demanding, Trust: trust})
		check(t, err)
		t.Cleanup(func() { sub.Close() })
		return sub
	}
	before := follow("before")
	now.Store(&[]*manifest.Signer{first, second})
	between := follow("between")
	now.Store(&[]*manifest.Signer{second, first})
	fresh, err := manifest.RemoteKeys(at+manifest.KeysPath, nil) // of a client that comes for the first time
	check(t, err)
	trust = &manifest.Trust{Source: fresh}
	after := follow("after")
	if before.Verified().Identity.Thumbprint != between.Verified().Identity.Thumbprint ||
		after.Verified().Identity.KeyID != second.KeyID() {
		t.Errorf("signed with %s, %s, %s", before.Verified().Identity.KeyID, between.Verified().Identity.KeyID,
			after.Verified().Identity.KeyID)
	}
	if _, err := before.Renegotiate(t.Context(), aaep.Capabilities{MaxEventsPerSecond: 7}); err != nil {
		t.Errorf("Renegotiate = %v", err)
	}
	s, err := p.StartSession(t.Context(), aaep.Say("Working."))
	check(t, err)
	check(t, s.Complete(aaep.Say("Done.")))
	for name, sub := range map[string]*subscriber.Subscription{"before": before, "between": between, "after": after} {
		if evs, err := readUntil(sub, isOver); err != nil || len(evs) == 0 {
			t.Errorf("%s heard %d events, %v", name, len(evs), err)
		}
	}
}

// HS-091: the manifest does not claim what is not served.
func TestManifestClaims(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "bank"}, Languages: []string{"es"},
		Contact: "help@bank.example"})
	check(t, err)
	defer p.Shutdown(context.Background())
	m, err := p.Manifest()
	check(t, err)
	if len(m.TransportsSupported) != 0 {
		t.Errorf("before anything is served it claims %q", m.TransportsSupported)
	}
	if _, err := manifest.Encode(m); err == nil {
		t.Error("a manifest without a transport is valid")
	}
	_, err = new(serve.Server).Handler(p)
	check(t, err)
	m, err = p.Manifest()
	check(t, err)
	if got := m.TransportsSupported; len(got) != 2 || got[0] != manifest.SSE || got[1] != manifest.WebSocket ||
		m.Contact != "help@bank.example" {
		t.Errorf("it claims %q, contact %q", got, m.Contact)
	}
}
