package coalesce

import "strings"

// lineState is what a scanner knows of the line that it reads.
type lineState struct {
	lineStart    bool  // nothing visible of the line has been read
	block        block // what the line is in Markdown
	onlyMarkers  bool  // nothing but markers of the line has been read
	dialogueTurn bool  // a dash has begun a sentence in the line, as in a dialogue
	lineWords    int   // words of the line, at most wordsEnough
	fenceRune    rune  // what fences the code or formula being read; 0 outside of both
	fenceLen     int
	inQuote      bool       // the code stands in a quotation, with > in front of each line
	itemMarker   listMarker // that of the item after the one the line begins with
	inTable      bool       // the line belongs to a table whose rows begin with no bar
}

// block is what a line is in Markdown.
type block uint8

const (
	prose block = iota
	listItem
	quoted
	heading // a heading is one unit
	row     // a table's row, a code block's fence or a line of JSON: nothing in it ends a sentence
)

// insideBlock reports whether nothing in the line ends a sentence.
func (sc *scanner) insideBlock() bool { return sc.fenceRune != 0 || sc.block >= heading }

// beginLine is called at a line's first visible character.
func (sc *scanner) beginLine() {
	sc.lineStart, sc.lineWords, sc.indent, sc.dialogueTurn = false, 0, 0, false
}

// openLineOrSpan reads what begins at s.read: a line's markers, or code, a formula and the like. It
// hides them from the rules. If pastEnd is set afterwards, it has changed nothing.
func (s *Segmenter) openLineOrSpan() {
	sc, at := &s.scan, s.read.offset
	if sc.lineStart || s.itemBegins {
		saved := sc.lineState
		fenced := sc.fenceRune != 0
		end := s.readLineMarkers(at)
		if s.pastEnd {
			sc.lineState = saved
			return
		}
		if sc.lineStart {
			sc.beginLine()
		}
		if end > at {
			s.hiddenUpTo = end
			sc.onlyMarkers = !fenced && sc.fenceRune == 0 && sc.block < heading
			return
		}
		if sc.insideBlock() {
			return
		}
	}
	if at < s.hiddenUpTo || at < s.attachedUpTo || sc.insideBlock() {
		return
	}
	end, tail := s.skipSpan(at)
	if end == 0 && !s.pastEnd { // a formula may begin in the middle of a line
		if r, _, _ := s.peekRune(at); (r == '$' || r == '\\') && sc.last != r {
			if i := at + 2; s.isBlank(i) && s.openFormula(at) == i {
				end = i
			}
		}
	}
	if s.pastEnd || end == 0 {
		return
	}
	s.hiddenUpTo, sc.onlyMarkers = end, false
	sc.endMarks(clOther, sc.marks.any && !sc.space)
	if sc.firstLetter == 0 {
		sc.firstLetter = clOther
	}
	sc.word.n = len(sc.word.b) + 1
	sc.hiddenTail = tail
}

// readLineMarkers reads the markers at the beginning of a line, at most six, and returns the offset
// behind them. In a code block or formula the only marker is its end.
func (d *detector) readLineMarkers(at int) int {
	sc := &d.scan
	if sc.inFormula() {
		return d.closeFormula(at)
	}
	if sc.fenceRune != 0 {
		i := at
		if sc.inQuote {
			i = d.skipQuoteMarks(at)
		}
		switch n, end := d.countRepeated(i, sc.fenceRune); {
		case n < sc.fenceLen:
			return at
		case d.isBlank(end):
			sc.fenceRune, sc.block = 0, row
			return end
		case d.isSpace(end): // text behind the fence is a slip, but nothing else would end the code
			sc.fenceRune, sc.block, sc.hiddenTail = 0, prose, clFull
			return end
		}
		return at
	}
	sc.block, sc.itemMarker, sc.inQuote = prose, listMarker{}, false
	if sc.inTable {
		bar, _ := d.findInLine(at, "|", maxSpan)
		if sc.inTable = bar > 0 && sc.lines < 2; sc.inTable {
			sc.block = row
			return at
		}
	}
	end := at
	for range 6 {
		next := d.readLineMarker(end)
		if next == end {
			break
		}
		end = next
		if sc.fenceRune != 0 || sc.block == row {
			break
		}
		sc.inQuote = sc.inQuote || sc.block == quoted
		for i := end; ; {
			_, c, size := d.peek(i)
			if i += size; c != clSpace || size == 0 {
				break
			}
			end = i
		}
	}
	return end
}

// readLineMarker reads one marker of a line and returns the offset behind it, or at if there is
// none. It notes in the line's state what the marker says.
func (d *detector) readLineMarker(at int) int {
	sc := &d.scan
	r, c, size := d.peekRune(at)
	switch r {
	case '>':
		sc.block = quoted
		return at + 1
	case '|':
		sc.block = row
		return at + 1
	case '#':
		if n, end := d.countRepeated(at, '#'); n <= 6 && d.isSpace(end) {
			sc.block = heading
			return end
		}
		return at
	case '$', '\\':
		return d.openFormula(at)
	case '"', '{', '[':
		if d.startsJSON(at) {
			sc.block = row
			return at + 1
		}
		return at
	case '`', '~':
		n, end := d.countRepeated(at, r)
		if n < 3 {
			return at
		}
		for i, k := end, 0; k < 80; k++ {
			inner, c, size := d.peekRune(i)
			if r == '`' && inner == '`' {
				return at // it is inline code
			}
			if c == clLine || size == 0 {
				break
			}
			i += size
		}
		sc.fenceRune, sc.fenceLen = r, n
		return end
	case ':':
		d.delimitsTable(at)
		return at
	case '-', '*', '+', '•', '⁃', '◦', '▪', '‣', '●', '○', '■', '–', '·':
		if r == '-' && d.delimitsTable(at) {
			return at
		}
		if _, next, _ := d.peek(at + size); !d.isSpace(at+size) && (next != clDigit || r <= 0xFF || r == '–') {
			return at
		}
		sc.block = listItem
		if r > 0xFF && r != '–' {
			sc.itemMarker.bullet = r
		}
		return d.skipCheckbox(at + size)
	}
	if c == clDigit || c == clOpen || isLetter[c] {
		if sc.itemMarker.letter && sc.itemMarker.close == "." { // the initials of a name: H. G. Wells
			return at
		}
		if it, end := d.readItemMarker(at); end > at {
			sc.block = listItem
			it.bullet = sc.itemMarker.bullet
			it.number++
			sc.itemMarker = it
			return end
		}
	}
	return at
}

// delimitsTable reports whether the line at offset at is the one below the head of a table whose
// rows begin with no bar: --- | :-: | ---. If it is, delimitsTable notes that.
func (d *detector) delimitsTable(at int) bool {
	bars := 0
	for range maxSpan {
		r, c, size := d.peekRune(at)
		switch {
		case c == clLine, c == clEnd:
			if bars > 0 {
				d.scan.block, d.scan.inTable = row, true
			}
			return bars > 0
		case r == '|':
			bars++
		case r != '-' && r != ':' && c != clSpace:
			return false
		}
		at += size
	}
	return false
}

// isWrapped reports whether the line end in front of offset at, where a character of class c
// stands, was made by wrapping prose.
func (d *detector) isWrapped(at int, c class) bool {
	sc := &d.scan
	if sc.marks.any || sc.insideBlock() || sc.onlyMarkers {
		return false
	}
	if c == clWide { // no sentence ends with such a particle or comma
		return sc.prev == clWide && strings.ContainsRune("のをはが", sc.last) || sc.last == '、' || sc.last == '，'
	}
	if sc.block == listItem && sc.indent >= indentEnough && c == clLower && sc.lineWords > 0 {
		_, _, size := d.peek(at)
		_, next, _ := d.peek(at + size)
		return next != clClose && next != clStop
	}
	if sc.last == ':' || sc.lineWords < wordsEnough {
		return false
	}
	if sc.firstLetter != clUpper && sc.firstLetter != clOther && sc.firstLetter != clDigit {
		return false
	}
	if sc.block == quoted {
		if r, _, _ := d.peekRune(at); r != '>' {
			return false
		}
		for at++; ; at++ {
			if _, c, _ = d.peek(at); c != clSpace {
				break
			}
		}
	} else if sc.block == listItem {
		return false
	}
	if c != clLower {
		return false
	}
	w := d.wordAt(at)
	r, next, _ := d.peekRune(at + w.n)
	item := countLetters(&w) == 1 && (next == clClose || next == clStop) // "a)" or "a."
	return r != ':' && !item                                             // "name: value" is no prose
}
