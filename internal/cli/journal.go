package cli

import (
	"bytes"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"

	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/producer/audit"
)

// connectionLog is the log of who comes and who goes, for where listeners are asked who they are.
// Elsewhere there is no one to name, and a person who runs a program at a terminal is told nothing
// but what is wrong: otherwise is that log.
func (s *serveFlags) connectionLog(talk io.Writer, otherwise *slog.Logger) *slog.Logger {
	if s.tokens == "" && s.clientCA == "" && s.issuer == "" {
		return otherwise
	}
	return httpguard.LimitLog(logFrom(slog.LevelInfo, talk))
}

// withPriority returns a writer that begins each line with its priority in the form of
// sd-daemon(3), so that "journalctl -p err" finds errors, if talk is the standard error of a
// service whose journal is systemd's; otherwise it is talk. Each Write is one entry, of this level
// or, if that is anyLevel, of the one that it names.
func withPriority(talk io.Writer, level slog.Level) io.Writer {
	f, ok := talk.(*os.File)
	if !ok || os.Getenv("JOURNAL_STREAM") == "" {
		return talk
	}
	if info, err := f.Stat(); err != nil || info.Mode()&fs.ModeSocket == 0 { // it was led elsewhere
		return talk
	}
	return prioritized{talk, level}
}

// anyLevel is no level.
const anyLevel slog.Level = -1000

// prioritized writes to systemd's journal. See withPriority.
type prioritized struct {
	io.Writer
	level slog.Level
}

func (w prioritized) Write(p []byte) (int, error) {
	priority := "<6>"
	_, level, _ := bytes.Cut(p, []byte("level="))
	switch {
	case w.level >= slog.LevelError || w.level == anyLevel && bytes.HasPrefix(level, []byte("ERROR")):
		priority = "<3>"
	case w.level >= slog.LevelWarn || w.level == anyLevel && bytes.HasPrefix(level, []byte("WARN")):
		priority = "<4>"
	}
	lines := bytes.ReplaceAll(bytes.TrimSuffix(p, []byte("\n")), []byte("\n"), []byte("\n"+priority))
	if _, err := w.Writer.Write(slices.Concat([]byte(priority), lines, []byte("\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// answered writes into a journal what was asked and what came of it, without a word of it: those
// are for a trail (--audit).
type answered struct{ *slog.Logger }

func (a answered) Record(r audit.Record) error {
	about := []any{"session_id", r.SessionID, "question_id", r.QuestionID}
	switch r.Kind {
	case audit.Asked:
		a.Info("question asked", append(about, "recipients", len(r.Recipients))...)
	case audit.Settled:
		about = append(about, "cause", r.Cause)
		if r.Decision != "" {
			about = append(about, "decision", r.Decision)
		}
		if r.By != nil {
			about = append(about, "subscription_id", r.By.SubscriptionID, "principal", r.By.Principal)
		}
		a.Info("question settled", about...)
	}
	return nil
}
