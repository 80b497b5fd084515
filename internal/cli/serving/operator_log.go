package serving

import (
	"io"
	"log/slog"

	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/producer/audit"
)

// ConnectionLog returns the log of who comes and who goes, for where listeners are asked who they
// are. Elsewhere there is no one to name, and a person who runs a program at a terminal is told
// nothing but what is wrong: otherwise is that log.
func (s *Flags) ConnectionLog(talk io.Writer, otherwise *slog.Logger) *slog.Logger {
	if s.tokens == "" && s.clientCA == "" && s.issuer == "" {
		return otherwise
	}
	return httpguard.LimitLog(lineio.LogFrom(slog.LevelInfo, talk))
}

// Answered writes into a journal what was asked and what came of it, without a word of it: those
// are for a trail (--audit).
type Answered struct{ *slog.Logger }

// Record logs what a record of the audit log says of a question that was asked or settled; other
// records are left out. It is an audit.Sink, for a server without --audit. It returns nil always.
func (a Answered) Record(r audit.Record) error {
	attributes := []any{"session_id", r.SessionID, "question_id", r.QuestionID}
	switch r.Kind {
	case audit.Asked:
		a.Info("question asked", append(attributes, "recipients", len(r.Recipients))...)
	case audit.Settled:
		attributes = append(attributes, "cause", r.Cause)
		if r.Decision != "" {
			attributes = append(attributes, "decision", r.Decision)
		}
		if r.By != nil {
			attributes = append(attributes, "subscription_id", r.By.SubscriptionID, "principal", r.By.Principal)
		}
		a.Info("question settled", attributes...)
	}
	return nil
}
