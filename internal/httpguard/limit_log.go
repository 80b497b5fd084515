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

type recordCount struct {
	begin            time.Time
	written, leftOut int
}

type recordCounts struct {
	mu                     sync.Mutex
	strangers, byPrincipal map[recordKind]*recordCount
}

type limitedHandler struct {
	slog.Handler
	counts *recordCounts // of all handlers that come of one
}

func (s *limitedHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return &limitedHandler{s.Handler.WithAttrs(a), s.counts}
}
func (s *limitedHandler) WithGroup(name string) slog.Handler {
	return &limitedHandler{s.Handler.WithGroup(name), s.counts}
}

func (s *limitedHandler) Handle(ctx context.Context, r slog.Record) error {
	of := recordKind{level: r.Level, message: messageKind(r.Message)}
	r.Attrs(func(a slog.Attr) bool {
		switch {
		case a.Key == "principal":
			of.principal = a.Value.String()
		case a.Key == "reason" && knownReasons[a.Value.String()]:
			of.reason = a.Value.String()
		}
		return true
	})
	of, write, last := s.counts.countRecord(of, r.Time)
	if !write {
		return nil
	}
	if last {
		r = r.Clone()
		r.AddAttrs(slog.String("next", "more like this are left out for a minute, and counted"))
		time.AfterFunc(limitWindow, func() { // also where nothing comes any more
			if n := s.counts.resetLeftOut(of); n > 0 {
				end := slog.NewRecord(time.Now(), r.Level, cmp.Or(of.message, "others of many kinds"), 0)
				if of.reason != "" {
					end.AddAttrs(slog.String("reason", of.reason))
				}
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

// countRecord counts a record and returns the kind it was counted as, whether to write it, and
// whether it is the last to be written.
func (k *recordCounts) countRecord(of recordKind, now time.Time) (_ recordKind, write, last bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	in := k.countsFor(of)
	c := in[of]
	if c == nil && of.principal != "" && len(in) >= maxPrincipals {
		maps.DeleteFunc(in, func(_ recordKind, c *recordCount) bool {
			return c.written < maxPerWindow && now.Sub(c.begin) >= limitWindow
		})
		if len(in) >= maxPrincipals {
			of.principal = ""
			in = k.countsFor(of)
			c = in[of]
		}
	}
	if c == nil && of.principal == "" && len(in) >= maxKinds {
		of = recordKind{}
		c = in[of]
	}
	if c == nil {
		c = &recordCount{begin: now}
		in[of] = c
	}
	switch {
	case c.written == maxPerWindow: // until leftOut begins anew
		c.leftOut++
		return of, false, false
	case now.Sub(c.begin) >= limitWindow:
		*c = recordCount{begin: now}
	}
	c.written++
	return of, true, c.written == maxPerWindow
}

// countsFor returns where a kind is counted: principals, which come and go, must not take the room
// of the records about strangers.
func (k *recordCounts) countsFor(of recordKind) map[recordKind]*recordCount {
	if of.principal != "" {
		return k.byPrincipal
	}
	return k.strangers
}

// resetLeftOut forgets a kind and returns how many records of it were not written.
func (k *recordCounts) resetLeftOut(of recordKind) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.countsFor(of)[of].leftOut
	delete(k.countsFor(of), of)
	return n
}
