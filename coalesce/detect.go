package coalesce

import "strings"

// look decides what boundary stands at the place read, in front of a character of class c. It returns
// false if that must wait for more text.
func (s *Segmenter) look(c class) bool {
	sc, at := &s.scan, s.read.at
	switch c {
	case clSpace, clLine:
		s.note(atWord) // better than nothing, should the piece grow too long
		return true
	case clExtend:
		return true
	}
	if at < s.glue {
		return true
	}
	if sc.lines >= 2 && sc.formula() {
		sc.fence, sc.block = 0, prose // TeX has no blank line in a formula
	}
	if sc.lines > 0 && sc.fence != 0 && sc.inQuote {
		r, _, _ := s.rune(at)
		if s.ran {
			return false
		}
		if r != '>' {
			sc.fence, sc.block = 0, row // the quotation is over, and with it the code
		}
	}
	level, clause := 0, sc.clause != 0 && (sc.space || sc.clause == clFullClause && !attached[c])
	if sc.space || clause {
		level = atWord
	}
	switch m := &sc.marks; {
	case sc.fence != 0 && sc.lines > 0:
		s.note(atSentence)
	case sc.lines > 0 && sc.bare:
	case sc.lines >= 2:
		level = atParagraph
	case sc.lines == 1:
		if !s.wrapped(at, c) {
			level = atSentence
		}
	case at < s.hide || sc.hidden():
	case m.any:
		var end bool
		if sc.space {
			if end = s.endsSpaced(at, c); !sc.space {
				level = 0 // it closes what stands before the white space
			}
		} else {
			end = s.endsTight(at, c)
		}
		if end && s.glue <= at {
			level = atSentence
		}
	case sc.space && c != clLower && s.gesture(at):
		if r, _, _ := s.rune(at); r == '¿' || r == '¡' || c == clWide && sc.wides > 1 || (c == clUpper || c == clLetter) && (sc.face() || s.starts(at)) {
			level = atSentence
		}
	case c == clWide && sc.face() && sc.wides > 1 && !sc.pictured:
		if r, _, _ := s.rune(at); wideScript(r) == han && !strings.ContainsRune("的了和吧吗嗎啊呢", r) { // 好的👍明天见, but 点👍的人
			level = atSentence
		}
	}
	if c == clTag && sc.letter != 0 && sc.lines == 0 && at >= s.hide && !sc.hidden() && s.fenceBehind(at) {
		level = atSentence
		s.item = !s.ran
	}
	if level == atWord && sc.space && sc.lines == 0 && at >= s.hide && s.nextItem(at, c) {
		level = atSentence
		s.item = !s.ran
	}
	if s.ran {
		s.glue, s.item = 0, false
		return false
	}
	if level == 0 && sc.newWord(s.wide(at), c) {
		level = atWord
	}
	if level == 0 && !clause {
		return true
	}
	r, _, _ := s.peek(at)
	if at == len(s.buf) {
		r = s.next
	}
	if (level >= atSentence || level >= s.cut) && !clusterEdge(s.buf[:at], r) {
		return true
	}
	if s.boundary(level); clause && s.shown > 0 {
		s.lastWait = s.here()
	}
	return true
}

// wide returns the character at offset at if it is an ideograph or kana, joined marks or not.
func (s *Segmenter) wide(at int) rune {
	if at == len(s.buf) {
		return s.next
	}
	r, _, _ := s.peek(at)
	return r
}

// core finds the first character that is no opening quote, bracket or emphasis mark.
func (s *Segmenter) core(at int) (i int, c class) {
	i = at
	for n, before := 0, clOther; n < 8; n++ {
		var size int
		if _, c, size = s.peek(i); !opener[c] && c != clExtend && (c != clSpace || before != clOpenQuote) {
			break
		}
		i, before = i+size, c // « Vraiment » has spaces inside
	}
	if i > at && (c == clSpace || c == clLine || attached[c]) {
		c = clOther
	}
	return i, c
}

// endsSpaced says whether marks and white space in front of a character of class c end a sentence.
func (s *Segmenter) endsSpaced(at int, c class) bool {
	sc := &s.scan
	if c == clCloseQuote || c == clQuote { // « Vraiment ? » dit-il: it may close
		_, _, size := s.peek(at)
		if _, next, _ := s.peek(at + size); next == clSpace || next == clLine || next == clEnd || next == clClose || isMark[next] || next == clClause {
			sc.space = s.ran
			return false
		}
	}
	if c == clEmoji {
		switch end, next := s.emoji(at); {
		case next == clLine, next == clEnd, next == clSpace && !s.heads(at):
			s.attach(end, false)
			return false
		}
		return !s.ran
	}
	if c == clOpen || c == clClause || c == clTag {
		if r, _, _ := s.rune(at); r == '|' { // of a table
			return false
		}
		if end := s.aside(at); end > 0 {
			s.attach(end, false)
			return false
		}
	}
	if c == clOther {
		switch r, _, _ := s.rune(at); r {
		case '¿', '¡':
			if sc.marks.single() && !s.ran {
				return sc.kind != abBefore && sc.kind != abMarker
			}
		case '§': // 3. §
			if sc.kind == abOrdinal && sc.lang.ordinals() {
				return false
			}
		case '/', '№', '=', '%', '&', '×', '≈', '+':
			return false
		}
	}
	if c == clBang || c == clStop || c == clEllipsis {
		if i, next := s.lead(at, c); i > at {
			return s.ends(i, next)
		}
	}
	if c == clStop && sc.marks.single() && sc.loose == 0 && sc.done.n > 0 {
		return s.omission(at)
	}
	i, core := s.core(at)
	switch {
	case core == clContinue:
		return s.dialogue(i)
	case core == clLower && (!sc.marks.ask || sc.marks.closed) && (s.humped(i) || s.clipped(at, i)):
		core = clUpper
	}
	if i == at && attached[core] { // UAX #29, SB8a; and a closing bracket
		return false
	}
	return s.ends(i, core)
}

// ends says whether marks and white space end a sentence, if the next one begins at offset at with a
// character of class c.
func (s *Segmenter) ends(at int, c class) bool {
	sc := &s.scan
	m, informal := &sc.marks, c == clLower && sc.letter == clLower && sc.words >= 3 && !sc.marks.closed
	switch {
	case m.void && m.closed:
		return false
	case m.full && sc.last == '۔' && (sc.words == 1 || letters(&sc.done) == 1) && sc.initial():
		return c == clEnd // 2۔ begins an item
	case m.full && sc.last == '।' && sc.labelled():
		return c == clEnd
	case m.full:
		return !m.closed || (c != clWide && !m.query || !s.said(at, c)) && !s.quoted(at)
	case m.ask:
		return (c != clLower || !m.closed && !m.bang && !sc.turn || informal) && !(m.quoted && c != clLower && s.said(at, c)) // "Really?" Ada asked.
	case m.bang && !m.closed && c == clUpper && sc.lang.has(exclaimedNames, sc.done.bytes()):
		return s.starts(at)
	case m.bang:
		return (c != clLower || informal || sc.caseless(&sc.done) && !m.closed) && !(m.quoted && s.said(at, c))
	case (m.ellipsis || m.stops > 1) && m.quoted && s.said(at, c): // "Well..." Ada said.
		return false
	case m.ellipsis || m.stops > 1:
		return c == clUpper || c == clEnd || c == clTag || c == clWide && sc.wides >= 4 || c == clLetter && (sc.koreanEnd() || s.starts(at))
	}
	if c == clDigit && sc.caseless(&sc.done) && sc.dayBefore() && s.year(at) { // ৩ ফেব্রু. ২০২৬
		return false
	}
	if sc.loose == 3 { // words left out: . . .
		return false
	}
	if sc.lang.heads[string(sc.done.bytes())] && (c == clUpper || c == clLetter) { // z. B.
		next := s.wordAt(at)
		if _, ok := sc.lang.pair(sc.done.bytes(), next.bytes()); ok {
			return false
		}
	}
	switch sc.kind {
	case abMarker, abBefore:
		return false
	case abNumber: // "No. 5", but "No. That"
		if sc.versus() {
			return c == clEnd
		}
		if sc.done.n == 1 && sc.done.b[0] <= 'Z' {
			return c == clEnd || c == clUpper && s.starts(at) && !s.particle(at) // S. 5, but T. S. Eliot
		}
		return c == clEnd || c == clUpper && !s.numeral(at) || c == clLetter && s.starts(at)
	case abCut:
		if c == clDigit {
			return false
		}
	case abMay, abClose:
		return c == clEnd || c == clWide || (c == clUpper || c == clLetter) && s.starts(at) || c == clUpper && s.closed() && s.goesOnSmall(at)
	case abList:
		return c == clEnd || c == clWide || c == clUpper && !s.currency(at) || c == clLetter
	case abClock:
		return c == clEnd || c == clUpper && (s.starts(at) || sc.words >= 5 && !s.calendar(at))
	case abInitial:
		return c == clEnd || c == clUpper && (s.named() || s.starts(at) && !s.particle(at))
	case abOrdinal:
		if b := sc.before.bytes(); string(sc.done.bytes()) == "1" && len(b) > 0 && b[len(b)-1] == ':' { // a list begins: 1. Go. 2. Stop.
			return c == clEnd
		}
		if sc.labelled() {
			return c == clEnd
		}
		if ordinal, sure := s.ordinal(at, c); sure {
			return !ordinal
		}
	}
	// UAX #29, SB8; but who begins a sentence small will begin the next one small too, and a script without capitals has none to
	// begin with.
	return c != clLower || informal || sc.caseless(&sc.done)
}

// endsTight is endsSpaced without white space.
func (s *Segmenter) endsTight(at int, c class) bool {
	sc := &s.scan
	m := &sc.marks
	if c == clOpen || c == clTag || c == clOther {
		if end, gap := s.attachedTo(at); end > 0 {
			s.attach(end, gap)
			return false
		}
	}
	if c == clEmoji {
		if end, _ := s.emoji(at); end > 0 && !s.heads(at) {
			s.attach(end, false)
			return false
		}
		return m.full && !s.ran
	}
	switch {
	case m.full:
		switch {
		case sc.numeric(c), sc.last == '។' && s.andSoOn(at):
			return false
		case c == clOpenQuote: // ” and “ are the other way round in Urdu
			end := at
			for _, c, size := s.peek(end); c == clOpenQuote && end < at+16; _, c, size = s.peek(end) {
				end += size
			}
			if s.white(end) {
				s.attach(end, false)
				return false
			}
		case attached[c], c == clQuote, c == clFormat, c == clCloseQuote, c == clNote:
			return false
		case c == clEmphasis:
			return !sc.emphasis
		case m.closed && c == clWide:
			return !s.goesOn(at) && !s.said(at, c) // 「はい。」と
		}
		return true
	case (m.ask || m.bang) && m.wide && c == clWide:
		return true
	case m.ellipsis && c == clWide:
		return m.wide && sc.wides >= 4
	case m.single() && m.wide && c == clWide:
		return true
	case m.ellipsis && m.closed && c == clOpen:
		r, _, _ := s.rune(at)
		return r == '「' || r == '『'
	case !sc.plain || m.closed || m.ellipsis || m.stops > 1 || sc.word.n == 0:
		return false
	case c == clUpper:
		return s.joined(at)
	case c == clLetter && sc.prev != clDigit:
		w := s.wordAt(at)
		return letters(&sc.word) >= 3 && letters(&w) >= 3
	}
	return false
}

// newWord says whether a word begins at r with no white space in front. Every such place is a boundary of
// UAX #29 too, but not the other way round.
func (sc *scanner) newWord(r rune, c class) bool {
	switch {
	case c == clWide:
		now, before := wideScript(r), wideScript(sc.last)
		switch {
		case now == hiragana || now == sameKana:
			return false
		case sc.prev == clWide:
			return now == han || before != katakana && before != sameKana || now != katakana
		}
		return sc.prev == clUpper || sc.prev == clLower || sc.prev == clLetter || sc.prev == clDigit ||
			sc.prev == clClose || sc.prev == clCloseQuote
	case c == clUpper || c == clLower || c == clLetter || c == clDigit:
		return sc.prev == clWide || sc.prev == clWordSep
	}
	return false
}
