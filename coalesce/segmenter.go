// Package coalesce finds where text that arrives bit by bit can be cut, so that a listener hears
// whole words, sentences or paragraphs (§5.6.2): in every script, by rules for 59 languages,
// whatever Markdown or formulas stand in it.
//
// The Segmenter is all that a user needs. It has no goroutine and no lock, and belongs to one
// goroutine at a time. It knows no clock, no event and no subscription.
//
// To read the code, follow a character: Segmenter.Write hands text to normalizeRaw, addCharacter
// appends what is normalized, readArrived asks decideBoundary what stands in front of the next
// character, and cutAt makes a Piece. The rules of sentences are endsSpaced, endsTight and
// endsBefore in detect.go, in the order that docs/sentences.md tells. What a language knows is a
// file in the folder languages, which docs/languages.md explains.
//
// The steps are in normalize.go, scanner.go (what is known of the text before a place), read.go,
// lookahead.go (what follows it), detect.go and cut.go, which also keeps a piece within its limit.
// What ends where no text follows is in pause.go. Markdown is read in line.go, list_item.go and
// span.go, formulas in formula.go, abbreviations in abbreviation.go, and the files of languages in
// language_file.go and language_rules.go.
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
	// cut: a piece that ends only because it would have grown too long, or because it was flushed
	// in the middle of a sentence, has BoundaryNone; one of Yield has BoundaryWord.
	Boundary aaep.Boundary
	// Source is how many bytes of input the piece used up. NFC may be shorter or longer than that.
	Source int
}

// A Segmenter cuts text that arrives bit by bit into words, sentences or paragraphs. However the
// text is divided among the calls of Write, the pieces are the same (only Pause and Yield depend on
// when they are called), joined they are the NFC of the text, and none of them splits a grapheme
// cluster.
//
// A mark ends a sentence before white space. If it belongs to a script that writes none
// (。 ။ ؟ །), it does before anything. A line end ends one too, but in prose that was visibly
// wrapped. Abbreviations, initials, ordinals and list markers end none, nor does anything inside
// inline code, a code block, a formula, a link, a table row or JSON. What an abbreviation is
// depends on the language: see SetLanguage.
//
// Of UAX #29's words only those are cut that a voice can say alone: a word keeps its punctuation
// and the spaces behind it, and ideographs keep their okurigana. Thai and its neighbours, who write
// no spaces and would need a dictionary, are cut where they do leave a space.
//
// It reads one code point at a time, each once, and looks ahead over as few as it must: most
// boundaries are certain with the next visible character, those behind "etc." or "J." with the next
// word; code, formulas and links are waited for over at most 160 characters. So memory is bounded
// by the longest piece allowed, and time is linear in the text.
//
// Make one with NewSegmenter. Not safe for concurrent use.
type Segmenter struct {
	detector
	cut    int // the level (atWord …) of the finest boundary wanted
	limits limits

	raw     []byte // input that the next bytes may still change: at most one normalization segment
	begun   bool   // raw goes on with a text; a combining mark at its beginning is one of too many in a row
	nfc     []byte // scratch space of addSegment
	changes lengthChanges

	runes           int   // code points of buf
	read            place // how far buf has been read
	boundaryDecided bool  // decideBoundary has decided what stands in front of read
	openingDecided  bool  // openLineOrSpan has decided what begins there
	waiting         bool  // one of the two needs text that has not arrived
	itemBegins      bool  // a list item begins at read, inside a line
	visibleRunes    int   // code points of buf up to the last visible character read; 0 if there is none

	lastCut    [5]place // by level: the last place where buf could be cut
	lastClause place    // the last place behind a comma or the like

	out []Piece // cut, and not yet returned to the caller
}

// NewSegmenter returns a Segmenter that cuts at cut, the finest boundary wanted: word, sentence,
// paragraph, or completion for no cut before Flush; anything else means sentence. No piece is
// longer than maxBytes: text that would be is cut at the last paragraph, sentence, clause (in the
// second half of the piece) or word in it, else between grapheme clusters. Only a single cluster of
// more than maxBytes is itself divided, between code points. A maxBytes of zero or less sets no
// limit; one under utf8.UTFMax is taken as utf8.UTFMax.
func NewSegmenter(cut aaep.Boundary, maxBytes int) *Segmenter {
	return segmenterBy(cut, maxBytes, builtinRules().unknown)
}

// segmenterBy makes a Segmenter as NewSegmenter does, with these rules for text without a language.
// A boundary that is unknown stands for sentences; maxBytes of 0 or less means no limit, and less
// than one character means one.
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

// SetLanguage sets the language of the text that comes next, as a BCP 47 tag. Text without a
// language, in one that has no file, or in a script that the language is not written in is cut by
// the rules of all languages that contradict no other.
func (s *Segmenter) SetLanguage(tag string) {
	s.scan.given = s.scan.given.set.forTag(tag)
	s.scan.lang = s.scan.given
}

// SetMaxRunes limits pieces to n code points, outer white space not counted. It matters where it is
// less than the limit in bytes; zero or less sets no such limit. A listener follows 240 to 400.
func (s *Segmenter) SetMaxRunes(n int) { s.limits.runes = max(n, 0) }

// rankedBoundaries has the boundary of each level.
var rankedBoundaries = [5]aaep.Boundary{
	aaep.BoundaryNone, aaep.BoundaryWord, aaep.BoundarySentence, aaep.BoundaryParagraph, aaep.BoundaryCompletion,
}

// The levels of boundaries, as aaep.Boundary.Rank gives them; 0 is no boundary.
const (
	atWord = 1 + iota
	atSentence
	atParagraph
	atCompletion
)

// Write takes the next text and returns the pieces that are now certain, in order; the slice is the
// caller's. Text may end anywhere, even inside a character; bytes that are not UTF-8 are kept as
// they are.
func (s *Segmenter) Write(text string) []Piece {
	const step = 1024 // bounds raw, whatever the caller writes at once
	for len(text) > step {
		s.raw = append(s.raw, text[:step]...)
		s.normalizeRaw(false)
		text = text[step:]
	}
	s.raw = append(s.raw, text...)
	s.normalizeRaw(false)
	return s.takePieces()
}

// Pause returns the held text if it ends in a complete sentence. The caller calls it when the
// stream has gone quiet. A sentence is complete behind a final mark of any script with its closing
// quotes and brackets, a picture or smiley, a colon behind several words, or a line end, if nothing
// but white space follows. It is not behind an abbreviation, a list marker, or the full stop of a
// digit, which may be half a number, and never inside code. A Segmenter that cuts at paragraphs or
// at completion returns nothing. More text may follow a Pause; the pieces of that text can differ
// from those without it.
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
		// Nothing composes with a final mark, a closer, a colon or a space, so it can leave raw.
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

// Yield holds less than this, because it would tell a listener nothing.
const (
	fewestYielded = 12 // code points
	fewestLines   = 3  // of a code block, its fence among them
)

// Yield returns the held text up to a final mark that may end a sentence, up to its last whole word
// though its sentence goes on, or up to the last whole line of a code block. The caller calls it
// for listeners who have waited long enough. It divides no formula, link or other code, and gives
// no less than a few words. A Segmenter that cuts at paragraphs or at completion returns nothing.
// More text may follow; the pieces of that can differ from those without it.
func (s *Segmenter) Yield() []Piece {
	if s.cut > atSentence {
		return nil
	}
	if s.waiting && s.scan.inTable { // the text behind a table is not a row of it
		s.readToEnd()
	} else if r, _, _ := s.peek(s.read.offset); s.waiting && r == '$' {
		if _, c, _ := s.peek(s.read.offset + 1); c == clDigit { // $5. is an amount, and no formula that goes on
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
	case len(s.raw) == 0 && s.read.offset >= s.attachedUpTo && s.levelReached() >= atSentence && s.visibleRunes > 0:
		s.releaseHeld(atSentence) // "It is 3." or "at 3 p.m.": a full stop that Pause does not trust
		return s.takePieces()
	case end.offset < s.hiddenUpTo || end.runes < fewestYielded:
		return s.takePieces()
	}
	next, _ := utf8.DecodeRune(s.buf[end.offset:])
	if end.offset < len(s.buf) && !clusterEdge(s.buf[:end.offset], next) {
		return s.takePieces()
	}
	s.cutAt(end.offset, 0)
	s.out[len(s.out)-1].Boundary = aaep.BoundaryWord
	return s.takePieces()
}

// Flush returns whatever is held, cut at the boundaries in it. The last piece is labelled
// completion if final; otherwise with the boundary that the text has reached, or none. This is the
// only time a piece may be nothing but white space, when there is nothing else. After a final Flush
// the Segmenter is as new.
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

// takePieces returns the pieces made so far and forgets them; the slice is the caller's.
func (s *Segmenter) takePieces() []Piece {
	out := s.out
	if out != nil { // most calls return none, and then nothing is written
		s.out = nil
	}
	return out
}

// Clone returns a Segmenter that holds the same text and will cut what comes as s does.
func (s *Segmenter) Clone() *Segmenter {
	c := *s
	c.raw, c.nfc, c.buf = slices.Clone(s.raw), nil, slices.Clone(s.buf)
	c.changes, c.out = slices.Clone(s.changes), slices.Clone(s.out)
	return &c
}

// Equal reports whether s and o hold the same text and will cut what comes at the same places.
func (s *Segmenter) Equal(o *Segmenter) bool {
	// withoutSlices returns what DeepEqual compares: the slices are compared without regard to nil.
	withoutSlices := func(s *Segmenter) Segmenter {
		c := *s
		c.raw, c.buf, c.changes, c.out = nil, nil, nil, nil
		c.nfc, c.examined = nil, 0 // neither changes how text is cut
		return c
	}
	return slices.Equal(s.raw, o.raw) && slices.Equal(s.buf, o.buf) &&
		slices.Equal(s.changes, o.changes) && slices.Equal(s.out, o.out) &&
		reflect.DeepEqual(withoutSlices(s), withoutSlices(o))
}
