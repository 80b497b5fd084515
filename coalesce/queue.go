package coalesce

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep"
)

// enqueue adds an item behind the others. Where not all of them can leave at once, it folds in what the
// item makes superfluous (D-51).
func (s *Shaper) enqueue(now time.Time, it *item) {
	free := s.free(now)
	if it.kind == plain || len(s.queue) < min(maxApart, free) || free == noLimit && it.kind != text {
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
		if t := s.told[session]; t != nil && len(t.folds) >= maxFolds && t.folds[0].to > s.resume {
			break // they could not be told again as they were
		}
		for i := s.find(session, state); i >= 0; i = s.find(session, state) {
			old := s.queue[i]
			p, was := *it.event.Payload.(*aaep.StateChanged), old.event.Payload.(*aaep.StateChanged)
			if was.FromState == p.ToState && old.since <= s.heard {
				break // who heard what lies between would not learn of the return
			}
			s.queue = slices.Delete(s.queue, i, i+1)
			s.stats.Merged += old.parts
			if was.FromState == p.ToState {
				s.stats.Merged += it.parts
				s.vanish(session, old.since, it.to.pos)
				return
			}
			ev := *it.event
			p.FromState = was.FromState
			ev.Payload = &p
			it.event = &ev
			it.from, it.since = old.from, old.since
		}
	case text: // joins what waits of the same output, unless something of the session came between
		if i := s.lastOf(session); i >= 0 && s.queue[i].join(it, s.terms.MaxChunk) {
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

// find returns the index of the session's newest waiting item of a kind, or -1. A state does not move past text of its
// session: that text would no longer be resumable.
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

// supersede drops the progress and states that a session's error makes superfluous (D-50); but not what leads to an outcome, which
// is told. The error is at pos.
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
		t := s.tellingOf(session)
		if it.kind == state {
			t.vanished = append(t.vanished, it.since)
			s.passOver(it.since, pos)
		} else {
			t.supersede(it.to.pos + 1)
		}
		return true
	})
}

// hurry lets the items that match leave before a critical event that must come after them (D-50).
func (s *Shaper) hurry(match func(*item) bool) {
	s.queue = slices.DeleteFunc(s.queue, func(it *item) bool {
		if !match(it) {
			return false
		}
		s.urgent = append(s.urgent, it)
		return true
	})
}

// forget ends the telling of a session whose end this listener is not told, once nothing of it waits.
func (s *Shaper) forget(session string) {
	if s.waits(session) {
		s.tellingOf(session).over = true
	} else if t := s.told[session]; t != nil {
		s.end(session, t, s.newest)
	}
}

// waits reports whether something of a session waits to leave.
func (s *Shaper) waits(session string) bool {
	return s.lastOf(session) >= 0 || slices.ContainsFunc(s.urgent, func(it *item) bool { return it.event.SessionID == session })
}
