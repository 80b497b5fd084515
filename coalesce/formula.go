package coalesce

// formula says whether what is read is a formula of several lines.
func (sc *scanner) formula() bool { return sc.fence == '$' || sc.fence == '[' || sc.fence == 'b' }

// find returns the offset behind mark in the line at offset i, or 0; long says that it is not in the first limit code points.
func (s *Segmenter) find(i int, mark string, limit int) (end int, long bool) {
	for n := 0; ; n++ {
		if n == limit {
			return 0, true
		}
		k := 0
		for k < len(mark) {
			if r, _, _ := s.rune(i + k); r != rune(mark[k]) {
				break
			}
			k++
		}
		if k == len(mark) {
			return i + k, false
		}
		_, c, size := s.rune(i)
		if c == clLine || size == 0 {
			return 0, false
		}
		i += size
	}
}

// tex says whether the rest of the line at offset i, or the next one if that is blank, looks like TeX: $$ is also what a restaurant costs.
func (s *Segmenter) tex(i int) bool {
	for blank, n := true, 0; n < longest; n++ {
		r, c, size := s.rune(i)
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

// formulaOpens says whether a formula of several lines begins at offset at, and returns the offset behind its mark, or else at.
func (s *Segmenter) formulaOpens(at int) (end int) {
	kind, mark := '$', "$$"
	if r, _, _ := s.rune(at); r == '$' {
		n, after := s.repeated(at, '$')
		if end = after; n != 2 || !s.tex(end) {
			return at
		}
	} else {
		switch r, _, _ := s.rune(at + 1); r {
		case '[':
			end, kind, mark = at+2, '[', `\]`
		case 'b':
			begun, _ := s.find(at, `\begin{`, 1)
			if begun != at+len(`\begin{`) {
				return at
			}
			if w := s.wordAt(begun); !mathematical[string(w.bytes())] {
				return at
			}
			end, kind, mark = begun, 'b', `\end{`
		default:
			return at
		}
	}
	if closed, long := s.find(end, mark, longest); closed > 0 || long || s.ran {
		return at
	}
	s.scan.fence, s.scan.fenceLen = kind, 1
	return end
}

// mathematical are the environments of TeX that are one formula.
var mathematical = map[string]bool{
	"equation": true, "align": true, "aligned": true, "alignat": true, "gather": true, "gathered": true, "multline": true, "eqnarray": true,
	"cases": true, "matrix": true, "pmatrix": true, "bmatrix": true, "vmatrix": true, "array": true, "split": true,
}

// formulaCloses returns the offset behind the end of a formula of several lines, if that is in the line at offset at, else at.
func (s *Segmenter) formulaCloses(at int) int {
	sc := &s.scan
	end := 0
	switch sc.fence {
	case '$':
		end, _ = s.find(at, "$$", 2*longest)
	case '[':
		end, _ = s.find(at, `\]`, 2*longest)
	default: // environments are nested
		begun, _ := s.find(at, `\begin{`, 2*longest)
		if end, _ = s.find(at, `\end{`, 2*longest); begun > 0 {
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
		return at
	}
	sc.fence, sc.block = 0, row
	return end
}

// member says whether the line at offset at is a part of JSON that does not end in it, or a name and its value.
func (s *Segmenter) member(at int) bool {
	r, _, _ := s.rune(at)
	next, _, _ := s.rune(at + 1)
	if r != '"' {
		if next != '"' && (r != '[' || next != '{') {
			return false
		}
		end, _ := s.balanced(at, longest)
		return end == 0
	}
	i := at + 1
	for range 40 {
		r, c, size := s.rune(i)
		if r == '"' {
			r, _, _ = s.rune(i + 1)
			return r == ':' && i > at+1
		}
		if !isLetter[c] && c != clDigit && r != '_' && r != '-' {
			return false
		}
		i += size
	}
	return false
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
