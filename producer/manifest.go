package producer

import (
	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/manifest"
)

// Manifest says what this producer serves, from what it is configured to do and nothing else (§5.10). Over which transports
// it is served is not known here: producer/serve adds that, or manifest.Manifest.AddEndpoint. The result is the caller's.
func (p *Producer) Manifest() *manifest.Manifest {
	m := &manifest.Manifest{
		AgentID: p.cfg.Agent.AgentID, AgentVersion: p.cfg.Agent.AgentVersion, AgentName: p.cfg.Agent.AgentName,
		AAEPVersionsSupported: []string{aaep.Version}, ConformanceLevelsSupported: append([]int64(nil), p.offer.Levels...),
		LanguagesSupported:         append([]string(nil), p.offer.Languages...),
		EventTypesEmitted:          []string{"aaep:agent.*"},
		DefaultVerbosity:           aaep.VerbosityNormal,
		MaxConcurrentSubscriptions: int64(p.cfg.MaxSubscriptions),
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
	return m
}
