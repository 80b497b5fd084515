package coalesce

import (
	"cmp"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
)

// telling is what a session's listener has been told.
type telling struct {
	stamp    time.Time
	upTo     uint64   // the place of the newest state or progress that left while something older was held,
	progress uint64   // and of the newest progress, or one behind that, where an error made it superfluous
	folds    []fold   // of the states among them, in order
	vanished []uint64 // places of states that have vanished with their return, or before an error, and are told by what leaves next
	over     bool     // the session ended without this listener, for whom something of it still waits
}

// fold is a state that left for several, or an end that left for states.
type fold struct {
	from, to uint64     // the places of the oldest of them and of what left
	state    aaep.State // that the oldest began with
}

// A stretch is some states of a session that are told in one, or not at all: no event from the first on, and before the last, is
// resumable.
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
func (t *telling) note(it *item, resume uint64, paced bool) {
	if it.to.pos == 0 {
		return
	}
	switch p := it.event.Payload.(type) {
	case *aaep.ProgressUpdated:
		if t.upTo = max(t.upTo, it.to.pos); paced || it.since < it.to.pos {
			t.supersede(it.to.pos)
		}
	case *aaep.StateChanged:
		from := it.since
		if len(t.vanished) > 0 {
			from = min(from, slices.Min(t.vanished))
		}
		if from == it.to.pos || slices.ContainsFunc(t.folds, func(f fold) bool { return f.to == it.to.pos }) {
			break
		}
		if len(t.folds) >= maxFolds && t.folds[0].to <= resume {
			t.folds = slices.Delete(t.folds, 0, 1)
		}
		t.folds = append(t.folds, fold{from, it.to.pos, p.FromState})
	default:
		if !it.event.Type().Terminal() || len(t.vanished) == 0 {
			return
		}
		t.folds = append(t.folds, fold{from: slices.Min(t.vanished), to: it.to.pos}) // none of them comes after the end
	}
	t.upTo = max(t.upTo, it.to.pos)
}

// supersede remembers that progress before a place need not be told again.
func (t *telling) supersede(pos uint64) {
	t.progress, t.upTo = max(t.progress, pos), max(t.upTo, pos)
}

// leftBefore makes a state or progress that may have left before its listener resumed leave as it did then; and reports whether
// it left inside a newer one, and must not come after that.
func (s *Shaper) leftBefore(it *item) bool {
	pos := it.to.pos
	if it.kind == plain || pos == 0 {
		return false
	}
	t := s.telling(it.event.SessionID)
	if t == nil || pos > t.upTo {
		return false
	}
	if it.kind == progress && pos < t.progress {
		return true // nor need it
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
	if n := len(t.vanished); n == 0 || slices.ContainsFunc(s.queue, func(it *item) bool {
		return it.event.SessionID == session && it.event.Type() == aaep.TypeStateChanged && it.to.pos > t.vanished[n-1]
	}) { // or what leaves next is told for both
		t.vanished = append(t.vanished, from)
	}
	s.passOver(from, to)
}

// passOver keeps a stretch. It may have had a longer one with the same end.
func (s *Shaper) passOver(from, to uint64) {
	s.stretches = slices.DeleteFunc(s.stretches, func(o stretch) bool { return o.to <= s.resume })
	switch n := len(s.stretches); {
	case slices.ContainsFunc(s.stretches, func(o stretch) bool { return o.to == to }): // it began with an older one
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
	stamp   time.Time
	pos     uint64   // the place of its end
	told    *telling // nil where there is nothing more
}

// end keeps what was told of a session whose end has left.
func (s *Shaper) end(session string, t *telling, pos uint64) {
	delete(s.told, session)
	e := end{session: session, stamp: t.stamp, pos: pos}
	if t.upTo > 0 {
		t.vanished, t.over, e.told = nil, false, t
	}
	if i := s.endOf(session); i >= 0 {
		s.ended[i] = e
		return
	}
	if len(s.ended) == maxEnded {
		s.ended = slices.Delete(s.ended, 0, 1)
	}
	s.ended = append(s.ended, e)
}

// endOf returns the index of a session in ended, or -1.
func (s *Shaper) endOf(session string) int {
	return slices.IndexFunc(s.ended, func(e end) bool { return e.session == session })
}

// telling returns what was told of a session, or nil.
func (s *Shaper) telling(session string) *telling {
	if t := s.told[session]; t != nil {
		return t
	}
	if i := s.endOf(session); i >= 0 {
		return cmp.Or(s.ended[i].told, &telling{stamp: s.ended[i].stamp})
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
