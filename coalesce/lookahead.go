package coalesce

import "unicode/utf8"

// A lookahead is the text that has arrived and is in no piece yet. It can be read from any offset,
// and knows whether somebody has looked beyond its end. Offsets are those of bytes in buf.
type lookahead struct {
	buf     []byte // normalized
	next    rune   // the character behind buf, to which marks may still be joined; -1: none yet
	ended   bool   // no more text comes
	pastEnd bool   // more text may change what was answered since this was last reset

	examined int // characters looked at so far; tests see by it that the work is linear
}

// peek returns the character at offset i of the text that has arrived. Behind the last it returns clEnd
// and size 0, and remembers that the answer sought may change. While marks may still be joined to the
// last, its class is known, but r may be unsure.
func (l *lookahead) peek(i int) (r rune, c class, size int) {
	l.examined++
	switch {
	case i < len(l.buf):
		if b := l.buf[i]; b < utf8.RuneSelf {
			return rune(b), quick[b].class, 1
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
	noRune = -1 // nothing is there, so far
	unsure = -1 // marks to come may make it another character
)

// peekRune is peek for those who must know the character itself.
func (l *lookahead) peekRune(i int) (r rune, c class, size int) {
	r, c, size = l.peek(i)
	l.pastEnd = l.pastEnd || r == unsure && size > 0
	return r, c, size
}

// findInLine returns the offset behind mark in the line at offset i, or 0; long says that it is not in the first limit code points.
func (l *lookahead) findInLine(i int, mark string, limit int) (end int, long bool) {
	for n := 0; ; n++ {
		if n == limit {
			return 0, true
		}
		k := 0
		for k < len(mark) {
			if r, _, _ := l.peekRune(i + k); r != rune(mark[k]) {
				break
			}
			k++
		}
		if k == len(mark) {
			return i + k, false
		}
		_, c, size := l.peekRune(i)
		if c == clLine || size == 0 {
			return 0, false
		}
		i += size
	}
}

// countRepeated counts the repetitions of r from at on.
func (l *lookahead) countRepeated(at int, r rune) (n, end int) {
	for end = at; n < 64; n++ {
		next, _, size := l.peekRune(end)
		if next != r {
			break
		}
		end += size
	}
	return n, end
}

// isSpace reports whether white space, or nothing, stands at offset at.
func (l *lookahead) isSpace(at int) bool {
	_, c, _ := l.peek(at)
	return c == clSpace || c == clLine || c == clEnd
}

// isBlank reports whether the line has nothing visible from offset at on.
func (l *lookahead) isBlank(at int) bool {
	for range 80 {
		_, c, size := l.peek(at)
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

// skipOpeners finds the first character that is no opening quote, bracket or emphasis mark.
func (l *lookahead) skipOpeners(at int) (i int, c class) {
	i = at
	for n, before := 0, clOther; n < 8; n++ {
		var size int
		if _, c, size = l.peek(i); !opener[c] && c != clExtend && (c != clSpace || before != clOpenQuote) {
			break
		}
		i, before = i+size, c // « Vraiment » has spaces inside
	}
	if i > at && (c == clSpace || c == clLine || attached[c]) {
		c = clOther
	}
	return i, c
}

// runeUnjoined returns the character at offset at if it is an ideograph or kana, joined marks or not.
func (l *lookahead) runeUnjoined(at int) rune {
	if at == len(l.buf) {
		return l.next
	}
	r, _, _ := l.peek(at)
	return r
}

// wordAt returns the word at offset at.
func (l *lookahead) wordAt(at int) (w wordBuffer) {
	for range 20 {
		r, c, size := l.peek(at)
		if !isLetter[c] && c != clExtend {
			return w
		}
		if l.peekRune(at); r != unsure {
			w.addRune(r)
		}
		at += size
	}
	w.n = len(w.b) + 1
	return w
}

// isYear reports whether a number of four digits stands at offset at.
func (l *lookahead) isYear(at int) bool {
	for n := 0; ; n++ {
		_, c, size := l.peek(at)
		if c != clDigit || n > 4 {
			return n == 4
		}
		at += size
	}
}
