// Package coalesce finds where text that comes bit by bit can be cut, so that a listener hears whole words, sentences or paragraphs
// (§5.6.2): in every script, by rules for 59 languages, whatever Markdown or formulas stand in it. Its only machine is the Segmenter.
//
// It knows no clock, no event and no subscription.
package coalesce

import (
	"bytes"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
)

// A Piece is a run of text that ends where a listener can take a breath (§5.3.1.6).
type Piece struct {
	// Text is what goes out: NFC, with the white space that follows its last word.
	Text string
	// Boundary is the coarsest boundary at the end of Text. It is never finer than the Segmenter's
	// cut: a piece that ends only because it would have grown too long, or because it was flushed in
	// the middle of a sentence, has BoundaryNone; one of Yield has BoundaryWord.
	Boundary aaep.Boundary
	// Source is how many bytes of input the piece used up. NFC may be shorter or longer than that.
	Source int
}

// A Segmenter cuts text that arrives bit by bit into words, sentences or paragraphs. However the text
// is divided among the calls of Write, the pieces are the same (only Pause and Yield depend on when they are
// called), joined they are the NFC of the text, and none of them splits a grapheme cluster.
//
// A mark ends a sentence before white space, or, if it belongs to a script that writes none (。 ። ؟ ।),
// before anything; a line end does too, but for prose that was visibly wrapped. Abbreviations,
// initials, ordinals and list markers end none, nor does anything inside inline code, a code block, a
// formula, a link, a table row or JSON. What an abbreviation is depends on the language: see SetLanguage
// and docs/sentences.md.
//
// Of UAX #29's words only those are cut that a voice can say alone: a word keeps its punctuation and the
// spaces behind it, and ideographs keep their okurigana. Thai and its neighbours, who write no spaces
// and would need a dictionary, are cut where they do leave a space.
//
// It reads one code point at a time, each once, and looks ahead over as few as it must: most
// boundaries are certain with the next visible character, those behind "etc." or "J." with the next word;
// code, formulas and links are waited for over at most 160 characters. So memory is bounded by the longest
// piece allowed, and time is linear in the text.
//
// Make one with NewSegmenter. Not safe for concurrent use.
type Segmenter struct {
	detector
	cut    int // Rank of the finest boundary wanted
	limits limits

	raw     []byte // input that the next bytes may still change: at most one normalization segment
	begun   bool   // raw continues a text, so a combining mark in front is an overflow, not a beginning
	nfc     []byte // scratch
	changes lengthChanges

	runes           int   // code points of buf
	read            place // how far buf has been read
	boundaryDecided bool  // what boundary stands at read is known
	openingDecided  bool  // whether a line's marker or something without sentences begins there, too
	waiting         bool  // one of the two needs text that has not arrived
	itemBegins      bool  // a list item begins at read, inside a line
	visibleRunes    int   // code points of buf up to the last visible character read; 0: none

	lastCut    [5]place // by rank: the last place in buf where it could be cut
	lastClause place    // the last place behind a comma or the like

	out []Piece
}

// NewSegmenter returns a Segmenter that cuts at cut, the finest boundary wanted: word, sentence,
// paragraph, or completion for no cut before Flush; anything else means sentence. No piece is longer
// than maxBytes: text that would be is cut at the last paragraph, sentence, clause (in the second half
// of the piece) or word in it, else between grapheme clusters. Only a single cluster of more than
// maxBytes is itself divided, between code points. A maxBytes of zero or less sets no limit; one under
// utf8.UTFMax is taken as utf8.UTFMax.
func NewSegmenter(cut aaep.Boundary, maxBytes int) *Segmenter {
	return segmenterBy(cut, maxBytes, builtinRules().unknown)
}

func segmenterBy(cut aaep.Boundary, maxBytes int, rules *rules) *Segmenter {
	s := &Segmenter{cut: cut.Rank()}
	s.next = noRune
	s.scan = scanner{lineState: lineState{lineStart: true}, given: rules, lang: rules}
	if s.cut == 0 {
		s.cut = aaep.BoundarySentence.Rank()
	}
	if maxBytes > 0 {
		s.limits.bytes = max(maxBytes, utf8.UTFMax)
	}
	return s
}

// SetLanguage says in which language the text is that comes next, as a BCP 47 tag. Without it, for a language without a table, and for
// words in a script that the language is not written in, the rules of all languages that contradict no other are used.
func (s *Segmenter) SetLanguage(tag string) {
	s.scan.given = s.scan.given.set.forTag(tag)
	s.scan.lang = s.scan.given
}

// SetMaxRunes limits pieces to n code points, outer white space not counted, where that is less
// than the limit in bytes; zero or less sets no such limit. A listener follows 240 to 400.
func (s *Segmenter) SetMaxRunes(n int) { s.limits.runes = max(n, 0) }

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
		s.normalizeRaw(false)
		text = text[step:]
	}
	s.raw = append(s.raw, text...)
	s.normalizeRaw(false)
	return s.takePieces()
}

// Pause says that the stream has gone quiet, and returns the held text if it ends in a complete sentence: a final mark of any
// script, with its closing quotes and brackets, a picture or smiley, a colon behind several words, or a line end, and then nothing
// but white space. An abbreviation, a list marker, or a digit's full stop, which may be half a number, is not one, and nothing is
// complete inside code. A Segmenter that cuts at paragraphs or at completion returns nothing. More text may follow a Pause; the
// pieces of that text can differ from those without it.
func (s *Segmenter) Pause() []Piece {
	if s.cut > atSentence {
		return nil
	}
	if s.endsInGesture() {
		s.readToEnd()
		s.releaseHeld(atSentence)
		return s.takePieces()
	}
	if len(s.raw) > 0 {
		// Nothing composes with a final mark, a closer, a colon or a space, so committing one is safe.
		r, size := utf8.DecodeRune(s.raw)
		if size < len(s.raw) || !closing[classOf(r)] && !s.scan.isIntroduction(r) {
			return nil
		}
		s.normalizeRaw(true)
		s.begun = false
	}
	if level := s.levelAtPause(); level > 0 && s.visibleRunes > 0 {
		s.releaseHeld(level)
	}
	return s.takePieces()
}

// So many code points, or lines of code, tell a listener something.
const (
	fewestYielded = 12
	fewestLines   = 3 // one is the fence
)

// Yield returns the held text up to a final mark that may end a sentence, the end of its last whole word though its sentence goes
// on, or that of the last whole line of a code block: it is for listeners who have waited long enough. It divides no formula, link
// or other code, and gives no less than a few words. A Segmenter that cuts at paragraphs or at completion returns nothing. More
// text may follow; the pieces of that can differ from those without it.
func (s *Segmenter) Yield() []Piece {
	if s.cut > atSentence {
		return nil
	}
	if s.waiting && s.scan.inTable { // behind a table, then
		s.readToEnd()
	} else if r, _, _ := s.peek(s.read.offset); s.waiting && r == '$' {
		if _, c, _ := s.peek(s.read.offset + 1); c == clDigit { // $5. is an amount then
			s.readToEnd()
		}
	}
	end := s.lastCut[atWord]
	switch {
	case s.scan.fenceRune == '`' || s.scan.fenceRune == '~':
		if end = s.lastCut[atSentence]; bytes.Count(s.buf[:end.offset], []byte("\n")) < fewestLines {
			return s.takePieces()
		}
	case s.waiting || s.scan.fenceRune != 0:
		return s.takePieces()
	case len(s.raw) == 0 && s.read.offset >= s.attachedUpTo && s.levelReached() >= atSentence && s.visibleRunes > 0: // it is 3., or 3 p.m.
		s.releaseHeld(atSentence)
		return s.takePieces()
	case end.offset < s.hiddenUpTo || end.runes < fewestYielded:
		return s.takePieces()
	}
	if r, _ := utf8.DecodeRune(s.buf[end.offset:]); end.offset < len(s.buf) && !clusterEdge(s.buf[:end.offset], r) {
		return s.takePieces()
	}
	s.cutAt(end.offset, 0)
	s.out[len(s.out)-1].Boundary = aaep.BoundaryWord
	return s.takePieces()
}

// Flush returns whatever is held, cut at the boundaries in it. The last piece is labelled completion
// if final; otherwise with the boundary that the text has reached, or none. This is the only time a piece
// may be nothing but white space, when there is nothing else. After a final Flush the Segmenter is
// as new.
func (s *Segmenter) Flush(final bool) []Piece {
	s.readToEnd()
	if s.trimToLimits(); len(s.buf) > 0 {
		level := s.levelReached()
		if final {
			level = atCompletion
		}
		s.cutAt(len(s.buf), level)
	}
	if final {
		s.scan = scanner{lineState: lineState{lineStart: true}, given: s.scan.given, lang: s.scan.given}
	}
	return s.takePieces()
}

// Held returns the number of bytes written but not yet returned in a piece; normalization may still
// change it a little.
func (s *Segmenter) Held() int { return len(s.buf) + len(s.raw) }

func (s *Segmenter) takePieces() []Piece {
	out := s.out
	if out != nil {
		s.out = nil
	}
	return out
}

func (s *Segmenter) Clone() *Segmenter {
	c := *s
	c.raw, c.nfc, c.buf, c.changes, c.out = slices.Clone(s.raw), nil, slices.Clone(s.buf), slices.Clone(s.changes), slices.Clone(s.out)
	return &c
}

// Equal reports whether s will cut what comes as o does.
func (s *Segmenter) Equal(o *Segmenter) bool {
	bare := func(s *Segmenter) Segmenter {
		c := *s
		c.raw, c.buf, c.changes, c.out = nil, nil, nil, nil
		c.nfc, c.examined = nil, 0 // which say nothing
		return c
	}
	return slices.Equal(s.raw, o.raw) && slices.Equal(s.buf, o.buf) && slices.Equal(s.changes, o.changes) && slices.Equal(s.out, o.out) &&
		reflect.DeepEqual(bare(s), bare(o))
}
