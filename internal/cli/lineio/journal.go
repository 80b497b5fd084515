package lineio

import (
	"bytes"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
)

// WithPriority returns a writer that begins each line with its priority in the form of
// sd-daemon(3), so that "journalctl -p err" finds errors, if talk is the standard error of a
// service whose journal is systemd's; otherwise it is talk. Each Write is one entry, of this level
// or, if that is anyLevel, of the one that it names.
func WithPriority(talk io.Writer, level slog.Level) io.Writer {
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

// prioritized writes to systemd's journal. See WithPriority.
type prioritized struct {
	io.Writer
	level slog.Level
}

// Write writes each line of p behind the priority that the journal reads: error, warning or
// information, by the level of w, or where w has any, by the level that the line itself names.
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

// LogTo logs warnings and errors.
func LogTo(talk io.Writer) *slog.Logger { return LogFrom(slog.LevelWarn, talk) }

// ErrorsTo logs only what an alarm is built on.
func ErrorsTo(talk io.Writer) *slog.Logger { return LogFrom(slog.LevelError, talk) }

// LogFrom logs what is of a level or above.
func LogFrom(level slog.Level, talk io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(WithPriority(talk, anyLevel), &slog.HandlerOptions{Level: level}))
}
