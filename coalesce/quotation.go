package coalesce

import "unicode/utf8"

// continuesQuotation reports whether the text at offset at, of class c, goes on with the sentence
// around a quotation: "Go!" Ada said. Chinese and Japanese write no spaces, so their words are
// looked for in the first four characters.
func (d *detector) continuesQuotation(at int, c class) bool {
	lang := d.scan.lang
	if c == clWide {
		lang = d.scan.given.forScript(quotativeTo)
		for i := range 4 {
			r, c, size := d.peekRune(at)
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
		w := d.wordAt(at)
		if lang.has(quotationWords, w.bytes()) {
			return true
		}
		if w.n > len(w.b) || c == clUpper && lang.has(firstWords, w.bytes()) { // She laughed.
			return false
		}
		at += w.n
		if _, c, size := d.peek(at); c != clSpace {
			return false
		} else {
			at += size
		}
	}
	return false
}

// quotativeTo is the Japanese particle behind a quotation. With a combining mark it would be
// another syllable.
const quotativeTo = 'と'

// isJapaneseParticle reports whether a particle of Japanese that goes on with a sentence behind a
// quotation or a bracket stands at offset at.
func (l *lookahead) isJapaneseParticle(at int) bool {
	r, _, size := l.peekRune(at)
	switch r {
	case quotativeTo, 'っ':
		return true
	case 'は', 'が', 'を', 'の', 'に', 'へ', 'で':
		next, _, _ := l.peekRune(at + size)
		return wideScript(next) != hiragana // はい and でも are words of their own
	}
	return false
}

// continuesAnyQuotation reports whether the word at offset at goes on with a sentence behind every
// quotation, whatever mark it ends in. Burmese and Amharic have such words.
func (d *detector) continuesAnyQuotation(at int) bool {
	w := d.wordAt(at)
	r, _ := utf8.DecodeRune(w.bytes())
	return d.scan.given.forScript(r).has(quotationEnds, w.bytes())
}

// dashStartsTurn reports whether the dash at offset at begins another speaker's turn. It does not
// in "9 a.m. – Lunch".
func (d *detector) dashStartsTurn(at int) bool {
	_, _, size := d.peek(at)
	at += size
	if _, c, size := d.peek(at); c == clSpace {
		at += size
	}
	i, c := d.skipOpeners(at)
	r, _, _ := d.peekRune(i)
	m := &d.scan.marks
	begins := c == clUpper || c == clLetter && m.isSingleStop() || r == '¿' || r == '¡'
	return begins && !m.quoted && (d.scan.lastKind == notAbbreviation || !m.isSingleStop())
}
