package coalesce

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// levelAtPause returns the level of the boundary at the end of the text held. It returns 0 where
// text that comes after the pause could show that no sentence ends there. Pause calls it.
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
		probe := *sc // in which the word before the full stop is ended
		if !sc.space {
			probe.endWord()
		}
		switch only := probe.wordCount == 1; probe.lastKind {
		case notAbbreviation:
			if !sc.space && !sc.marks.closed && s.stopMayGoOn() {
				return 0 // 3. may become 3.14
			}
		case abbrEndsList:
			if r, _ := utf8.DecodeLastRune(probe.priorWord.bytes()); unicode.IsDigit(r) {
				return 0 // 6 ft. may go on with 2 in.
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

// levelReached returns the level of the boundary at the end of the text read, if no text follows:
// atParagraph, atSentence, atWord, or 0 within a word. It changes nothing; Flush, Yield and
// levelAtPause cut by it.
func (s *Segmenter) levelReached() int {
	sc := &s.scan
	switch {
	case sc.fenceRune != 0 && !sc.lineStart: // within a line of code or a formula
	case sc.lines >= 2:
		return atParagraph
	case sc.lines == 1:
		return atSentence
	case sc.marks.any && s.hiddenUpTo <= s.read.offset:
		if probe := *sc; probe.endsComplete() { // which changes the probe
			return atSentence
		}
	}
	if sc.space {
		return atWord
	}
	return 0
}

// endsInIntroduction reports whether the text read ends in the colon of an introduction, such as
// "Next:". A colon behind a digit, as in half a time, or behind http or https is none.
func (s *Segmenter) endsInIntroduction() bool {
	if s.scan.space || !s.scan.isIntroduction(s.scan.last) {
		return false
	}
	text := bytes.TrimRight(s.buf[:s.read.offset], ":：")
	r, _ := utf8.DecodeLastRune(text)
	return !unicode.IsDigit(r) && !bytes.HasSuffix(text, []byte("http")) && !bytes.HasSuffix(text, []byte("https"))
}

// isIntroduction reports whether r is a colon behind several words: agents write one before they
// use a tool ("Let me look at the tests:").
func (sc *scanner) isIntroduction(r rune) bool {
	return (r == ':' || r == '：') && (sc.wordCount >= 2 || sc.wideCount >= 4) && !sc.insideBlock()
}

// stopMayGoOn reports whether the full stop read last may stand within a number or an address.
// Behind a year it hardly does.
func (s *Segmenter) stopMayGoOn() bool {
	text := s.buf[:max(s.read.offset-1, 0)]
	digits := len(text) - len(bytes.TrimRightFunc(text, unicode.IsDigit))
	word := text[bytes.LastIndexByte(text, ' ')+1:]
	if bytes.Contains(word, []byte("://")) && !bytes.HasSuffix(word, []byte(")")) {
		return true
	}
	before, number := text[:len(text)-digits], text[len(text)-digits:]
	year := digits == 4 && number[0] <= '2' && (len(before) == 0 || before[len(before)-1] == ' ')
	return digits > 0 && !year
}

// endsInGesture reports whether what is held, raw text included, ends in a whole picture or smiley,
// behind words or a final mark. Half a flag, and a picture that may stand in a link or in code,
// give false.
func (s *Segmenter) endsInGesture() bool {
	sc := &s.scan
	if sc.firstLetter == 0 || sc.insideBlock() || sc.lines > 0 || s.read.offset < s.hiddenUpTo {
		return false
	}
	if _, c, _ := s.peek(s.read.offset); s.waiting && c != clEmoji && c != clClause {
		return false // the picture may stand in a link
	}

	lastBytes := s.buf[max(len(s.buf)-64, 0):len(s.buf):len(s.buf)] // its capacity is its length, so append copies
	tail := bytes.TrimRight(append(lastBytes, s.raw...), " ")
	if endsInSmiley(tail) {
		return true
	}
	r, size := utf8.DecodeLastRune(tail)
	for r == '\ufe0f' || 0x1F3FB <= r && r <= 0x1F3FF { // selectors of how the picture looks
		tail = tail[:len(tail)-size]
		r, size = utf8.DecodeLastRune(tail)
	}
	isFlagLetter := func(r rune) bool { return 0x1F1E6 <= r && r <= 0x1F1FF }
	flagBytes := len(tail) - len(bytes.TrimRightFunc(tail, isFlagLetter))
	if flagBytes%8 != 0 {
		return false // a flag is two characters of four bytes, and half of one has arrived
	}
	return classOf(r) == clEmoji
}

// releaseHeld makes pieces of all that is held, the last with a boundary of the given level. Pause
// and Yield call it.
func (s *Segmenter) releaseHeld(level int) {
	s.trimToLimits()
	if len(s.buf) > 0 {
		s.cutAt(len(s.buf), level)
	}
	s.scan.forgetSentence()
}

// readToEnd normalizes and reads all that is held as if no text followed.
func (s *Segmenter) readToEnd() {
	s.normalizeRaw(true)
	s.ended = true
	s.readArrived()
	s.ended = false
	s.begun = false
}
