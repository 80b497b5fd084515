package coalesce

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A lengthChange records a normalization segment (a character and the marks joined to it) that has
// another length in buf than it had as input. Piece.Source is counted by it.
type lengthChange struct {
	end   int // the offset behind it in buf
	nfc   int // its length in buf
	input int // its length as input
}

// lengthChanges has the changed segments of the text in buf, in order. Text between them has the
// same length in both.
type lengthChanges []lengthChange

// take returns how many bytes of input became the first n bytes of buf, and forgets the changes in
// them. cutAt calls it as these n bytes leave buf, so the offsets that stay are moved back by n.
func (changes *lengthChanges) take(n int) int {
	input, keep := n, (*changes)[:0]
	for _, c := range *changes {
		switch start := c.end - c.nfc; {
		case c.end <= n:
			input += c.input - c.nfc
			continue
		case start < n: // the cut divides the segment, and the rest keeps what is left of the input
			part := n - start
			used := min(part, c.input)
			input += used - part
			c.nfc, c.input = c.nfc-part, c.input-used
		}
		c.end -= n
		keep = append(keep, c)
	}
	*changes = keep
	return input
}

// normalizeRaw normalizes raw as far as later text cannot change it, or to its end if atEOF, and
// reads the result. What later text could change stays in raw. Most text is in NFC already and is
// only copied, by the two shortcuts addLetters and addLetter where it goes on with a word.
func (s *Segmenter) normalizeRaw(atEOF bool) {
	i := 0
	s.next = noRune
	for i < len(s.raw) {
		if n := s.addLetters(s.raw[i:]); n > 0 {
			i += n
			continue
		}
		r, size := utf8.DecodeRune(s.raw[i:])
		if r == utf8.RuneError && size == 1 && (atEOF || utf8.FullRune(s.raw[i:])) {
			s.addCharacter(s.raw[i : i+1]) // alone, because norm would leave some characters behind it as they are
			i++
			continue
		}
		n, r, size := s.addNormalRun(s.raw[i:], r, size)
		if i += n; 'a' <= r && r <= 'z' && n > 0 {
			continue // addLetters is faster
		}
		if isNormal(r) && !atEOF && !utf8.FullRune(s.raw[i+size:]) {
			break // the next character may be a mark that joins r
		}

		// Everything else is normalized segment by segment.
		n = norm.NFC.NextBoundary(s.raw[i:], atEOF)
		if n <= 0 || !atEOF && i+n == len(s.raw) { // a mark may still follow, even where none composes
			break
		}
		s.addSegment(s.raw[i : i+n])
		i += n
	}
	s.raw = s.raw[:copy(s.raw, s.raw[i:])]

	if len(s.raw) > 0 && utf8.FullRune(s.raw) {
		// Marks to come may compose with this character but not change its class. So what stands
		// in front of it can be decided now, which spares the listener a token's wait.
		s.next, _ = utf8.DecodeRune(s.raw)
		if c := classOf(s.next); c == clWide || !isLetter[c] || !s.continuesWord(0) {
			s.readArrived()
		}
	}
}

// addNormalRun adds the characters at the beginning of text that are normal and that the next one
// does not join: they need no package norm. r, of size bytes, is the first character of text. It
// returns how many bytes it added, and the character behind them, which is not added. It stops
// before a letter from a to z, which addLetters adds with those that follow. normalizeRaw calls it.
func (s *Segmenter) addNormalRun(text []byte, r rune, size int) (n int, behind rune, behindSize int) {
	for isNormal(r) && utf8.FullRune(text[n+size:]) {
		next, nextSize := utf8.DecodeRune(text[n+size:])
		if !isNormal(next) || nextSize == 1 && next >= utf8.RuneSelf {
			break
		}
		if !s.addLetter(r, text[n:n+size]) {
			s.addCharacter(text[n : n+size])
		}
		n += size
		if r, size = next, nextSize; 'a' <= r && r <= 'z' {
			break
		}
	}
	return n, r, size
}

// addSegment normalizes seg, one normalization segment, and appends its characters to buf. If the
// length changes, it records that in s.changes. A segment of marks that goes on with the one
// before, which was too long for norm, gets a grapheme joiner in front. normalizeRaw calls it.
func (s *Segmenter) addSegment(seg []byte) {
	text := seg
	overflow := s.begun && !norm.NFC.Properties(seg).BoundaryBefore()
	if overflow || !norm.NFC.IsNormal(seg) {
		s.nfc = s.nfc[:0]
		text = norm.NFC.Append(s.nfc, seg...)
		if overflow { // norm.NFC.String divides long runs of marks so: the Stream-Safe Text Format
			text = append([]byte(norm.GraphemeJoiner), text...)
		}
		s.nfc = text
	}
	if len(text) != len(seg) {
		s.changes = append(s.changes, lengthChange{end: len(s.buf) + len(text), nfc: len(text), input: len(seg)})
	}
	for len(text) > 0 {
		_, size := utf8.DecodeRune(text)
		s.addCharacter(text[:size])
		text = text[size:]
	}
}

// addCharacter appends one normalized character to buf, reads on, and cuts what has grown too long.
func (s *Segmenter) addCharacter(char []byte) {
	s.begun = len(char) > 1 || char[0] < utf8.RuneSelf // a mark behind an invalid byte begins a text
	s.buf = append(s.buf, char...)
	s.runes++
	s.readArrived()
	for s.exceedsLimits() {
		s.forceCut()
	}
}

// continuesWord reports whether the next n bytes, if they are letters, can do nothing but go on
// with the word being read: all of buf is read, no rule is waiting or off, and no limit is near.
func (s *Segmenter) continuesWord(n int) bool {
	allRead := !s.waiting && s.read.offset == len(s.buf)
	inSpan := s.read.offset < s.hiddenUpTo || s.scan.insideBlock()
	return s.insideWord() && allRead && !inSpan && s.limits.allow(place{len(s.buf) + n, s.runes + n})
}

// addLetters appends and reads at once the small ASCII letters at the beginning of b, where they
// only go on with a word, and returns how many it took. It is a short cut for addCharacter and
// leaves the Segmenter in the same state. It leaves the last byte of b, and a letter in front of a
// byte that is not ASCII: a mark may join these.
func (s *Segmenter) addLetters(b []byte) (n int) {
	sc := &s.scan
	if !s.continuesWord(len(b)) {
		return 0
	}
	for n+1 < len(b) && 'a' <= b[n] && b[n] <= 'z' && b[n+1] < utf8.RuneSelf {
		sc.word.addByte(b[n])
		n++
	}
	if n > 0 {
		s.buf = append(s.buf, b[:n]...)
		s.runes += n
		s.read.offset += n
		s.read.runes += n
		s.visibleRunes = s.read.runes
		s.begun, s.boundaryDecided, sc.wordHasLetters, sc.prev, sc.last = true, false, true, clLower, rune(b[n-1])
		if sc.firstLetter == 0 {
			sc.firstLetter = clLower
		}
	}
	return n
}

// addLetter does addCharacter's work for a letter or a mark that goes on with a word, whose bytes
// in UTF-8 are char, and returns true. For any other character it returns false and changes
// nothing; the caller then calls addCharacter.
func (s *Segmenter) addLetter(r rune, char []byte) bool {
	sc := &s.scan
	c := classOf(r)
	if c != clLower && c != clLetter && c != clExtend {
		return false
	}
	if !s.continuesWord(len(char)) || sc.word.n == 0 || !sc.wordHasLetters {
		return false
	}
	s.buf = append(s.buf, char...)
	s.runes++
	s.read.offset += len(char)
	s.read.runes++
	s.visibleRunes = s.read.runes
	s.begun, s.boundaryDecided = true, false
	sc.word.addRune(r)
	if c != clExtend {
		sc.prev, sc.last = c, r
	}
	return true
}
