package coalesce

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hasKoreanEnding reports whether the last word has an ending that the verbs of Korean sentences
// have.
func (sc *scanner) hasKoreanEnding() bool {
	r, _ := utf8.DecodeLastRune(sc.lastWord.bytes())
	switch r {
	case '다', '요', '죠', '까', '네', '군', '자', '라', '오':
		return true
	}
	return false
}

// letterIsName reports whether the single letter before the full stop is a word or a name (Plan B),
// and no initial.
func (d *detector) letterIsName() bool {
	sc := &d.scan
	before := sc.priorWord.bytes()
	if sc.wordCount < 2 || len(before) == 0 {
		return false
	}
	if _, ok := sc.lang.words[letterNouns][string(before)]; ok {
		return true
	}
	pronoun := string(sc.lastWord.bytes()) == "I" && sc.lang.words[firstWords]["I"]
	return pronoun && 'a' <= before[0] && before[0] <= 'z'
}

// startsSentence reports whether the word at pos is one that sentences often start with, by the
// file of the language, or a contraction such as Don't. A single letter before a full stop or
// hyphen is an initial, and does not count.
func (d *detector) startsSentence(pos int) bool {
	w := d.wordAt(pos)
	if countLetters(&w) == 1 {
		if r, c, _ := d.peekRune(pos + w.n); c == clStop || r == '-' { // it may be an initial, or I-5
			return false
		}
	}
	r, _ := utf8.DecodeRune(w.bytes())
	return d.isContraction(pos+w.n) || d.scan.given.forScript(r).has(firstWords, w.bytes())
}

// endsName reports whether the abbreviation before the full stop may end a sentence in front of any
// word: it ends a name, or follows a year that is not what the sentence began with.
func (d *detector) endsName() bool {
	sc := &d.scan
	before := sc.priorWord.bytes()
	switch r, _ := utf8.DecodeLastRune(before); {
	case sc.lastKind == abbrMayEnd: // Washington, D.C.
		return r == ',' && bytes.IndexByte(sc.lastWord.bytes(), '.') > 0 && sc.wordCount > 3
	case unicode.IsDigit(r), len(before) > 0 && strings.Trim(string(before), "IVXLC") == "":
		return sc.wordCount > 3 && !sc.beganShort
	case sc.lastWord.b[0] >= 'a': // "Nel III sec. a.C. Roma" goes on, and so does "г. Волгоград"
		return sc.wordCount > 3 && !sc.beganShort && countLetters(&sc.lastWord) > 1
	}
	return sc.wordCount > 3 && countLetters(&sc.lastWord) > 1
}

// continuesSmall reports whether the second letter of the word at pos is small, and the next
// word begins with a small letter. Names seldom look so, the beginnings of sentences do.
func (l *lookahead) continuesSmall(pos int) bool {
	w := l.wordAt(pos)
	_, size := utf8.DecodeRune(w.bytes())
	if r, _ := utf8.DecodeRune(w.bytes()[size:]); !unicode.IsLower(r) {
		return false
	}
	if _, c, _ := l.peek(pos + w.n); c != clSpace {
		return false
	}
	_, c, _ := l.peek(pos + w.n + 1)
	return c == clLower
}

// isContraction reports whether the end of a word such as Don't or We're stands at pos.
func (d *detector) isContraction(pos int) bool {
	r, _, size := d.peekRune(pos)
	if r != '\'' && r != '’' {
		return false
	}
	w := d.wordAt(pos + size)
	return d.scan.lang.has(contractions, w.bytes())
}

// isNameParticle reports whether a name may go on behind initials with the word at pos: W. E.
// B. Du Bois.
func (d *detector) isNameParticle(pos int) bool {
	w := d.wordAt(pos)
	return d.scan.lang.has(nameParticles, w.bytes())
}

// isVersus reports whether the last word stands between the parties of a case: Roe v. Wade.
func (sc *scanner) isVersus() bool {
	r, _ := utf8.DecodeRune(sc.priorWord.bytes())
	return string(sc.lastWord.bytes()) == "v" && classOf(r) == clUpper
}

// isCaseless reports whether a word is of a script without capitals, by its last letter.
func (sc *scanner) isCaseless(w *wordBuffer) bool {
	r, _ := utf8.DecodeLastRune(w.bytes())
	c := classOf(r)
	if c == clExtend {
		r, _ = utf8.DecodeRune(w.bytes())
		c = classOf(r)
	}
	return c == clLetter || c == clWide
}

// isMixedCase reports whether the word at pos is a name though it begins small, such as iPhone,
// eBay and v2, or the beginning of an address such as https:/. Its first 20 characters decide.
func (l *lookahead) isMixedCase(pos int) bool {
	for i := range 20 {
		_, c, size := l.peek(pos)
		switch {
		case (c == clUpper || c == clDigit) && i > 0:
			return true
		case c != clLower && c != clExtend:
			r, _, _ := l.peekRune(pos)
			if r == ':' && i >= 4 { // http, https
				r, _, _ = l.peekRune(pos + 1)
				return r == '/'
			}
			return false
		}
		pos += size
	}
	return false
}

// isClipped reports whether the apostrophe at pos and the one letter behind it, at i, are a Dutch
// word such as 't in front of a capital. Such a word begins a sentence.
func (l *lookahead) isClipped(pos, i int) bool {
	if _, _, size := l.peek(pos); i != pos+size {
		return false
	}
	_, _, size := l.peek(i)
	if _, c, _ := l.peek(i + size); c != clSpace {
		return false
	}
	_, c, _ := l.peek(i + size + 1)
	return c == clUpper
}

// isKhmerEtc reports whether the rest of ។ល។, "etc." in Khmer, stands at pos.
func (l *lookahead) isKhmerEtc(pos int) bool {
	r, _, size := l.peekRune(pos)
	if r != 'ល' {
		return false
	}
	r, _, _ = l.peekRune(pos + size)
	return r == '។'
}

// stopInNumber reports whether the mark read last stands within a number, in front of a character
// of class c, as in Armenian 15։30, Urdu 3۔5 and ３．５, or behind the number of an item, as in １．設定.
func (sc *scanner) stopInNumber(c class) bool {
	if c != clDigit && (c != clWide || sc.wideCount > 0) || sc.marks.closed || !strings.ContainsRune("։۔．", sc.last) {
		return false
	}
	r, _ := utf8.DecodeLastRune(sc.word.bytes())
	return unicode.IsDigit(r)
}

// isInitial reports whether the word before a mark such as ۔ is a letter, or the number of an item.
func (sc *scanner) isInitial() bool {
	kind := sc.lang.classifyWord(sc.lastWord.bytes(), sc.wordCount == 1)
	return kind == abbrItemMarker || kind == abbrNeverEnds
}

// startsJoined reports whether a sentence starts at pos though the white space before it is missing
// ("finished.The"). It is false for what may be within an identifier or a number: Node.JS, Ph.D.,
// f(x), 1.The. A word at pos that starts sentences, or a mark other than a stop, decides for it.
func (d *detector) startsJoined(pos int) bool {
	sc := &d.scan
	for i, b := range sc.word.bytes() {
		if 'A' <= b && b <= 'Z' && i > 0 {
			return false
		}
	}
	w := d.wordAt(pos)
	word := w.bytes()
	if len(word) == 0 {
		return false
	}
	if _, next, _ := d.peek(pos + len(word)); len(word) == 1 && next != clSpace {
		return false // Ph.D.
	}
	switch r, _, _ := d.peekRune(pos + len(word)); r {
	case '(', '_', '/', '=', '-':
		return false
	case '.':
		if _, c, _ := d.peek(pos + len(word) + 1); isLetter[c] || c == clDigit {
			return false
		}
	}
	if sc.marks.stops == 0 {
		return len(word) > 1
	}
	if sc.word.b[0] <= '9' && sc.wordCount < 2 || countLetters(&sc.word) == 1 {
		return false // 1.The
	}
	return sc.lang.abbreviations[string(word)] == abbrNeverEnds || d.startsSentence(pos) ||
		sc.lang.set.unknown.has(firstWords, word)
}

// countLetters returns how many characters a word has; for one that is longer than the buffer, it
// returns a number larger than any bound that it is compared with.
func countLetters(w *wordBuffer) (n int) {
	for _, b := range w.bytes() {
		if b&0xC0 != 0x80 {
			n++
		}
	}
	if w.n > len(w.b) {
		return w.n
	}
	return n
}
