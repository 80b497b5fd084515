package coalesce

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// koreanEnd says whether the word before the marks has an ending that Korean sentences have.
func (sc *scanner) koreanEnd() bool {
	r, _ := utf8.DecodeLastRune(sc.done.bytes())
	switch r {
	case '다', '요', '죠', '까', '네', '군', '자', '라', '오':
		return true
	}
	return false
}

// named says whether the single letter before the full stop is a word or a name, and no initial.
func (s *Segmenter) named() bool {
	sc := &s.scan
	before := sc.before.bytes()
	if sc.words < 2 || len(before) == 0 {
		return false
	}
	if _, ok := sc.lang.words[letterNouns][string(before)]; ok {
		return true
	}
	return string(sc.done.bytes()) == "I" && sc.lang.words[firstWords]["I"] && 'a' <= before[0] && before[0] <= 'z'
}

// wordAt returns the word at offset at.
func (s *Segmenter) wordAt(at int) (w spelled) {
	for range 20 {
		r, c, size := s.peek(at)
		if !isLetter[c] && c != clExtend {
			return w
		}
		if s.rune(at); r != unsure {
			w.add(r)
		}
		at += size
	}
	w.n = len(w.b) + 1
	return w
}

// starts says whether the word at offset at is one that sentences start with.
func (s *Segmenter) starts(at int) bool {
	w := s.wordAt(at)
	if letters(&w) == 1 {
		if r, c, _ := s.rune(at + w.n); c == clStop || r == '-' { // an initial, more likely, or I-5
			return false
		}
	}
	r, _ := utf8.DecodeRune(w.bytes())
	return s.contracted(at+w.n) || s.scan.given.forScript(r).has(firstWords, w.bytes())
}

// closed says whether the abbreviation before the full stop may end a sentence in front of any word: it ends a name, or a year that is
// not what the sentence began with.
func (s *Segmenter) closed() bool {
	sc := &s.scan
	before := sc.before.bytes()
	switch r, _ := utf8.DecodeLastRune(before); {
	case sc.kind == abMay: // in Washington, D.C.
		return r == ',' && bytes.IndexByte(sc.done.bytes(), '.') > 0 && sc.words > 3
	case unicode.IsDigit(r), len(before) > 0 && strings.Trim(string(before), "IVXLC") == "":
		return sc.words > 3 && !sc.fronted
	case sc.done.b[0] >= 'a': // Nel III sec. a.C. Roma
		return sc.words > 3 && !sc.fronted && letters(&sc.done) > 1 // but not in г. Волгоград
	}
	return sc.words > 3 && letters(&sc.done) > 1
}

// goesOnSmall says whether the word at offset at has a small letter second, and a word with a small one first behind it.
func (s *Segmenter) goesOnSmall(at int) bool {
	w := s.wordAt(at)
	_, size := utf8.DecodeRune(w.bytes())
	if r, _ := utf8.DecodeRune(w.bytes()[size:]); !unicode.IsLower(r) {
		return false
	}
	if _, c, _ := s.peek(at + w.n); c != clSpace {
		return false
	}
	_, c, _ := s.peek(at + w.n + 1)
	return c == clLower
}

// contracted says whether the end of an English word such as Don't or We're stands at offset at.
func (s *Segmenter) contracted(at int) bool {
	r, _, size := s.rune(at)
	if r != '\'' && r != '’' {
		return false
	}
	w := s.wordAt(at + size)
	return s.scan.lang.has(contractions, w.bytes())
}

// particle says whether the word at offset at may be part of a name behind initials, as in W. E. B. Du Bois.
func (s *Segmenter) particle(at int) bool {
	w := s.wordAt(at)
	return s.scan.lang.has(nameParticles, w.bytes())
}

// versus says whether the word before the full stop stands between the parties of a case: Roe v. Wade.
func (sc *scanner) versus() bool {
	r, _ := utf8.DecodeRune(sc.before.bytes())
	return string(sc.done.bytes()) == "v" && classOf(r) == clUpper
}

// caseless says whether a word is of a script without capitals.
func (sc *scanner) caseless(w *spelled) bool {
	r, _ := utf8.DecodeLastRune(w.bytes())
	c := classOf(r)
	if c == clExtend {
		r, _ = utf8.DecodeRune(w.bytes())
		c = classOf(r)
	}
	return c == clLetter || c == clWide
}

// humped says whether the word at offset at is a name, though it begins small: iPhone, eBay, v2, or an address: https://a.b.
func (s *Segmenter) humped(at int) bool {
	for i := range 20 {
		_, c, size := s.peek(at)
		switch {
		case (c == clUpper || c == clDigit) && i > 0:
			return true
		case c != clLower && c != clExtend:
			r, _, _ := s.rune(at)
			if r == ':' && i >= 4 { // http, https
				r, _, _ = s.rune(at + 1)
				return r == '/'
			}
			return false
		}
		at += size
	}
	return false
}

// clipped says whether a quote at offset at, and what follows it at i, is a Dutch word such as 't in front of a capital.
func (s *Segmenter) clipped(at, i int) bool {
	if _, _, size := s.peek(at); i != at+size {
		return false
	}
	_, _, size := s.peek(i)
	if _, c, _ := s.peek(i + size); c != clSpace {
		return false
	}
	_, c, _ := s.peek(i + size + 1)
	return c == clUpper
}

// said says whether what follows a quotation goes on with the sentence around it: "Go!" Ada said.
func (s *Segmenter) said(at int, c class) bool {
	lang := s.scan.lang
	if c == clWide {
		lang = s.scan.given.forScript(quotative)
		for i := range 4 {
			r, c, size := s.rune(at)
			if c != clWide {
				return false
			}
			if lang.words[quotationWords][string(r)] && (i > 0 || r > 0x3000) && (wideScript(r) == han || i == 0) {
				return true
			}
			at += size
		}
		return false
	}
	if !isLetter[c] || len(lang.words[quotationWords]) == 0 {
		return false
	}
	for range 2 {
		w := s.wordAt(at)
		if lang.has(quotationWords, w.bytes()) {
			return true
		}
		if w.n > len(w.b) || c == clUpper && lang.has(firstWords, w.bytes()) { // She laughed.
			return false
		}
		at += w.n
		if _, c, size := s.peek(at); c != clSpace {
			return false
		} else {
			at += size
		}
	}
	return false
}

// quotative is the Japanese particle behind a quotation. With a combining mark it is another syllable.
const quotative = 'と'

// goesOn says whether a Japanese particle stands at offset at, behind a quotation or a bracket.
func (s *Segmenter) goesOn(at int) bool {
	r, _, size := s.rune(at)
	switch r {
	case quotative, 'っ':
		return true
	case 'は', 'が', 'を', 'の', 'に', 'へ', 'で':
		next, _, _ := s.rune(at + size)
		return wideScript(next) != hiragana // not はい and でも
	}
	return false
}

// quoted says whether the Burmese particle behind a quotation, or the Amharic "said", stands at offset at.
func (s *Segmenter) quoted(at int) bool {
	w := s.wordAt(at)
	r, _ := utf8.DecodeRune(w.bytes())
	return s.scan.given.forScript(r).has(quotationEnds, w.bytes())
}

// andSoOn says whether the rest of ។ល។, the Khmer etc., stands at offset at.
func (s *Segmenter) andSoOn(at int) bool {
	r, _, size := s.rune(at)
	if r != 'ល' {
		return false
	}
	r, _, _ = s.rune(at + size)
	return r == '។'
}

// numeric says whether a final mark stands within a number, in front of a character of class c: Armenian 15։30, Urdu 3۔5, ３．５; or
// behind that of an item: １．設定.
func (sc *scanner) numeric(c class) bool {
	if c != clDigit && (c != clWide || sc.wides > 0) || sc.marks.closed || sc.last != '։' && sc.last != '۔' && sc.last != '．' {
		return false
	}
	r, _ := utf8.DecodeLastRune(sc.word.bytes())
	return unicode.IsDigit(r)
}

// initial says whether the word before ۔ is a letter, or the number of an item.
func (sc *scanner) initial() bool {
	kind := sc.lang.classify(sc.done.bytes(), sc.words == 1)
	return kind == abMarker || kind == abBefore
}

// joined says whether a sentence starts at offset at, though the white space before it is missing.
func (s *Segmenter) joined(at int) bool {
	sc := &s.scan
	for i, b := range sc.word.bytes() { // finished.The, but not Node.JS
		if 'A' <= b && b <= 'Z' && i > 0 {
			return false
		}
	}
	w := s.wordAt(at)
	word := w.bytes()
	if len(word) == 0 {
		return false
	}
	if _, next, _ := s.peek(at + len(word)); len(word) == 1 && next != clSpace {
		return false // Ph.D.
	}
	switch r, _, _ := s.rune(at + len(word)); r {
	case '(', '_', '/', '=', '-':
		return false
	case '.':
		if _, c, _ := s.peek(at + len(word) + 1); isLetter[c] || c == clDigit {
			return false
		}
	}
	if sc.marks.stops == 0 {
		return len(word) > 1
	}
	if sc.word.b[0] <= '9' && sc.words < 2 || letters(&sc.word) == 1 {
		return false // 1.The
	}
	return sc.lang.abbrs[string(word)] == abBefore || s.starts(at) || sc.lang.set.unknown.has(firstWords, word)
}

// letters counts the characters of a word.
func letters(w *spelled) (n int) {
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
