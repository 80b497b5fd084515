package producer

import (
	"slices"
	"time"
)

// Where text never pauses nothing is ever settled, and whoever comes into it, or falls out of a group, would be alone until it ends.
// Where there are many, one holds back its text until a group of its terms lets go of all it has; then it lets go of its own, and the
// two are in step.

const (
	crowded  = 32                      // listeners are many; where they are fewer, it is not worth a moment of anybody's time
	settling = time.Second             // nobody waits before that, so that a newcomer hears something first
	toMeet   = 1500 * time.Millisecond // is how long one waits
	shortly  = 2 * time.Millisecond    // a group that is busy is done
	maxBusy  = 5                       // times it is not
	minPause = 10 * time.Second        // between two attempts, for a link that is full now and then
	maxPause = 5 * time.Minute         // between those that came to nothing, after many
)

// A stepper is what a subscription has of that.
type stepper struct {
	next  time.Time // no attempt before
	late  time.Time // when this one ends; zero: there is none
	busy  int       // times that a group was, since it let go
	pause time.Duration
}

// settle begins a time alone.
func (s *stepper) settle(now time.Time) {
	if s.late = (time.Time{}); s.next.Before(now.Add(settling)) {
		s.next = now.Add(settling)
	}
}

// join lets a group serve the subscription. If none does, again is when to try again; zero is after the next event.
func (l *lone) join(now time.Time) (joined bool, again time.Time) {
	if joined, again = l.subscription.join(now); joined {
		return true, again
	}
	joined, then := l.fallIn(now)
	return joined, earliest(again, then)
}

// fallIn joins a group that the subscription is in step with, or waits for one. If it does not join, again is when to try again; zero
// is after the next event.
func (l *lone) fallIn(now time.Time) (joined bool, again time.Time) {
	waits, met := !l.late.IsZero(), l.met.Swap(false)
	switch {
	case waits && !now.Before(l.late):
		l.pause = min(max(2*l.pause, minPause), maxPause)
		l.next, l.late = now.Add(l.pause), time.Time{}
		l.shaper.Hold(l.late)
		return false, again
	case waits && !met && l.busy == 0:
		return false, l.late
	case !waits && (now.Before(l.next) || len(*l.p.audience.Load()) < crowded):
		return false, again
	case !l.sociable(): // or not any more: it may have got another stream while it waited
		return false, again
	case met:
		l.busy = 0
	}
	g, wait := l.findGroup(now)
	switch {
	case g != nil:
		return l.stays(g), again
	case !wait:
		return false, again
	case waits && l.busy < maxBusy:
		l.busy++
		return false, now.Add(shortly)
	case !waits:
		l.late = now.Add(toMeet)
	}
	l.busy = 0
	l.shaper.Hold(l.late)
	return false, l.late
}

// findGroup finds a group for the subscription. If it is in step with none, wait reports whether it is worth waiting for one.
func (l *lone) findGroup(now time.Time) (g *group, wait bool) {
	gs := &l.p.groups
	gs.mu.Lock()
	all := slices.Clone(gs.of[l.key])
	gs.mu.Unlock()
	for {
		for _, g := range all {
			switch g.take(l.subscription, now, true) {
			case taken:
				return g, false
			case elsewhere, different:
				return nil, true
			}
		}
		if !l.shaper.Paused(now, l.cursor) {
			return nil, false
		}
		if g, all = l.found(all, now, true); g != nil || all == nil {
			return g, false
		}
	}
}
