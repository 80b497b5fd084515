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
// character at pos, or pos if there is none.
func (l *lookahead) skipCheckbox(pos int) int {
	if r, _, _ := l.peekRune(pos + 1); r != '[' {
		return pos
	}
	if r, _, size := l.peekRune(pos + 2); r == ' ' || r == 'x' || r == 'X' {
		if end, _, _ := l.peekRune(pos + 2 + size); end == ']' {
			return pos + 3 + size
		}
	}
	return pos
}

// readItemMarker reads the marker of a list item with a number or letter, such as "1.", "2)",
// "3.)", "(iv)", "a)" and "B.", and returns the offset behind it, or pos if there is none. The
// number of a marker with several Roman letters is -2, which nothing follows. The character behind
// the marker has to be white space, but where the full stop is wide.
func (l *lookahead) readItemMarker(pos int) (marker listMarker, end int) {
	i, n := pos, 0 // n: digits or letters of the number
	if r, _, _ := l.peekRune(i); r == '(' {
		marker.open = true
		i++
	}
	roman := true
	for ; ; n++ {
		r, c, size := l.peekRune(i)
		switch {
		case c == clExtend:
			n--
		case c == clDigit && !marker.letter && n < 3:
			marker.number = marker.number*10 + digitValue(r)
		case isLetter[c] && c != clWide && n == 0:
			marker.letter, marker.number, roman = true, int(r), r == 'i' || r == 'v' || r == 'x'
		case c == clLower && marker.letter && roman && n < 4 && (r == 'i' || r == 'v' || r == 'x'):
			marker.number = -2
		default:
			size = 0
		}
		if size == 0 {
			break
		}
		i += size
	}
	if n == 0 {
		return marker, pos
	}

	r, _, _ := l.peekRune(i)
	switch {
	case r == ')':
		marker.close = ")"
	case (r == '۔' || r == '।' || r == '．') && !marker.open:
		marker.close = string(r)
	case r == '.' && !marker.open:
		marker.close = "."
		if r, _, _ := l.peekRune(i + 1); r == ')' {
			marker.close = ".)"
		}
	default:
		return marker, pos
	}
	if i += len(marker.close); r != '．' && !l.isSpace(i) {
		return marker, pos
	}
	return marker, i
}

// startsNextItem reports whether the next item of the list that began the line stands at pos, with
// a character of class c, as in "1. Go. 2. Stop.": the same bullet, or the next number or letter in
// the same form. Initials of names and words that take a number are no items.
func (d *detector) startsNextItem(pos int, c class) bool {
	list := &d.scan.itemMarker
	if list.bullet != 0 && (c == clOther || c == clEmoji || c == clContinue) {
		r, _, size := d.peekRune(pos)
		_, next, _ := d.peek(pos + size)
		return r == list.bullet && (next == clSpace || next == clDigit)
	}
	if list.close == "" || list.bullet != 0 || c != clDigit && !isLetter[c] && c != clOpen ||
		list.close == "." && d.scan.takesNumber() {
		return false
	}
	if d.scan.onlyMarkers { // the initials of a name, as in "F. G. Lorca"
		return false
	}
	marker, end := d.readItemMarker(pos)
	if end == pos || marker != *list || c == clUpper && list.close == "." && d.scan.endsInShortWord() {
		return false
	}
	_, _, size := d.peek(end)
	_, c, _ = d.peek(end + size)
	return list.close != "." || c != clLower
}

// takesNumber reports whether the last word goes with the number behind it, as in "version 2" and
// "set it to 2". A word with marks behind it does not.
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

// digitValue returns the value, 0 to 9, of a decimal digit of any script. Unicode has the ten
// digits of a script in a row, so it counts from the first of them.
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
