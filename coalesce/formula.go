package coalesce

// inFormula reports whether a formula of several lines is being read.
func (sc *scanner) inFormula() bool {
	return sc.fenceRune == '$' || sc.fenceRune == '[' || sc.fenceRune == 'b'
}

// looksLikeTeX reports whether the rest of the line at offset i, or the next line if the rest is
// blank, looks like TeX. "$$" alone does not decide it: people write it for what a restaurant
// costs.
func (l *lookahead) looksLikeTeX(i int) bool {
	for blank, n := true, 0; n < maxSpan; n++ {
		r, c, size := l.peekRune(i)
		switch {
		case r == '\\', r == '=', r == '^', r == '_':
			return true
		case size == 0, c == clLine && !blank:
			return false
		}
		blank = blank && !visible[c]
		i += size
	}
	return false
}

// openFormula returns the offset after the mark that begins a formula of several lines at pos, and
// enters that formula in the line's state. It returns pos if none begins, or if it ends in the same
// line.
func (d *detector) openFormula(pos int) (end int) {
	kind, mark := '$', "$$"
	if r, _, _ := d.peekRune(pos); r == '$' {
		n, after := d.countRepeated(pos, '$')
		if end = after; n != 2 || !d.looksLikeTeX(end) {
			return pos
		}
	} else {
		switch r, _, _ := d.peekRune(pos + 1); r {
		case '[':
			end, kind, mark = pos+2, '[', `\]`
		case 'b':
			nameStart, _ := d.findInLine(pos, `\begin{`, 1)
			if nameStart != pos+len(`\begin{`) {
				return pos
			}
			if w := d.wordAt(nameStart); !texFormulas[string(w.bytes())] {
				return pos
			}
			end, kind, mark = nameStart, 'b', `\end{`
		default:
			return pos
		}
	}
	if closed, isTooLong := d.findInLine(end, mark, maxSpan); closed > 0 || isTooLong || d.pastEnd {
		return pos
	}
	d.scan.fenceRune, d.scan.fenceLen = kind, 1
	return end
}

// texFormulas has the environments of TeX whose content is one formula.
var texFormulas = map[string]bool{
	"equation": true, "align": true, "aligned": true, "alignat": true, "gather": true, "gathered": true,
	"multline": true, "eqnarray": true,
	"cases": true, "matrix": true, "pmatrix": true, "bmatrix": true, "vmatrix": true, "array": true, "split": true,
}

// closeFormula returns the offset after the end of the open formula, and leaves the formula in the
// line's state, if its end is in the line at pos. Else it returns pos.
func (d *detector) closeFormula(pos int) int {
	sc := &d.scan
	end := 0
	switch sc.fenceRune {
	case '$':
		end, _ = d.findInLine(pos, "$$", 2*maxSpan)
	case '[':
		end, _ = d.findInLine(pos, `\]`, 2*maxSpan)
	default: // environments can be nested, so they are counted
		inner, _ := d.findInLine(pos, `\begin{`, 2*maxSpan)
		if end, _ = d.findInLine(pos, `\end{`, 2*maxSpan); inner > 0 {
			sc.fenceLen++
		}
		if end > 0 {
			sc.fenceLen--
		}
		if sc.fenceLen > 0 {
			end = 0
		}
	}
	if end == 0 {
		return pos
	}
	sc.fenceRune, sc.block = 0, row
	return end
}

// startsJSON reports whether the line at pos begins JSON that goes on in the next line, or is a
// name of JSON and its value. A name counts up to 40 characters of letters, digits, _ and -.
// readLineMarker makes a row of such a line.
func (l *lookahead) startsJSON(pos int) bool {
	r, _, _ := l.peekRune(pos)
	next, _, _ := l.peekRune(pos + 1)
	if r != '"' {
		if next != '"' && (r != '[' || next != '{') {
			return false
		}
		end, _ := l.skipBrackets(pos, maxSpan)
		return end == 0
	}
	i := pos + 1
	for range 40 {
		r, c, size := l.peekRune(i)
		if r == '"' {
			r, _, _ = l.peekRune(i + 1)
			return r == ':' && i > pos+1
		}
		if !isLetter[c] && c != clDigit && r != '_' && r != '-' {
			return false
		}
		i += size
	}
	return false
}

// skipTeX returns the offset behind the formula whose text begins at offset i and ends, in the same
// line, in a backslash and closer; and the class of the final mark in front of these, or 0.
func (l *lookahead) skipTeX(i int, closer rune) (end int, tail class) {
	for range maxSpan {
		r, c, size := l.peekRune(i)
		if c == clLine || size == 0 {
			break
		}
		i += size
		if r == '\\' {
			if next, _, _ := l.peekRune(i); next == closer {
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

// skipFormula returns the offset behind $...$ or $$...$$ at pos, and the class of the final mark
// that ends it, or 0 for none. It returns 0, 0 for an amount of money, a dollar before white space,
// and a formula that does not end in its line or within maxSpan characters.
func (l *lookahead) skipFormula(pos int) (end int, tail class) {
	n, i := l.countRepeated(pos, '$')
	if n > 2 {
		return 0, 0
	}
	if n == 1 {
		_, c, _ := l.peek(i)
		if c == clSpace || c == clLine || c == clDigit && l.isAmount(i) {
			return 0, 0
		}
	}
	before := clSpace
	for range maxSpan {
		r, c, size := l.peekRune(i)
		if c == clLine || size == 0 {
			break
		}
		if r == '$' {
			k, end := l.countRepeated(i, '$')
			_, next, _ := l.peek(end)
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
			break // a sentence has ended, so the dollar began no formula
		}
		before = c
		i += size
	}
	return 0, 0
}

// isAmount reports whether the number at offset i, after a dollar sign, is an amount of money, as
// in $5 or $5m, and does not begin a formula, as in $5x^2$.
func (l *lookahead) isAmount(i int) bool {
	for range 24 {
		r, c, size := l.peek(i)
		if c != clDigit && r != '.' && r != ',' {
			switch r, c, _ = l.peekRune(i); {
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
