package httpguard

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep/internal/shield"
)

const (
	maxPerWindow  = 10 // records of one kind in
	limitWindow   = time.Minute
	maxKinds      = 64   // the others are one kind
	maxPrincipals = 1024 // principals whose records are kinds of their own
)

// LimitLog returns a log for what strangers can cause as often as they like: of records with the
// same level, message, "reason" and "principal" it writes ten in a minute, and at its end how many
// it left out (T-LOG). Numbers and addresses in a message tell no kinds apart. A nil log is written
// nowhere.
func LimitLog(log *slog.Logger) *slog.Logger {
	return slog.New(&limitedHandler{shield.Logger(log).Handler(),
		&recordCounts{strangers: map[recordKind]*recordCount{}, byPrincipal: map[recordKind]*recordCount{}}})
}

// A recordKind is what records have in common that are counted together.
type recordKind struct {
	level     slog.Level
	message   string // as messageKind returns it
	reason    string // one of knownReasons, or ""
	principal string // "" of strangers, and of all who come when there are many
}

// knownReasons are the reasons that tell kinds apart: those of Refusals, and the codes of AAEP with
// which a subscription is refused or closed. Others may be a peer's, who could make up as many as
// there is room for.
var knownReasons = map[string]bool{Malformed: true, TooLarge: true, Forbidden: true, UnknownStream: true,
	UnknownSubscription: true, "version_unsupported": true, "manifest_signature_required": true,
	"capabilities_incompatible": true, "rate_limit": true, "authentication_required": true,
	"authorization_denied": true, "transport_unavailable": true, "unknown": true, "subscriber_shutdown": true,
	"producer_shutdown": true, "slow_subscriber": true, "policy_violation": true}

// messageKind returns a message with a # in place of each word that has a digit: http.Server puts
// the peer's address there.
func messageKind(message string) string {
	if !strings.ContainsAny(message, "0123456789") {
		return message
	}
	words := strings.Fields(message)
	for i, word := range words {
		if strings.ContainsAny(word, "0123456789") {
			words[i] = "#"
		}
	}
	return strings.Join(words, " ")
}

// A recordCount counts the records of one kind in one window.
type recordCount struct {
	begin            time.Time // of the window: when its first record came
	written, leftOut int
}

// recordCounts are the counts of all kinds of one log.
type recordCounts struct {
	mu          sync.Mutex                  // a leaf
	strangers   map[recordKind]*recordCount // kinds without a principal
	byPrincipal map[recordKind]*recordCount // kinds with one
}

// A limitedHandler is the slog.Handler of LimitLog. Handlers that are made of one share its counts.
type limitedHandler struct {
	slog.Handler
	counts *recordCounts
}

// WithAttrs returns a handler with the same counts.
func (s *limitedHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return &limitedHandler{s.Handler.WithAttrs(a), s.counts}
}

// WithGroup returns a handler with the same counts.
func (s *limitedHandler) WithGroup(name string) slog.Handler {
	return &limitedHandler{s.Handler.WithGroup(name), s.counts}
}

// Handle writes a record, or leaves it out if there were maxPerWindow of its kind in this window.
// The last one that it writes says that more are left out, and a timer then writes how many.
func (s *limitedHandler) Handle(ctx context.Context, r slog.Record) error {
	kind := recordKind{level: r.Level, message: messageKind(r.Message)}
	r.Attrs(func(a slog.Attr) bool {
		switch {
		case a.Key == "principal":
			kind.principal = a.Value.String()
		case a.Key == "reason" && knownReasons[a.Value.String()]:
			kind.reason = a.Value.String()
		}
		return true
	})
	kind, write, last := s.counts.countRecord(kind, r.Time)
	if !write {
		return nil
	}
	if last {
		r = r.Clone()
		r.AddAttrs(slog.String("next", "more like this are left out for a minute, and counted"))
		// A timer, since no later record of the kind may come.
		time.AfterFunc(limitWindow, func() { s.writeLeftOut(context.WithoutCancel(ctx), kind, r.Level) })
	}
	return s.Handler.Handle(ctx, r)
}

// writeLeftOut ends the window of a kind, and writes a record that says how many were left out, if
// any were.
func (s *limitedHandler) writeLeftOut(ctx context.Context, kind recordKind, level slog.Level) {
	n := s.counts.resetLeftOut(kind)
	if n == 0 {
		return
	}
	r := slog.NewRecord(time.Now(), level, cmp.Or(kind.message, "others of many kinds"), 0)
	if kind.reason != "" {
		r.AddAttrs(slog.String("reason", kind.reason))
	}
	if kind.principal != "" {
		r.AddAttrs(slog.String("principal", kind.principal))
	}
	r.AddAttrs(slog.Int("left_out", n))
	_ = s.Handler.Handle(ctx, r)
}

// countRecord counts a record of a kind at the time now, and returns the kind it was counted as,
// whether to write it, and whether it is the last of the window to be written. When there are too
// many kinds it is counted without its principal, or with all others that have no room.
func (k *recordCounts) countRecord(kind recordKind, now time.Time) (_ recordKind, write, last bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	counts := k.countsFor(kind)
	c := counts[kind]
	if c == nil && kind.principal != "" && len(counts) >= maxPrincipals {
		maps.DeleteFunc(counts, func(_ recordKind, c *recordCount) bool {
			return c.written < maxPerWindow && now.Sub(c.begin) >= limitWindow
		})
		if len(counts) >= maxPrincipals {
			kind.principal = ""
			counts = k.countsFor(kind)
			c = counts[kind]
		}
	}
	if c == nil && kind.principal == "" && len(counts) >= maxKinds {
		kind = recordKind{}
		c = counts[kind]
	}
	if c == nil {
		c = &recordCount{begin: now}
		counts[kind] = c
	}
	switch {
	case c.written == maxPerWindow: // until writeLeftOut ends the window
		c.leftOut++
		return kind, false, false
	case now.Sub(c.begin) >= limitWindow:
		*c = recordCount{begin: now}
	}
	c.written++
	return kind, true, c.written == maxPerWindow
}

// countsFor returns the map that a kind is counted in: kinds with a principal have one of their
// own, so that principals, who come and go, leave the others their room. k.mu is held.
func (k *recordCounts) countsFor(kind recordKind) map[recordKind]*recordCount {
	if kind.principal != "" {
		return k.byPrincipal
	}
	return k.strangers
}

// resetLeftOut removes the count of a kind, and returns how many records of it were left out.
func (k *recordCounts) resetLeftOut(kind recordKind) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.countsFor(kind)[kind].leftOut
	delete(k.countsFor(kind), kind)
	return n
}
