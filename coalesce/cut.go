package coalesce

import (
	"unicode/utf8"
)

// place is a place in buf.
type place struct {
	offset int // offset in bytes
	runes  int // code points before it; for a cut: without the white space that ends there
}

// slack is how far a piece may outgrow its limit, in code points, while a boundary within the limit is
// undecided.
const slack = 24

// placeRead is the place read last, as a cut.
func (s *Segmenter) placeRead() place { return place{s.read.offset, s.visibleRunes} }

// limits bound a piece. Zero is no limit.
type limits struct {
	bytes int
	runes int // outer white space not counted
}

// allow reports whether a piece that ends at p keeps the limits.
func (l limits) allow(p place) bool {
	return (l.bytes == 0 || p.offset <= l.bytes) && (l.runes == 0 || p.runes <= l.runes)
}

// markBoundary notes a boundary at the place read, and cuts there if it is wanted.
func (s *Segmenter) markBoundary(level int) {
	if level >= atSentence {
		s.scan.beginSentence()
	}
	if s.noteCut(level); level >= s.cut && s.visibleRunes > 0 {
		s.cutAt(s.read.offset, level)
	}
}

// noteCut remembers the place read as one where a piece that grows too long may be cut.
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

// trimToLimits cuts what is held until it can leave in one piece.
func (s *Segmenter) trimToLimits() {
	for len(s.buf) > 0 && !s.limits.allow(place{len(s.buf), s.visibleRunes}) {
		s.forceCut()
	}
}

// forceCut cuts a piece that has grown too long, or decides what keeps it from being cut.
func (s *Segmenter) forceCut() {
	if s.waiting {
		s.ended = true // as if nothing followed
		s.readArrived()
		s.ended = false
		return
	}
	clause := s.lastClause
	if s.limits.runes > 0 && clause.runes < s.limits.runes/2 || s.limits.bytes > 0 && s.limits.runes == 0 && clause.offset < s.limits.bytes/2 {
		clause = place{} // too little text: a word makes a better piece
	}
	for _, c := range [...]struct {
		place
		level int
	}{{s.lastCut[atParagraph], atParagraph}, {s.lastCut[atSentence], atSentence}, {clause, atWord}, {s.lastCut[atWord], atWord}} {
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
		if !clusterEdge(s.buf[:before], prev) || classOf(prev) != clWide && classOf(prev) != clLetter && !attached[classOf(prev)] {
			break
		}
		at = before
	}
	s.cutAt(at, 0)
}

// runeOffset is the offset behind the first n code points of b, at most its length.
func runeOffset(b []byte, n int) int {
	i := 0
	for ; n > 0 && i < len(b); n-- {
		_, size := utf8.DecodeRune(b[i:])
		i += size
	}
	return i
}

// cutAt makes a piece of the text before offset at.
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

func (e place) behind(at, runes int) place {
	if e.offset <= at {
		return place{}
	}
	return place{e.offset - at, max(e.runes-runes, 0)}
}
