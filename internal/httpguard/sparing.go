package httpguard

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	sparingFew    = 10 // records of one kind in
	sparingWindow = time.Minute
	sparingKinds  = 64 // the others are one kind
)

// Sparing is a log for what strangers can cause as often as they like: of records with the same level and message it writes ten
// in a minute, and then how many it left out with the next one (T-LOG). A nil log is written nowhere.
func Sparing(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(&sparing{log.Handler(), &kinds{each: map[kind]*count{}}})
}

type kind struct {
	level   slog.Level
	message string
}

type count struct {
	begin         time.Time
	wrote, spared int
}

type kinds struct {
	mu   sync.Mutex
	each map[kind]*count
}

type sparing struct {
	slog.Handler
	kinds *kinds // of all handlers that come of one
}

func (s *sparing) WithAttrs(a []slog.Attr) slog.Handler {
	return &sparing{s.Handler.WithAttrs(a), s.kinds}
}
func (s *sparing) WithGroup(name string) slog.Handler {
	return &sparing{s.Handler.WithGroup(name), s.kinds}
}

func (s *sparing) Handle(ctx context.Context, r slog.Record) error {
	leftOut, write, last := s.kinds.take(kind{r.Level, r.Message}, r.Time)
	switch {
	case !write:
		return nil
	case leftOut > 0:
		r = r.Clone()
		r.AddAttrs(slog.Int("left_out_before", leftOut))
	case last:
		r = r.Clone()
		r.AddAttrs(slog.String("next", "more like this are left out for a minute, and counted"))
	}
	return s.Handler.Handle(ctx, r)
}

// take counts a record. LeftOut is how many came before it that were not written.
func (k *kinds) take(of kind, now time.Time) (leftOut int, write, last bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.each[of]
	if c == nil && len(k.each) >= sparingKinds {
		of = kind{}
		c = k.each[of]
	}
	if c == nil {
		c = &count{begin: now}
		k.each[of] = c
	}
	if now.Sub(c.begin) >= sparingWindow {
		leftOut = c.spared
		*c = count{begin: now}
	}
	if c.wrote == sparingFew {
		c.spared++
		return 0, false, false
	}
	c.wrote++
	return leftOut, true, c.wrote == sparingFew
}
