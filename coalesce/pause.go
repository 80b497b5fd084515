package coalesce

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// levelAtPause is reached for a text that may go on.
func (s *Segmenter) levelAtPause() int {
	sc := &s.scan
	switch {
	case s.waiting, s.read.offset < s.attachedUpTo, s.read.offset < s.hiddenUpTo, sc.fenceRune != 0, sc.cr:
		return 0
	case sc.lines == 0 && !sc.marks.any:
		if s.endsInIntroduction() {
			return atSentence
		}
		return 0
	case sc.lines == 0 && sc.marks.isSingleStop():
		probe := *sc
		if !sc.space {
			probe.endWord()
		}
		switch only := probe.wordCount == 1; probe.lastKind {
		case notAbbreviation:
			if !sc.space && !sc.marks.closed && s.stopMayGoOn() {
				return 0 // 3.14
			}
		case abbrEndsList:
			if r, _ := utf8.DecodeLastRune(probe.priorWord.bytes()); unicode.IsDigit(r) {
				return 0 // 6 ft. 2 in.
			}
		case abbrOrdinal:
			if !sc.space && !sc.marks.closed || len(sc.lang.words[ordinalWords]) > 0 && sc.lang.known {
				return 0
			}
		case abbrBeforeNumber:
			if !only {
				return 0
			}
		default:
			return 0
		}
	}
	if level := s.levelReached(); level >= atSentence {
		return level
	}
	return 0
}

// levelReached returns the level of the boundary at the end of the text read, if none follows.
func (s *Segmenter) levelReached() int {
	sc := &s.scan
	switch {
	case sc.fenceRune != 0 && !sc.lineStart:
	case sc.lines >= 2:
		return atParagraph
	case sc.lines == 1:
		return atSentence
	case sc.marks.any && s.hiddenUpTo <= s.read.offset:
		if probe := *sc; probe.endsComplete() {
			return atSentence
		}
	}
	if sc.space {
		return atWord
	}
	return 0
}

// endsInIntroduction reports whether the text read ends in such a colon, and not in half a time or an address.
func (s *Segmenter) endsInIntroduction() bool {
	if s.scan.space || !s.scan.isIntroduction(s.scan.last) {
		return false
	}
	text := bytes.TrimRight(s.buf[:s.read.offset], ":：")
	r, _ := utf8.DecodeLastRune(text)
	return !unicode.IsDigit(r) && !bytes.HasSuffix(text, []byte("http")) && !bytes.HasSuffix(text, []byte("https"))
}

// isIntroduction reports whether r is a colon behind several words, as in front of what an agent does next.
func (sc *scanner) isIntroduction(r rune) bool {
	return (r == ':' || r == '：') && (sc.wordCount >= 2 || sc.wideCount >= 4) && !sc.insideBlock()
}

// stopMayGoOn reports whether the full stop read last may stand within a number or an address: but hardly behind a year.
func (s *Segmenter) stopMayGoOn() bool {
	text := s.buf[:max(s.read.offset-1, 0)]
	digits := len(text) - len(bytes.TrimRightFunc(text, unicode.IsDigit))
	if word := text[bytes.LastIndexByte(text, ' ')+1:]; bytes.Contains(word, []byte("://")) && !bytes.HasSuffix(word, []byte(")")) {
		return true
	}
	before, number := text[:len(text)-digits], text[len(text)-digits:]
	year := digits == 4 && number[0] <= '2' && (len(before) == 0 || before[len(before)-1] == ' ')
	return digits > 0 && !year
}

// endsInGesture reports whether what is held ends in a picture or a smiley, behind words or a final mark.
func (s *Segmenter) endsInGesture() bool {
	sc := &s.scan
	if sc.firstLetter == 0 || sc.insideBlock() || sc.lines > 0 || s.read.offset < s.hiddenUpTo {
		return false
	}
	if _, c, _ := s.peek(s.read.offset); s.waiting && c != clEmoji && c != clClause {
		return false // in a link, perhaps
	}
	tail := bytes.TrimRight(append(s.buf[max(len(s.buf)-64, 0):len(s.buf):len(s.buf)], s.raw...), " ")
	if endsInSmiley(tail) {
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

// releaseHeld gives out what is held, for a pause.
func (s *Segmenter) releaseHeld(level int) {
	if s.trimToLimits(); len(s.buf) > 0 {
		s.cutAt(len(s.buf), level)
	}
	s.scan.forgetSentence()
}

// readToEnd reads what there is as if nothing followed.
func (s *Segmenter) readToEnd() {
	s.normalizeRaw(true)
	s.ended = true
	s.readArrived()
	s.ended = false
	s.begun = false
}
