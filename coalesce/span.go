package coalesce

// maxSpan is how many code points the end of inline code, a formula, a link and the like is looked
// for. What is not closed by then, or by the line's end, is plain text: back-ticks are quotes in
// Russian and Armenian, and a dollar is often just money.
const maxSpan = 160

// skipSpan returns the offset behind the inline code, formula, link, tag or JSON that begins at
// offset pos, or 0 if nothing of the kind does. Tail is the class of the final mark that its text
// ends with, or 0: the mark may end the sentence that the span ends.
func (d *detector) skipSpan(pos int) (end int, tail class) {
	r, _, _ := d.peekRune(pos)
	sc := &d.scan
	if sc.last == r && !sc.space && r != '[' && r != '{' {
		return 0, 0 // the same character stands in front, so this was tried there
	}
	switch r {
	case '`':
		n, i := d.countRepeated(pos, '`')
		if _, c, _ := d.peek(i); n == 1 && (c == clSpace || isLetter[sc.prev] && !sc.space) {
			return 0, 0 // the back-tick is a quote or an apostrophe
		}
		return d.skipCode(i, n), 0
	case '$':
		return d.skipFormula(pos)
	case '\\':
		switch r, _, _ := d.peekRune(pos + 1); r {
		case '(':
			return d.skipTeX(pos+2, ')')
		case '[':
			return d.skipTeX(pos+2, ']')
		}
	case '<':
		return d.skipElement(pos), 0
	case '{':
		return d.skipBrackets(pos, maxSpan)
	case '[':
		end, tail = d.skipBrackets(pos, maxSpan)
		if end == 0 {
			return 0, 0
		}
		switch r, _, _ := d.peekRune(end); r {
		case '(', '[':
			end, _ = d.skipBrackets(end, 2*maxSpan)
			return end, tail
		}
		if r, _, _ := d.peekRune(pos + 1); r == '"' || r == '{' || r == '[' {
			return end, 0 // it is JSON
		}
	}
	return 0, 0
}

// skipCode returns the offset behind the inline code whose text begins at offset i, behind n
// back-ticks, or 0 if as many back-ticks do not close it in its line within maxSpan characters, or
// two of them begin a quotation as TeX writes it.
func (l *lookahead) skipCode(i, n int) int {
	r, first, _ := l.peekRune(i)
	// Two back-ticks may also begin a quotation as TeX writes it: ``So,'' she said.
	mayBeQuote := n == 2 && (first == clUpper || isLetter[first] && r >= 0x80)
	spaced := first == clSpace
	sentenceEnded, before := false, clOther // a final mark and a space were read last
	for range maxSpan {
		r, c, size := l.peekRune(i)
		if c == clLine || size == 0 || mayBeQuote && sentenceEnded && c == clUpper {
			break
		}
		if r != '`' {
			sentenceEnded, before = isMark[before] && c == clSpace, c
			i += size
			continue
		}
		k, end := l.countRepeated(i, '`')
		if k == n {
			if before == clSpace && !spaced {
				break
			}
			return end
		}
		i = end
	}
	return 0
}

// skipQuoteMarks returns the offset behind the marks > of a quotation at pos and the spaces between
// them, or pos if there are none. It gives up at white space behind more than eight.
func (l *lookahead) skipQuoteMarks(pos int) int {
	for n := 0; ; n++ {
		r, c, size := l.peekRune(pos)
		if r != '>' && (c != clSpace || n > 8) {
			return pos
		}
		pos += size
	}
}

// opensFence reports whether a code block begins at pos, in the middle of a line. It does
// behind a colon or a final mark, or where the fence names a language, if the line has nothing else
// behind it.
func (d *detector) opensFence(pos int) bool {
	n, end := d.countRepeated(pos, '`')
	if n < 3 {
		return false
	}
	w := d.wordAt(end)
	return (w.n > 0 || d.scan.marks.any || d.scan.last == ':' || d.scan.last == '：') && d.isBlank(end+w.n)
}

// skipTag returns the offset behind an HTML tag, a comment or an address in <> at pos, or 0 if
// there is none that ends in its line, within maxSpan characters, and before the end of a sentence.
func (l *lookahead) skipTag(pos int) int {
	i := pos + 1
	r, c, _ := l.peekRune(i)
	if r == '/' || r == '!' {
		i++
		next, class, _ := l.peekRune(i)
		if c = class; r == '!' && next == '-' { // it is a comment
			end, _ := l.findInLine(i, "-->", maxSpan)
			return end
		}
	}
	if c != clLower && c != clUpper && r != '!' {
		return 0
	}
	before := c
	for range maxSpan {
		r, c, size := l.peekRune(i)
		switch {
		case size == 0, c == clLine, r == '<', isMark[before] && c == clSpace:
			return 0
		case r == '>':
			return i + 1
		}
		before = c
		i += size
	}
	return 0
}

// skipElement returns the offset behind a tag at pos, or behind the whole element if that holds
// code, such as <code>, and is closed in its line. It returns 0 if no tag stands there.
func (l *lookahead) skipElement(pos int) int {
	end := l.skipTag(pos)
	if end == 0 {
		return 0
	}
	switch l.tagName(pos + 1) {
	case "code", "kbd", "pre", "samp", "var", "tt", "math":
		for i, k := end, 0; k < maxSpan; k++ {
			r, c, size := l.peekRune(i)
			if c == clLine || size == 0 {
				break
			}
			if r == '<' {
				if next, _, _ := l.peekRune(i + 1); next == '/' {
					if closed := l.skipTag(i); closed > 0 {
						return closed
					}
				}
			}
			i += size
		}
	}
	return end
}

// skipBrackets returns the offset behind the bracket that closes the one at pos, within limit
// code points, and the class of a final mark just before it, or 0. Brackets in straight quotes do
// not count.
func (l *lookahead) skipBrackets(pos, limit int) (end int, tail class) {
	depth, quote, before := 0, false, clOther
	for i := pos; limit > 0; limit-- {
		r, c, size := l.peekRune(i)
		if c == clLine || size == 0 {
			break
		}
		i += size
		switch {
		case r == '"' && (quote || before == clOpen || before == clTag || before == clSpace || before == clClause):
			quote = !quote
		case quote:
		case r == '(' || r == '[' || r == '{':
			depth++
		case r == ')' || r == ']' || r == '}':
			if depth--; depth == 0 {
				if !isMark[before] {
					before = 0
				}
				return i, before
			}
		}
		before = c
	}
	return 0, 0
}

// tagName returns the name of the tag whose name begins at pos, with its slash, of at most 8 bytes.
// Closing headings are called /p, as paragraphs are.
func (l *lookahead) tagName(pos int) string {
	i := pos
	for i < len(l.buf) && l.buf[i] != '>' && l.buf[i] != ' ' && i < pos+8 {
		i++
	}
	switch name := string(l.buf[pos:i]); name {
	case "/h1", "/h2", "/h3", "/h4", "/h5", "/h6":
		return "/p"
	default:
		return name
	}
}
