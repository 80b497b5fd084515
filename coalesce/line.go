package coalesce

// lineState is what a scanner knows of the line it is in.
type lineState struct {
	lineStart bool  // nothing visible has been read of it
	block     block // what it is
	bare      bool  // nothing but markers has been read of it
	turn      bool  // a dash has begun a sentence in it, as in a dialogue
	lineWords int   // at most long
	fence     rune  // the character that fences the code being read; else 0
	fenceLen  int
	inQuote   bool       // the code is in a quotation, > in front of each line
	list      listMarker // the list item it begins with
	table     bool       // it is of a table whose rows begin with no bar
}

// block is what a line is in Markdown.
type block uint8

const (
	prose block = iota
	listItem
	quoted
	heading // one unit, whatever is in it
	row     // of a table, or a code block's fence: nothing in it ends a sentence
)

// hidden says whether the line has no sentences in it.
func (sc *scanner) hidden() bool { return sc.fence != 0 || sc.block >= heading }

// beginLine is called with a line's first visible character.
func (sc *scanner) beginLine() {
	sc.lineStart, sc.lineWords, sc.indent, sc.turn = false, 0, 0, false
}

// open looks what begins at the place read: a line's marker, or something without sentences.
func (s *Segmenter) open() {
	sc, at := &s.scan, s.read.at
	if sc.lineStart || s.item {
		saved := sc.lineState
		fenced := sc.fence != 0
		end := s.prefix(at)
		if s.ran {
			sc.lineState = saved
			return
		}
		if sc.lineStart {
			sc.beginLine()
		}
		if end > at {
			s.hide = end
			sc.bare = !fenced && sc.fence == 0 && sc.block < heading
			return
		}
		if sc.hidden() {
			return
		}
	}
	if at < s.hide || at < s.glue || sc.hidden() {
		return
	}
	end, tail := s.span(at)
	if end == 0 && !s.ran { // a formula that begins behind its sentence
		if r, _, _ := s.rune(at); (r == '$' || r == '\\') && sc.last != r {
			if i := at + 2; s.blank(i) && s.formulaOpens(at) == i {
				end = i
			}
		}
	}
	if s.ran || end == 0 {
		return
	}
	s.hide, sc.bare = end, false
	sc.text(clOther, sc.marks.any && !sc.space)
	if sc.letter == 0 {
		sc.letter = clOther
	}
	sc.word.n = len(sc.word.b) + 1
	sc.tail = tail
}

// prefix reads the markers at the beginning of a line and returns the offset behind them.
func (s *Segmenter) prefix(at int) int {
	sc := &s.scan
	if sc.formula() {
		return s.formulaCloses(at)
	}
	if sc.fence != 0 {
		i := at
		if sc.inQuote {
			i = s.behindQuote(at)
		}
		switch n, end := s.repeated(i, sc.fence); {
		case n < sc.fenceLen:
			return at
		case s.blank(end):
			sc.fence, sc.block = 0, row
			return end
		case s.white(end): // text goes on behind the fence: a slip, but else nothing would ever end the code
			sc.fence, sc.block, sc.tail = 0, prose, clFull
			return end
		}
		return at
	}
	sc.block, sc.list, sc.inQuote = prose, listMarker{}, false
	if sc.table {
		bar, _ := s.find(at, "|", longest)
		if sc.table = bar > 0 && sc.lines < 2; sc.table {
			sc.block = row
			return at
		}
	}
	end := at
	for range 6 {
		next := s.marker(end)
		if next == end {
			break
		}
		end = next
		if sc.fence != 0 || sc.block == row {
			break
		}
		sc.inQuote = sc.inQuote || sc.block == quoted
		for i := end; ; {
			_, c, size := s.peek(i)
			if i += size; c != clSpace || size == 0 {
				break
			}
			end = i
		}
	}
	return end
}

// marker reads one marker.
func (s *Segmenter) marker(at int) int {
	sc := &s.scan
	r, c, size := s.rune(at)
	switch r {
	case '>':
		sc.block = quoted
		return at + 1
	case '|':
		sc.block = row
		return at + 1
	case '#':
		if n, end := s.repeated(at, '#'); n <= 6 && s.white(end) {
			sc.block = heading
			return end
		}
		return at
	case '$', '\\':
		return s.formulaOpens(at)
	case '"', '{', '[':
		if s.member(at) {
			sc.block = row
			return at + 1
		}
		return at
	case '`', '~':
		n, end := s.repeated(at, r)
		if n < 3 {
			return at
		}
		for i, k := end, 0; k < 80; k++ {
			inner, c, size := s.rune(i)
			if r == '`' && inner == '`' {
				return at // inline code
			}
			if c == clLine || size == 0 {
				break
			}
			i += size
		}
		sc.fence, sc.fenceLen = r, n
		return end
	case ':':
		s.delimits(at)
		return at
	case '-', '*', '+', '•', '⁃', '◦', '▪', '‣', '●', '○', '■', '–', '·':
		if r == '-' && s.delimits(at) {
			return at
		}
		if _, next, _ := s.peek(at + size); !s.white(at+size) && (next != clDigit || r <= 0xFF || r == '–') {
			return at
		}
		sc.block = listItem
		if r > 0xFF && r != '–' {
			sc.list.bullet = r
		}
		return s.checkbox(at + size)
	}
	if c == clDigit || c == clOpen || isLetter[c] {
		if sc.list.letter && sc.list.close == "." { // H. G. Wells
			return at
		}
		if it, end := s.numbered(at); end > at {
			sc.block = listItem
			it.bullet = sc.list.bullet
			it.number++
			sc.list = it
			return end
		}
	}
	return at
}

// delimits says whether the line at offset at stands below the head of a table whose rows begin with no bar: --- | :-: | ---.
func (s *Segmenter) delimits(at int) bool {
	bars := 0
	for range longest {
		r, c, size := s.rune(at)
		switch {
		case c == clLine, c == clEnd:
			if bars > 0 {
				s.scan.block, s.scan.table = row, true
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

// repeated counts the repetitions of r from at on.
func (s *Segmenter) repeated(at int, r rune) (n, end int) {
	for end = at; n < 64; n++ {
		next, _, size := s.rune(end)
		if next != r {
			break
		}
		end += size
	}
	return n, end
}

// white says whether white space, or nothing, stands at offset at.
func (s *Segmenter) white(at int) bool {
	_, c, _ := s.peek(at)
	return c == clSpace || c == clLine || c == clEnd
}

// blank says whether the line has nothing visible from offset at on.
func (s *Segmenter) blank(at int) bool {
	for range 80 {
		_, c, size := s.peek(at)
		if c == clLine || c == clEnd {
			return true
		}
		if c != clSpace {
			return false
		}
		at += size
	}
	return false
}

// wrapped says whether the line end before the character at at, of class c, lies inside a sentence.
func (s *Segmenter) wrapped(at int, c class) bool {
	sc := &s.scan
	if sc.marks.any || sc.hidden() || sc.bare {
		return false
	}
	if c == clWide { // 父の\n家: no sentence ends with such a particle
		return sc.prev == clWide && (sc.last == 'の' || sc.last == 'を' || sc.last == 'は' || sc.last == 'が' || sc.last == '、') ||
			sc.last == '、' || sc.last == '，'
	}
	if sc.block == listItem && sc.indent >= wide && c == clLower && sc.lineWords > 0 {
		_, _, size := s.peek(at)
		_, next, _ := s.peek(at + size)
		return next != clClose && next != clStop
	}
	if sc.last == ':' || sc.lineWords < long || sc.letter != clUpper && sc.letter != clOther && sc.letter != clDigit {
		return false
	}
	if sc.block == quoted {
		if r, _, _ := s.rune(at); r != '>' {
			return false
		}
		for at++; ; at++ {
			if _, c, _ = s.peek(at); c != clSpace {
				break
			}
		}
	} else if sc.block == listItem {
		return false
	}
	if c != clLower {
		return false
	}
	w := s.wordAt(at)
	r, next, _ := s.rune(at + w.n)
	return r != ':' && (letters(&w) > 1 || next != clClose && next != clStop) // "name: value", a) or a.
}
