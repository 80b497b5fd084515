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

// A stream is one output that is not complete yet, with its text that waits for a boundary.
type stream struct {
	session, output string              // their ids
	lang            string              // the language of the text that is held
	boundary        aaep.Boundary       // where the text is cut
	seg             *coalesce.Segmenter // nil where the subscriber takes every piece as it comes
	parts           []part              // what the segmenter holds, in order
	// keepsSource says that items remember their entries, to be cut again for a narrower display.
	keepsSource bool
	position    int64     // where the held text starts in its output, in code points
	lastText    time.Time // when the last text came
	heldSince   time.Time // when the oldest held text came, or was last tried
	pauseAt     time.Time // when to look at the held text again; zero: never
}

// A part is the held text of one entry.
type part struct {
	entry Entry
	next  int // first byte of the chunk that is held
}

// payload returns the output payload of the entry.
func (p part) payload() *aaep.OutputStreaming { return p.entry.Event.Payload.(*aaep.OutputStreaming) }

// start returns the place where the held text begins.
func (p part) start() mark { return mark{pos: p.entry.Pos, offset: p.next} }

// A kind says how a waiting item merges with others.
type kind uint8

const (
	plain    kind = iota // it never merges
	text                 // it joins the text before it
	state                // two changes become one
	progress             // the newest replaces the others
)

// An item is one event waiting to leave, made of one or more events of the log.
type item struct {
	kind    kind
	event   *aaep.Event // the newest of them; for text, buildOut takes the words from passage
	from    mark        // the start of its oldest part
	to      mark        // the end of its newest part
	parts   int         // events of the log that end in it
	since   uint64      // the place of the oldest event folded into it
	at      uint64      // Entry.At
	folded  bool        // its state began before the one of its event
	passage             // for text
}

// A passage is the text of an item.
type passage struct {
	chunk    string
	joined   []byte        // chunk and the text that was joined to it; nil if none was
	position int64         // where the text starts in its output, in code points
	reached  aaep.Boundary // the boundary at which it ends
	complete bool          // it ends the output
	// source says where the text begins in each of its entries; nil unless stream.keepsSource.
	source []part
}

// text returns the whole text.
func (t *passage) text() string {
	if t.joined != nil {
		return string(t.joined)
	}
	return t.chunk
}

// len returns the length in bytes.
func (t *passage) len() int { return max(len(t.chunk), len(t.joined)) }

// runes returns the length in code points.
func (t *passage) runes() int64 {
	if t.joined != nil {
		return int64(utf8.RuneCount(t.joined))
	}
	return countRunes(t.chunk)
}

// joinText appends the text of a newer item to that of it, which then ends where newer did. It
// reports false, and changes nothing, where it is no text or ends its output, where they are of two
// outputs, where sameText is false, where one is critical, and where together they are too long for
// one event: for maxChunk bytes, or for the code points that the subscriber's display takes.
func (s *Shaper) joinText(it, newer *item) bool {
	if it.kind != text || it.complete || it.event.Critical() || newer.event.Critical() {
		return false
	}
	limit := s.terms.MaxChunk
	tooWide := limit > 0 && it.runes()+newer.runes() > int64(limit)
	if tooWide || it.len()+newer.len() > maxChunk {
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

// joinSources returns the source of joined text, or nil where one of the two was not kept.
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
// limit code points. The last piece ends where the item did, and its parts are those that the
// others do not have. An item that is short enough, and one that does not know its source, is
// returned as it is.
func (it *item) splitAt(limit int) []*item {
	if it.source == nil || it.runes() <= int64(limit) {
		return []*item{it}
	}
	seg := newSegmenter(aaep.BoundaryCompletion, limit)
	seg.SetLanguage(it.event.Language())
	st := &stream{parts: it.source, position: it.position, keepsSource: true}
	var items []*item
	for _, piece := range append(seg.Write(it.text()), seg.Flush(false)...) {
		items = append(items, st.makeItem(piece))
	}
	// The text may have other bytes than the entries, so makeItem may not have found their ends.
	last := items[len(items)-1]
	last.event, last.to, last.reached, last.complete = it.event, it.to, it.reached, it.complete
	last.parts = it.parts
	for _, other := range items[:len(items)-1] {
		last.parts -= other.parts
	}
	return items
}

// sameText reports whether two output events may leave in one, which they may if they agree in
// language, content type and the data that the subscriber's extensions get. Their outputs are not
// compared.
func (s *Shaper) sameText(a, b *aaep.Event) bool {
	x, y := a.Payload.(*aaep.OutputStreaming), b.Payload.(*aaep.OutputStreaming)
	return a.Language() == b.Language() && x.ContentType == y.ContentType && s.terms.SameData(a, b)
}

// outputPayload returns a copy of p with the text of t. Its hint is the coarsest of the listed
// boundaries that the text reached, or completion at the end of the output.
func (t *passage) outputPayload(p *aaep.OutputStreaming, listed []aaep.Boundary) *aaep.OutputStreaming {
	q := *p
	q.Chunk, q.Position, q.Complete = t.text(), t.position, t.complete
	q.CoalesceHint = coarsestListed(listed, t.reached)
	if q.Complete {
		q.CoalesceHint = aaep.BoundaryCompletion
	}
	return &q
}

// pushOutput cuts the text of an output event at the subscriber's boundaries, queues the pieces
// that are ready and holds the rest. Push calls it. The part of the chunk that the subscriber had
// before (Entry.Skip) is left out; an event of which nothing is left counts as merged, unless it
// completes the output. What is held is queued before text that sameText parts from it, and before
// a critical chunk. Of a critical chunk, and of the last one of an output, nothing is held; after
// the last the stream is forgotten.
func (s *Shaper) pushOutput(now time.Time, e Entry, p *aaep.OutputStreaming) {
	skip := min(e.Skip, len(p.Chunk))
	if skip == len(p.Chunk) && !p.Complete {
		s.stats.Merged++ // nothing of it is left
		return
	}
	st := s.streamFor(e.Event.SessionID, p.OutputID)
	critical := e.Event.Critical()
	if n := len(st.parts); n > 0 && (critical || !s.sameText(st.parts[n-1].entry.Event, e.Event)) {
		s.queuePieces(now, st, st.flushHeld(false), false)
	}
	if lang := e.Event.Language(); lang != st.lang {
		st.lang = lang
		if st.seg != nil {
			st.seg.SetLanguage(lang)
		}
	}
	rested := !now.Before(st.lastText.Add(restAfter)) // what is held was tried then
	if len(st.parts) == 0 || rested {
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

// sortStreams orders the streams by the place of their oldest held text, those that hold none last.
// It runs before the text of several is queued at once: the order in which they were made would
// differ between Shapers that make the same stream otherwise.
func (s *Shaper) sortStreams() {
	slices.SortStableFunc(s.streams, func(a, b *stream) int { return cmp.Compare(a.oldestHeld(), b.oldestHeld()) })
}

// oldestHeld returns the place of the oldest held text, math.MaxUint64 where none is held.
func (st *stream) oldestHeld() uint64 {
	if len(st.parts) == 0 {
		return math.MaxUint64
	}
	return st.parts[0].entry.Pos
}

// finishOutputs queues the held text of the outputs of a session that ends, and forgets their
// streams. An output is left incomplete where its closing chunk did not come. Push calls it.
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

// streamFor returns the stream of an output in a session, and makes one with the boundary of the
// terms where there is none.
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

// newSegmenter returns a Segmenter, or nil where the subscriber takes every piece as it comes and
// no display limits its length. limit is the most code points of a piece; zero is no limit.
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

// segment adds chunk to the text that the Segmenter holds, and returns the pieces that may leave.
// Without a Segmenter the chunk is one piece, and an empty one is none.
func (st *stream) segment(chunk string) []coalesce.Piece {
	switch {
	case st.seg != nil:
		return st.seg.Write(chunk)
	case chunk == "":
		return nil
	}
	return []coalesce.Piece{{Text: chunk, Boundary: aaep.BoundaryNone, Source: len(chunk)}}
}

// flushHeld returns all the held text, cut into pieces, and leaves none in the Segmenter; nil where
// there is no Segmenter, which holds nothing. final says that the output is complete.
func (st *stream) flushHeld(final bool) []coalesce.Piece {
	if st.seg == nil {
		return nil
	}
	return st.seg.Flush(final)
}

// recutAt cuts the held text, and what follows, at another boundary and limit in code points, and
// returns the pieces that are ready then: all of it where text is no longer cut. SetTerms calls it.
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

// queuePieces queues pieces as events. If complete, the last of them closes the output; where no
// text is left for it, an empty one does.
func (s *Shaper) queuePieces(now time.Time, st *stream, pieces []coalesce.Piece, complete bool) {
	if complete && len(pieces) == 0 {
		pieces = []coalesce.Piece{{Boundary: aaep.BoundaryCompletion}}
	}
	for i, piece := range pieces {
		it := st.makeItem(piece)
		it.complete = complete && i == len(pieces)-1
		s.enqueue(now, it)
	}
}

// makeItem makes the item of a piece that the Segmenter has released: its text, where in the output
// that begins, and the boundary it ends at. The bytes that the piece was made of leave the held
// text, and the next piece begins after it.
func (st *stream) makeItem(piece coalesce.Piece) *item {
	it := st.consumeBytes(piece.Source) // a number of bytes: the text may be spelled in others
	it.chunk, it.position, it.reached = piece.Text, st.position, piece.Boundary
	st.position += countRunes(piece.Text)
	return it
}

// consumeBytes takes n bytes off the held text, and with them every entry that has no more text. It
// returns a text item of these entries that has no words yet. With n zero it takes the first entry
// in any case: the item needs an event, and the last chunk of an output may be empty.
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
	// All entries go at once: an answer may have come in as many as it has characters.
	st.parts = slices.Delete(st.parts, 0, it.parts)
	return it
}

// countRunes returns the length of s in code points.
func countRunes(s string) int64 { return int64(utf8.RuneCountInString(s)) }
