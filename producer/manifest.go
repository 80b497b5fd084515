package producer

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/manifest"
)

// AddEndpoint says in the manifest that this producer is served over a transport, and where. Package producer/serve does it for
// what it serves.
func (p *Producer) AddEndpoint(transport string, at manifest.Endpoint) {
	p.published.mu.Lock()
	defer p.published.mu.Unlock()
	if p.published.reached == nil {
		p.published.reached = map[string]manifest.Endpoint{}
	}
	p.published.reached[transport] = at
}

// Manifest says what this producer serves, from what it is configured to do and nothing else (§5.10). The result is the
// caller's. It is valid once AddEndpoint has named a transport.
func (p *Producer) Manifest() (*manifest.Manifest, error) {
	m := &manifest.Manifest{
		AgentID: p.cfg.Agent.AgentID, AgentVersion: p.cfg.Agent.AgentVersion, AgentName: p.cfg.Agent.AgentName,
		AAEPVersionsSupported: []string{aaep.Version}, ConformanceLevelsSupported: slices.Clone(p.offer.Levels),
		LanguagesSupported:         slices.Clone(p.offer.Languages),
		EventTypesEmitted:          []string{"aaep:agent.*"},
		DefaultVerbosity:           aaep.VerbosityNormal,
		MaxConcurrentSubscriptions: int64(p.cfg.MaxSubscriptions),
		Contact:                    p.cfg.Contact,
	}
	ours := map[string]bool{}
	for _, ext := range extensions.All() {
		ours[ext.URI] = true
	}
	for _, ext := range p.cfg.Extensions {
		m.ExtensionsSupported = append(m.ExtensionsSupported, ext.URI)
		if !ours[ext.URI] { // which emit no types of their own
			m.EventTypesEmitted = append(m.EventTypesEmitted, ext.Prefix+":*")
		}
	}
	p.published.mu.Lock()
	defer p.published.mu.Unlock()
	for _, name := range []string{manifest.SSE, manifest.WebSocket, manifest.GRPC, manifest.Unix, manifest.Pipe, manifest.Stdio} {
		if at, ok := p.published.reached[name]; ok {
			if err := m.AddEndpoint(name, at); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// published is where the producer is served, and the manifest as it was signed last. A signature costs milliseconds with some keys,
// or a call to where the key is, and strangers may ask for it as often as they like.
type published struct {
	mu      sync.Mutex
	reached map[string]manifest.Endpoint // by transport

	signing sync.Mutex // held while the manifest is signed: others then need not
	by      *manifest.Signer
	what    []byte
	at      time.Time
	text    string
}

// signedFor is how long one signature is given to whoever asks.
const signedFor = 10 * time.Second

// SignedManifest is the manifest with the signature of the first of Config.Signers, which may be ten seconds old: a compact JWS, or
// "" if there is none.
func (p *Producer) SignedManifest() (string, error) {
	signers := p.Signers()
	if len(signers) == 0 {
		return "", nil
	}
	m, err := p.Manifest()
	if err != nil {
		return "", err
	}
	what, err := manifest.Encode(m)
	if err != nil {
		return "", err
	}
	last, now := &p.published, time.Now()
	last.signing.Lock()
	defer last.signing.Unlock()
	if last.by == signers[0] && bytes.Equal(last.what, what) && now.Sub(last.at) < signedFor {
		return last.text, nil
	}
	text, err := signers[0].Sign(m, now)
	if err == nil {
		last.by, last.what, last.at, last.text = signers[0], what, now, text
	}
	return text, err
}

// Signers are those that Config.Signers returns now.
func (p *Producer) Signers() []*manifest.Signer {
	if p.cfg.Signers == nil {
		return nil
	}
	return p.cfg.Signers()
}
