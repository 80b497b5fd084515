package coalesce

import "unicode/utf8"

// A lookahead is the text that has arrived and is in no piece yet. Its methods read it from any
// offset, and change nothing but pastEnd. A caller that decides something by them resets pastEnd
// before. If it is set afterwards, the caller drops the answer and asks again when more text has
// arrived.
//
// In this package pos, i and end are offsets in buf, in bytes; c is the class of the character r
// there, and size its length in bytes. Methods named skip… return the offset behind what begins at
// pos, or 0 if nothing of the kind does, unless they say otherwise.
type lookahead struct {
	buf     []byte // normalized
	next    rune   // the character behind buf, to which marks may still be joined; noRune: none yet
	ended   bool   // no more text comes
	pastEnd bool   // text that has not arrived may change an answer given since the last reset

	examined int // how many characters were looked at; tests see by it that the work is linear
}

// peek returns the character at offset i. Behind the last it returns clEnd and size 0, and sets
// pastEnd. While marks may still be joined to the last character, its class is known, but r may be
// unsure.
func (l *lookahead) peek(i int) (r rune, c class, size int) {
	l.examined++
	switch {
	case i < len(l.buf):
		if b := l.buf[i]; b < utf8.RuneSelf {
			return rune(b), characterTable[b].class, 1
		}
		r, size = utf8.DecodeRune(l.buf[i:])
		return r, classOf(r), size
	case i == len(l.buf) && l.next >= 0:
		if c = classOf(l.next); settled[c] {
			return l.next, c, 1
		}
		return unsure, c, 1
	}
	l.pastEnd = l.pastEnd || !l.ended
	return unsure, clEnd, 0
}

const (
	noRune = -1 // lookahead.next: no character has arrived behind buf
	unsure = -1 // returned by peek: marks to come may make it another character
)

// peekRune returns what peek does, for callers that compare the character itself and not only its
// class: it also sets pastEnd where r is unsure.
func (l *lookahead) peekRune(i int) (r rune, c class, size int) {
	r, c, size = l.peek(i)
	l.pastEnd = l.pastEnd || r == unsure && size > 0
	return r, c, size
}

// findInLine returns the offset behind the next mark in the line at offset i, or 0 if the line has
// none. Long is set where the line has more than limit code points and mark is not among them.
func (l *lookahead) findInLine(i int, mark string, limit int) (end int, long bool) {
	for n := 0; ; n++ {
		if n == limit {
			return 0, true
		}
		matched := 0 // bytes of mark found at i; mark is ASCII
		for matched < len(mark) {
			if r, _, _ := l.peekRune(i + matched); r != rune(mark[matched]) {
				break
			}
			matched++
		}
		if matched == len(mark) {
			return i + matched, false
		}

		_, c, size := l.peekRune(i)
		if c == clLine || size == 0 {
			return 0, false
		}
		i += size
	}
}

// countRepeated returns how often r is repeated from pos on, at most 64, and the offset behind it.
func (l *lookahead) countRepeated(pos int, r rune) (n, end int) {
	for end = pos; n < 64; n++ {
		next, _, size := l.peekRune(end)
		if next != r {
			break
		}
		end += size
	}
	return n, end
}

// isSpace reports whether white space, or nothing, stands at pos.
func (l *lookahead) isSpace(pos int) bool {
	_, c, _ := l.peek(pos)
	return c == clSpace || c == clLine || c == clEnd
}

// isBlank reports whether the line has nothing visible from offset pos on; it looks at 80
// characters at most.
func (l *lookahead) isBlank(pos int) bool {
	for range 80 {
		_, c, size := l.peek(pos)
		if c == clLine || c == clEnd {
			return true
		}
		if c != clSpace {
			return false
		}
		pos += size
	}
	return false
}

// skipOpeners returns the offset and the class of the first character from pos on that is no
// opening quote, bracket or emphasis mark. The class is clOther if openers were skipped and what
// follows them can begin no sentence: white space, or a mark that belongs to the text before it.
func (l *lookahead) skipOpeners(pos int) (i int, c class) {
	i = pos
	for n, before := 0, clOther; n < 8; n++ {
		var size int
		if _, c, size = l.peek(i); !opener[c] && c != clExtend && (c != clSpace || before != clOpenQuote) {
			break
		}
		i, before = i+size, c // French quotes have spaces inside: « Vraiment »
	}
	if i > pos && (c == clSpace || c == clLine || attached[c]) {
		c = clOther
	}
	return i, c
}

// runeUnjoined returns the character at pos without the marks that may still be joined to it, so
// that the caller need not wait for them. That is enough to distinguish ideographs from kana.
func (l *lookahead) runeUnjoined(pos int) rune {
	if pos == len(l.buf) {
		return l.next
	}
	r, _, _ := l.peek(pos)
	return r
}

// wordAt returns the letters, with their combining marks, that begin at pos; it is empty if no
// letter stands there. A word of 20 characters or more counts as too long to be compared.
func (l *lookahead) wordAt(pos int) (w wordBuffer) {
	for range 20 {
		r, c, size := l.peek(pos)
		if !isLetter[c] && c != clExtend {
			return w
		}
		if l.peekRune(pos); r != unsure {
			w.addRune(r)
		}
		pos += size
	}
	w.n = len(w.b) + 1
	return w
}

// isYear reports whether a number of exactly four digits, of any script, stands at pos.
func (l *lookahead) isYear(pos int) bool {
	for n := 0; ; n++ {
		_, c, size := l.peek(pos)
		if c != clDigit || n > 4 {
			return n == 4
		}
		pos += size
	}
}
