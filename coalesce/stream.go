package coalesce

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
)

// A stream is one output that is still going on.
type stream struct {
	session, output string
	cut             aaep.Boundary
	seg             *Segmenter // nil where the listener wants every piece as it comes
	parts           []part     // what the segmenter holds, in order
	position        int64      // where the held text starts in its output, in code points
	pauseAt         time.Time  // when a quiet stream gives up a finished sentence; zero: never
	quietAt         time.Time  // pauseAfter after the last text
}

// part is held text of one entry.
type part struct {
	entry Entry
	next  int // first byte of the chunk that is held
}

func (p part) output() *aaep.OutputStreaming { return p.entry.Event.Payload.(*aaep.OutputStreaming) }
func (p part) start() mark                   { return mark{pos: p.entry.Pos, offset: p.next} }

type kind uint8

const (
	plain kind = iota
	text
	state
	progress
)

// item is one event waiting to leave, made of one or more events of the log.
type item struct {
	kind    kind
	event   *aaep.Event // the newest of them; for text, leave fills in the rest
	from    mark        // the start of its oldest part
	to      mark        // the end of its newest part
	parts   int         // events of the log that end in it
	passage             // for text
}

// passage is text on its way.
type passage struct {
	chunk    string
	joined   []byte // chunk and what joined it; nil: nothing did
	position int64
	reached  aaep.Boundary
	complete bool
}

func (t *passage) len() int { return max(len(t.chunk), len(t.joined)) }

// join adds newer text of the same output to it, and reports whether it could.
func (it *item) join(newer *item) bool {
	if it.kind != text || it.complete || it.event.Critical() || newer.event.Critical() || it.len()+newer.len() > maxChunk {
		return false
	}
	x, y := it.event.Payload.(*aaep.OutputStreaming), newer.event.Payload.(*aaep.OutputStreaming)
	if x.OutputID != y.OutputID || !alike(it.event, newer.event) {
		return false
	}
	if it.joined == nil {
		it.joined = append(it.joined, it.chunk...)
	}
	it.joined = append(it.joined, newer.chunk...)
	it.event, it.to, it.reached, it.complete = newer.event, newer.to, newer.reached, newer.complete
	it.parts += newer.parts
	return true
}

// telling is what the events of a session may not go back behind.
type telling struct {
	stamp    time.Time
	state    uint64 // the place of the newest state
	from     aaep.State
	progress uint64 // the place of the newest progress
	over     bool   // the session ended without this listener
}

// again reports whether a listener that resumed is past a state or progress, since a newer one, still to
// come again, has left before. That one comes as it was, and nothing folds into it: it may have arrived.
func (s *Shaper) again(it *item) bool {
	t, pos := s.told[it.event.SessionID], it.to.pos
	switch {
	case pos == 0:
	case it.kind == progress && pos <= t.progress:
		it.kind = plain
		return pos < t.progress
	case it.kind == state && pos <= t.state:
		it.kind = plain
		ev, p := *it.event, *it.event.Payload.(*aaep.StateChanged)
		p.FromState = t.from
		ev.Payload = &p
		it.event = &ev
		return pos < t.state
	}
	return false
}

// alike reports whether the text of two output events may leave in one.
func alike(a, b *aaep.Event) bool {
	x, y := a.Payload.(*aaep.OutputStreaming), b.Payload.(*aaep.OutputStreaming)
	return a.Language() == b.Language() && x.ContentType == y.ContentType
}

// payload is p with the text of t. Its hint is the coarsest boundary listed that was reached.
func (t *passage) payload(p *aaep.OutputStreaming, listed []aaep.Boundary) *aaep.OutputStreaming {
	q := *p
	q.Chunk, q.Position, q.Complete = t.chunk, t.position, t.complete
	if t.joined != nil {
		q.Chunk = string(t.joined)
	}
	q.CoalesceHint = label(listed, t.reached)
	if q.Complete {
		q.CoalesceHint = aaep.BoundaryCompletion
	}
	return &q
}

// pushOutput cuts an output event's text at the listener's boundaries and queues what is ready.
func (s *Shaper) pushOutput(now time.Time, e Entry, p *aaep.OutputStreaming) {
	skip := min(e.Skip, len(p.Chunk))
	if skip == len(p.Chunk) && !p.Complete {
		s.stats.Merged++ // it says nothing
		return
	}
	st := s.stream(e.Event.SessionID, p.OutputID)
	critical := e.Event.Critical()
	if n := len(st.parts); n > 0 && (critical || !alike(st.parts[n-1].entry.Event, e.Event)) {
		// A chunk in another language begins a new event: a language is said once for each.
		s.release(now, st, st.flush(false), false)
	}
	if len(st.parts) == 0 {
		st.position = p.Position + runes(p.Chunk[:skip])
	}
	st.parts = append(st.parts, part{entry: e, next: skip})
	pieces := st.write(p.Chunk[skip:])
	if p.Complete || critical {
		pieces = append(pieces, st.flush(p.Complete)...)
	}
	s.release(now, st, pieces, p.Complete)
	if critical { // with the text before it
		s.hurry(func(it *item) bool {
			return it.kind == text && it.event.SessionID == st.session && it.event.Payload.(*aaep.OutputStreaming).OutputID == st.output
		})
	}
	st.quietAt, st.pauseAt = now.Add(pauseAfter), time.Time{}
	switch {
	case p.Complete:
		s.streams = slices.DeleteFunc(s.streams, func(x *stream) bool { return x == st })
	case len(st.parts) > 0:
		st.pauseAt = st.quietAt
	}
}

// finish gives up the text of outputs that their session's end left open.
func (s *Shaper) finish(now time.Time, session string) {
	s.streams = slices.DeleteFunc(s.streams, func(st *stream) bool {
		if st.session != session {
			return false
		}
		s.release(now, st, st.flush(false), false)
		return true
	})
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
		if !match(st) {
			continue
		}
		st.pauseAt = time.Time{}
		if st.seg != nil {
			s.release(now, st, st.seg.Pause(), false)
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
		it := st.consume(piece.Source)
		it.passage = passage{chunk: piece.Text, position: st.position, reached: piece.Boundary, complete: complete && i == len(pieces)-1}
		st.position += runes(piece.Text)
		s.enqueue(now, it)
	}
}

// consume takes n bytes of the held text, and with them every entry that has no more text.
func (st *stream) consume(n int) *item {
	it := &item{kind: text, from: st.parts[0].start()}
	for len(st.parts) > 0 {
		head := &st.parts[0]
		rest := len(head.output().Chunk) - head.next
		if n == 0 && rest > 0 && it.event != nil {
			break
		}
		it.event = head.entry.Event
		if n < rest {
			head.next += n
			it.to = mark{pos: head.entry.Pos, offset: head.next}
			break
		}
		n -= rest
		it.to = mark{pos: head.entry.Pos, whole: true}
		it.parts++
		st.parts = slices.Delete(st.parts, 0, 1)
	}
	return it
}

func runes(s string) int64 { return int64(utf8.RuneCountInString(s)) }
