package lineio

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aaep-go/aaep/internal/cli/exits"
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

// LogAsWords logs what is of a level or above as sentences to a function, for a person who sits
// there: what happened and why, without times and fields.
func LogAsWords(level slog.Level, say func(text string)) *slog.Logger {
	return slog.New(wordsHandler{level: level, say: say})
}

// wordsHandler is the handler of LogAsWords.
type wordsHandler struct {
	level slog.Level
	say   func(text string)
	why   string // the cause in what With added
}

// Enabled reports whether a record is of the handler's level or above.
func (h wordsHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle says the message and, if there is one, the cause. It returns nil always.
func (h wordsHandler) Handle(_ context.Context, r slog.Record) error {
	why := h.why
	r.Attrs(func(a slog.Attr) bool { why = cmp.Or(causeIn(a), why); return true })
	text := exits.TrimPackageNames(r.Message)
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	if why != "" {
		text += ": " + exits.TrimPackageNames(why)
	}
	h.say(strings.TrimRight(strings.Join(strings.Fields(text), " "), ".") + ".")
	return nil
}

// causeIn returns the text of an attribute that says why, else "".
func causeIn(a slog.Attr) string {
	switch a.Key {
	case "error", "cause", "panic":
		return a.Value.String()
	}
	return ""
}

// WithAttrs returns the handler with the cause in attrs.
func (h wordsHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		h.why = cmp.Or(causeIn(a), h.why)
	}
	return h
}

// WithGroup returns the same handler.
func (h wordsHandler) WithGroup(string) slog.Handler { return h }
