package coalesce

import "unicode/utf8"

// continuesQuotation reports whether the text at pos, of class c, goes on with the sentence around
// a quotation: "Go!" Ada said. One of its first two words must be in the language's list for that;
// a first word that begins sentences, and a language without a list, give false.
func (d *detector) continuesQuotation(pos int, c class) bool {
	lang := d.scan.lang
	if c == clWide {
		return d.wideContinuesQuotation(pos)
	}
	if !isLetter[c] || len(lang.words[quotationWords]) == 0 {
		return false
	}
	for range 2 {
		w := d.wordAt(pos)
		if lang.has(quotationWords, w.bytes()) {
			return true
		}
		if w.n > len(w.b) || c == clUpper && lang.has(firstWords, w.bytes()) { // She laughed.
			return false
		}
		pos += w.n
		_, c, size := d.peek(pos)
		if c != clSpace {
			return false
		}
		pos += size
	}
	return false
}

// wideContinuesQuotation is continuesQuotation for Chinese and Japanese. They write no spaces, so a
// word of one character is looked for among the first four; one in kana counts only as the first.
func (d *detector) wideContinuesQuotation(pos int) bool {
	lang := d.scan.given.forScript(quotativeTo)
	for i := range 4 {
		r, c, size := d.peekRune(pos)
		if c != clWide {
			return false
		}
		isWord := lang.words[quotationWords][string(r)]
		if isWord && (i > 0 || r > 0x3000) && (wideScript(r) == han || i == 0) {
			return true
		}
		pos += size
	}
	return false
}

// quotativeTo is the Japanese particle behind a quotation. With a combining mark it would be
// another syllable.
const quotativeTo = 'と'

// isJapaneseParticle reports whether a particle of Japanese that goes on with a sentence behind a
// quotation or a bracket stands at pos. One that may begin a word, as は does はい, counts only if no
// hiragana follows.
func (l *lookahead) isJapaneseParticle(pos int) bool {
	r, _, size := l.peekRune(pos)
	switch r {
	case quotativeTo, 'っ':
		return true
	case 'は', 'が', 'を', 'の', 'に', 'へ', 'で':
		next, _, _ := l.peekRune(pos + size)
		return wideScript(next) != hiragana // はい and でも are words of their own
	}
	return false
}

// continuesAnyQuotation reports whether the word at pos goes on with a sentence behind every
// quotation, whatever mark it ends in. Burmese and Amharic have such words.
func (d *detector) continuesAnyQuotation(pos int) bool {
	w := d.wordAt(pos)
	r, _ := utf8.DecodeRune(w.bytes())
	return d.scan.given.forScript(r).has(quotationEnds, w.bytes())
}

// dashStartsTurn reports whether the dash at pos begins another speaker's turn. It does not
// in "9 a.m. – Lunch".
func (d *detector) dashStartsTurn(pos int) bool {
	_, _, size := d.peek(pos)
	pos += size
	if _, c, size := d.peek(pos); c == clSpace {
		pos += size
	}
	i, c := d.skipOpeners(pos)
	r, _, _ := d.peekRune(i)
	m := &d.scan.marks
	begins := c == clUpper || c == clLetter && m.isSingleStop() || r == '¿' || r == '¡'
	return begins && !m.quoted && (d.scan.lastKind == notAbbreviation || !m.isSingleStop())
}
