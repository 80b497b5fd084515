package shaper

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
)

// A stream is one output that is still going on.
type stream struct {
	session, output string
	lang            string // of the text that is held
	boundary        aaep.Boundary
	seg             *coalesce.Segmenter // nil where the listener wants every piece as it comes
	parts           []part              // what the segmenter holds, in order
	keepsSource     bool                // items keep where they come from
	position        int64               // where the held text starts in its output, in code points
	lastText        time.Time           // when the last text came,
	heldSince       time.Time           // and when the oldest that is held, or when it was last tried
	pauseAt         time.Time           // when to look at what is held again; zero: never
}

// part is held text of one entry.
type part struct {
	entry Entry
	next  int // first byte of the chunk that is held
}

func (p part) payload() *aaep.OutputStreaming { return p.entry.Event.Payload.(*aaep.OutputStreaming) }
func (p part) start() mark                    { return mark{pos: p.entry.Pos, offset: p.next} }

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
	since   uint64      // the place of the oldest event folded into it
	at      uint64      // Entry.At
	folded  bool        // its state began before that of its event
	passage             // for text
}

// passage is text on its way.
type passage struct {
	chunk    string
	joined   []byte // chunk and what joined it; nil: nothing did
	position int64
	reached  aaep.Boundary
	complete bool
	source   []part // where it begins in each entry it is of; kept only where text is cut for a display
}

func (t *passage) len() int { return max(len(t.chunk), len(t.joined)) }

func (t *passage) runes() int64 {
	if t.joined != nil {
		return int64(utf8.RuneCount(t.joined))
	}
	return countRunes(t.chunk)
}

// joinText adds newer text of the same output to an item, and reports whether it could.
func (s *Shaper) joinText(it, newer *item) bool {
	limit := s.terms.MaxChunk
	if it.kind != text || it.complete || it.event.Critical() || newer.event.Critical() ||
		it.len()+newer.len() > maxChunk {
		return false
	}
	if limit > 0 && it.runes()+newer.runes() > int64(limit) {
		return false
	}
	x, y := it.event.Payload.(*aaep.OutputStreaming), newer.event.Payload.(*aaep.OutputStreaming)
	if x.OutputID != y.OutputID || !s.sameText(it.event, newer.event) {
		return false
	}
	if it.joined == nil {
		it.joined = append(it.joined, it.chunk...)
	}
	it.joined = append(it.joined, newer.chunk...)
	it.event, it.to, it.reached, it.complete = newer.event, newer.to, newer.reached, newer.complete
	it.parts += newer.parts
	it.source = joinSources(it.source, newer.source)
	return true
}

// joinSources returns nil where one of the two was not kept.
func joinSources(a, b []part) []part {
	switch {
	case a == nil || b == nil:
		return nil
	case a[len(a)-1].entry.Pos == b[0].entry.Pos: // b goes on where a ended
		b = b[1:]
	}
	return append(a, b...)
}

// splitAt cuts waiting text that was cut for a display into pieces for a narrower one, of at most
// limit characters.
func (it *item) splitAt(limit int) []*item {
	if it.source == nil || it.runes() <= int64(limit) {
		return []*item{it}
	}
	whole := string(it.joined)
	if it.joined == nil {
		whole = it.chunk
	}
	seg := newSegmenter(aaep.BoundaryCompletion, limit)
	seg.SetLanguage(it.event.Language())
	st := &stream{parts: it.source, position: it.position, keepsSource: true}
	var items []*item
	for _, piece := range append(seg.Write(whole), seg.Flush(false)...) {
		items = append(items, st.takePiece(piece))
	}
	last := items[len(items)-1]
	last.event, last.to, last.reached, last.complete = it.event, it.to, it.reached, it.complete
	last.parts = it.parts
	for _, other := range items[:len(items)-1] {
		last.parts -= other.parts
	}
	return items
}

// sameText reports whether the text of two output events may leave in one.
func (s *Shaper) sameText(a, b *aaep.Event) bool {
	x, y := a.Payload.(*aaep.OutputStreaming), b.Payload.(*aaep.OutputStreaming)
	return a.Language() == b.Language() && x.ContentType == y.ContentType && s.terms.SameData(a, b)
}

// outputPayload is p with the text of t. Its hint is the coarsest boundary listed that was reached.
func (t *passage) outputPayload(p *aaep.OutputStreaming, listed []aaep.Boundary) *aaep.OutputStreaming {
	q := *p
	q.Chunk, q.Position, q.Complete = t.chunk, t.position, t.complete
	if t.joined != nil {
		q.Chunk = string(t.joined)
	}
	q.CoalesceHint = coarsestListed(listed, t.reached)
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
	st := s.streamFor(e.Event.SessionID, p.OutputID)
	critical := e.Event.Critical()
	if n := len(st.parts); n > 0 && (critical || !s.sameText(st.parts[n-1].entry.Event, e.Event)) {
		// A chunk in another language begins a new event: a language is said once for each.
		s.queuePieces(now, st, st.flushHeld(false), false)
	}
	if lang := e.Event.Language(); lang != st.lang {
		st.lang = lang
		if st.seg != nil {
			st.seg.SetLanguage(lang)
		}
	}
	if len(st.parts) == 0 || !now.Before(st.lastText.Add(restAfter)) { // all was tried then
		st.heldSince = now
	}
	if len(st.parts) == 0 {
		st.position = p.Position + countRunes(p.Chunk[:skip])
	}
	st.parts = append(st.parts, part{entry: e, next: skip})
	pieces := st.segment(p.Chunk[skip:])
	if p.Complete || critical {
		pieces = append(pieces, st.flushHeld(p.Complete)...)
	}
	s.queuePieces(now, st, pieces, p.Complete)
	if critical {
		s.expediteBefore(now, e.Event)
	}
	if p.Complete {
		s.streams = slices.DeleteFunc(s.streams, func(x *stream) bool { return x == st })
		return
	}
	if st.lastText = now; len(pieces) > 0 {
		st.heldSince = now
	}
	st.pauseAt = st.nextPause(now)
}

// sortStreams puts the streams in the order of the text that they hold, in which it leaves where all of
// it does at once. In which order they began is not the same for all who hear the same.
func (s *Shaper) sortStreams() {
	slices.SortStableFunc(s.streams, func(a, b *stream) int { return cmp.Compare(a.oldestHeld(), b.oldestHeld()) })
}

// oldestHeld is the place of the oldest text that is held.
func (st *stream) oldestHeld() uint64 {
	if len(st.parts) == 0 {
		return math.MaxUint64
	}
	return st.parts[0].entry.Pos
}

// finishOutputs gives up the text of outputs that their session's end left open.
func (s *Shaper) finishOutputs(now time.Time, session string) {
	s.sortStreams()
	s.streams = slices.DeleteFunc(s.streams, func(st *stream) bool {
		if st.session != session {
			return false
		}
		s.queuePieces(now, st, st.flushHeld(false), false)
		return true
	})
}

func (s *Shaper) streamFor(session, output string) *stream {
	for _, st := range s.streams {
		if st.session == session && st.output == output {
			return st
		}
	}
	st := &stream{session: session, output: output, boundary: s.boundary}
	st.seg, st.keepsSource = newSegmenter(s.boundary, s.terms.MaxChunk), s.terms.MaxChunk > 0
	s.streams = append(s.streams, st)
	return st
}

// newSegmenter returns nil where the listener wants every piece as it comes and has room for it.
func newSegmenter(cut aaep.Boundary, limit int) *coalesce.Segmenter {
	switch {
	case cut == aaep.BoundaryNone && limit == 0:
		return nil
	case cut == aaep.BoundaryNone:
		cut = aaep.BoundaryWord
	}
	seg := coalesce.NewSegmenter(cut, maxChunk)
	seg.SetMaxRunes(limit)
	return seg
}

func (st *stream) segment(chunk string) []coalesce.Piece {
	switch {
	case st.seg != nil:
		return st.seg.Write(chunk)
	case chunk == "":
		return nil
	}
	return []coalesce.Piece{{Text: chunk, Boundary: aaep.BoundaryNone, Source: len(chunk)}}
}

func (st *stream) flushHeld(final bool) []coalesce.Piece {
	if st.seg == nil {
		return nil
	}
	return st.seg.Flush(final)
}

// recutAt goes on at another boundary and limit and returns what must leave for that.
func (st *stream) recutAt(cut aaep.Boundary, limit int) []coalesce.Piece {
	st.boundary, st.keepsSource = cut, limit > 0
	seg := newSegmenter(cut, limit)
	if seg == nil {
		pieces := st.flushHeld(false)
		st.seg = nil
		return pieces
	}
	st.seg = seg
	st.seg.SetLanguage(st.lang)
	var held strings.Builder
	for _, p := range st.parts {
		held.WriteString(p.payload().Chunk[p.next:])
	}
	return st.seg.Write(held.String())
}

// queuePieces queues pieces as events. If complete, the last of them closes the output; where no text
// is left for it, an empty one does.
func (s *Shaper) queuePieces(now time.Time, st *stream, pieces []coalesce.Piece, complete bool) {
	if complete && len(pieces) == 0 {
		pieces = []coalesce.Piece{{Boundary: aaep.BoundaryCompletion}}
	}
	for i, piece := range pieces {
		it := st.takePiece(piece)
		it.complete = complete && i == len(pieces)-1
		s.enqueue(now, it)
	}
}

// takePiece makes an item of a piece of the held text.
func (st *stream) takePiece(piece coalesce.Piece) *item {
	it := st.consumeBytes(piece.Source)
	it.chunk, it.position, it.reached = piece.Text, st.position, piece.Boundary
	st.position += countRunes(piece.Text)
	return it
}

// consumeBytes takes n bytes of the held text, and with them every entry that has no more text.
func (st *stream) consumeBytes(n int) *item {
	it := &item{kind: text, from: st.parts[0].start()}
	for i := range st.parts {
		head := &st.parts[i]
		rest := len(head.payload().Chunk) - head.next
		if n == 0 && rest > 0 && it.event != nil {
			break
		}
		it.event = head.entry.Event
		if st.keepsSource {
			it.source = append(it.source, *head)
		}
		if n < rest {
			head.next += n
			it.to = mark{pos: head.entry.Pos, offset: head.next}
			break
		}
		n -= rest
		it.to = mark{pos: head.entry.Pos, whole: true}
		it.parts++
	}
	// at once: an answer may have come in as many entries as it has characters
	st.parts = slices.Delete(st.parts, 0, it.parts)
	return it
}

func countRunes(s string) int64 { return int64(utf8.RuneCountInString(s)) }
