package coalesce

import (
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
)

// A stream is one output that is still going on.
type stream struct {
	session, output string
	cut             aaep.Boundary
	seg             *Segmenter // nil where the listener wants every piece as it comes
	parts           []part     // what the segmenter holds, in order
	position        int64      // where the held text starts in its output, in code points
	pauseAt         time.Time  // when a quiet stream gives up a finished sentence; zero: never
}

// part is held text of one entry.
type part struct {
	entry Entry
	next  int // first byte of the chunk that is held
}

func (p part) output() *aaep.OutputStreaming { return p.entry.Event.Payload.(*aaep.OutputStreaming) }
func (p part) start() mark                   { return mark{pos: p.entry.Pos, offset: p.next} }

// pushOutput cuts an output event's text at the listener's boundaries and queues what is ready.
func (s *Shaper) pushOutput(now time.Time, e Entry, p *aaep.OutputStreaming) {
	st := s.stream(e.Event.SessionID, p.OutputID)
	skip := min(e.Skip, len(p.Chunk))
	if len(st.parts) > 0 && st.parts[0].output().Language != p.Language {
		// A chunk in another language begins a new event: a language is said once for each.
		s.release(now, st, st.flush(false), false)
	}
	if len(st.parts) == 0 {
		st.position = p.Position + runes(p.Chunk[:skip])
	}
	st.parts = append(st.parts, part{entry: e, next: skip})
	pieces := st.write(p.Chunk[skip:])
	if p.Complete {
		pieces = append(pieces, st.flush(true)...)
	}
	s.release(now, st, pieces, p.Complete)
	st.pauseAt = time.Time{}
	switch {
	case p.Complete:
		s.streams = slices.DeleteFunc(s.streams, func(x *stream) bool { return x == st })
	case len(st.parts) > 0:
		st.pauseAt = now.Add(pauseAfter)
	}
}

func (s *Shaper) stream(session, output string) *stream {
	for _, st := range s.streams {
		if st.session == session && st.output == output {
			return st
		}
	}
	st := &stream{session: session, output: output, cut: s.cut}
	if s.cut != aaep.BoundaryNone {
		st.seg = NewSegmenter(s.cut, maxChunk)
	}
	s.streams = append(s.streams, st)
	return st
}

func (st *stream) write(chunk string) []Piece {
	switch {
	case st.seg != nil:
		return st.seg.Write(chunk)
	case chunk == "":
		return nil
	}
	return []Piece{{Text: chunk, Boundary: aaep.BoundaryNone, Source: len(chunk)}}
}

func (st *stream) flush(final bool) []Piece {
	if st.seg == nil {
		return nil
	}
	return st.seg.Flush(final)
}

// recut goes on at another boundary and returns what must leave for that.
func (st *stream) recut(cut aaep.Boundary) []Piece {
	st.cut = cut
	if cut == aaep.BoundaryNone {
		pieces := st.flush(false)
		st.seg = nil
		return pieces
	}
	st.seg = NewSegmenter(cut, maxChunk)
	var held strings.Builder
	for _, p := range st.parts {
		held.WriteString(p.output().Chunk[p.next:])
	}
	return st.seg.Write(held.String())
}

// pause releases finished sentences of the streams that match.
func (s *Shaper) pause(now time.Time, match func(*stream) bool) {
	for _, st := range s.streams {
		if st.seg != nil && match(st) {
			s.release(now, st, st.seg.Pause(), false)
			st.pauseAt = time.Time{}
		}
	}
}

// release queues pieces as events. If complete, the last of them closes the output; where no text is left
// for it, an empty one does.
func (s *Shaper) release(now time.Time, st *stream, pieces []Piece, complete bool) {
	if complete && len(pieces) == 0 {
		pieces = []Piece{{Boundary: aaep.BoundaryCompletion}}
	}
	for i, piece := range pieces {
		it, newest := st.consume(piece.Source)
		ev := *newest.Event
		p := *ev.Payload.(*aaep.OutputStreaming)
		p.Chunk, p.Position = piece.Text, st.position
		p.CoalesceHint = label(s.terms.Boundaries, piece.Boundary)
		p.Complete = complete && i == len(pieces)-1
		if p.Complete {
			p.CoalesceHint = aaep.BoundaryCompletion
		}
		ev.Payload = &p
		it.event = &ev
		st.position += runes(piece.Text)
		s.enqueue(now, it)
	}
}

// consume takes n bytes of the held text, and with them every entry that has no more text.
func (st *stream) consume(n int) (it *item, newest Entry) {
	it = &item{kind: text, from: st.parts[0].start()}
	for len(st.parts) > 0 {
		head := &st.parts[0]
		rest := len(head.output().Chunk) - head.next
		if n == 0 && rest > 0 {
			break
		}
		newest = head.entry
		if n < rest {
			head.next += n
			it.to = mark{pos: newest.Pos, offset: head.next}
			break
		}
		n -= rest
		it.to = mark{pos: newest.Pos, whole: true}
		it.parts++
		st.parts = slices.Delete(st.parts, 0, 1)
	}
	return it, newest
}

var ranks = []aaep.Boundary{aaep.BoundaryNone, aaep.BoundaryWord, aaep.BoundarySentence, aaep.BoundaryParagraph, aaep.BoundaryCompletion}

func rank(b aaep.Boundary) int { return slices.Index(ranks, b) }

// label names the coarsest boundary the listener asked for that was reached, or none (D-28).
func label(listed []aaep.Boundary, reached aaep.Boundary) aaep.Boundary {
	best := aaep.BoundaryNone
	for _, b := range listed {
		if rank(b) <= rank(reached) && rank(b) > rank(best) {
			best = b
		}
	}
	return best
}

// finest returns where to cut for terms: at the finest boundary listed, one coarser for a slow voice,
// the coarsest for a listener who asked for few events. None means not to wait for a boundary at all.
func finest(t handshake.Terms) aaep.Boundary {
	if slices.Contains(t.Boundaries, aaep.BoundaryNone) {
		return aaep.BoundaryNone
	}
	sorted := slices.SortedFunc(slices.Values(t.Boundaries), func(a, b aaep.Boundary) int { return rank(a) - rank(b) })
	switch {
	case len(sorted) == 0:
		return aaep.BoundarySentence
	case t.CognitiveLoad == aaep.LoadLow:
		return sorted[len(sorted)-1]
	case t.PaceWPM > 0 && t.PaceWPM < slowPace && len(sorted) > 1:
		return sorted[1]
	}
	return sorted[0]
}

// slowPace is the speech rate, in words per minute, below which a listener gets longer pieces (D-53).
const slowPace = 120
