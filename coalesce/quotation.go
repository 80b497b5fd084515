package coalesce

import "unicode/utf8"

// continuesQuotation reports whether what follows a quotation goes on with the sentence around it: "Go!" Ada said.
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

// quotativeTo is the Japanese particle behind a quotation. With a combining mark it is another syllable.
const quotativeTo = 'と'

// isJapaneseParticle reports whether a Japanese particle stands at offset at, behind a quotation or a bracket.
func (l *lookahead) isJapaneseParticle(at int) bool {
	r, _, size := l.peekRune(at)
	switch r {
	case quotativeTo, 'っ':
		return true
	case 'は', 'が', 'を', 'の', 'に', 'へ', 'で':
		next, _, _ := l.peekRune(at + size)
		return wideScript(next) != hiragana // not はい and でも
	}
	return false
}

// continuesAnyQuotation reports whether the Burmese particle behind a quotation, or the Amharic "said", stands at offset at.
func (d *detector) continuesAnyQuotation(at int) bool {
	w := d.wordAt(at)
	r, _ := utf8.DecodeRune(w.bytes())
	return d.scan.given.forScript(r).has(quotationEnds, w.bytes())
}

// dashStartsTurn reports whether a dash begins a new turn at offset at.
func (d *detector) dashStartsTurn(at int) bool {
	_, _, size := d.peek(at)
	at += size
	if _, c, size := d.peek(at); c == clSpace {
		at += size
	}
	i, c := d.skipOpeners(at)
	r, _, _ := d.peekRune(i)
	return (c == clUpper || c == clLetter && d.scan.marks.isSingleStop() || r == '¿' || r == '¡') && !d.scan.marks.quoted && (d.scan.lastKind == notAbbreviation || !d.scan.marks.isSingleStop()) // 9 a.m. – Lunch
}
