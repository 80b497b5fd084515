package httpguard

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"
)

const (
	sparingFew    = 10 // records of one kind in
	sparingWindow = time.Minute
	sparingKinds  = 64   // the others are one kind
	sparingNames  = 1024 // principals whose records are kinds of their own
)

// Sparing is a log for what strangers can cause as often as they like: of records with the same
// level, message and "principal" it writes ten in a minute, and at its end how many it left out
// (T-LOG). A nil log is written nowhere.
func Sparing(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(&sparing{log.Handler(), &kinds{each: map[kind]*count{}, named: map[kind]*count{}}})
}

type kind struct {
	level     slog.Level
	message   string
	principal string // "" of strangers, and of whoever comes when there are many
}

type count struct {
	begin         time.Time
	wrote, spared int
}

type kinds struct {
	mu          sync.Mutex
	each, named map[kind]*count
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
	of := kind{level: r.Level, message: r.Message}
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "principal" {
			of.principal = a.Value.String()
		}
		return of.principal == ""
	})
	of, write, last := s.kinds.take(of, r.Time)
	if !write {
		return nil
	}
	if last {
		r = r.Clone()
		r.AddAttrs(slog.String("next", "more like this are left out for a minute, and counted"))
		time.AfterFunc(sparingWindow, func() { // also where nothing comes any more
			if n := s.kinds.leftOut(of); n > 0 {
				end := slog.NewRecord(time.Now(), r.Level, cmp.Or(of.message, "others of many kinds"), 0)
				if of.principal != "" {
					end.AddAttrs(slog.String("principal", of.principal))
				}
				end.AddAttrs(slog.Int("left_out", n))
				_ = s.Handler.Handle(context.WithoutCancel(ctx), end)
			}
		})
	}
	return s.Handler.Handle(ctx, r)
}

// take counts a record, of the kind that it says.
func (k *kinds) take(of kind, now time.Time) (_ kind, write, last bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	in := k.in(of)
	c := in[of]
	if c == nil && of.principal != "" && len(in) >= sparingNames {
		maps.DeleteFunc(in, func(_ kind, c *count) bool {
			return c.wrote < sparingFew && now.Sub(c.begin) >= sparingWindow
		})
		if len(in) >= sparingNames {
			of.principal = ""
			in = k.in(of)
			c = in[of]
		}
	}
	if c == nil && of.principal == "" && len(in) >= sparingKinds {
		of = kind{}
		c = in[of]
	}
	if c == nil {
		c = &count{begin: now}
		in[of] = c
	}
	switch {
	case c.wrote == sparingFew: // until leftOut begins anew
		c.spared++
		return of, false, false
	case now.Sub(c.begin) >= sparingWindow:
		*c = count{begin: now}
	}
	c.wrote++
	return of, true, c.wrote == sparingFew
}

// in is where a kind is counted: the names that come and go must not take the room of what is said
// of strangers.
func (k *kinds) in(of kind) map[kind]*count {
	if of.principal != "" {
		return k.named
	}
	return k.each
}

// leftOut begins anew with a kind, and is how many records of it were not written.
func (k *kinds) leftOut(of kind) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.in(of)[of].spared
	delete(k.in(of), of)
	return n
}
