package coalesce

import (
	"unicode/utf8"
)

// place is a place in buf.
type place struct {
	offset int // in bytes
	runes  int // code points before it; of a place to cut, without the white space in front of it
}

// slack is how many code points a piece may outgrow its limit by, while a boundary within the limit
// waits for text.
const slack = 24

// placeRead returns s.read as a place to cut.
func (s *Segmenter) placeRead() place { return place{s.read.offset, s.visibleRunes} }

// limits bound a piece. Zero sets no limit.
type limits struct {
	bytes int
	runes int // outer white space not counted
}

// allow reports whether a piece that ends at p keeps the limits.
func (l limits) allow(p place) bool {
	return (l.bytes == 0 || p.offset <= l.bytes) && (l.runes == 0 || p.runes <= l.runes)
}

// markBoundary notes a boundary of a level at s.read, and cuts there if such a cut is wanted.
func (s *Segmenter) markBoundary(level int) {
	if level >= atSentence {
		s.scan.beginSentence()
	}
	if s.noteCut(level); level >= s.cut && s.visibleRunes > 0 {
		s.cutAt(s.read.offset, level)
	}
}

// noteCut remembers s.read as the last place of a level where a piece that grows too long may be
// cut. What is already too long is cut before.
func (s *Segmenter) noteCut(level int) {
	for s.visibleRunes > 0 && !s.limits.allow(s.placeRead()) {
		s.forceCut()
	}
	if level > 0 && s.visibleRunes > 0 {
		s.lastCut[level] = s.placeRead()
	}
}

// exceedsLimits reports whether what is held must be cut now.
func (s *Segmenter) exceedsLimits() bool {
	bytes, runes := 0, 0
	if s.limits.bytes > 0 {
		bytes = len(s.buf) - s.limits.bytes
	}
	if s.limits.runes > 0 {
		runes = s.runes - s.limits.runes
	}
	switch {
	case bytes <= 0 && runes <= 0:
		return false
	case s.waiting || s.scan.space || s.scan.marks.any:
		return bytes > slack*utf8.UTFMax || runes > slack
	}
	return true
}

// trimToLimits cuts what is held until the rest can leave in one piece.
func (s *Segmenter) trimToLimits() {
	for len(s.buf) > 0 && !s.limits.allow(place{len(s.buf), s.visibleRunes}) {
		s.forceCut()
	}
}

// forceCut cuts a piece that has grown too long, at the coarsest boundary within the limits. Where
// an undecided boundary keeps it from being cut, forceCut decides that instead, as if no text
// followed.
func (s *Segmenter) forceCut() {
	if s.waiting {
		s.ended = true
		s.readArrived()
		s.ended = false
		return
	}
	clause := s.lastClause
	if s.limits.runes > 0 && clause.runes < s.limits.runes/2 ||
		s.limits.runes == 0 && s.limits.bytes > 0 && clause.offset < s.limits.bytes/2 {
		clause = place{} // so short a piece is worse than one that ends with a word
	}
	for _, c := range [...]struct {
		place
		level int
	}{
		{s.lastCut[atParagraph], atParagraph}, {s.lastCut[atSentence], atSentence},
		{clause, atWord}, {s.lastCut[atWord], atWord},
	} {
		if c.offset == 0 || !s.limits.allow(c.place) {
			continue
		}
		if r, _ := utf8.DecodeRune(s.buf[c.offset:]); clusterEdge(s.buf[:c.offset], r) {
			s.cutAt(c.offset, c.level)
			return
		}
	}
	limit := len(s.buf)
	if s.limits.bytes > 0 {
		limit = min(limit, s.limits.bytes)
	}
	if s.limits.runes > 0 {
		limit = min(limit, runeOffset(s.buf, s.limits.runes))
	}
	at := clusterBefore(s.buf, limit)
	for range 8 { // a closing mark stays with what it closes
		r, _ := utf8.DecodeRune(s.buf[at:])
		c := classOf(r)
		before := clusterBefore(s.buf, at-1)
		if at == len(s.buf) || before <= 0 || !attached[c] && c != clCloseQuote {
			break
		}
		prev, _ := utf8.DecodeRune(s.buf[before:])
		prevClass := classOf(prev)
		if !clusterEdge(s.buf[:before], prev) || prevClass != clWide && prevClass != clLetter && !attached[prevClass] {
			break
		}
		at = before
	}
	s.cutAt(at, 0)
}

// runeOffset returns the offset behind the first n code points of b, or its length.
func runeOffset(b []byte, n int) int {
	i := 0
	for ; n > 0 && i < len(b); n-- {
		_, size := utf8.DecodeRune(b[i:])
		i += size
	}
	return i
}

// cutAt makes a piece of the text before offset at, and takes that from buf. A level finer than the
// cut that is wanted is not told in the piece.
func (s *Segmenter) cutAt(at, level int) {
	if level < s.cut {
		level = 0
	}
	s.out = append(s.out, Piece{Text: string(s.buf[:at]), Boundary: rankedBoundaries[level], Source: s.changes.take(at)})
	n := s.read.runes
	if at != s.read.offset {
		n = utf8.RuneCount(s.buf[:at])
	}
	s.buf = s.buf[:copy(s.buf, s.buf[at:])]
	s.runes = max(s.runes-n, 0)
	s.visibleRunes = max(s.visibleRunes-n, 0)
	s.read = s.read.behind(at, n)
	for i, e := range s.lastCut {
		s.lastCut[i] = e.behind(at, n)
	}
	s.lastClause = s.lastClause.behind(at, n)
	s.hiddenUpTo, s.attachedUpTo = max(s.hiddenUpTo-at, 0), max(s.attachedUpTo-at, 0)
}

// behind returns the place as it is once the first at bytes of buf, which are so many code points,
// are gone; one within them becomes the beginning.
func (e place) behind(at, runes int) place {
	if e.offset <= at {
		return place{}
	}
	return place{e.offset - at, max(e.runes-runes, 0)}
}
