package coalesce

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file tells what a number before or behind a full stop is: "third", a day, an hour, an
// amount, a label.

// isOrdinal reports whether the number before the full stop means "third", by the text at pos, of
// class c. sure is false where neither the language nor that text decides it; a language without
// ordinals of this form gives false, false.
func (d *detector) isOrdinal(pos int, c class) (ordinal, sure bool) {
	sc := &d.scan
	if !sc.lang.hasOrdinals() {
		return false, false
	}
	numeral := sc.lastWord.b[0] > '9'
	switch c {
	case clLower:
		return true, true
	case clLetter: // "2026. 12. 3." and what there is on that day
		before := sc.priorWord.bytes()
		return sc.lang.yearFirst && 0 < len(before) && len(before) <= 2 && before[0] <= '9', true
	case clDigit: // 3. 5. 2026
		return (sc.lastWord.n <= 2 || sc.lang.yearFirst) && !numeral && sc.lang.known, true
	case clUpper:
		word := d.wordAt(pos)
		dated := sc.lang.has(ordinalWords, word.bytes())
		switch {
		case sc.lang.has(firstWords, word.bytes()):
			return false, true
		case !sc.lang.known:
			return dated && !numeral, true
		}
		prior := sc.wordCount > 1 && !sc.lang.yearFirst && (sc.wordCount == 2 || sc.priorWord.b[0] >= 'a')
		return numeral || dated || prior && sc.lang.has(ordinalWords, sc.priorWord.bytes()), true
	}
	return false, false
}

// isNumeral reports whether the word at pos is a Roman numeral, a single letter that is no word, or
// capitals before a hyphen or a digit, as in "No. XJ-5".
func (d *detector) isNumeral(pos int) bool {
	w := d.wordAt(pos)
	word := w.bytes()
	if countLetters(&w) == 1 {
		r, _, _ := d.peekRune(pos + w.n)
		noWord := word[0] != 'I' && word[0] != 'A' && (w.n == 1 || !d.scan.lang.has(firstWords, word))
		return r != '\'' && r != '’' && (noWord || !d.isSpace(pos+w.n))
	}
	if bytes.Equal(word, bytes.ToUpper(word)) { // "No. XJ-5"
		if r, c, _ := d.peekRune(pos + len(word)); r == '-' || c == clDigit {
			return true
		}
	}
	for _, b := range word {
		if b != 'I' && b != 'V' && b != 'X' && b != 'L' && b != 'C' {
			return false
		}
	}
	return len(word) > 0
}

// isClockWord reports whether the word at pos goes with a time of day: a day, a month, a
// zone.
func (d *detector) isClockWord(pos int) bool {
	w := d.wordAt(pos)
	word := w.bytes()
	return len(word) < 2 || 'A' <= word[1] && word[1] <= 'Z' || d.scan.lang.has(clockWords, word)
}

// isCurrency reports whether the amount before the full stop goes on at pos, as in 5 mil. Kč
// and 3 mln. EUR.
func (d *detector) isCurrency(pos int) bool {
	if r, _ := utf8.DecodeLastRune(d.scan.priorWord.bytes()); !unicode.IsDigit(r) {
		return false
	}
	w := d.wordAt(pos)
	word := w.bytes()
	if d.scan.lang.abbreviations[string(word)] == abbrEndsList {
		return true
	}
	return len(word) == 3 && bytes.Equal(word, bytes.ToUpper(word)) && !d.startsSentence(pos)
}

// isHour reports whether the word is one letter of Arabic or Hebrew, and the number before it no
// year: 3:30 م. or 1.80 م.
func (sc *scanner) isHour() bool {
	r, _ := utf8.DecodeRune(sc.word.bytes())
	return countLetters(&sc.word) == 1 && unicode.In(r, unicode.Arabic, unicode.Hebrew) &&
		(countLetters(&sc.lastWord) <= 2 || bytes.ContainsAny(sc.lastWord.bytes(), ":.٫"))
}

// followsDay reports whether a number of one or two digits stands before the last word, as the day
// does before a month cut short.
func (sc *scanner) followsDay() bool {
	r, _ := utf8.DecodeRune(sc.priorWord.bytes())
	return unicode.IsDigit(r) && countLetters(&sc.priorWord) <= 2
}

// isLabel reports whether the sentence has nothing but a label with a number: "Step 1.", "Art. 2.",
// "৩।". It stays with the text behind it.
func (sc *scanner) isLabel() bool {
	before := sc.priorWord.bytes()
	switch r, _ := utf8.DecodeRune(sc.lastWord.bytes()); {
	case !unicode.IsDigit(r) && strings.Trim(string(sc.lastWord.bytes()), "IVXLC") != "",
		countLetters(&sc.lastWord) > 4:
		return false
	case sc.wordCount == 1:
		return unicode.IsDigit(r) && countLetters(&sc.lastWord) <= 2
	case sc.wordCount == 2:
		return sc.lang.has(letterNouns, before) ||
			len(before) > 1 && sc.lang.classifyWord(before, true) == abbrBeforeNumber
	}
	return false
}
