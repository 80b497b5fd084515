package shaper

import (
	"slices"
	"time"
)

// A sessionState is what this subscription was last sent of a session.
type sessionState struct {
	stamp time.Time // of the newest event that left
	// ended says that the session ended in an event that this subscription does not receive, and
	// that events of it still wait.
	ended bool
}

// A foldedRange is a range of the log in which the states of a session were merged or dropped: no
// event from from on and before to is resumable.
type foldedRange struct{ from, to uint64 }

// maxFolded is how many ranges are kept apart.
const maxFolded = 64

// addFolded records a range of the log as folded, and forgets those after which a resumable event
// has left. Beyond maxFolded it widens the newest range, which makes fewer events resumable than
// could be.
func (s *Shaper) addFolded(from, to uint64) {
	s.folded = slices.DeleteFunc(s.folded, func(old foldedRange) bool { return old.to <= s.resumeAt })
	switch n := len(s.folded); {
	case slices.ContainsFunc(s.folded, func(old foldedRange) bool { return old.to == to }): // it is longer
	case n == maxFolded:
		last := &s.folded[n-1]
		last.from, last.to = min(last.from, from), max(last.to, to)
	default:
		s.folded = append(s.folded, foldedRange{from, to})
	}
}

// sessionStateOf returns the state of a session, and makes one where there is none.
func (s *Shaper) sessionStateOf(session string) *sessionState {
	state := s.sessions[session]
	if state == nil {
		state = &sessionState{stamp: s.stampFloor}
		s.sessions[session] = state
	}
	return state
}
