package coalesce

// longest is how far, in code points, the end of inline code, of a formula, a link and the like is
// looked for. What is not closed by then, or by the line's end, is read as plain text: in Russian and
// Armenian back-ticks are quotes, and a dollar is often just money.
const longest = 160

// span returns the offset behind the inline code, formula, link, tag or JSON that begins at offset at,
// or 0 if nothing of the kind does. Where its text ends with a final mark, tail is the mark's class.
func (s *Segmenter) span(at int) (end int, tail class) {
	r, _, _ := s.rune(at)
	sc := &s.scan
	if sc.last == r && !sc.space && r != '[' && r != '{' {
		return 0, 0 // given up already
	}
	switch r {
	case '`':
		n, i := s.repeated(at, '`')
		if _, c, _ := s.peek(i); n == 1 && (c == clSpace || isLetter[sc.prev] && !sc.space) {
			return 0, 0 // a quote, or an apostrophe
		}
		return s.code(i, n), 0
	case '$':
		return s.formula(at)
	case '\\':
		switch r, _, _ := s.rune(at + 1); r {
		case '(':
			return s.until(at+2, ')')
		case '[':
			return s.until(at+2, ']')
		}
	case '<':
		return s.element(at), 0
	case '{':
		return s.balanced(at, longest)
	case '[':
		end, tail = s.balanced(at, longest)
		if end == 0 {
			return 0, 0
		}
		switch r, _, _ := s.rune(end); r {
		case '(', '[':
			end, _ = s.balanced(end, 2*longest)
			return end, tail
		}
		if r, _, _ := s.rune(at + 1); r == '"' || r == '{' || r == '[' {
			return end, 0 // JSON
		}
	}
	return 0, 0
}

// code returns the offset behind n back-ticks in a row.
func (s *Segmenter) code(i, n int) int {
	r, first, _ := s.rune(i)
	tex := n == 2 && (first == clUpper || isLetter[first] && r >= 0x80)
	spaced, ended, before := first == clSpace, false, clOther
	for range longest {
		r, c, size := s.rune(i)
		if c == clLine || size == 0 || tex && ended && c == clUpper {
			break // ``Quotes of TeX,'' perhaps
		}
		if r != '`' {
			ended, before = isMark[before] && c == clSpace, c
			i += size
			continue
		}
		k, end := s.repeated(i, '`')
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

// behindQuote returns the offset behind the marks of a quotation, and the spaces between them, at offset at.
func (s *Segmenter) behindQuote(at int) int {
	for n := 0; ; n++ {
		r, c, size := s.rune(at)
		if r != '>' && (c != clSpace || n > 8) {
			return at
		}
		at += size
	}
}

// fenceBehind says whether a code block begins at offset at, in the middle of a line: behind a colon or a final mark, or with its language.
func (s *Segmenter) fenceBehind(at int) bool {
	n, end := s.repeated(at, '`')
	if n < 3 {
		return false
	}
	w := s.wordAt(end)
	return (w.n > 0 || s.scan.marks.any || s.scan.last == ':' || s.scan.last == '：') && s.blank(end+w.n)
}

// tag returns the offset behind an HTML tag or <address>.
func (s *Segmenter) tag(at int) int {
	i := at + 1
	r, c, _ := s.rune(i)
	if r == '/' || r == '!' {
		i++
		next, class, _ := s.rune(i)
		if c = class; r == '!' && next == '-' { // a comment
			end, _ := s.find(i, "-->", longest)
			return end
		}
	}
	if c != clLower && c != clUpper && r != '!' {
		return 0
	}
	before := c
	for range longest {
		r, c, size := s.rune(i)
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

// element returns the offset behind a tag, and behind the whole element if that is code.
func (s *Segmenter) element(at int) int {
	end := s.tag(at)
	if end == 0 {
		return 0
	}
	switch s.name(at + 1) {
	case "code", "kbd", "pre", "samp", "var", "tt", "math":
		for i, k := end, 0; k < longest; k++ {
			r, c, size := s.rune(i)
			if c == clLine || size == 0 {
				break
			}
			if r == '<' {
				if next, _, _ := s.rune(i + 1); next == '/' {
					if closed := s.tag(i); closed > 0 {
						return closed
					}
				}
			}
			i += size
		}
	}
	return end
}

// balanced returns the offset behind the bracket that closes the one at offset at, within limit code
// points, and the class of a final mark just before it. Brackets inside straight quotes do not count.
func (s *Segmenter) balanced(at, limit int) (end int, tail class) {
	depth, quote, before := 0, false, clOther
	for i := at; limit > 0; limit-- {
		r, c, size := s.rune(i)
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

// name returns the name of the tag that begins at offset at.
func (s *Segmenter) name(at int) string {
	i := at
	for i < len(s.buf) && s.buf[i] != '>' && s.buf[i] != ' ' && i < at+8 {
		i++
	}
	switch name := string(s.buf[at:i]); name {
	case "/h1", "/h2", "/h3", "/h4", "/h5", "/h6":
		return "/p"
	default:
		return name
	}
}
