package subscriber

import (
	"errors"
	"time"

	"github.com/aaep-go/aaep"
)

// ErrFlood is told to Config.Unreadable, once for each flood, when a producer sends far more than
// it agreed to. What is too much is not among Events.
var ErrFlood = errors.New("subscriber: the producer sends far more events than it agreed to")

// A producer that keeps to its rate is never limited here, whatever the network does to it: what
// was held up for as long as floodBurst may come at once, and longer delays end a link. One that
// does not gets floodTimes the rate for good, which a person can still follow or leave (SEC-009,
// ch10 T4).
const (
	floodTimes = 2
	floodBurst = time.Minute
	// unstatedRate is that of a producer which stated none although it was asked for one: it may
	// have no handshake, and send a word at a time.
	unstatedRate = 100 // events a second
)

// A flood bounds what a producer may make a person hear. Critical events and questions spend
// nothing: a producer that floods with those can only be left. The ends of sessions are counted
// apart, so that no other event takes their place.
type flood struct {
	updates, ends allowance // of all other events, and of those that end sessions
	reported      bool      // and was told
}

// countEvent counts an event that came at the time now. It reports whether there are too many for
// the agreed rate in events a second, where 0 is no bound, and whether a flood begins with this
// one, so that it is to be reported. A flood lasts until half of what may come at once is free
// again. What is critical is never too much; the ends of sessions are counted by themselves.
func (f *flood) countEvent(ev *aaep.Event, now time.Time, rate int64) (tooMany, begins bool) {
	if rate == 0 || ev.Critical() {
		return false, false
	}
	a := &f.updates
	if ev.Type().Terminal() {
		a = &f.ends
	}
	limit := float64(rate) * floodBurst.Seconds()
	tooMany = !a.spend(now, floodTimes*float64(rate), limit)
	begins = tooMany && !f.reported
	f.reported = tooMany || f.reported && a.left < limit/2
	return tooMany, begins
}

// An allowance is how many events may come now. It fills up with time.
type allowance struct {
	left float64
	at   time.Time // of the last call of spend; zero before the first
}

// spend takes one event from the allowance, which has grown by perSecond since the last call, up to
// limit, and reports whether there was one to take. The first call finds the allowance full.
func (a *allowance) spend(now time.Time, perSecond, limit float64) bool {
	if a.at.IsZero() {
		a.left = limit
	}
	a.left = min(a.left+perSecond*max(now.Sub(a.at), 0).Seconds(), limit)
	a.at = now
	if a.left < 1 {
		return false
	}
	a.left--
	return true
}

// agreedRate returns the rate that the producer is held to, in events a second: the one that it
// honored, else the one that was requested but no less than unstatedRate, else 0, which means none.
// It takes s.mu.
func (s *Subscription) agreedRate() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	rate := s.accepted.HonoredCapabilities.MaxEventsPerSecond
	if requested := s.wanted.MaxEventsPerSecond; rate == 0 && requested > 0 {
		rate = max(requested, unstatedRate)
	}
	return rate
}

// isFlood reports whether an event is left out because the producer sends far too many. Only the
// reading goroutine calls it.
func (s *Subscription) isFlood(ev *aaep.Event) bool {
	rate := s.agreedRate()
	tooMany, begins := s.flood.countEvent(ev, time.Now(), rate)
	if begins {
		s.cfg.Logger.Warn("events left out", "error", ErrFlood, "event_id", ev.EventID, "max_events_per_second", rate)
		s.reportUnreadable(ErrFlood)
	}
	return tooMany
}
