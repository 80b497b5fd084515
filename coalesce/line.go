package coalesce

import "strings"

// lineState is what a scanner knows of the line that it reads.
type lineState struct {
	lineStart    bool       // nothing visible of the line has been read
	block        block      // what the line is in Markdown
	onlyMarkers  bool       // nothing but markers of the line has been read
	dialogueTurn bool       // a dash has begun a sentence in the line, as in a dialogue
	lineWords    int        // words of the line, at most wordsEnough
	fenceRune    rune       // what fences the code or formula being read; 0 outside of both
	fenceLen     int        // characters of that fence; of TeX environments, how many are open
	inQuote      bool       // the code stands in a quotation, with > in front of each line
	itemMarker   listMarker // that of the item after the one the line begins with
	inTable      bool       // the line belongs to a table whose rows begin with no bar
}

// block is what a line is in Markdown.
type block uint8

const (
	prose    block = iota
	listItem       // it begins with the marker of an item
	quoted         // it begins with >
	heading        // a heading is one unit
	row            // a table's row, a code block's fence or a line of JSON: nothing in it ends a sentence
)

// insideBlock reports whether nothing in the line ends a sentence: it is code, a formula, a heading
// or a row.
func (sc *scanner) insideBlock() bool { return sc.fenceRune != 0 || sc.block >= heading }

// beginLine resets what is counted of a line. It is called at the line's first visible character.
func (sc *scanner) beginLine() {
	sc.lineStart, sc.lineWords, sc.indent, sc.dialogueTurn = false, 0, 0, false
}

// openLineOrSpan reads what begins at s.read: a line's markers, or code, a formula and the like,
// and hides it from the rules by hiddenUpTo. If pastEnd is set afterwards, it has changed nothing,
// and readArrived calls it again when more text has arrived.
func (s *Segmenter) openLineOrSpan() {
	sc, pos := &s.scan, s.read.offset
	if sc.lineStart || s.itemBegins {
		saved := sc.lineState
		fenced := sc.fenceRune != 0
		end := s.readLineMarkers(pos)
		if s.pastEnd {
			sc.lineState = saved
			return
		}
		if sc.lineStart {
			sc.beginLine()
		}
		if end > pos {
			s.hiddenUpTo = end
			sc.onlyMarkers = !fenced && sc.fenceRune == 0 && sc.block < heading
			return
		}
		if sc.insideBlock() {
			return
		}
	}
	if pos < s.hiddenUpTo || pos < s.attachedUpTo || sc.insideBlock() {
		return
	}

	end, tail := s.skipSpan(pos)
	if end == 0 && !s.pastEnd { // a formula may begin in the middle of a line
		if r, _, _ := s.peekRune(pos); (r == '$' || r == '\\') && sc.last != r {
			if i := pos + 2; s.isBlank(i) && s.openFormula(pos) == i {
				end = i
			}
		}
	}
	if s.pastEnd || end == 0 {
		return
	}

	// The span counts as a word that is too long to be compared.
	s.hiddenUpTo, sc.onlyMarkers = end, false
	sc.endMarks(clOther, sc.marks.any && !sc.space)
	if sc.firstLetter == 0 {
		sc.firstLetter = clOther
	}
	sc.word.n = len(sc.word.b) + 1
	sc.hiddenTail = tail
}

// readLineMarkers reads the markers at the beginning of a line, at most six, as in "> - 1. text",
// sets the line's state to what the line is (prose, item, heading, row …), and returns the offset
// after them. In a code block or formula the only marker is its end.
func (d *detector) readLineMarkers(pos int) int {
	sc := &d.scan
	if sc.inFormula() {
		return d.closeFormula(pos)
	}
	if sc.fenceRune != 0 {
		return d.closeCodeBlock(pos)
	}

	sc.block, sc.itemMarker, sc.inQuote = prose, listMarker{}, false
	if sc.inTable {
		bar, _ := d.findInLine(pos, "|", maxSpan)
		if sc.inTable = bar > 0 && sc.lines < 2; sc.inTable {
			sc.block = row
			return pos
		}
	}
	end := pos
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
		end = d.skipSpaces(end)
	}
	return end
}

// skipSpaces returns the offset behind the spaces at pos, or pos if there are none.
func (l *lookahead) skipSpaces(pos int) int {
	for {
		_, c, size := l.peek(pos)
		if c != clSpace || size == 0 {
			return pos
		}
		pos += size
	}
}

// closeCodeBlock returns the offset after the fence that ends the open code block, and leaves the
// block in the line's state, if the line at pos begins with that fence. Else it returns pos.
func (d *detector) closeCodeBlock(pos int) int {
	sc := &d.scan
	fence := pos
	if sc.inQuote {
		fence = d.skipQuoteMarks(pos)
	}
	switch n, end := d.countRepeated(fence, sc.fenceRune); {
	case n < sc.fenceLen:
		return pos
	case d.isBlank(end):
		sc.fenceRune, sc.block = 0, row
		return end
	case d.isSpace(end): // text behind the fence is a slip, but nothing else would end the code
		sc.fenceRune, sc.block, sc.hiddenTail = 0, prose, clFull
		return end
	}
	return pos
}

// openCodeBlock returns the offset after the fence, three or more of r, that begins a code block at
// pos, and enters that block in the line's state. It returns pos if none begins there.
func (d *detector) openCodeBlock(pos int, r rune) int {
	n, end := d.countRepeated(pos, r)
	if n < 3 {
		return pos
	}
	const longestInfo = 80 // code points of the line looked at behind the fence
	for i, k := end, 0; k < longestInfo; k++ {
		inner, c, size := d.peekRune(i)
		if r == '`' && inner == '`' {
			return pos // it is inline code
		}
		if c == clLine || size == 0 {
			break
		}
		i += size
	}
	d.scan.fenceRune, d.scan.fenceLen = r, n
	return end
}

// readLineMarker reads one marker at the beginning of a line, such as >, #, - or "1.", into the
// line's state, and returns the offset after it, or pos if there is none. openLineOrSpan calls it
// until it returns pos. It also opens code blocks, formulas and tables that begin here.
func (d *detector) readLineMarker(pos int) int {
	sc := &d.scan
	r, c, size := d.peekRune(pos)
	switch r {
	case '>':
		sc.block = quoted
		return pos + 1
	case '|':
		sc.block = row
		return pos + 1
	case '#':
		if n, end := d.countRepeated(pos, '#'); n <= 6 && d.isSpace(end) {
			sc.block = heading
			return end
		}
		return pos
	case '$', '\\':
		return d.openFormula(pos)
	case '"', '{', '[':
		if d.startsJSON(pos) {
			sc.block = row
			return pos + 1
		}
		return pos
	case '`', '~':
		return d.openCodeBlock(pos, r)
	case ':':
		d.delimitsTable(pos)
		return pos
	case '-', '*', '+', '•', '⁃', '◦', '▪', '‣', '●', '○', '■', '–', '·':
		return d.readBullet(pos, r, size)
	}
	if c == clDigit || c == clOpen || isLetter[c] {
		return d.readNumberMarker(pos)
	}
	return pos
}

// readBullet reads the bullet r, of size bytes, of a list item at pos, and the check box behind it,
// into the line's state. It returns the offset after them, or pos where r is no bullet: a dash may
// begin the line below a table's head, and a sign may belong to the word behind it.
func (d *detector) readBullet(pos int, r rune, size int) int {
	if r == '-' && d.delimitsTable(pos) {
		return pos
	}
	isSymbol := r > 0xFF && r != '–' // such as •, behind which a digit may stand without a space
	if _, next, _ := d.peek(pos + size); !d.isSpace(pos+size) && (next != clDigit || !isSymbol) {
		return pos
	}
	d.scan.block = listItem
	if isSymbol {
		d.scan.itemMarker.bullet = r
	}
	return d.skipCheckbox(pos + size)
}

// readNumberMarker reads the number or letter of a list item at pos, such as "1." or "(a)", into
// the line's state, with what the next item has. It returns the offset after it, or pos if there is
// none.
func (d *detector) readNumberMarker(pos int) int {
	sc := &d.scan
	if sc.itemMarker.letter && sc.itemMarker.close == "." { // the initials of a name: H. G. Wells
		return pos
	}
	marker, end := d.readItemMarker(pos)
	if end > pos {
		sc.block = listItem
		marker.bullet = sc.itemMarker.bullet
		marker.number++
		sc.itemMarker = marker
	}
	return end
}

// delimitsTable reports whether the line at pos is the one below the head of a table whose rows
// begin with no bar: --- | :-: | ---. If it is, the line's state becomes that of a table.
func (d *detector) delimitsTable(pos int) bool {
	bars := 0
	for range maxSpan {
		r, c, size := d.peekRune(pos)
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
		pos += size
	}
	return false
}

// isWrapped reports whether the line end in front of pos, where a character of class c stands, was
// made by wrapping prose, so that the sentence goes on over it. It takes several words in the line
// and a small letter in the next one; lists and quotations have rules of their own.
func (d *detector) isWrapped(pos int, c class) bool {
	sc := &d.scan
	if sc.marks.any || sc.insideBlock() || sc.onlyMarkers {
		return false
	}
	if c == clWide { // no sentence ends with such a particle or comma
		return sc.prev == clWide && strings.ContainsRune("のをはが", sc.last) || sc.last == '、' || sc.last == '，'
	}
	if sc.block == listItem && sc.indent >= indentEnough && c == clLower && sc.lineWords > 0 {
		_, _, size := d.peek(pos)
		_, next, _ := d.peek(pos + size)
		return next != clClose && next != clStop
	}
	if sc.last == ':' || sc.lineWords < wordsEnough {
		return false
	}
	if sc.firstLetter != clUpper && sc.firstLetter != clOther && sc.firstLetter != clDigit {
		return false
	}
	if sc.block == quoted {
		if r, _, _ := d.peekRune(pos); r != '>' {
			return false
		}
		for pos++; ; pos++ {
			if _, c, _ = d.peek(pos); c != clSpace {
				break
			}
		}
	} else if sc.block == listItem {
		return false
	}
	if c != clLower {
		return false
	}
	w := d.wordAt(pos)
	r, next, _ := d.peekRune(pos + w.n)
	item := countLetters(&w) == 1 && (next == clClose || next == clStop) // "a)" or "a."
	return r != ':' && !item                                             // "name: value" is no prose
}
