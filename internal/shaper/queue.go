package shaper

import (
	"math"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
)

// enqueue appends an item to the queue, where it waits for the rate. Where not all of the queue can
// leave at once, it first merges the item with older ones of its session that it makes superfluous
// (D-51); an item that leads back to where the state was is not appended at all.
func (s *Shaper) enqueue(now time.Time, it *item) {
	free := s.freeTokens(now)
	if it.kind == plain || len(s.queue) < min(maxApart, free) || free == math.MaxInt && it.kind != text {
		s.queue = append(s.queue, it)
		return
	}
	session := it.event.SessionID
	switch it.kind {
	case progress: // the newest wins
		for i := s.findWaiting(session, progress); i >= 0; i = s.findWaiting(session, progress) {
			old := s.queue[i]
			s.queue = slices.Delete(s.queue, i, i+1)
			s.stats.Merged += old.parts
			it.since = min(it.since, old.since)
		}
	case state: // A to B and B to C become A to C; a return to the start disappears
		for i := s.findWaiting(session, state); i >= 0; i = s.findWaiting(session, state) {
			old := s.queue[i]
			returns := it.returnsTo(old)
			if returns && old.since <= s.heardUpTo {
				break // a subscriber that received what lies between would not learn of the return
			}
			s.queue = slices.Delete(s.queue, i, i+1)
			if returns {
				s.stats.Merged += old.parts + it.parts
				s.addFolded(old.since, it.to.pos)
				return
			}
			s.foldStates(it, old)
		}
	case text: // it joins the text of the same output that waits, unless another event came between
		if i := s.lastIndexOf(session); i >= 0 && s.joinText(s.queue[i], it) {
			return
		}
	}
	s.queue = append(s.queue, it)
}

// lastIndexOf returns the index of the session's last item in the queue, or -1.
func (s *Shaper) lastIndexOf(session string) int {
	for i := len(s.queue) - 1; i >= 0; i-- {
		if s.queue[i].event.SessionID == session {
			return i
		}
	}
	return -1
}

// findWaiting returns the index of the session's newest item of a kind in the queue, or -1. For a
// state it looks no further back than text, or the end of a question, of the session: a state that
// merges with an older one would move past that, and text would no longer be resumable.
func (s *Shaper) findWaiting(session string, k kind) int {
	for i := len(s.queue) - 1; i >= 0; i-- {
		switch it := s.queue[i]; {
		case it.event.SessionID != session:
		case it.kind == k:
			return i
		case k == state && (it.kind == text || endsQuestion(it.event)):
			return -1
		}
	}
	return -1
}

// dropSuperseded drops the queued progress and states of a session whose error, at position pos,
// makes them superfluous (D-50), and counts them as merged. Everything else of the session stays
// queued, also how a question ended and the states that lead to it. Push calls it.
func (s *Shaper) dropSuperseded(session string, pos uint64) {
	outcomes := 0
	for _, it := range s.queue {
		if it.event.SessionID == session && endsQuestion(it.event) {
			outcomes++
		}
	}
	s.queue = slices.DeleteFunc(s.queue, func(it *item) bool {
		if it.event.SessionID != session {
			return false
		}
		if endsQuestion(it.event) {
			outcomes--
		}
		if it.kind != progress && (it.kind != state || outcomes > 0) {
			return false
		}
		s.stats.Merged += it.parts
		if it.kind == state {
			s.addFolded(it.since, pos)
		}
		return true
	})
}

// expediteBefore moves events from the queue to urgent, to leave in front of the critical event ev:
// first those that may leave now, then those that ev must not overtake (D-50). Where events merge,
// neighbouring changes of state that overtake text become one; or two, where they lead back to
// where they began, since the subscriber may have received what lies between.
func (s *Shaper) expediteBefore(now time.Time, ev *aaep.Event) {
	ready, merges := min(len(s.queue), s.spareTokens(now)), s.mayHold(now)
	if s.linkFull {
		ready = 0
	}
	var run []*item // the newest of urgent: one change, or two of which the second leads back
	seen := 0
	s.queue = slices.DeleteFunc(s.queue, func(it *item) bool {
		if seen++; seen > ready && !mustPrecede(it, ev) {
			return false
		}
		switch {
		case !merges || seen <= ready || it.kind != state:
			run = nil
		case len(run) == 1 && it.returnsTo(run[0]):
			run = append(run, it)
		default:
			s.urgent = s.urgent[:len(s.urgent)-len(run)]
			for _, old := range slices.Backward(run) {
				s.foldStates(it, old)
				s.addFolded(it.since, it.to.pos) // what was between them is overtaken
			}
			run = []*item{it}
		}
		s.urgent = append(s.urgent, it)
		return true
	})
}

// mustPrecede reports whether a waiting item must leave before a critical event although the rate
// is reached. Without the start of its session or the state that it belongs to, the event could not
// be understood; behind a question, the outcome of the one before would be taken for its own.
// Nothing comes after an error, and text keeps its order.
func mustPrecede(it *item, critical *aaep.Event) bool {
	if it.event.SessionID != critical.SessionID {
		return false
	}
	switch p := critical.Payload.(type) {
	case *aaep.SessionErrored:
		return true
	case *aaep.OutputStreaming:
		if q, ok := it.event.Payload.(*aaep.OutputStreaming); ok {
			return p.OutputID == q.OutputID
		}
	}
	return it.event.Type() == aaep.TypeSessionStarted || it.event.Type() == aaep.TypeStateChanged
}

// returnsTo reports whether it, a change of state, leads back to the state from which the older
// change led away.
func (it *item) returnsTo(old *item) bool {
	return old.event.Payload.(*aaep.StateChanged).FromState == it.event.Payload.(*aaep.StateChanged).ToState
}

// foldStates merges the older change of state into it: A to B and B to C become A to C.
func (s *Shaper) foldStates(it, old *item) {
	ev, p := *it.event, *it.event.Payload.(*aaep.StateChanged)
	p.FromState = old.event.Payload.(*aaep.StateChanged).FromState
	ev.Payload = &p
	it.event = &ev
	it.from, it.since, it.folded = old.from, old.since, true
	s.stats.Merged += old.parts
}

// forgetSession drops what is known of a session whose end this subscription does not receive, once
// nothing of the session waits.
func (s *Shaper) forgetSession(session string) {
	if s.hasWaiting(session) {
		s.sessionStateOf(session).ended = true
	} else {
		delete(s.sessions, session)
	}
}

// hasWaiting reports whether an event of the session waits to leave.
func (s *Shaper) hasWaiting(session string) bool {
	return s.lastIndexOf(session) >= 0 ||
		slices.ContainsFunc(s.urgent, func(it *item) bool { return it.event.SessionID == session })
}
