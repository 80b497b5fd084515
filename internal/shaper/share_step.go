package shaper

import (
	"slices"
	"time"
)

// Where an agent's text never pauses, no Shaper is ever settled. But two of equal terms that have
// just let go of all they could are told the same from then on, if they hold the same beginning of
// a sentence and the one goes on as if it had spent what the other has.

// maxDrift is how far apart two Shapers may be in when they read, held and sent the same text, and
// still count as equal.
const maxDrift = 50 * time.Millisecond

// Paused reports whether s holds nothing but text that is not ready to leave. read is as for
// Settled.
func (s *Shaper) Paused(now time.Time, read uint64) bool {
	return s.isDrained(read) && !now.Before(s.silentUntil())
}

// alignWith makes s continue in step with other, which matches it and is paused too: as if s had
// spent its tokens when other did. It reports false, and changes nothing, if s spent a token later
// than other by more than maxDrift.
func (s *Shaper) alignWith(now time.Time, other *Shaper) bool {
	if !s.budget.Limited() {
		if full := s.budget.FullAt(); now.Before(full) {
			return false
		}
		if full := other.budget.FullAt(); now.Before(full) {
			return false
		}
	} else if !s.budget.Align(now, other.budget, maxDrift) {
		return false
	}
	for _, st := range s.streams {
		if i := other.indexOfStream(st); i >= 0 {
			o := other.streams[i]
			st.heldSince, st.lastText, st.pauseAt = o.heldSince, o.lastText, o.pauseAt
		}
	}
	return true
}

// indexOfStream returns the index of the stream of the same output, or -1.
func (s *Shaper) indexOfStream(st *stream) int {
	return slices.IndexFunc(s.streams, func(o *stream) bool { return o.session == st.session && o.output == st.output })
}

// holdsSameText reports whether both hold the same text, which they will cut alike.
func (s *Shaper) holdsSameText(other *Shaper) bool {
	held, first := 0, s.newest
	for _, st := range s.streams {
		if st.seg == nil {
			continue
		}
		if i := other.indexOfStream(st); i < 0 || !st.matches(other.streams[i]) {
			return false
		}
		if held++; len(st.parts) > 0 {
			first = min(first, st.parts[0].entry.Pos)
		}
	}
	for _, o := range other.streams {
		if o.seg != nil {
			held--
		}
	}
	if held != 0 {
		return false
	}
	after := func(all []foldedRange) []foldedRange { // those that still say what one cannot go on after
		return slices.DeleteFunc(slices.Clone(all), func(o foldedRange) bool { return o.to <= first })
	}
	return slices.Equal(after(s.folded), after(other.folded))
}

// matches reports whether o holds the same text and will cut it at the same places and times.
func (st *stream) matches(o *stream) bool {
	near := func(a, b time.Time) bool { return a.Sub(b).Abs() <= maxDrift }
	return o.seg != nil && st.lang == o.lang && st.boundary == o.boundary && st.keepsSource == o.keepsSource &&
		(len(st.parts) == 0 || st.position == o.position) &&
		slices.EqualFunc(st.parts, o.parts, func(a, b part) bool { return a.start() == b.start() }) &&
		near(st.heldSince, o.heldSince) && near(st.lastText, o.lastText) && st.pauseAt.IsZero() == o.pauseAt.IsZero() &&
		st.seg.Equal(o.seg)
}
