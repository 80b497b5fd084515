package coalesce

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep"
)

// telling is what a session's listener has been told.
type telling struct {
	stamp    time.Time
	upTo     uint64 // the place of the newest state or progress that left while something older was held,
	progress uint64 // and of the newest progress
	folds    []fold // of the states among them, in order
	vanished uint64 // the place of the oldest state that has vanished with its return since one left
	over     bool   // the session ended without this listener
}

// fold is a state that left for several.
type fold struct {
	from, to uint64     // the places of the oldest and the newest of them
	state    aaep.State // that the oldest began with
}

// A stretch is some states of a session that are told in one, or not at all: nobody can go on in between, from the first on until the
// last.
type stretch struct{ from, to uint64 }

const (
	// maxFolds is how many folds of a session are remembered. Where no event is resumable for so long, there are no more.
	maxFolds = 64
	// maxEnded is how many sessions may end while a link is broken before what was told of them is forgotten.
	maxEnded = 256
	// maxStretches is how many stretches are kept apart.
	maxStretches = 64
)

// note remembers a state or progress that leaves while something older is held, so that its listener, when it resumes, does not
// come to it yet. Everything up to resume is told once and for all, but maybe on its way: the newest of that are kept.
func (t *telling) note(it *item, resume uint64) {
	if it.to.pos == 0 {
		return
	}
	switch p := it.event.Payload.(type) {
	case *aaep.ProgressUpdated:
		t.progress = max(t.progress, it.to.pos)
	case *aaep.StateChanged:
		from := it.since
		if t.vanished > 0 {
			from = min(from, t.vanished)
		}
		if from == it.to.pos || slices.ContainsFunc(t.folds, func(f fold) bool { return f.to == it.to.pos }) {
			break
		}
		if len(t.folds) >= maxFolds && t.folds[0].to <= resume {
			t.folds = slices.Delete(t.folds, 0, 1)
		}
		t.folds = append(t.folds, fold{from, it.to.pos, p.FromState})
	default:
		return
	}
	t.upTo = max(t.upTo, it.to.pos)
}

// leftBefore makes a state or progress that may have left before its listener resumed leave as it did then; and reports whether
// it left inside a newer one, and must not come after that.
func (s *Shaper) leftBefore(it *item) bool {
	pos := it.to.pos
	if it.kind == plain || pos == 0 || pos > s.heard {
		return false
	}
	t := s.telling(it.event.SessionID)
	if t == nil || pos > t.upTo {
		return false
	}
	if it.kind == progress && pos < t.progress && s.terms.MaxEventsPerSecond > 0 {
		return true // nor need it, where there is a newer one
	}
	if it.kind == state {
		for _, f := range t.folds {
			if f.from <= pos && pos < f.to {
				s.passOver(pos, f.to)
				return true
			}
			if pos == f.to {
				ev, p := *it.event, *it.event.Payload.(*aaep.StateChanged)
				p.FromState = f.state
				ev.Payload = &p
				it.event = &ev
			}
		}
	}
	it.kind = plain // nothing folds into it
	return false
}

// vanish forgets states that lead back to where they began.
func (s *Shaper) vanish(session string, from, to uint64) {
	t := s.tellingOf(session)
	if t.vanished == 0 {
		t.vanished = from
	}
	s.passOver(from, to)
}

// passOver has no place between two states.
func (s *Shaper) passOver(from, to uint64) {
	s.stretches = slices.DeleteFunc(s.stretches, func(o stretch) bool { return o.to <= s.resume })
	switch n := len(s.stretches); {
	case n > 0 && s.stretches[n-1].to == to:
	case n == maxStretches: // more than need be
		last := &s.stretches[n-1]
		last.from, last.to = min(last.from, from), max(last.to, to)
	default:
		s.stretches = append(s.stretches, stretch{from, to})
	}
}

// end is a session that has ended, and what was told of it: for whoever resumes before that, and goes on with no earlier stamp.
type end struct {
	session string
	told    *telling
}

// end keeps what was told of a session whose end has left.
func (s *Shaper) end(session string, t *telling) {
	delete(s.told, session)
	if s.telling(session) == t {
		return
	}
	if len(s.ended) == maxEnded {
		s.ended = slices.Delete(s.ended, 0, 1)
	}
	s.ended = append(s.ended, end{session, t})
}

// telling returns what was told of a session, or nil.
func (s *Shaper) telling(session string) *telling {
	if t := s.told[session]; t != nil {
		return t
	}
	if i := slices.IndexFunc(s.ended, func(e end) bool { return e.session == session }); i >= 0 {
		return s.ended[i].told
	}
	return nil
}

// tellingOf returns what is told of a session from now on.
func (s *Shaper) tellingOf(session string) *telling {
	t := s.told[session]
	if t == nil {
		if t = s.telling(session); t == nil {
			t = &telling{}
		}
		s.told[session] = t
	}
	return t
}
