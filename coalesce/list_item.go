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
	numberAt := pos
	if r, _, _ := l.peekRune(pos); r == '(' {
		marker.open = true
		numberAt++
	}
	closeAt, found := l.readItemNumber(numberAt, &marker)
	if !found {
		return marker, pos
	}
	marker.close = l.readItemClose(closeAt, marker.open)
	if marker.close == "" {
		return marker, pos
	}
	end = closeAt + len(marker.close)
	isWide := marker.close == "．"
	if !isWide && !l.isSpace(end) {
		return marker, pos
	}
	return marker, end
}

// readItemNumber reads the number or letter of an item's marker at pos into marker: up to three
// digits, one letter, or a small Roman number of up to four. It returns the offset behind it, and
// whether there is one.
func (l *lookahead) readItemNumber(pos int, marker *listMarker) (end int, found bool) {
	count := 0 // digits or letters
	roman := true
	for i := pos; ; {
		r, c, size := l.peekRune(i)
		isRoman := r == 'i' || r == 'v' || r == 'x'
		switch {
		case c == clExtend:
			i += size
			continue
		case c == clDigit && !marker.letter && count < 3:
			marker.number = marker.number*10 + digitValue(r)
		case isLetter[c] && c != clWide && count == 0:
			marker.letter, marker.number, roman = true, int(r), isRoman
		case c == clLower && marker.letter && roman && count < 4 && isRoman:
			marker.number = -2
		default:
			return i, count > 0
		}
		count++
		i += size
	}
}

// readItemClose returns what closes an item's marker at pos, or "". Behind an opening parenthesis
// that is only the closing one.
func (l *lookahead) readItemClose(pos int, open bool) string {
	r, _, _ := l.peekRune(pos)
	switch {
	case r == ')':
		return ")"
	case open:
		return ""
	case r == '۔', r == '।', r == '．':
		return string(r)
	case r != '.':
		return ""
	}
	if next, _, _ := l.peekRune(pos + 1); next == ')' {
		return ".)"
	}
	return "."
}

// startsNextItem reports whether the next item of the list that began the line stands at pos, with
// a character of class c, as in "1. Go. 2. Stop.": the same bullet, or the next number or letter in
// the same form. Initials of names and words that take a number are no items.
func (d *detector) startsNextItem(pos int, c class) bool {
	list := &d.scan.itemMarker
	if list.bullet != 0 {
		if c != clOther && c != clEmoji && c != clContinue { // no bullet has another class
			return false
		}
		r, _, size := d.peekRune(pos)
		_, next, _ := d.peek(pos + size)
		return r == list.bullet && (next == clSpace || next == clDigit)
	}
	canBegin := c == clDigit || isLetter[c] || c == clOpen
	hasStop := list.close == "."    // which may also end a sentence, or an initial
	isInitial := d.scan.onlyMarkers // as the second of "F. G. Lorca"
	if list.close == "" || !canBegin || hasStop && d.scan.takesNumber() || isInitial {
		return false
	}
	marker, end := d.readItemMarker(pos)
	if end == pos || marker != *list || c == clUpper && hasStop && d.scan.endsInShortWord() {
		return false
	}
	_, _, size := d.peek(end) // the space
	_, afterSpace, _ := d.peek(end + size)
	return !hasStop || afterSpace != clLower
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
