package shaper

import (
	"slices"
	"time"
)

// Where an agent's text never pauses, no Shaper is ever settled. But two of equal terms that have
// just let go of all they could make the same stream from then on, if they hold the same beginning
// of a sentence and the one goes on as if it had spent its tokens when the other did.

// maxDrift is how far apart two Shapers may be in when they read, held and sent the same text, and
// still count as equal.
const maxDrift = 50 * time.Millisecond

// Paused reports whether s holds nothing but text that is not ready to leave. read is as for
// Settled.
func (s *Shaper) Paused(now time.Time, read uint64) bool {
	return s.isDrained(read) && !now.Before(s.silentUntil())
}

// alignWith makes s continue in step with other, which matches it and is paused too: as if s had
// spent its tokens, and received the text that it holds, when other did. It reports false, and
// changes nothing, if s spent a token later than other by more than maxDrift, and without a rate
// unless both budgets are full again.
func (s *Shaper) alignWith(now time.Time, other *Shaper) bool {
	areFull := !now.Before(s.budget.FullAt()) && !now.Before(other.budget.FullAt())
	switch {
	case !s.budget.Limited() && !areFull, s.budget.Limited() && !s.budget.Align(now, other.budget, maxDrift):
		return false
	}
	for _, st := range s.streams {
		if i := other.indexOfStream(st); i >= 0 {
			same := other.streams[i]
			st.heldSince, st.lastText, st.pauseAt = same.heldSince, same.lastText, same.pauseAt
		}
	}
	return true
}

// indexOfStream returns the index, in s, of the stream of the output that st is a stream of, or -1.
func (s *Shaper) indexOfStream(st *stream) int {
	return slices.IndexFunc(s.streams, func(other *stream) bool {
		return other.session == st.session && other.output == st.output
	})
}

// holdsSameText reports whether both hold the same text and will cut it alike, and whether the
// ranges that are folded after it, or after the newest entry, are the same.
func (s *Shaper) holdsSameText(other *Shaper) bool {
	if s.countCutStreams() != other.countCutStreams() {
		return false
	}
	first := s.newest // or the place of the oldest held text
	for _, st := range s.streams {
		if st.seg == nil {
			continue
		}
		if i := other.indexOfStream(st); i < 0 || !st.matches(other.streams[i]) {
			return false
		}
		first = min(first, st.oldestHeld())
	}
	after := func(all []foldedRange) []foldedRange { // those that later events may fall in
		return slices.DeleteFunc(slices.Clone(all), func(folded foldedRange) bool { return folded.to <= first })
	}
	return slices.Equal(after(s.folded), after(other.folded))
}

// countCutStreams returns how many streams have text that is cut, not sent as it comes.
func (s *Shaper) countCutStreams() (n int) {
	for _, st := range s.streams {
		if st.seg != nil {
			n++
		}
	}
	return n
}

// matches reports whether o holds the same text and will cut it at the same places, and at times no
// more than maxDrift apart.
func (st *stream) matches(o *stream) bool {
	isNear := func(a, b time.Time) bool { return a.Sub(b).Abs() <= maxDrift }
	return o.seg != nil && st.lang == o.lang && st.boundary == o.boundary && st.keepsSource == o.keepsSource &&
		(len(st.parts) == 0 || st.position == o.position) &&
		slices.EqualFunc(st.parts, o.parts, func(a, b part) bool { return a.start() == b.start() }) &&
		isNear(st.heldSince, o.heldSince) && isNear(st.lastText, o.lastText) &&
		st.pauseAt.IsZero() == o.pauseAt.IsZero() &&
		st.seg.Equal(o.seg)
}
