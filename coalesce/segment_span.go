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

// until returns the offset behind a backslash and r, and the final mark in front of it.
func (s *Segmenter) until(i int, r rune) (end int, tail class) {
	for range longest {
		now, c, size := s.rune(i)
		if c == clLine || size == 0 {
			break
		}
		i += size
		if now == '\\' {
			if next, _, _ := s.rune(i); next == r {
				if !isMark[tail] {
					tail = 0
				}
				return i + 1, tail
			}
		}
		if c != clSpace {
			tail = c
		}
	}
	return 0, 0
}

// formula returns the offset behind $...$ or $$...$$; money is none.
func (s *Segmenter) formula(at int) (end int, tail class) {
	n, i := s.repeated(at, '$')
	if n > 2 {
		return 0, 0
	}
	if n == 1 {
		_, c, _ := s.peek(i)
		if c == clSpace || c == clLine || c == clDigit && s.money(i) {
			return 0, 0
		}
	}
	before := clSpace
	for range longest {
		r, c, size := s.rune(i)
		if c == clLine || size == 0 {
			break
		}
		if r == '$' {
			k, end := s.repeated(i, '$')
			_, next, _ := s.peek(end)
			if k == n && (n == 2 || before != clSpace && next != clDigit && !isLetter[next]) {
				if !isMark[before] {
					before = 0
				}
				return end, before
			}
			if k == n && n == 1 {
				return 0, 0
			}
		}
		if isMark[before] && c == clSpace && n == 1 {
			break // a sentence has ended: the dollar was none of a formula's
		}
		before = c
		i += size
	}
	return 0, 0
}

// money says whether the number at offset i is an amount.
func (s *Segmenter) money(i int) bool {
	for range 24 {
		r, c, size := s.peek(i)
		if c != clDigit && r != '.' && r != ',' {
			switch r, c, _ = s.rune(i); {
			case r == '\\', r == '^', r == '_', r == '+', r == '=', r == '{', r == '$', r == '(', r == '/':
				return false
			case r == 'k', r == 'K', r == 'm', r == 'M', r == 'b', r == 'B', r == 't', r == 'T':
				return true
			}
			return !isLetter[c]
		}
		i += size
	}
	return true
}

// tag returns the offset behind an HTML tag or <address>.
func (s *Segmenter) tag(at int) int {
	i := at + 1
	r, c, _ := s.rune(i)
	if r == '/' || r == '!' {
		i++
		_, c, _ = s.rune(i)
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

// attachedTo returns the offset behind what belongs to the sentence whose final marks stand before
// offset at: a reference such as [12] or 【3†source】, a closing tag, a line break; gap says that the
// latter stands for white space.
func (s *Segmenter) attachedTo(at int) (end int, gap bool) {
	r, c, _ := s.peek(at)
	switch {
	case r == '[' || r == '【':
		i, name := at, false
		for n := range 40 {
			r, c, size := s.rune(i)
			i += size
			switch {
			case n == 0:
			case r == ']' || r == '】':
				if name {
					if next, _, _ := s.rune(i); next == '(' {
						return 0, false // a link
					}
				}
				if n == 1 {
					return 0, false
				}
				return i, false
			case r == '】' || size == 0 || c == clLine:
				return 0, false
			case s.buf[at] != '[':
			case n > 12 || c == clSpace || c == clUpper || !isLetter[c] && c != clDigit && r != '^' && r != ',' && r != '-' && r != '–':
				return 0, false
			}
			name = name || isLetter[c] && s.buf[at] == '['
		}
	case c == clTag:
		if r, _, _ := s.rune(at); r != '<' {
			return 0, false
		}
		next, _, _ := s.rune(at + 1)
		if end = s.tag(at); end == 0 {
			return 0, false
		}
		switch name := s.name(at + 1); name {
		case "br", "/p", "/li", "/div", "/td", "/tr", "/ul", "/ol", "br/":
			return end, true
		case "sup":
			for range 24 {
				r, c, size := s.rune(end)
				if size == 0 || c == clLine {
					break
				}
				if r == '<' {
					end = s.tag(end)
					return end, false
				}
				end += size
			}
			return 0, false
		}
		if next == '/' {
			return end, false
		}
	case c == clOther:
		const space = "&nbsp;"
		for i := range len(space) {
			if r, _, _ := s.rune(at + i); r != rune(space[i]) {
				return 0, false
			}
		}
		return at + len(space), true
	}
	return 0, false
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
