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
	news, ends allowance
	rising     bool // and was told
}

// tooMuch reports whether an event is over the bound at the agreed rate, where 0 is no bound, and
// whether a flood begins with it that is to be reported.
func (f *flood) tooMuch(ev *aaep.Event, now time.Time, rate int64) (over, told bool) {
	if rate == 0 || ev.Critical() {
		return false, false
	}
	a := &f.news
	if ev.Type().Terminal() {
		a = &f.ends
	}
	full := float64(rate) * floodBurst.Seconds()
	over = !a.spend(now, floodTimes*float64(rate), full)
	told = over && !f.rising
	f.rising = over || f.rising && a.left < full/2
	return over, told
}

// An allowance fills up with time.
type allowance struct {
	left float64
	at   time.Time
}

// spend takes one event from the allowance, if there is one, after adding what has come in since
// the last call.
func (a *allowance) spend(now time.Time, perSecond, full float64) bool {
	if a.at.IsZero() {
		a.left = full
	}
	a.left = min(a.left+perSecond*max(now.Sub(a.at), 0).Seconds(), full)
	a.at = now
	if a.left < 1 {
		return false
	}
	a.left--
	return true
}

// agreedRate returns the rate that the producer is held to, in events a second, or 0.
func (s *Subscription) agreedRate() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	rate := s.accepted.HonoredCapabilities.MaxEventsPerSecond
	if asked := s.wanted.MaxEventsPerSecond; rate == 0 && asked > 0 {
		rate = max(asked, unstatedRate)
	}
	return rate
}

// isFlood reports whether an event is left out because the producer sends far too many. Only the
// reading goroutine calls it.
func (s *Subscription) isFlood(ev *aaep.Event) bool {
	rate := s.agreedRate()
	over, told := s.flood.tooMuch(ev, time.Now(), rate)
	if told {
		s.cfg.Logger.Warn("events left out", "error", ErrFlood, "event_id", ev.EventID, "max_events_per_second", rate)
		s.reportUnreadable(ErrFlood)
	}
	return over
}
