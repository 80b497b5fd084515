package shaper

import (
	"slices"
	"time"
)

// A sessionState is what this subscription was last sent of a session.
type sessionState struct {
	stamp time.Time // of the newest event that left
	// The session ended in an event that this subscription does not receive, and something of it
	// still waits.
	ended bool
}

// A foldedRange is a range of the log in which the states of a session were merged or dropped: no
// event from from on and before to is resumable.
type foldedRange struct{ from, to uint64 }

// maxFolded is how many ranges are kept apart.
const maxFolded = 64

// addFolded keeps a range. A longer one with the same end may be there already.
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

// sessionStateOf returns the state of a session, and makes one where there is none.
func (s *Shaper) sessionStateOf(session string) *sessionState {
	t := s.sessions[session]
	if t == nil {
		t = &sessionState{stamp: s.stampFloor}
		s.sessions[session] = t
	}
	return t
}
