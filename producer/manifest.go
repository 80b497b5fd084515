package producer

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/manifest"
)

// AddEndpoint says in the manifest that this producer is served over a transport, and where.
// Package producer/serve calls it for what that serves.
func (p *Producer) AddEndpoint(transport string, endpoint manifest.Endpoint) {
	if !p.isMade() {
		return
	}
	p.published.mu.Lock()
	defer p.published.mu.Unlock()
	if p.published.reached == nil {
		p.published.reached = map[string]manifest.Endpoint{}
	}
	p.published.reached[transport] = endpoint
}

// Manifest returns what this producer serves, made anew from its configuration and the endpoints
// that transports have published (§5.10). The caller may change it. It is valid once AddEndpoint
// has named a transport. A Producer that New did not make is an error.
func (p *Producer) Manifest() (*manifest.Manifest, error) {
	if !p.isMade() {
		return nil, errNotMade
	}
	m := &manifest.Manifest{
		AgentID: p.cfg.Agent.AgentID, AgentVersion: p.cfg.Agent.AgentVersion, AgentName: p.cfg.Agent.AgentName,
		AAEPVersionsSupported: []string{aaep.Version}, ConformanceLevelsSupported: slices.Clone(p.offer.Levels),
		LanguagesSupported:         slices.Clone(p.offer.Languages),
		EventTypesEmitted:          []string{"aaep:agent.*"},
		DefaultVerbosity:           aaep.VerbosityNormal,
		MaxConcurrentSubscriptions: int64(p.cfg.MaxSubscriptions),
		Contact:                    p.cfg.Contact,
	}
	standard := map[string]bool{} // the URIs of the extensions of this project
	for _, ext := range extensions.All() {
		standard[ext.URI] = true
	}
	for _, ext := range p.cfg.Extensions {
		m.ExtensionsSupported = append(m.ExtensionsSupported, ext.URI)
		if !standard[ext.URI] { // those emit no types of their own
			m.EventTypesEmitted = append(m.EventTypesEmitted, ext.Prefix+":*")
		}
	}
	p.published.mu.Lock()
	defer p.published.mu.Unlock()
	for _, name := range []string{
		manifest.SSE, manifest.WebSocket, manifest.GRPC, manifest.Unix, manifest.Pipe, manifest.Stdio} {
		if endpoint, ok := p.published.reached[name]; ok {
			if err := m.AddEndpoint(name, endpoint); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// published is where the producer is served, and its newest signature. A signature costs
// milliseconds with some keys, or a call to where the key is, and any peer may ask for one as often
// as it likes.
type published struct {
	mu      sync.Mutex                   // a leaf; guards what follows
	reached map[string]manifest.Endpoint // by transport
	last    *signature                   // nil: none was asked for
}

// signature is a signature of the manifest that was asked for. It may not be there yet: a key that
// is elsewhere need not answer.
type signature struct {
	key   *manifest.Signer
	over  []byte        // the manifest that is signed, encoded
	begun time.Time     // when it was asked for
	done  chan struct{} // closed when text and err are there
	text  string        // a compact JWS
	err   error
}

const (
	// signedFor is how long one signature is given out.
	signedFor = 10 * time.Second
	// signTimeout is how long a key is waited for.
	signTimeout = 5 * time.Second
)

// SignedManifest returns the manifest with the signature of the first of Config.Signers, which may
// be ten seconds old: a compact JWS, or "" if there is none. A key that does not answer within five
// seconds is an error, then and until it does.
func (p *Producer) SignedManifest() (string, error) {
	signers := p.Signers()
	if len(signers) == 0 {
		return "", nil
	}
	m, err := p.Manifest()
	if err != nil {
		return "", err
	}
	encoded, err := manifest.Encode(m)
	if err != nil {
		return "", err
	}
	for {
		s := p.currentSignature(signers[0], m, encoded)
		if !s.waitDone() {
			return "", fmt.Errorf("producer: the manifest's key has not signed within %v", signTimeout)
		}
		if bytes.Equal(s.over, encoded) {
			return s.text, s.err
		}
	}
}

// currentSignature returns the newest signature if it can be used or is still being made, and
// begins a new one otherwise, of m, which is encoded as encoded. One that is being made may be of
// an older manifest: each key signs one at a time, so the caller waits and calls again. The
// goroutine that signs ends when the key answers. It takes published.mu.
func (p *Producer) currentSignature(key *manifest.Signer, m *manifest.Manifest, encoded []byte) *signature {
	p.published.mu.Lock()
	defer p.published.mu.Unlock()
	s, now := p.published.last, time.Now()
	if s != nil && s.key == key {
		if !s.isDone() || s.err == nil && bytes.Equal(s.over, encoded) && now.Sub(s.begun) < signedFor {
			return s
		}
	}
	s = &signature{key: key, over: encoded, begun: now, done: make(chan struct{})}
	p.published.last = s
	go func() {
		defer close(s.done)
		s.err = p.shield.Call("sign the manifest", func() (err error) {
			s.text, err = key.Sign(m, now)
			return err
		})
	}()
	return s
}

// isDone reports whether signing has ended, so that text and err can be read. It returns at once.
func (s *signature) isDone() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// waitDone waits until the signature is there, at most until signTimeout after it was asked for,
// and reports whether it is.
func (s *signature) waitDone() bool {
	timeout := time.NewTimer(time.Until(s.begun.Add(signTimeout)))
	defer timeout.Stop()
	select {
	case <-s.done:
	case <-timeout.C:
	}
	return s.isDone()
}

// Signers returns what Config.Signers returns now, by which the manifest and the identity of the
// agent are signed; nil without Config.Signers, and on a Producer that New did not make.
func (p *Producer) Signers() []*manifest.Signer {
	if !p.isMade() || p.cfg.Signers == nil {
		return nil
	}
	return p.cfg.Signers()
}
