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
	if sc.lines == 0 && pos >= s.hiddenUpTo && s.beginsInMidLine(pos, c, level) {
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

// beginsInMidLine reports whether something begins at pos that stands at the beginning of a line
// elsewhere: a code block, or the next item of a list. c is the class of the character there, and
// level that of the boundary before it so far. decideBoundary calls it.
func (s *Segmenter) beginsInMidLine(pos int, c class, level int) bool {
	sc := &s.scan
	if c == clTag && sc.firstLetter != 0 && !sc.insideBlock() && s.opensFence(pos) {
		return true
	}
	return level == atWord && sc.space && s.startsNextItem(pos, c)
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
	switch {
	case sc.fenceRune != 0 && sc.lines > 0:
		s.noteCut(atSentence) // Yield may cut behind a line of code
	case sc.lines > 0 && sc.onlyMarkers: // an item's marker stays with the text of the next line
	case sc.lines >= 2:
		return atParagraph
	case sc.lines == 1:
		if !s.isWrapped(pos, c) {
			return atSentence
		}
	case pos < s.hiddenUpTo || sc.insideBlock():
	case sc.marks.any:
		return s.levelBehindMarks(pos, c, level)
	case sc.space && c != clLower && s.followsGesture(pos):
		if s.startsBehindGesture(pos, c) {
			return atSentence
		}
	case c == clWide && sc.isFace() && sc.wideCount > 1 && !sc.beganWithPicture:
		r, _, _ := s.peekRune(pos)
		if wideScript(r) == han && !strings.ContainsRune("的了和吧吗嗎啊呢", r) { // 好的👍明天见, but 点👍的人
			return atSentence
		}
	}
	return level
}

// levelBehindMarks is levelBefore where final marks stand before pos.
func (s *Segmenter) levelBehindMarks(pos int, c class, level int) int {
	var ends bool
	if s.scan.space {
		ends = s.endsSpaced(pos, c)
		if !s.scan.space {
			level = 0 // the character closes what stands before the white space
		}
	} else {
		ends = s.endsTight(pos, c)
	}
	if ends && s.attachedUpTo <= pos {
		return atSentence
	}
	return level
}

// startsBehindGesture reports whether a sentence begins at pos, with a character of class c, behind
// a picture and white space.
func (s *Segmenter) startsBehindGesture(pos int, c class) bool {
	r, _, _ := s.peekRune(pos)
	switch {
	case r == '¿', r == '¡':
		return true
	case c == clWide:
		return s.scan.wideCount > 1
	case c == clUpper, c == clLetter:
		return s.scan.isFace() || s.startsSentence(pos)
	}
	return false
}

// endsSpaced reports whether a sentence ends in the newest marks, which white space follows and
// then, at pos, a character of class c. Where the text at pos belongs to the sentence before it, it
// returns false and extends that sentence over the text (attachUpTo), or clears sc.space for a
// closing quote. The result counts only where pastEnd is still unset.
func (d *detector) endsSpaced(pos int, c class) bool {
	sc := &d.scan
	switch c {
	case clCloseQuote, clQuote:
		if d.closesBehindSpace(pos) {
			sc.space = d.pastEnd // once that is sure, the space counts as a part of the quotation
			return false
		}
	case clEmoji:
		return d.endsBeforePictures(pos)
	case clOpen, clClause, clTag:
		if r, _, _ := d.peekRune(pos); r == '|' { // the cell of a table ends
			return false
		}
		if end := d.skipAside(pos); end > 0 {
			d.attachUpTo(end, false)
			return false
		}
	case clOther:
		if ends, sure := d.endsBeforeSign(pos); sure {
			return ends
		}
	case clBang, clStop, clEllipsis:
		if i, next := d.skipLeadingMark(pos, c); i > pos {
			return d.endsBefore(i, next)
		}
	}
	if c == clStop && sc.marks.isSingleStop() && sc.looseStops == 0 && sc.lastWord.n > 0 {
		return d.isOmission(pos)
	}

	i, core := d.skipOpeners(pos)
	if core == clContinue {
		return d.dashStartsTurn(i)
	}
	smallMayStart := core == clLower && (!sc.marks.question || sc.marks.closed)
	if smallMayStart && (d.isMixedCase(i) || d.isClipped(pos, i)) { // as iPhone and 'tis do
		core = clUpper
	}
	if i == pos && attached[core] { // rule SB8a of UAX #29, and closing brackets
		return false
	}
	return d.endsBefore(i, core)
}

// closesBehindSpace reports whether the quotation mark at pos, which white space stands before,
// closes what is before that, as in « Vraiment ? » dit-il: white space or a mark follows it.
func (d *detector) closesBehindSpace(pos int) bool {
	_, _, size := d.peek(pos)
	_, next, _ := d.peek(pos + size)
	switch next {
	case clSpace, clLine, clEnd, clClose, clClause:
		return true
	}
	return isMark[next]
}

// endsBeforePictures is endsSpaced where pictures stand at pos. Pictures that end the text or the
// line, or that white space follows, belong to the sentence before them, unless they begin one.
func (d *detector) endsBeforePictures(pos int) bool {
	end, next := d.skipPictures(pos)
	if next == clLine || next == clEnd || next == clSpace && !d.pictureStartsSentence(pos) {
		d.attachUpTo(end, false)
		return false
	}
	return !d.pastEnd
}

// endsBeforeSign reports whether a sentence ends before the sign at pos, which is of clOther, where
// the sign tells; else sure is false.
func (d *detector) endsBeforeSign(pos int) (ends, sure bool) {
	sc := &d.scan
	switch r, _, _ := d.peekRune(pos); r {
	case '¿', '¡':
		if sc.marks.isSingleStop() && !d.pastEnd {
			return sc.lastKind != abbrNeverEnds && sc.lastKind != abbrItemMarker, true
		}
	case '§': // "3. §" is the third section
		return false, sc.lastKind == abbrOrdinal && sc.lang.hasOrdinals()
	case '/', '№', '=', '%', '&', '×', '≈', '+':
		return false, true
	}
	return false, false
}

// endsBefore reports whether a sentence ends in the marks read last, if the next one would begin at
// pos, with a character of class c. Openers and leading marks have been skipped by the caller. The
// first case that fits the marks decides; a single full stop fits none and is left to
// endsAfterStop.
func (d *detector) endsBefore(pos int, c class) bool {
	m := &d.scan.marks
	switch {
	case m.omission && m.closed:
		return false
	case m.full:
		return d.endsAfterFull(pos, c)
	case m.question:
		return d.endsAfterQuestion(pos, c)
	case m.exclamation:
		return d.endsAfterExclamation(pos, c)
	case m.ellipsis || m.stops > 1:
		return d.endsAfterEllipsis(pos, c)
	}
	return d.endsAfterStop(pos, c)
}

// endsAfterFull decides for endsBefore behind a mark of a script that writes no space behind it.
func (d *detector) endsAfterFull(pos int, c class) bool {
	sc := &d.scan
	m := &sc.marks
	mayBeInitial := sc.last == '۔' && (sc.wordCount == 1 || countLetters(&sc.lastWord) == 1)
	if mayBeInitial && sc.isInitial() || sc.last == '।' && sc.isLabel() {
		return c == clEnd // "2۔" begins an item
	}
	if !m.closed {
		return true
	}
	mayGoOn := c == clWide || m.fullQuestion
	if mayGoOn && d.continuesQuotation(pos, c) {
		return false
	}
	return !d.continuesAnyQuotation(pos)
}

// endsAfterQuestion decides for endsBefore behind a question mark.
func (d *detector) endsAfterQuestion(pos int, c class) bool {
	sc := &d.scan
	m := &sc.marks
	if c == clLower {
		isPlain := !m.closed && !m.exclamation && !sc.dialogueTurn
		return isPlain || sc.writesInformally(c)
	}
	continues := m.quoted && d.continuesQuotation(pos, c) // "Really?" Ada asked.
	return !continues
}

// endsAfterExclamation decides for endsBefore behind an exclamation mark, which may also be a part
// of a name.
func (d *detector) endsAfterExclamation(pos int, c class) bool {
	sc := &d.scan
	m := &sc.marks
	if !m.closed && c == clUpper && sc.lang.has(exclaimedNames, sc.lastWord.bytes()) {
		return d.startsSentence(pos)
	}
	mayStart := c != clLower || sc.writesInformally(c) || sc.isCaseless(&sc.lastWord) && !m.closed
	if !mayStart {
		return false
	}
	continues := m.quoted && d.continuesQuotation(pos, c)
	return !continues
}

// endsAfterEllipsis decides for endsBefore behind an ellipsis or several full stops, which more
// often go on with the sentence than end it.
func (d *detector) endsAfterEllipsis(pos int, c class) bool {
	sc := &d.scan
	if sc.marks.quoted && d.continuesQuotation(pos, c) { // "Well..." Ada said.
		return false
	}
	switch c {
	case clUpper, clEnd, clTag:
		return true
	case clWide:
		return sc.wideCount >= 4
	case clLetter:
		return sc.hasKoreanEnding() || d.startsSentence(pos)
	}
	return false
}

// writesInformally reports whether the writer seems to begin sentences with small letters, where c
// is the class of the next letter.
func (sc *scanner) writesInformally(c class) bool {
	return c == clLower && sc.firstLetter == clLower && sc.wordCount >= 3 && !sc.marks.closed
}

// endsAfterStop decides for endsBefore where the marks are a single full stop: by the kind of the
// word before it, and by the text at pos, of class c. At the end of all text c is clEnd, and most
// abbreviations end there.
func (d *detector) endsAfterStop(pos int, c class) bool {
	sc := &d.scan
	if c == clDigit && sc.isCaseless(&sc.lastWord) && sc.followsDay() && d.isYear(pos) { // ৩ ফেব্রু. ২০২৬
		return false
	}
	if sc.looseStops == 3 { // ". . ." stands for words left out
		return false
	}
	if (c == clUpper || c == clLetter) && d.isFirstPart(pos) {
		return false
	}
	switch sc.lastKind {
	case abbrItemMarker, abbrNeverEnds:
		return false
	case abbrBeforeNumber:
		return d.endsAfterNumberWord(pos, c)
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
		beginsList := string(sc.lastWord.bytes()) == "1" && bytes.HasSuffix(sc.priorWord.bytes(), []byte(":"))
		if beginsList || sc.isLabel() { // "Steps: 1. Go. 2. Stop."
			return c == clEnd
		}
		if ordinal, sure := d.isOrdinal(pos, c); sure {
			return !ordinal
		}
	}
	// Rule SB8 of UAX #29: no sentence begins with a small letter. But an informal writer begins
	// every sentence so, and a script without capitals has none to begin with.
	return c != clLower || sc.writesInformally(c) || sc.isCaseless(&sc.lastWord)
}

// isFirstPart reports whether the last word and the one at pos are the two parts of one
// abbreviation, such as z. B.
func (d *detector) isFirstPart(pos int) bool {
	sc := &d.scan
	if !sc.lang.firstParts[string(sc.lastWord.bytes())] {
		return false
	}
	next := d.wordAt(pos)
	_, ok := sc.lang.classifyPair(sc.lastWord.bytes(), next.bytes())
	return ok
}

// endsAfterNumberWord decides for endsAfterStop behind a word that mostly stands before a number:
// "No. 5", but "No. That".
func (d *detector) endsAfterNumberWord(pos int, c class) bool {
	sc := &d.scan
	if c == clEnd {
		return true
	}
	if sc.isVersus() {
		return false
	}
	isCapital := sc.lastWord.n == 1 && sc.lastWord.b[0] <= 'Z'
	switch {
	case isCapital: // "S. 5", but "T. S. Eliot"
		return c == clUpper && d.startsSentence(pos) && !d.isNameParticle(pos)
	case c == clUpper:
		return !d.isNumeral(pos)
	case c == clLetter:
		return d.startsSentence(pos)
	}
	return false
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
		return d.endsTightAfterFull(pos, c)
	case (m.question || m.exclamation) && m.wide && c == clWide:
		return true
	case m.ellipsis && c == clWide:
		return m.wide && sc.wideCount >= 4
	case m.isSingleStop() && m.wide && c == clWide:
		return true
	case m.ellipsis && m.closed && c == clOpen:
		r, _, _ := d.peekRune(pos)
		return r == '「' || r == '『'
	}

	// The white space may be missing by mistake: "finished.The".
	mayLackSpace := sc.wordIsPlain && sc.word.n > 0 && !m.closed && !m.ellipsis && m.stops <= 1
	switch {
	case mayLackSpace && c == clUpper:
		return d.startsJoined(pos)
	case mayLackSpace && c == clLetter && sc.prev != clDigit:
		w := d.wordAt(pos)
		return countLetters(&sc.word) >= 3 && countLetters(&w) >= 3
	}
	return false
}

// endsTightAfterFull is endsTight behind a mark of a script that writes no white space behind it.
func (d *detector) endsTightAfterFull(pos int, c class) bool {
	sc := &d.scan
	switch {
	case sc.stopInNumber(c), sc.last == '។' && d.isKhmerEtc(pos):
		return false
	case c == clOpenQuote: // it may close: Urdu has ” and “ the other way round
		end := d.skipOpenQuotes(pos)
		if d.isSpace(end) {
			d.attachUpTo(end, false)
			return false
		}
	case attached[c], c == clQuote, c == clFormat, c == clCloseQuote, c == clNote:
		return false
	case c == clEmphasis:
		return !sc.emphasis
	case sc.marks.closed && c == clWide:
		return !d.isJapaneseParticle(pos) && !d.continuesQuotation(pos, c) // 「はい。」と
	}
	return true
}

// skipOpenQuotes returns the offset behind the opening quotation marks at pos, as far as they are
// looked at.
func (d *detector) skipOpenQuotes(pos int) int {
	end := pos
	for end < pos+16 {
		_, c, size := d.peek(end)
		if c != clOpenQuote {
			break
		}
		end += size
	}
	return end
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
