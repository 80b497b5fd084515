package coalesce

import (
	"bytes"
	"strings"
)

// A detector decides whether a sentence ends at an offset: scan holds what stands before it, and
// the lookahead shows what follows.
type detector struct {
	lookahead
	scan          scanner
	hiddenUpTo    int  // code, a formula or the like reaches up to here: nothing ends a sentence before
	attachedUpTo  int  // a reference, picture or the like up to here belongs to the marks read last
	attachedSpace bool // what is attached stands for white space, such as <br>
}

// decideBoundary decides what boundary stands at s.read, in front of a character of class c, and
// marks it. It returns false if that must wait for more text; the caller resets pastEnd before.
func (s *Segmenter) decideBoundary(c class) bool {
	sc, pos := &s.scan, s.read.offset
	switch c {
	case clSpace, clLine:
		s.noteCut(atWord) // a piece that grows too long may be cut in front of a space
		return true
	case clExtend:
		return true
	}
	if pos < s.attachedUpTo {
		return true
	}
	if !s.closeFenceAtLine(pos) {
		return false
	}

	clause := sc.clause != 0 && (sc.space || sc.clause == clFullClause && !attached[c])
	level := 0
	if sc.space || clause {
		level = atWord
	}
	level = s.levelBefore(pos, c, level)
	midLine := sc.lines == 0 && pos >= s.hiddenUpTo
	if c == clTag && sc.firstLetter != 0 && midLine && !sc.insideBlock() && s.opensFence(pos) {
		level = atSentence
		s.itemBegins = !s.pastEnd
	}
	if level == atWord && sc.space && midLine && s.startsNextItem(pos, c) {
		level = atSentence
		s.itemBegins = !s.pastEnd
	}
	if s.pastEnd {
		s.attachedUpTo, s.itemBegins = 0, false
		return false
	}

	// From here on the answer is certain.
	if level == 0 && sc.startsWord(s.runeUnjoined(pos), c) {
		level = atWord
	}
	if level == 0 && !clause {
		return true
	}
	r, _, _ := s.peek(pos)
	if pos == len(s.buf) {
		r = s.next
	}
	if (level >= atSentence || level >= s.cut) && !clusterEdge(s.buf[:pos], r) {
		return true // no cut divides a grapheme cluster
	}
	s.markBoundary(level)
	if clause && s.visibleRunes > 0 {
		s.lastClause = s.placeRead()
	}
	return true
}

// closeFenceAtLine ends a formula or a code block that the line end in front of pos shows to be
// over: TeX allows no blank line in a formula, and code in a quotation ends with the quotation. It
// returns false if that must wait for more text.
func (d *detector) closeFenceAtLine(pos int) bool {
	sc := &d.scan
	if sc.lines >= 2 && sc.inFormula() {
		sc.fenceRune, sc.block = 0, prose // it was no formula
	}
	if sc.lines > 0 && sc.fenceRune != 0 && sc.inQuote {
		r, _, _ := d.peekRune(pos)
		if d.pastEnd {
			return false
		}
		if r != '>' {
			sc.fenceRune, sc.block = 0, row
		}
	}
	return true
}

// levelBefore returns the level of the boundary at pos, which is s.read, in front of a character of
// class c: that of a line end, of marks or of a picture, or else the given level, which is that of
// words. endsSpaced and endsTight decide about marks; an item's marker is no sentence of its own.
// decideBoundary calls it where the character is in view.
func (s *Segmenter) levelBefore(pos int, c class, level int) int {
	sc := &s.scan
	switch m := &sc.marks; {
	case sc.fenceRune != 0 && sc.lines > 0:
		s.noteCut(atSentence) // Yield may cut behind a line of code
	case sc.lines > 0 && sc.onlyMarkers: // an item's marker stays with the text of the next line
	case sc.lines >= 2:
		level = atParagraph
	case sc.lines == 1:
		if !s.isWrapped(pos, c) {
			level = atSentence
		}
	case pos < s.hiddenUpTo || sc.insideBlock():
	case m.any:
		var end bool
		if sc.space {
			end = s.endsSpaced(pos, c)
			if !sc.space {
				level = 0 // the character closes what stands before the white space
			}
		} else {
			end = s.endsTight(pos, c)
		}
		if end && s.attachedUpTo <= pos {
			level = atSentence
		}
	case sc.space && c != clLower && s.followsGesture(pos):
		r, _, _ := s.peekRune(pos)
		if r == '¿' || r == '¡' || c == clWide && sc.wideCount > 1 ||
			(c == clUpper || c == clLetter) && (sc.isFace() || s.startsSentence(pos)) {
			level = atSentence
		}
	case c == clWide && sc.isFace() && sc.wideCount > 1 && !sc.beganWithPicture:
		r, _, _ := s.peekRune(pos)
		if wideScript(r) == han && !strings.ContainsRune("的了和吧吗嗎啊呢", r) { // 好的👍明天见, but 点👍的人
			level = atSentence
		}
	}
	return level
}

// endsSpaced reports whether a sentence ends in the newest marks, which white space follows and
// then, at pos, a character of class c. Where the text at pos belongs to the sentence before it, it
// returns false and extends that sentence over the text (attachUpTo), or clears sc.space for a
// closing quote. The result counts only where pastEnd is still unset.
func (d *detector) endsSpaced(pos int, c class) bool {
	sc := &d.scan
	if c == clCloseQuote || c == clQuote { // it may close, as in « Vraiment ? » dit-il
		_, _, size := d.peek(pos)
		switch _, next, _ := d.peek(pos + size); {
		case next == clSpace, next == clLine, next == clEnd, next == clClose, isMark[next], next == clClause:
			sc.space = d.pastEnd // once that is sure, the space counts as a part of the quotation
			return false
		}
	}
	if c == clEmoji {
		switch end, next := d.skipPictures(pos); {
		case next == clLine, next == clEnd, next == clSpace && !d.pictureStartsSentence(pos):
			d.attachUpTo(end, false)
			return false
		}
		return !d.pastEnd
	}
	if c == clOpen || c == clClause || c == clTag {
		if r, _, _ := d.peekRune(pos); r == '|' { // the cell of a table ends
			return false
		}
		if end := d.skipAside(pos); end > 0 {
			d.attachUpTo(end, false)
			return false
		}
	}
	if c == clOther {
		switch r, _, _ := d.peekRune(pos); r {
		case '¿', '¡':
			if sc.marks.isSingleStop() && !d.pastEnd {
				return sc.lastKind != abbrNeverEnds && sc.lastKind != abbrItemMarker
			}
		case '§': // "3. §" is the third section
			if sc.lastKind == abbrOrdinal && sc.lang.hasOrdinals() {
				return false
			}
		case '/', '№', '=', '%', '&', '×', '≈', '+':
			return false
		}
	}
	if c == clBang || c == clStop || c == clEllipsis {
		if i, next := d.skipLeadingMark(pos, c); i > pos {
			return d.endsBefore(i, next)
		}
	}
	if c == clStop && sc.marks.isSingleStop() && sc.looseStops == 0 && sc.lastWord.n > 0 {
		return d.isOmission(pos)
	}
	i, core := d.skipOpeners(pos)

	switch {
	case core == clContinue:
		return d.dashStartsTurn(i)
	case core == clLower && (!sc.marks.question || sc.marks.closed) && (d.isMixedCase(i) || d.isClipped(pos, i)):
		core = clUpper
	}
	if i == pos && attached[core] { // rule SB8a of UAX #29, and closing brackets
		return false
	}
	return d.endsBefore(i, core)
}

// endsBefore reports whether a sentence ends in the marks read last, if the next one would begin at
// pos, with a character of class c. Openers and leading marks have been skipped by the caller. The
// first case that fits the marks decides; a single full stop fits none and is left to
// endsAfterStop.
func (d *detector) endsBefore(pos int, c class) bool {
	sc := &d.scan
	m := &sc.marks
	// informal: this writer begins sentences with small letters.
	informal := c == clLower && sc.firstLetter == clLower && sc.wordCount >= 3 && !m.closed
	switch {
	case m.omission && m.closed:
		return false
	case m.full && sc.last == '۔' && (sc.wordCount == 1 || countLetters(&sc.lastWord) == 1) && sc.isInitial():
		return c == clEnd // "2۔" begins an item
	case m.full && sc.last == '।' && sc.isLabel():
		return c == clEnd
	case m.full:
		return !m.closed ||
			(c != clWide && !m.fullQuestion || !d.continuesQuotation(pos, c)) && !d.continuesAnyQuotation(pos)
	case m.question:
		ends := c != clLower || !m.closed && !m.exclamation && !sc.dialogueTurn || informal
		return ends && !(m.quoted && c != clLower && d.continuesQuotation(pos, c)) // "Really?" Ada asked.
	case m.exclamation && !m.closed && c == clUpper && sc.lang.has(exclaimedNames, sc.lastWord.bytes()):
		return d.startsSentence(pos)
	case m.exclamation:
		ends := c != clLower || informal || sc.isCaseless(&sc.lastWord) && !m.closed
		return ends && !(m.quoted && d.continuesQuotation(pos, c))
	case (m.ellipsis || m.stops > 1) && m.quoted && d.continuesQuotation(pos, c): // "Well..." Ada said.
		return false
	case m.ellipsis || m.stops > 1:
		return c == clUpper || c == clEnd || c == clTag || c == clWide && sc.wideCount >= 4 ||
			c == clLetter && (sc.hasKoreanEnding() || d.startsSentence(pos))
	}
	return d.endsAfterStop(pos, c, informal)
}

// endsAfterStop decides for endsBefore where the marks are a single full stop: by the kind of the
// word before it, and by the text at pos, of class c. informal says that the writer begins
// sentences with small letters. At the end of all text c is clEnd, and most abbreviations end
// there.
func (d *detector) endsAfterStop(pos int, c class, informal bool) bool {
	sc := &d.scan
	if c == clDigit && sc.isCaseless(&sc.lastWord) && sc.followsDay() && d.isYear(pos) { // ৩ ফেব্রু. ২০২৬
		return false
	}
	if sc.looseStops == 3 { // ". . ." stands for words left out
		return false
	}
	if sc.lang.firstParts[string(sc.lastWord.bytes())] && (c == clUpper || c == clLetter) { // z. B.
		next := d.wordAt(pos)
		if _, ok := sc.lang.classifyPair(sc.lastWord.bytes(), next.bytes()); ok {
			return false
		}
	}
	switch sc.lastKind {
	case abbrItemMarker, abbrNeverEnds:
		return false
	case abbrBeforeNumber: // "No. 5", but "No. That"
		if sc.isVersus() {
			return c == clEnd
		}
		if sc.lastWord.n == 1 && sc.lastWord.b[0] <= 'Z' {
			// "S. 5", but "T. S. Eliot"
			return c == clEnd || c == clUpper && d.startsSentence(pos) && !d.isNameParticle(pos)
		}
		return c == clEnd || c == clUpper && !d.isNumeral(pos) || c == clLetter && d.startsSentence(pos)
	case abbrBeforeDigit:
		if c == clDigit {
			return false
		}
	case abbrMayEnd, abbrEndsName:
		return c == clEnd || c == clWide || (c == clUpper || c == clLetter) && d.startsSentence(pos) ||
			c == clUpper && d.endsName() && d.continuesSmall(pos)
	case abbrEndsList:
		return c == clEnd || c == clWide || c == clUpper && !d.isCurrency(pos) || c == clLetter
	case abbrTimeOfDay:
		return c == clEnd || c == clUpper && (d.startsSentence(pos) || sc.wordCount >= 5 && !d.isClockWord(pos))
	case abbrInitial:
		return c == clEnd || c == clUpper && (d.letterIsName() || d.startsSentence(pos) && !d.isNameParticle(pos))
	case abbrOrdinal:
		if string(sc.lastWord.bytes()) == "1" && bytes.HasSuffix(sc.priorWord.bytes(), []byte(":")) {
			return c == clEnd // a list begins: "Steps: 1. Go. 2. Stop."
		}
		if sc.isLabel() {
			return c == clEnd
		}
		if ordinal, sure := d.isOrdinal(pos, c); sure {
			return !ordinal
		}
	}
	// Rule SB8 of UAX #29: no sentence begins with a small letter. But an informal writer begins
	// every sentence so, and a script without capitals has none to begin with.
	return c != clLower || informal || sc.isCaseless(&sc.lastWord)
}

// endsTight reports whether a sentence ends in the newest marks, which a character of class c
// follows at pos, without white space. Where the text at pos belongs to the sentence before it, it
// returns false and extends that sentence over the text (attachUpTo).
func (d *detector) endsTight(pos int, c class) bool {
	sc := &d.scan
	m := &sc.marks
	if c == clOpen || c == clTag || c == clOther {
		if end, gap := d.skipAttached(pos); end > 0 {
			d.attachUpTo(end, gap)
			return false
		}
	}
	if c == clEmoji {
		if end, _ := d.skipPictures(pos); end > 0 && !d.pictureStartsSentence(pos) {
			d.attachUpTo(end, false)
			return false
		}
		return m.full && !d.pastEnd
	}

	switch {
	case m.full: // the script writes no white space behind the mark
		switch {
		case sc.stopInNumber(c), sc.last == '។' && d.isKhmerEtc(pos):
			return false
		case c == clOpenQuote: // it may close: Urdu has ” and “ the other way round
			end := pos
			for _, c, size := d.peek(end); c == clOpenQuote && end < pos+16; _, c, size = d.peek(end) {
				end += size
			}
			if d.isSpace(end) {
				d.attachUpTo(end, false)
				return false
			}
		case attached[c], c == clQuote, c == clFormat, c == clCloseQuote, c == clNote:
			return false
		case c == clEmphasis:
			return !sc.emphasis
		case m.closed && c == clWide:
			return !d.isJapaneseParticle(pos) && !d.continuesQuotation(pos, c) // 「はい。」と
		}
		return true
	case (m.question || m.exclamation) && m.wide && c == clWide:
		return true
	case m.ellipsis && c == clWide:
		return m.wide && sc.wideCount >= 4
	case m.isSingleStop() && m.wide && c == clWide:
		return true
	case m.ellipsis && m.closed && c == clOpen:
		r, _, _ := d.peekRune(pos)
		return r == '「' || r == '『'

	// The white space may be missing by mistake: "finished.The".
	case !sc.wordIsPlain || m.closed || m.ellipsis || m.stops > 1 || sc.word.n == 0:
		return false
	case c == clUpper:
		return d.startsJoined(pos)
	case c == clLetter && sc.prev != clDigit:
		w := d.wordAt(pos)
		return countLetters(&sc.word) >= 3 && countLetters(&w) >= 3
	}
	return false
}

// startsWord reports whether a word begins at r, of class c, though no white space stands in front.
// Every such place is a word boundary of UAX #29, but not every one of UAX #29 is such a place.
func (sc *scanner) startsWord(r rune, c class) bool {
	switch {
	case c == clWide:
		script, before := wideScript(r), wideScript(sc.last)
		switch {
		case script == hiragana || script == sameKana: // it goes on with the word, as okurigana do
			return false
		case sc.prev == clWide: // a run of katakana is one word
			return script == han || before != katakana && before != sameKana || script != katakana
		}
		return sc.prev == clUpper || sc.prev == clLower || sc.prev == clLetter || sc.prev == clDigit ||
			sc.prev == clClose || sc.prev == clCloseQuote
	case c == clUpper || c == clLower || c == clLetter || c == clDigit:
		return sc.prev == clWide || sc.prev == clWordSep
	}
	return false
}
