package coalesce

import (
	"unicode/utf8"
)

// place is a place in buf: one read up to, or one where a piece may end.
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

// markBoundary records that a boundary of a level stands at s.read, and cuts there if the level is
// at least the cut that the caller of NewSegmenter wants. decideBoundary calls it.
func (s *Segmenter) markBoundary(level int) {
	if level >= atSentence {
		s.scan.beginSentence()
	}
	s.noteCut(level)
	if level >= s.cut && s.visibleRunes > 0 {
		s.cutAt(s.read.offset, level)
	}
}

// noteCut remembers s.read as the last place of a level where a piece that grows too long may be
// cut; a level of 0 is none. What is too long already is cut first.
func (s *Segmenter) noteCut(level int) {
	for s.visibleRunes > 0 && !s.limits.allow(s.placeRead()) {
		s.forceCut()
	}
	if level > 0 && s.visibleRunes > 0 {
		s.lastCut[level] = s.placeRead()
	}
}

// exceedsLimits reports whether what is held must be cut now. addCharacter asks it after each
// character. Where a boundary may stand at the end of the text, slack is granted first.
func (s *Segmenter) exceedsLimits() bool {
	excessBytes, excessRunes := 0, 0
	if s.limits.bytes > 0 {
		excessBytes = len(s.buf) - s.limits.bytes
	}
	if s.limits.runes > 0 {
		excessRunes = s.runes - s.limits.runes
	}
	switch {
	case excessBytes <= 0 && excessRunes <= 0:
		return false
	case s.waiting || s.scan.space || s.scan.marks.any:
		return excessBytes > slack*utf8.UTFMax || excessRunes > slack
	}
	return true
}

// trimToLimits cuts what is held until the rest can leave in one piece.
func (s *Segmenter) trimToLimits() {
	for len(s.buf) > 0 && !s.limits.allow(place{len(s.buf), s.visibleRunes}) {
		s.forceCut()
	}
}

// forceCut cuts a piece that has grown too long: at the coarsest boundary within the limits, or if
// there is none, between two grapheme clusters. Where a boundary that waits for text keeps it from
// being cut, forceCut decides that boundary instead, as if no text followed, and may cut nothing;
// callers call it until the limits are kept.
func (s *Segmenter) forceCut() {
	if s.waiting {
		s.ended = true
		s.readArrived()
		s.ended = false
		return
	}
	if c, ok := s.lastCutWithinLimits(); ok {
		s.cutAt(c.offset, c.level)
		return
	}
	s.cutAt(s.lastClusterWithinLimits(), 0)
}

// A leveledPlace is a place to cut, and the level of the boundary there.
type leveledPlace struct {
	place
	level int
}

// lastCutWithinLimits returns where a piece that is too long is best cut: at its last paragraph
// within the limits, else the last sentence, clause or word. It returns false if it has none.
func (s *Segmenter) lastCutWithinLimits() (leveledPlace, bool) {
	clause := s.lastClause
	if s.limits.runes > 0 && clause.runes < s.limits.runes/2 ||
		s.limits.runes == 0 && s.limits.bytes > 0 && clause.offset < s.limits.bytes/2 {
		clause = place{} // so short a piece is worse than one that ends with a word
	}
	for _, c := range [...]leveledPlace{
		{s.lastCut[atParagraph], atParagraph}, {s.lastCut[atSentence], atSentence},
		{clause, atWord}, {s.lastCut[atWord], atWord},
	} {
		if c.offset == 0 || !s.limits.allow(c.place) {
			continue
		}
		if r, _ := utf8.DecodeRune(s.buf[c.offset:]); clusterEdge(s.buf[:c.offset], r) {
			return c, true
		}
	}
	return leveledPlace{}, false
}

// lastClusterWithinLimits returns the last offset within the limits between two grapheme clusters.
// It moves a few clusters back where the next piece would begin with a mark, for a closing mark
// stays with the word that it follows.
func (s *Segmenter) lastClusterWithinLimits() int {
	limit := len(s.buf)
	if s.limits.bytes > 0 {
		limit = min(limit, s.limits.bytes)
	}
	if s.limits.runes > 0 {
		limit = min(limit, runeOffset(s.buf, s.limits.runes))
	}
	pos := clusterBefore(s.buf, limit)
	for range 8 {
		r, _ := utf8.DecodeRune(s.buf[pos:])
		c := classOf(r)
		before := clusterBefore(s.buf, pos-1)
		if pos == len(s.buf) || before <= 0 || !attached[c] && c != clCloseQuote {
			break
		}
		prev, _ := utf8.DecodeRune(s.buf[before:])
		prevClass := classOf(prev)
		if !clusterEdge(s.buf[:before], prev) || prevClass != clWide && prevClass != clLetter && !attached[prevClass] {
			break
		}
		pos = before
	}
	return pos
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

// cutAt makes a piece of the text before pos, removes that text from buf, and moves every place in
// buf back by its length. The piece names the boundary of the level, or BoundaryNone if the level
// is finer than the cut that is wanted.
func (s *Segmenter) cutAt(pos, level int) {
	if level < s.cut {
		level = 0
	}
	s.out = append(s.out, Piece{
		Text: string(s.buf[:pos]), Boundary: rankedBoundaries[level], Source: s.changes.take(pos),
	})
	n := s.read.runes // code points that are removed
	if pos != s.read.offset {
		n = utf8.RuneCount(s.buf[:pos])
	}
	s.buf = s.buf[:copy(s.buf, s.buf[pos:])]
	s.runes = max(s.runes-n, 0)
	s.visibleRunes = max(s.visibleRunes-n, 0)
	s.read = s.read.behind(pos, n)
	for i, p := range s.lastCut {
		s.lastCut[i] = p.behind(pos, n)
	}
	s.lastClause = s.lastClause.behind(pos, n)
	s.hiddenUpTo, s.attachedUpTo = max(s.hiddenUpTo-pos, 0), max(s.attachedUpTo-pos, 0)
}

// behind returns the place once the first bytes of buf, which are so many runes, are removed. A
// place within them becomes the zero place.
func (p place) behind(bytes, runes int) place {
	if p.offset <= bytes {
		return place{}
	}
	return place{p.offset - bytes, max(p.runes-runes, 0)}
}
