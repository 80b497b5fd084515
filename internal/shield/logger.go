package shield

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Logger returns a logger that writes to l and never panics, whatever the Handler of l does: a
// record whose handling panics is not logged. A nil l discards.
func Logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	if _, shielded := l.Handler().(handler); shielded || l.Handler() == slog.DiscardHandler {
		return l
	}
	return slog.New(handler{Handler: l.Handler()})
}

// LoggerOrDefault returns what Logger does, and for a nil l a logger of the warnings and errors
// alone that writes to slog.Default as it is now: what went wrong is never silent.
func LoggerOrDefault(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(handler{slog.Default().Handler(), true})
	}
	return Logger(l)
}

// handler is a slog.Handler of other code, behind the shield.
type handler struct {
	slog.Handler
	onlyWarnings bool // and errors
}

// Enabled reports false if the handler panics.
func (h handler) Enabled(ctx context.Context, level slog.Level) (enabled bool) {
	defer func() { recover() }()
	return (level >= slog.LevelWarn || !h.onlyWarnings) && h.Handler.Enabled(ctx, level)
}

// Handle hands the record to the wrapped handler, and returns an error if that panics.
func (h handler) Handle(ctx context.Context, r slog.Record) (err error) {
	defer func() {
		if crash := recover(); crash != nil {
			err = fmt.Errorf("panic: %v", crash)
		}
	}()
	return h.Handler.Handle(ctx, r)
}

// WithAttrs returns a handler with attributes, or this one if that panics.
func (h handler) WithAttrs(attrs []slog.Attr) (changed slog.Handler) {
	changed = h
	defer func() { recover() }()
	return handler{h.Handler.WithAttrs(attrs), h.onlyWarnings}
}

// WithGroup returns a handler with a group, or this one if that panics.
func (h handler) WithGroup(name string) (changed slog.Handler) {
	changed = h
	defer func() { recover() }()
	return handler{h.Handler.WithGroup(name), h.onlyWarnings}
}

// LogMistake logs a mistake of an author's code as an error, at most once a minute for each kind.
// Any goroutine may call it.
func (s *Shield) LogMistake(kind, message string, attrs ...any) {
	now := time.Now()
	s.mu.Lock()
	last, logged := s.logged[kind]
	write := !logged || now.Sub(last) >= time.Minute
	if write {
		s.logged[kind] = now
	}
	s.mu.Unlock()
	if write {
		s.logger.Error(message, attrs...)
	}
}
