package coalesce

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// slack is how far a piece may outgrow its limit, in code points, while a boundary within the limit is
// undecided.
const slack = 24

// here is the place read last, as a cut.
func (s *Segmenter) here() edge { return edge{s.read.at, s.shown} }

// fits says whether a piece that ends at e keeps the limits.
func (s *Segmenter) fits(e edge) bool {
	return (s.max == 0 || e.at <= s.max) && (s.maxRunes == 0 || e.runes <= s.maxRunes)
}

// boundary notes a boundary at the place read, and cuts there if it is wanted.
func (s *Segmenter) boundary(level int) {
	if level >= atSentence {
		s.scan.sentence()
	}
	if s.note(level); level >= s.cut && s.shown > 0 {
		s.cutAt(s.read.at, level)
	}
}

// note remembers the place read as one where a piece that grows too long may be cut.
func (s *Segmenter) note(level int) {
	for s.shown > 0 && !s.fits(s.here()) {
		s.force()
	}
	if level > 0 && s.shown > 0 {
		s.lastCut[level] = s.here()
	}
}

// tooLong says whether what is held must be cut now.
func (s *Segmenter) tooLong() bool {
	bytes, runes := 0, 0
	if s.max > 0 {
		bytes = len(s.buf) - s.max
	}
	if s.maxRunes > 0 {
		runes = s.count - s.maxRunes
	}
	switch {
	case bytes <= 0 && runes <= 0:
		return false
	case s.stuck || s.scan.space || s.scan.marks.any:
		return bytes > slack*utf8.UTFMax || runes > slack
	}
	return true
}

// trim cuts what is held until it can leave in one piece.
func (s *Segmenter) trim() {
	for len(s.buf) > 0 && !s.fits(edge{len(s.buf), s.shown}) {
		s.force()
	}
}

// force cuts a piece that has grown too long, or decides what keeps it from being cut.
func (s *Segmenter) force() {
	if s.stuck {
		s.over = true // as if nothing followed
		s.advance()
		s.over = false
		return
	}
	clause := s.lastWait
	if s.maxRunes > 0 && clause.runes < s.maxRunes/2 || s.max > 0 && s.maxRunes == 0 && clause.at < s.max/2 {
		clause = edge{} // too little text: a word makes a better piece
	}
	for _, c := range [...]struct {
		edge
		level int
	}{{s.lastCut[atParagraph], atParagraph}, {s.lastCut[atSentence], atSentence}, {clause, atWord}, {s.lastCut[atWord], atWord}} {
		if c.at == 0 || !s.fits(c.edge) {
			continue
		}
		if r, _ := utf8.DecodeRune(s.buf[c.at:]); clusterEdge(s.buf[:c.at], r) {
			s.cutAt(c.at, c.level)
			return
		}
	}
	limit := len(s.buf)
	if s.max > 0 {
		limit = min(limit, s.max)
	}
	if s.maxRunes > 0 {
		limit = min(limit, runeOffset(s.buf, s.maxRunes))
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
	s.out = append(s.out, Piece{Text: string(s.buf[:at]), Boundary: rankedBoundaries[level], Source: s.source(at)})
	n := s.read.runes
	if at != s.read.at {
		n = utf8.RuneCount(s.buf[:at])
	}
	s.buf = s.buf[:copy(s.buf, s.buf[at:])]
	s.count = max(s.count-n, 0)
	s.shown = max(s.shown-n, 0)
	s.read = s.read.minus(at, n)
	for i, e := range s.lastCut {
		s.lastCut[i] = e.minus(at, n)
	}
	s.lastWait = s.lastWait.minus(at, n)
	s.hide, s.glue = max(s.hide-at, 0), max(s.glue-at, 0)
}

func (e edge) minus(at, runes int) edge {
	if e.at <= at {
		return edge{}
	}
	return edge{e.at - at, max(e.runes-runes, 0)}
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

// reached returns the level of the boundary at the end of the text read, if none follows.
func (s *Segmenter) reached() int {
	sc := &s.scan
	switch {
	case sc.fence != 0 && !sc.lineStart:
	case sc.lines >= 2:
		return atParagraph
	case sc.lines == 1:
		return atSentence
	case sc.marks.any && s.hide <= s.read.at:
		if probe := *sc; probe.complete() {
			return atSentence
		}
	}
	if sc.space {
		return atWord
	}
	return 0
}

// gestured says whether what is held ends in a picture or a smiley, behind words or a final mark.
func (s *Segmenter) gestured() bool {
	sc := &s.scan
	if sc.letter == 0 || sc.hidden() || sc.lines > 0 || s.read.at < s.hide {
		return false
	}
	if _, c, _ := s.peek(s.read.at); s.stuck && c != clEmoji && c != clClause {
		return false // in a link, perhaps
	}
	tail := bytes.TrimRight(append(s.buf[max(len(s.buf)-64, 0):len(s.buf):len(s.buf)], s.raw...), " ")
	if smiley(tail) {
		return true
	}
	r, size := utf8.DecodeLastRune(tail)
	for r == '\ufe0f' || 0x1F3FB <= r && r <= 0x1F3FF { // how the picture looks; marks could still change order with others
		tail = tail[:len(tail)-size]
		r, size = utf8.DecodeLastRune(tail)
	}
	flag := func(r rune) bool { return 0x1F1E6 <= r && r <= 0x1F1FF }
	if half := len(tail) - len(bytes.TrimRightFunc(tail, flag)); half%8 != 0 { // of a flag
		return false
	}
	return classOf(r) == clEmoji
}

// introduces says whether r is a colon behind several words, as in front of what an agent does next.
func (sc *scanner) introduces(r rune) bool {
	return (r == ':' || r == '：') && (sc.words >= 2 || sc.wides >= 4) && !sc.hidden()
}

// introduced says whether the text read ends in such a colon, and not in half a time or an address.
func (s *Segmenter) introduced() bool {
	if s.scan.space || !s.scan.introduces(s.scan.last) {
		return false
	}
	text := bytes.TrimRight(s.buf[:s.read.at], ":：")
	r, _ := utf8.DecodeLastRune(text)
	return !unicode.IsDigit(r) && !bytes.HasSuffix(text, []byte("http")) && !bytes.HasSuffix(text, []byte("https"))
}

// half says whether the full stop read last may stand within a number or an address: but hardly behind a year.
func (s *Segmenter) half() bool {
	text := s.buf[:max(s.read.at-1, 0)]
	digits := len(text) - len(bytes.TrimRightFunc(text, unicode.IsDigit))
	if word := text[bytes.LastIndexByte(text, ' ')+1:]; bytes.Contains(word, []byte("://")) && !bytes.HasSuffix(word, []byte(")")) {
		return true
	}
	before, number := text[:len(text)-digits], text[len(text)-digits:]
	year := digits == 4 && number[0] <= '2' && (len(before) == 0 || before[len(before)-1] == ' ')
	return digits > 0 && !year
}

// pausable is reached for a text that may go on.
func (s *Segmenter) pausable() int {
	sc := &s.scan
	switch {
	case s.stuck, s.read.at < s.glue, s.read.at < s.hide, sc.fence != 0, sc.cr:
		return 0
	case sc.lines == 0 && !sc.marks.any:
		if s.introduced() {
			return atSentence
		}
		return 0
	case sc.lines == 0 && sc.marks.single():
		probe := *sc
		if !sc.space {
			probe.endWord()
		}
		switch only := probe.words == 1; probe.kind {
		case abNone:
			if !sc.space && !sc.marks.closed && s.half() {
				return 0 // 3.14
			}
		case abList:
			if r, _ := utf8.DecodeLastRune(probe.before.bytes()); unicode.IsDigit(r) {
				return 0 // 6 ft. 2 in.
			}
		case abOrdinal:
			if !sc.space && !sc.marks.closed || len(sc.lang.words[ordinalWords]) > 0 && sc.lang.known {
				return 0
			}
		case abNumber:
			if !only {
				return 0
			}
		default:
			return 0
		}
	}
	if level := s.reached(); level >= atSentence {
		return level
	}
	return 0
}
