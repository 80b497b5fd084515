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
	allMayLeave := len(s.queue) < min(maxApart, free)
	isUnlimited := free == math.MaxInt
	if merged := !allMayLeave && (!isUnlimited || it.kind == text) && s.mergeIntoQueue(it); !merged {
		s.queue = append(s.queue, it)
	}
}

// mergeIntoQueue merges it with older items of its session in the queue, as its kind allows. It
// reports whether nothing of it is left to append.
func (s *Shaper) mergeIntoQueue(it *item) bool {
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
				return true
			}
			s.foldStates(it, old)
		}
	case text: // it joins the text of the same output that waits, unless another event came between
		i := s.lastIndexOf(session)
		return i >= 0 && s.joinText(s.queue[i], it)
	}
	return false
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
// queued, also how a question ended and the states before it. Push calls it.
func (s *Shaper) dropSuperseded(session string, pos uint64) {
	lastOutcome := -1
	for i, it := range s.queue {
		if it.event.SessionID == session && endsQuestion(it.event) {
			lastOutcome = i
		}
	}
	i := -1
	s.queue = slices.DeleteFunc(s.queue, func(it *item) bool {
		i++
		isLateState := it.kind == state && i > lastOutcome
		if it.event.SessionID != session || it.kind != progress && !isLateState {
			return false
		}
		s.stats.Merged += it.parts
		if isLateState {
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
	// run has the items at the end of urgent that a change may merge with: none, one change, or two
	// of which the second leads back.
	var run []*item
	seen := 0
	s.queue = slices.DeleteFunc(s.queue, func(it *item) bool {
		seen++
		mayLeave := seen <= ready
		if !mayLeave && !mustPrecede(it, ev) {
			return false
		}
		switch {
		case !merges || mayLeave || it.kind != state:
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
// change, old, led away.
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

// forgetSession drops what is known of a session whose end this subscription does not receive.
// Where something of the session waits, buildOut does that once the last of it has left.
func (s *Shaper) forgetSession(session string) {
	if s.hasWaiting(session) {
		s.sessionStateOf(session).ended = true
	} else {
		delete(s.sessions, session)
	}
}

// hasWaiting reports whether an event of the session waits to leave. Text that a stream holds does
// not count.
func (s *Shaper) hasWaiting(session string) bool {
	return s.lastIndexOf(session) >= 0 ||
		slices.ContainsFunc(s.urgent, func(it *item) bool { return it.event.SessionID == session })
}
