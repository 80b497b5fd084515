package coalesce

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a number before or behind a full stop is: third, a day, an hour, an amount, a label.

// ordinal says whether the number before the full stop means "third", and whether that is sure.
func (s *Segmenter) ordinal(at int, c class) (ordinal, sure bool) {
	sc := &s.scan
	if !sc.lang.ordinals() {
		return false, false
	}
	numeral := sc.done.b[0] > '9'
	switch c {
	case clLower:
		return true, true
	case clLetter: // 2026. 12. 3. and what there is on that day
		before := sc.before.bytes()
		return sc.lang.yearFirst && 0 < len(before) && len(before) <= 2 && before[0] <= '9', true
	case clDigit: // 3. 5. 2026
		return (sc.done.n <= 2 || sc.lang.yearFirst) && !numeral && sc.lang.known, true
	case clUpper:
		word := s.wordAt(at)
		dated := sc.lang.has(ordinalWords, word.bytes())
		switch {
		case sc.lang.has(firstWords, word.bytes()):
			return false, true
		case !sc.lang.known:
			return dated && !numeral, true
		}
		return numeral || dated || sc.words > 1 && !sc.lang.yearFirst && (sc.words == 2 || sc.before.b[0] >= 'a') && sc.lang.has(ordinalWords, sc.before.bytes()), true
	}
	return false, false
}

// numeral says whether the word at offset at is a Roman numeral or a single letter.
func (s *Segmenter) numeral(at int) bool {
	w := s.wordAt(at)
	word := w.bytes()
	if letters(&w) == 1 {
		r, _, _ := s.rune(at + w.n)
		return r != '\'' && r != '’' && (word[0] != 'I' && word[0] != 'A' && (w.n == 1 || !s.scan.lang.has(firstWords, word)) || !s.white(at+w.n))
	}
	if bytes.Equal(word, bytes.ToUpper(word)) { // No. XJ-5
		if r, c, _ := s.rune(at + len(word)); r == '-' || c == clDigit {
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

// calendar says whether the word at offset at goes with a time of day: a day, a month, a time zone.
func (s *Segmenter) calendar(at int) bool {
	w := s.wordAt(at)
	word := w.bytes()
	return len(word) < 2 || 'A' <= word[1] && word[1] <= 'Z' || s.scan.lang.has(clockWords, word)
}

// currency says whether the amount before the full stop goes on at offset at: 5 mil. Kč, 3 mln. EUR.
func (s *Segmenter) currency(at int) bool {
	if r, _ := utf8.DecodeLastRune(s.scan.before.bytes()); !unicode.IsDigit(r) {
		return false
	}
	w := s.wordAt(at)
	word := w.bytes()
	return s.scan.lang.abbrs[string(word)] == abList || len(word) == 3 && bytes.Equal(word, bytes.ToUpper(word)) && !s.starts(at)
}

// hour says whether the word, behind a number, is of Arabic or Hebrew, and the number no year: 3:30 م. or 1.80 م.
func (sc *scanner) hour() bool {
	r, _ := utf8.DecodeRune(sc.word.bytes())
	return letters(&sc.word) == 1 && unicode.In(r, unicode.Arabic, unicode.Hebrew) && (letters(&sc.done) <= 2 || bytes.ContainsAny(sc.done.bytes(), ":.٫"))
}

// dayBefore says whether a number stands before the last word, as the day does before a month cut short.
func (sc *scanner) dayBefore() bool {
	r, _ := utf8.DecodeRune(sc.before.bytes())
	return unicode.IsDigit(r) && letters(&sc.before) <= 2
}

// year says whether a number of four digits stands at offset at.
func (s *Segmenter) year(at int) bool {
	for n := 0; ; n++ {
		_, c, size := s.peek(at)
		if c != clDigit || n > 4 {
			return n == 4
		}
		at += size
	}
}

// labelled says whether all there is of the sentence is a label with a number: Step 1. Art. 2. ৩।
func (sc *scanner) labelled() bool {
	before := sc.before.bytes()
	switch r, _ := utf8.DecodeRune(sc.done.bytes()); {
	case !unicode.IsDigit(r) && strings.Trim(string(sc.done.bytes()), "IVXLC") != "" || letters(&sc.done) > 4:
		return false
	case sc.words == 1:
		return unicode.IsDigit(r) && letters(&sc.done) <= 2
	case sc.words == 2:
		return sc.lang.has(letterNouns, before) || len(before) > 1 && sc.lang.classify(before, true) == abNumber
	}
	return false
}
