package shaper

import (
	"math"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
)

// enqueue adds an item behind the others. Where not all of them can leave at once, it folds in what
// the item makes superfluous (D-51).
func (s *Shaper) enqueue(now time.Time, it *item) {
	free := s.free(now)
	if it.kind == plain || len(s.queue) < min(maxApart, free) || free == math.MaxInt && it.kind != text {
		s.queue = append(s.queue, it)
		return
	}
	session := it.event.SessionID
	switch it.kind {
	case progress: // the newest wins
		for i := s.find(session, progress); i >= 0; i = s.find(session, progress) {
			old := s.queue[i]
			s.queue = slices.Delete(s.queue, i, i+1)
			s.stats.Merged += old.parts
			it.since = min(it.since, old.since)
		}
	case state: // A to B and B to C become A to C; a return to the start disappears
		for i := s.find(session, state); i >= 0; i = s.find(session, state) {
			old := s.queue[i]
			returns := it.returnsTo(old)
			if returns && old.since <= s.heard {
				break // who heard what lies between would not learn of the return
			}
			s.queue = slices.Delete(s.queue, i, i+1)
			if returns {
				s.stats.Merged += old.parts + it.parts
				s.passOver(old.since, it.to.pos)
				return
			}
			s.fold(it, old)
		}
	case text: // joins what waits of the same output, unless something of the session came between
		if i := s.lastOf(session); i >= 0 && s.join(s.queue[i], it) {
			return
		}
	}
	s.queue = append(s.queue, it)
}

// lastOf returns the index of the session's last item in the queue, or -1.
func (s *Shaper) lastOf(session string) int {
	for i := len(s.queue) - 1; i >= 0; i-- {
		if s.queue[i].event.SessionID == session {
			return i
		}
	}
	return -1
}

// find returns the index of the session's newest waiting item of a kind, or -1. A state does not
// move past text of its session: that text would no longer be resumable.
func (s *Shaper) find(session string, k kind) int {
	for i := len(s.queue) - 1; i >= 0; i-- {
		switch it := s.queue[i]; {
		case it.event.SessionID != session:
		case it.kind == k:
			return i
		case k == state && (it.kind == text || tellsOutcome(it.event)):
			return -1
		}
	}
	return -1
}

// supersede drops the progress and states that a session's error makes superfluous (D-50); but not
// what leads to an outcome, which is told. The error is at pos.
func (s *Shaper) supersede(session string, pos uint64) {
	outcomes := 0
	for _, it := range s.queue {
		if it.event.SessionID == session && tellsOutcome(it.event) {
			outcomes++
		}
	}
	s.queue = slices.DeleteFunc(s.queue, func(it *item) bool {
		if it.event.SessionID != session {
			return false
		}
		if tellsOutcome(it.event) {
			outcomes--
		}
		if it.kind != progress && (it.kind != state || outcomes > 0) {
			return false
		}
		s.stats.Merged += it.parts
		if it.kind == state {
			s.passOver(it.since, pos)
		}
		return true
	})
}

// expedite moves to urgent what leaves in front of a critical event: what may leave now, and of the
// rest what the event must not overtake (D-50). Where things merge, neighbouring changes of state
// that it overtakes text with become one; or two, where they lead back to where they began, which
// is told: the listener may have heard what lies between.
func (s *Shaper) expedite(now time.Time, ev *aaep.Event) {
	ready, merges := min(len(s.queue), s.spare(now)), s.free(now) < math.MaxInt
	if s.full {
		ready = 0
	}
	var run []*item // the newest of urgent: one change, or two of which the second leads back
	i := 0
	s.queue = slices.DeleteFunc(s.queue, func(it *item) bool {
		if i++; i > ready && !precedes(it, ev) {
			return false
		}
		switch {
		case !merges || i <= ready || it.kind != state:
			run = nil
		case len(run) == 1 && it.returnsTo(run[0]):
			run = append(run, it)
		default:
			s.urgent = s.urgent[:len(s.urgent)-len(run)]
			for _, old := range slices.Backward(run) {
				s.fold(it, old)
				s.passOver(it.since, it.to.pos) // what was between them is overtaken
			}
			run = []*item{it}
		}
		s.urgent = append(s.urgent, it)
		return true
	})
}

// precedes reports whether a waiting item must leave before a critical event, though that is past
// the rate: without the start of its session, or the state that it belongs to, nobody could place
// it; and behind a question, how the one before ended would be taken for its own end. Nothing comes
// after an error, and text keeps its order.
func precedes(it *item, critical *aaep.Event) bool {
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

// returnsTo reports whether a state leads back to where an older one began.
func (it *item) returnsTo(old *item) bool {
	return old.event.Payload.(*aaep.StateChanged).FromState == it.event.Payload.(*aaep.StateChanged).ToState
}

// fold makes one of two states: A to B and B to C become A to C.
func (s *Shaper) fold(it, old *item) {
	ev, p := *it.event, *it.event.Payload.(*aaep.StateChanged)
	p.FromState = old.event.Payload.(*aaep.StateChanged).FromState
	ev.Payload = &p
	it.event = &ev
	it.from, it.since, it.folded = old.from, old.since, true
	s.stats.Merged += old.parts
}

// forget ends the telling of a session whose end this listener is not told, once nothing of it
// waits.
func (s *Shaper) forget(session string) {
	if s.waits(session) {
		s.tellingOf(session).over = true
	} else {
		delete(s.told, session)
	}
}

// waits reports whether something of a session waits to leave.
func (s *Shaper) waits(session string) bool {
	return s.lastOf(session) >= 0 ||
		slices.ContainsFunc(s.urgent, func(it *item) bool { return it.event.SessionID == session })
}
