package coalesce

import (
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"golang.org/x/text/unicode/norm"
)

// A Piece is a run of text that ends where a listener can take a breath (§5.3.1.6).
type Piece struct {
	// Text is what goes out: NFC, with the white space that follows its last word.
	Text string
	// Boundary is the coarsest boundary at the end of Text. It is never finer than the Segmenter's
	// cut: a piece that ends only because it would have grown too long, or because it was flushed in
	// the middle of a sentence, has BoundaryNone.
	Boundary aaep.Boundary
	// Source is how many bytes of input the piece used up. NFC may be shorter or longer than that.
	Source int
}

// A Segmenter cuts text that arrives bit by bit into words, sentences or paragraphs. However the text
// is divided among the calls of Write, the pieces are the same (only Pause depends on when it is
// called), joined they are the NFC of the text, and none of them splits a grapheme cluster.
//
// It reads one code point at a time, each once: a boundary is decided by what stands before it and, for
// most, by the next visible character; after "etc.", "U.S." or "J." by the next word. Memory is bounded
// by the longest piece allowed, time is linear in the text.
//
// Sentences follow UAX #29, and D-52 where that is silent or wrong for speech: a mark ends a sentence
// only before white space, or, if it belongs to a script that needs none (。 ። ؟ ।), before anything; a line
// end always does; abbreviations, initials and list markers do not. Of UAX #29's words only those are
// cut that a voice can say alone: a word keeps its punctuation and the spaces behind it, and
// ideographs keep their okurigana. Thai and its neighbours, who write no spaces and would need a
// dictionary, are cut where they do leave a space.
//
// It goes by rules of its own over one code point at a time, not by a splitter of whole texts, because
// those read a sentence again for each token; a library of UAX #29 judges the grapheme clusters.
//
// Make one with NewSegmenter. Not safe for concurrent use.
type Segmenter struct {
	cut int // boundaryRank of the finest boundary wanted
	max int // bytes; 0: no limit

	raw    []byte // input that the next bytes may still change: at most one normalization segment
	begun  bool   // raw continues a text, so a combining mark in front is an overflow, not a beginning
	looked bool   // the boundary in front of raw has been decided
	nfc    []byte // scratch

	buf      []byte // normalized text of no piece yet
	uneven   []span // where buf and input differ in length
	visible  int    // offset in buf of the first character that is not white space, or -1
	lastCut  [5]int // by rank: the last place in buf where it could be cut; 0: none
	lastWait int    // the last place behind a comma or the like; 0: none

	scan scanner
	out  []Piece
}

// span is a normalization segment that changed its length.
type span struct{ end, nfc, src int } // end is relative to buf

// NewSegmenter returns a Segmenter that cuts at cut, the finest boundary wanted: word, sentence,
// paragraph, or completion for no cut before Flush; anything else means sentence. No piece is longer
// than maxBytes: text that would be is cut at the last paragraph, sentence, clause (in the second half
// of the piece) or word in it, else between grapheme clusters. Only a single cluster of more than
// maxBytes is itself divided, between code points. A maxBytes of zero or less sets no limit; one under
// utf8.UTFMax is taken as utf8.UTFMax.
func NewSegmenter(cut aaep.Boundary, maxBytes int) *Segmenter {
	s := &Segmenter{cut: boundaryRank(cut), visible: -1}
	if s.cut == 0 {
		s.cut = boundaryRank(aaep.BoundarySentence)
	}
	if maxBytes > 0 {
		s.max = max(maxBytes, utf8.UTFMax)
	}
	return s
}

// boundaryRank orders boundaries from none, 0, to completion, 4.
func boundaryRank(b aaep.Boundary) int {
	switch b {
	case aaep.BoundaryWord:
		return 1
	case aaep.BoundarySentence:
		return 2
	case aaep.BoundaryParagraph:
		return 3
	case aaep.BoundaryCompletion:
		return 4
	}
	return 0
}

var rankedBoundaries = [5]aaep.Boundary{
	aaep.BoundaryNone, aaep.BoundaryWord, aaep.BoundarySentence, aaep.BoundaryParagraph, aaep.BoundaryCompletion,
}

const (
	atWord = 1 + iota
	atSentence
	atParagraph
	atCompletion
)

// Write takes the next text and returns the pieces that are now certain, in order; the slice is the
// caller's. Text may end anywhere, even inside a character; bytes that are not UTF-8 are kept as they are.
func (s *Segmenter) Write(text string) []Piece {
	const step = 1024 // so that raw stays small
	for len(text) > step {
		s.raw = append(s.raw, text[:step]...)
		s.drain(false)
		text = text[step:]
	}
	s.raw = append(s.raw, text...)
	s.drain(false)
	return s.take()
}

// Pause says that the stream has gone quiet, and returns the held text if it ends in a complete
// sentence: a final mark of any script, with its closing quotes and brackets, or a line end, and then
// nothing but white space. An abbreviation, a list marker, or a digit's full stop, which may be half a
// number, is not one. A Segmenter that cuts at paragraphs or at completion returns nothing. More text
// may follow a Pause; the pieces of that text can differ from those without it.
func (s *Segmenter) Pause() []Piece {
	if s.cut > atSentence {
		return nil
	}
	if len(s.raw) > 0 {
		// Nothing composes with a final mark, a closer or a space, so committing one is safe.
		r, size := utf8.DecodeRune(s.raw)
		if size < len(s.raw) || !closing[classOf(r)] {
			return nil
		}
		s.drain(true)
		s.begun = false
	}
	if level := s.scan.pausable(); level > 0 && s.visible >= 0 {
		s.cutAt(len(s.buf), level)
		s.scan.forget()
	}
	return s.take()
}

// Flush returns whatever is held, cut at the boundaries in it. The last piece is labelled completion
// if final; otherwise with the boundary that the text has reached, or none. This is the only time a piece
// may be nothing but white space, when there is nothing else. After a final Flush the Segmenter is
// as new.
func (s *Segmenter) Flush(final bool) []Piece {
	s.drain(true)
	s.settle()
	if len(s.buf) > 0 {
		level := s.scan.reached()
		if final {
			level = atCompletion
		}
		s.cutAt(len(s.buf), level)
	}
	s.begun = false
	if final {
		s.scan = scanner{}
	}
	return s.take()
}

// Held returns the number of bytes written but not yet returned in a piece; normalization may still
// change it a little.
func (s *Segmenter) Held() int { return len(s.buf) + len(s.raw) }

func (s *Segmenter) take() []Piece {
	out := s.out
	s.out = nil
	return out
}

// drain normalizes raw as far as it cannot change any more, or to its end, and reads the result.
func (s *Segmenter) drain(atEOF bool) {
	i := 0
	for i < len(s.raw) {
		if s.raw[i] < utf8.RuneSelf && i+1 < len(s.raw) && s.raw[i+1] < utf8.RuneSelf {
			s.read(s.raw[i : i+1])
			i++
			continue
		}
		n := norm.NFC.NextBoundary(s.raw[i:], atEOF)
		if n <= 0 || !atEOF && i+n == len(s.raw) { // a mark may follow even what composes with none
			break
		}
		s.segment(s.raw[i : i+n])
		i += n
	}
	s.raw = append(s.raw[:0], s.raw[i:]...)
	if len(s.raw) > 0 && !s.looked && utf8.FullRune(s.raw) {
		// Marks to come may compose with this character but not change its class, so the boundary in
		// front of it need not wait for them; unless the character itself is asked for.
		if r, _ := utf8.DecodeRune(s.raw); r != quotative {
			s.look(r, classOf(r))
		}
	}
}

// segment normalizes and reads one normalization segment.
func (s *Segmenter) segment(seg []byte) {
	text := seg
	overflow := s.begun && !norm.NFC.Properties(seg).BoundaryBefore()
	if overflow || !norm.NFC.IsNormal(seg) {
		s.nfc = s.nfc[:0]
		text = norm.NFC.Append(s.nfc, seg...)
		if overflow { // the Stream-Safe Text Format, as norm.NFC.String has it
			text = append([]byte(norm.GraphemeJoiner), text...)
		}
		s.nfc = text
	}
	if len(text) != len(seg) {
		s.uneven = append(s.uneven, span{end: len(s.buf) + len(text), nfc: len(text), src: len(seg)})
	}
	for len(text) > 0 {
		_, size := utf8.DecodeRune(text)
		s.read(text[:size])
		text = text[size:]
	}
}

// read takes one character of normalized text.
func (s *Segmenter) read(char []byte) {
	r, c := rune(char[0]), asciiClass[char[0]&0x7f]
	if r >= utf8.RuneSelf {
		r, _ = utf8.DecodeRune(char)
		c = classOf(r)
	}
	if !s.looked {
		s.look(r, c)
	}
	s.looked, s.begun = false, true
	if s.visible < 0 && c != clSpace && c != clLine {
		s.visible = len(s.buf)
	}
	s.buf = append(s.buf, char...)
	for s.max > 0 && len(s.buf) > s.max {
		s.force()
	}
	s.scan.update(r, c)
}

// look decides whether there is a boundary in front of r, the next character.
func (s *Segmenter) look(r rune, c class) {
	s.looked = true
	if s.scan.waiting.kind != waitNot {
		s.resume(r, c)
	}
	if s.scan.waiting.kind != waitNot {
		return
	}
	at := len(s.buf)
	switch c {
	case clSpace, clLine:
		s.lastCut[atWord] = at // better than nothing, should the piece grow too long
		return
	case clExtend:
		return
	}
	v := s.scan.decide(r, c)
	if v == (verdict{}) || !clusterEdge(s.buf, r) {
		return
	}
	if v.clause {
		s.lastWait = at
	}
	switch v.wait {
	case waitNot:
		s.boundary(at, v.level)
	default:
		s.lastCut[atWord] = at
		s.scan.waiting = waiting{kind: v.wait, at: at, level: v.level, quote: quotish[c]}
	}
}

// resume goes on with a decision that waited for r.
func (s *Segmenter) resume(r rune, c class) {
	w := s.scan.waiting
	switch level, wait := s.scan.resume(r, c); {
	case wait == waitNot && level >= 0:
		s.scan.waiting = waiting{}
		s.boundary(w.at, level)
		if level >= atSentence && w.kind == waitWord {
			s.scan.began(clUpper)
		}
	case wait == waitNot:
		s.scan.waiting = waiting{}
	}
}

// settle ends a decision that waits for text that will not come.
func (s *Segmenter) settle() {
	if s.scan.waiting.kind != waitNot {
		s.resume(utf8.RuneError, clEnd)
	}
}

// boundary notes a boundary at offset at, and cuts there if it is wanted.
func (s *Segmenter) boundary(at, level int) {
	if level >= atSentence {
		s.scan.sentence()
	}
	switch {
	case level == 0 || s.visible < 0 || s.visible >= at:
	case level >= s.cut:
		s.cutAt(at, level)
	default:
		s.lastCut[level] = at
	}
}

// force cuts a piece that has grown longer than max.
func (s *Segmenter) force() {
	clause := s.lastWait
	if clause < s.max/2 {
		clause = 0 // too little text: a word makes a better piece
	}
	for _, c := range [...]struct{ at, level int }{
		{s.lastCut[atParagraph], atParagraph},
		{s.lastCut[atSentence], atSentence},
		{clause, atWord},
		{s.lastCut[atWord], atWord},
	} {
		if c.at == 0 || c.at > s.max {
			continue
		}
		if r, _ := utf8.DecodeRune(s.buf[c.at:]); clusterEdge(s.buf[:c.at], r) {
			s.cutAt(c.at, c.level)
			return
		}
	}
	s.cutAt(clusterBefore(s.buf, s.max), 0)
}

// cutAt makes a piece of the text before offset at.
func (s *Segmenter) cutAt(at, level int) {
	if level < s.cut {
		level = 0
	}
	s.out = append(s.out, Piece{Text: string(s.buf[:at]), Boundary: rankedBoundaries[level], Source: s.source(at)})
	s.buf = s.buf[:copy(s.buf, s.buf[at:])]
	for i, p := range s.lastCut {
		s.lastCut[i] = max(p-at, 0)
	}
	s.lastWait = max(s.lastWait-at, 0)
	if s.scan.waiting.at -= at; s.scan.waiting.at <= 0 {
		s.scan.waiting = waiting{}
	}
	s.visible = firstVisible(s.buf)
}

// source returns how many bytes of input stand behind the first n of buf, and forgets them.
func (s *Segmenter) source(n int) int {
	src, keep := n, s.uneven[:0]
	for _, u := range s.uneven {
		switch start := u.end - u.nfc; {
		case u.end <= n:
			src += u.src - u.nfc
			continue
		case start < n: // cut in the middle: the rest keeps what is left
			part := n - start
			given := min(part, u.src)
			src += given - part
			u.nfc, u.src = u.nfc-part, u.src-given
		}
		u.end -= n
		keep = append(keep, u)
	}
	s.uneven = keep
	return src
}
