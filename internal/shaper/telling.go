package shaper

import (
	"slices"
	"time"
)

// telling is what a session's listener has been told.
type telling struct {
	stamp time.Time
	over  bool // the session ended without this listener, for whom something of it still waits
}

// A stretch is some states of a session that are told in one, or not at all: no event from the
// first on, and before the last, is resumable.
type stretch struct{ from, to uint64 }

// maxStretches is how many stretches are kept apart.
const maxStretches = 64

// passOver keeps a stretch. It may have had a longer one with the same end.
func (s *Shaper) passOver(from, to uint64) {
	s.stretches = slices.DeleteFunc(s.stretches, func(o stretch) bool { return o.to <= s.resume })
	switch n := len(s.stretches); {
	case slices.ContainsFunc(s.stretches, func(o stretch) bool { return o.to == to }): // it began with an older one
	case n == maxStretches: // more than need be
		last := &s.stretches[n-1]
		last.from, last.to = min(last.from, from), max(last.to, to)
	default:
		s.stretches = append(s.stretches, stretch{from, to})
	}
}

// tellingOf returns what is told of a session.
func (s *Shaper) tellingOf(session string) *telling {
	t := s.told[session]
	if t == nil {
		t = &telling{stamp: s.floor}
		s.told[session] = t
	}
	return t
}
