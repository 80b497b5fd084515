package coalesce

import (
	"unicode"
	"unicode/utf8"
)

// listMarker is what a list item begins with: a bullet, or a number or letter with the marks around
// it. Of the item being read it holds the marker that the next item would have.
type listMarker struct {
	bullet rune // • and others that Markdown does not know; 0 for none
	open   bool // a bracket stands in front
	letter bool
	number int    // the number, or the letter's code point; -2 for Roman numerals, which are not counted
	close  string // ".", ")", ".)" or a full stop of another script
}

// skipCheckbox returns the offset behind a box such as "[ ]" that follows a bullet and the
// character at offset at, or at if there is none.
func (l *lookahead) skipCheckbox(at int) int {
	if r, _, _ := l.peekRune(at + 1); r != '[' {
		return at
	}
	if r, _, size := l.peekRune(at + 2); r == ' ' || r == 'x' || r == 'X' {
		if end, _, _ := l.peekRune(at + 2 + size); end == ']' {
			return at + 3 + size
		}
	}
	return at
}

// readItemMarker reads the marker of a list item with a number or letter, such as "1.", "2)",
// "3.)", "(iv)", "a)" and "B.", and returns the offset behind it, or at if there is none.
func (l *lookahead) readItemMarker(at int) (it listMarker, end int) {
	i, n := at, 0
	if r, _, _ := l.peekRune(i); r == '(' {
		it.open = true
		i++
	}
	roman := true
	for ; ; n++ {
		r, c, size := l.peekRune(i)
		switch {
		case c == clExtend:
			n--
		case c == clDigit && !it.letter && n < 3:
			it.number = it.number*10 + digitValue(r)
		case isLetter[c] && c != clWide && n == 0:
			it.letter, it.number, roman = true, int(r), r == 'i' || r == 'v' || r == 'x'
		case c == clLower && it.letter && roman && n < 4 && (r == 'i' || r == 'v' || r == 'x'):
			it.number = -2
		default:
			size = 0
		}
		if size == 0 {
			break
		}
		i += size
	}
	if n == 0 {
		return it, at
	}
	r, _, _ := l.peekRune(i)
	switch {
	case r == ')':
		it.close = ")"
	case (r == '۔' || r == '।' || r == '．') && !it.open:
		it.close = string(r)
	case r == '.' && !it.open:
		it.close = "."
		if r, _, _ := l.peekRune(i + 1); r == ')' {
			it.close = ".)"
		}
	default:
		return it, at
	}
	if i += len(it.close); r != '．' && !l.isSpace(i) {
		return it, at
	}
	return it, i
}

// startsNextItem reports whether the next item of the list that began the line stands at offset at,
// as in "1. Go. 2. Stop."
func (d *detector) startsNextItem(at int, c class) bool {
	list := &d.scan.itemMarker
	if list.bullet != 0 && (c == clOther || c == clEmoji || c == clContinue) {
		r, _, size := d.peekRune(at)
		_, next, _ := d.peek(at + size)
		return r == list.bullet && (next == clSpace || next == clDigit)
	}
	if list.close == "" || list.bullet != 0 || c != clDigit && !isLetter[c] && c != clOpen ||
		list.close == "." && d.scan.takesNumber() {
		return false
	}
	if d.scan.onlyMarkers { // the initials of a name, as in "F. G. Lorca"
		return false
	}
	it, end := d.readItemMarker(at)
	if end == at || it != *list || c == clUpper && list.close == "." && d.scan.endsInShortWord() {
		return false
	}
	_, _, size := d.peek(end)
	_, c, _ = d.peek(end + size)
	return list.close != "." || c != clLower
}

// takesNumber reports whether the last word goes with the number behind it, as in "version 2" and
// "set it to 2".
func (sc *scanner) takesNumber() bool {
	word := sc.lastWord.bytes()
	if sc.marks.any || len(word) == 0 {
		return false
	}
	r, _ := utf8.DecodeLastRune(word)
	return r == '=' || sc.lang.has(countingWords, word) || sc.lang.has(letterNouns, word) ||
		sc.lang.abbreviations[string(word)] == abbrBeforeNumber
}

// endsInShortWord reports whether the last word is short and small, as in "A. Smith and B. Jones".
func (sc *scanner) endsInShortWord() bool {
	r, _ := utf8.DecodeRune(sc.lastWord.bytes())
	return !sc.marks.any && sc.clause == 0 && classOf(r) == clLower && countLetters(&sc.lastWord) <= 3
}

// digitValue returns the value of a decimal digit of any script, whose digits stand in a row.
func digitValue(r rune) int {
	zero := r
	for zero > r-9 && unicode.IsDigit(zero-1) {
		zero--
	}
	if r < 0x80 {
		zero = '0'
	}
	return int(r-zero) % 10
}
