package shaper

import (
	"cmp"
	"slices"
	"time"

	"github.com/aaep-go/aaep/internal/budget"
)

// Subscriptions of equal terms for which nothing waits are sent the same from then on, and one
// Shaper can make the stream of them all. Each gives up its own for that with Share, and gets one
// again from Split. Share is for two Shapers that are both settled. Where text never pauses none
// ever is; then it is for two that are both paused, and has the one go on in step with the other.

// Settled reports whether s holds nothing that could make its stream differ from now on from that
// of another Shaper of equal terms. If only time has to pass until then, at is when. read is the
// place of the last entry read from the log. An output that is cut and not complete counts as held:
// since when its text waits is never quite the same in two Shapers; see Paused.
func (s *Shaper) Settled(now time.Time, read uint64) (settled bool, at time.Time) {
	if !s.isDrained(read) || slices.ContainsFunc(s.streams, func(st *stream) bool { return st.seg != nil }) {
		return false, time.Time{}
	}
	at = s.silentUntil()
	if full := s.budget.FullAt(); full.After(at) {
		at = full
	}
	return !now.Before(at), at
}

// isDrained reports whether nothing waits to leave, and no entry after read may have been received
// by the subscriber before; see Heard.
func (s *Shaper) isDrained(read uint64) bool {
	return len(s.queue)+len(s.urgent)+s.spentSinceLeft == 0 && s.heardUpTo <= read
}

// matches reports whether s and other will make the same stream of the same entries: they hold the
// same text, and stamp later events alike. Their budgets are not compared. since is as for Share.
// Share calls it, and changes nothing.
func (s *Shaper) matches(other *Shaper, since func(session string) time.Time) bool {
	if since == nil && !s.stampFloor.Equal(other.stampFloor) || !s.holdsSameText(other) {
		return false
	}
	// A stamp matters where a later event is stamped earlier: that event then gets the stamp.
	haveSameStamp := func(session string) bool {
		a, b := cmp.Or(s.sessions[session], new(sessionState)).stamp,
			cmp.Or(other.sessions[session], new(sessionState)).stamp
		if a.Equal(b) {
			return true
		}
		if since == nil {
			return false
		}
		earliest := since(session) // of the events that are still to leave
		for _, st := range s.streams {
			if st.session == session && len(st.parts) > 0 {
				if held := st.parts[0].entry.Event.Timestamp; held.Before(earliest) {
					earliest = held
				}
			}
		}
		return !a.After(earliest) && !b.After(earliest)
	}
	for _, sessions := range [...]map[string]*sessionState{s.sessions, other.sessions} {
		for session := range sessions {
			if !haveSameStamp(session) {
				return false
			}
		}
	}
	return true
}

// A ShareRecord is what differed between a Shaper and the one it was replaced by. Share returns it,
// and Split needs it to part them again.
type ShareRecord struct {
	stats     Stats  // the counts less those of the other
	newest    uint64 // these five as in the Shaper that was given up
	heardUpTo uint64
	repeat    uint32
	reworded  bool
	mayFold   bool
	spent     *budget.Budget // the budget that was given up; nil if nothing was spent lately
	taken     uint64         // how many tokens the other had taken by then
}

// Share hands the stream of s over to other, of equal terms, if both will make the same stream of
// the same entries. Then s must not be used any more, and the ShareRecord is for Split. Otherwise
// Share returns nil and nothing has changed. Both must be settled or, with inStep, paused. since
// returns the earliest stamp of the events of a session that neither has pushed yet, and promises
// that nothing follows of a session that has ended; nil promises nothing.
func (s *Shaper) Share(now time.Time, other *Shaper, since func(session string) time.Time, inStep bool) *ShareRecord {
	if !s.matches(other, since) || inStep && !s.alignWith(now, other) {
		return nil
	}
	return s.handOver(now, other)
}

// handOver returns the ShareRecord of s, which other replaces: its counts less those of other, what
// it knows of entries and terms before, and a copy of its budget where it spent of that lately. It
// changes neither.
func (s *Shaper) handOver(now time.Time, other *Shaper) *ShareRecord {
	p := &ShareRecord{newest: s.newest, heardUpTo: s.heardUpTo, repeat: s.repeat,
		reworded: s.reworded, mayFold: s.mayFold, taken: other.budget.Taken()}
	p.stats = Stats{
		Delivered: s.stats.Delivered - other.stats.Delivered,
		Merged:    s.stats.Merged - other.stats.Merged,
		Filtered:  s.stats.Filtered - other.stats.Filtered,
	}
	if s.budget.HasRecent(now) {
		p.spent = s.budget.Clone()
	}
	return p
}

// Stats returns the counts of the subscription, given those of the Shaper that it shares.
func (p *ShareRecord) Stats(shared Stats) Stats {
	shared.Delivered += p.stats.Delivered
	shared.Merged += p.stats.Merged
	shared.Filtered += p.stats.Filtered
	return shared
}

// Split returns a Shaper of its own for a subscription that shared s; p is what Share returned for
// it. s goes on as before.
func (s *Shaper) Split(p *ShareRecord) *Shaper {
	c := *s
	c.stats, c.budget = p.Stats(s.stats), s.budget.SpentAfter(p.taken, p.spent)
	c.queue, c.urgent, c.streams = nil, nil, nil
	for _, it := range s.queue {
		c.queue = append(c.queue, it.clone())
	}
	for _, it := range s.urgent {
		c.urgent = append(c.urgent, it.clone())
	}
	for _, st := range s.streams {
		c.streams = append(c.streams, st.clone())
	}
	c.folded = slices.Clone(s.folded)
	c.heardUpTo, c.repeat, c.newest = p.heardUpTo, p.repeat, max(s.newest, p.newest)
	c.reworded, c.mayFold = p.reworded, p.mayFold
	c.sessions = make(map[string]*sessionState, len(s.sessions))
	for session, t := range s.sessions {
		c.sessions[session] = &sessionState{stamp: t.stamp, ended: t.ended}
	}
	return &c
}

// clone returns a copy that shares no slices that are appended to.
func (it *item) clone() *item {
	c := *it
	c.joined, c.source = slices.Clone(it.joined), slices.Clone(it.source)
	return &c
}

// clone returns a copy that can change without the original: it has its own list of parts and its
// own Segmenter.
func (st *stream) clone() *stream {
	c := *st
	c.parts = slices.Clone(st.parts)
	if st.seg != nil {
		c.seg = st.seg.Clone()
	}
	return &c
}
