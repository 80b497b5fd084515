package serving

import (
	"log/slog"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// NewProducer returns the producer of an agent that has a name, and may be followed by any listener
// from the start. Without a Logger it logs nothing.
func NewProducer(name string, cfg producer.Config) (*producer.Producer, error) {
	cfg.Agent = aaep.Agent{AgentID: name, AgentName: name}
	cfg.AnyLanguage, cfg.FromStart = true, true
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Audit == nil { // otherwise the words of each question would be in the log
		cfg.Audit = Answered{cfg.Logger}
	}
	return producer.New(cfg)
}

// MaxBesideAgent is how many listeners a process serves beside the agent itself. Half of the places
// is what those who show one name can take.
const MaxBesideAgent = 256
