package shaper

import (
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
)

const (
	// Words of an unfinished sentence are released once no text has come for restAfter, or once the
	// sentence has lasted longestWait.
	restAfter   = 5 * time.Second
	longestWait = 15 * time.Second
)

// releasePaused queues the text that has waited long enough in the streams for which match reports
// true. Push calls it when the agent turns to something else, Pop when a stream's pauseAt has come.
func (s *Shaper) releasePaused(now time.Time, match func(*stream) bool) {
	s.sortStreams()
	for _, st := range s.streams {
		if !match(st) {
			continue
		}
		if st.seg != nil {
			s.queuePieces(now, st, st.takePaused(now), false)
		}
		st.pauseAt = st.nextPause(now)
	}
}

// takePaused returns the held text that may leave although nothing follows it yet: what is finished
// or, where text is cut at sentences and waited for restAfter or longestWait, the words so far of
// one that goes on. It returns none where there is neither.
func (st *stream) takePaused(now time.Time) []coalesce.Piece {
	pieces := st.seg.Pause()
	isOverdue := !now.Before(st.heldSince.Add(longestWait))
	hasRested := !now.Before(st.lastText.Add(restAfter))
	if len(pieces) == 0 && st.boundary == aaep.BoundarySentence && (isOverdue || hasRested) {
		pieces = st.seg.Yield()
	}
	if isOverdue || len(pieces) > 0 {
		st.heldSince = now
	}
	return pieces
}

// nextPause returns when takePaused may next find held text that has waited long enough, which may
// be now. It returns the zero time where nothing is held, or where restAfter has passed, for
// takePaused has been called since and has released what it could.
func (st *stream) nextPause(now time.Time) (next time.Time) {
	consider := func(at time.Time) { // the earliest counts
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if len(st.parts) == 0 || st.seg == nil {
		return next
	}
	if at := st.lastText.Add(pauseAfter); at.After(now) {
		consider(at)
	}
	if at := st.lastText.Add(restAfter); at.After(now) && st.boundary == aaep.BoundarySentence {
		consider(at)
		consider(st.heldSince.Add(longestWait))
	}
	return next
}
