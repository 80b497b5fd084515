package delivery

import (
	"slices"
	"time"
)

// Where text never pauses, no Shaper is ever settled, and a subscription that comes, or that a
// group has released, would stay ungrouped until the text ends. Where there are many subscriptions,
// such a one makes attempts to join in step: it holds its text back until a group of its terms
// pauses, which means that the group has sent all that it could. Then both hold the same unfinished
// sentence and nothing else, and the subscription can join.

const (
	// crowdSize is the number of subscriptions from which on an attempt is worth the delay.
	crowdSize = 32
	// quietStart is how long a subscription is ungrouped before its first attempt, so that a new
	// subscriber hears something first.
	quietStart = time.Second
	// longestHold is how long one attempt holds text back at most.
	longestHold = 1500 * time.Millisecond
	// shortly is when to look again at a group that has paused and is busy.
	shortly = 2 * time.Millisecond
	// maxBusy is how often to look again at such a group.
	maxBusy = 5
	// minPause is the least time between two attempts, so that a link that is full now and then
	// does not join and leave all the time.
	minPause = 10 * time.Second
	// maxPause is the most time between two attempts, after many that failed.
	maxPause = 5 * time.Minute
)

// rejoinBackoff decides when an ungrouped subscription next holds its text back to join a group in
// step. It belongs to the owner of the subscription. The comment at the head of group.go says what
// it is for.
type rejoinBackoff struct {
	next  time.Time     // no attempt begins before
	late  time.Time     // when the attempt that is under way ends; zero: none is
	busy  int           // how often the group was busy since it paused, in this attempt
	pause time.Duration // the distance to the next attempt after the last one that failed
}

// beginUngrouped is called when the subscription begins, and when it leaves its group. No attempt
// to join is under way then, and the next one begins after quietStart at the earliest.
func (s *rejoinBackoff) beginUngrouped(now time.Time) {
	if s.late = (time.Time{}); s.next.Before(now.Add(quietStart)) {
		s.next = now.Add(quietStart)
	}
}

// tryJoin tries to join a group, first as a settled subscription and then in step. Only
// runUngrouped calls it, when nothing could be sent. If none takes it, again is when to try again;
// zero is after the next event.
func (l *ungrouped) tryJoin(now time.Time) (joined bool, again time.Time) {
	if joined, again = l.joinSettledGroup(now); joined {
		return true, again
	}
	joined, paused := l.joinPausedGroup(now)
	return joined, earliestTime(again, paused)
}

// joinPausedGroup begins, continues or ends an attempt to join a group in step. An attempt begins
// after next where there are crowdSize subscriptions, holds text back in the Shaper while it lasts,
// and fails at late. If the subscription does not join, again is when to call it again; zero is
// after the next event.
func (l *ungrouped) joinPausedGroup(now time.Time) (joined bool, again time.Time) {
	isUnderWay, groupPaused := !l.late.IsZero(), l.groupPaused.Swap(false)
	mayBegin := !now.Before(l.next) && len(*l.d.served.Load()) >= crowdSize
	switch {
	case isUnderWay && !now.Before(l.late): // the attempt has failed
		l.pause = min(max(2*l.pause, minPause), maxPause)
		l.next, l.late = now.Add(l.pause), time.Time{}
		l.shaper.Hold(l.late)
		return false, again
	case isUnderWay && !groupPaused && l.busy == 0: // no group has paused yet
		return false, l.late
	case !isUnderWay && !mayBegin:
		return false, again
	case !l.canBeGrouped(): // it may have got another stream while it waited
		return false, again
	case groupPaused:
		l.busy = 0
	}
	g, wait := l.findPausedGroup(now)
	switch {
	case g != nil:
		return l.confirmJoin(g), again
	case !wait:
		return false, again
	case isUnderWay && l.busy < maxBusy: // the group that has paused was busy, or has gone on already
		l.busy++
		return false, now.Add(shortly)
	case !isUnderWay:
		l.late = now.Add(longestHold)
	}
	l.busy = 0
	l.shaper.Hold(l.late)
	return false, l.late
}

// findPausedGroup finds a group that is in step with the subscription, and joins it. Where all
// groups of its key are full or there are none, it makes one, if the subscription is paused itself.
// g is nil where it joined none; wait then says that a group has room, which wakes the subscription
// when it pauses. The subscription's own goroutine calls it.
func (l *ungrouped) findPausedGroup(now time.Time) (g *group, wait bool) {
	gs := &l.d.groups
	gs.mu.Lock()
	all := slices.Clone(gs.byKey[l.key])
	gs.mu.Unlock()
	for {
		for _, g := range all {
			switch g.tryAdd(l.Subscription, now, true) {
			case taken:
				return g, false
			case elsewhere, different:
				return nil, true
			}
		}
		if !l.shaper.Paused(now, l.cursor) {
			return nil, false
		}
		if g, all = l.createGroup(all, now, true); g != nil || all == nil {
			return g, false
		}
	}
}
