package shaper

import (
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
)

// Words of a sentence are no longer held for its end once nothing has come for restAfter, or it has
// gone on for longestWait.
const (
	restAfter   = 5 * time.Second
	longestWait = 15 * time.Second
)

// pause releases what has waited long enough in the streams that match.
func (s *Shaper) pause(now time.Time, match func(*stream) bool) {
	s.order()
	for _, st := range s.streams {
		if !match(st) {
			continue
		}
		if st.seg != nil {
			s.release(now, st, st.patience(now), false)
		}
		st.pauseAt = st.next(now)
	}
}

// patience returns what has waited long enough: a finished sentence, or the words of one that goes
// on.
func (st *stream) patience(now time.Time) []coalesce.Piece {
	pieces := st.seg.Pause()
	long := !now.Before(st.since.Add(longestWait))
	if len(pieces) == 0 && st.cut == aaep.BoundarySentence && (long || !now.Before(st.wrote.Add(restAfter))) {
		pieces = st.seg.Yield()
	}
	if long || len(pieces) > 0 {
		st.since = now
	}
	return pieces
}

// next is when held text may have waited long enough, which may be now. Where nothing came for
// restAfter all was tried: zero.
func (st *stream) next(now time.Time) (next time.Time) {
	sooner := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if len(st.parts) == 0 || st.seg == nil {
		return next
	}
	if at := st.wrote.Add(pauseAfter); at.After(now) {
		sooner(at)
	}
	if at := st.wrote.Add(restAfter); at.After(now) && st.cut == aaep.BoundarySentence {
		sooner(at)
		sooner(st.since.Add(longestWait))
	}
	return next
}
