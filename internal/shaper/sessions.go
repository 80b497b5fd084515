package shaper

import (
	"slices"
	"time"
)

// sessionState is what a session's listener has been told.
type sessionState struct {
	stamp time.Time
	ended bool // the session ended without this listener, for whom something of it still waits
}

// A foldedRange is some states of a session that are told in one, or not at all: no event from the
// first on, and before the last, is resumable.
type foldedRange struct{ from, to uint64 }

// maxFolded is how many stretches are kept apart.
const maxFolded = 64

// addFolded keeps a stretch. It may have had a longer one with the same end.
func (s *Shaper) addFolded(from, to uint64) {
	s.folded = slices.DeleteFunc(s.folded, func(o foldedRange) bool { return o.to <= s.resumeAt })
	switch n := len(s.folded); {
	case slices.ContainsFunc(s.folded, func(o foldedRange) bool { return o.to == to }): // it began with an older one
	case n == maxFolded: // more than need be
		last := &s.folded[n-1]
		last.from, last.to = min(last.from, from), max(last.to, to)
	default:
		s.folded = append(s.folded, foldedRange{from, to})
	}
}

// sessionStateOf returns what is told of a session.
func (s *Shaper) sessionStateOf(session string) *sessionState {
	t := s.sessions[session]
	if t == nil {
		t = &sessionState{stamp: s.stampFloor}
		s.sessions[session] = t
	}
	return t
}
