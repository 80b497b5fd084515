package coalesce

import (
	"unicode"
	"unicode/utf8"
)

// A scanner knows what it has read well enough to say whether a boundary stands in front of the next
// character. It holds no text but one word.
type scanner struct {
	prev class // of the last character that is not a combining mark
	last rune  // the last character that is not a combining mark

	space bool // behind the text there is white space
	lines int  // in which so many line ends; a paragraph separator counts as two
	cr    bool // the last character was a carriage return

	marks    marks // the final marks read last, until text follows them
	clause   class // clClause or clFullClause read last, until text follows it; else 0
	emphasis bool  // an emphasis mark has been seen in this sentence

	word   [24]byte // the word before the marks or the one being read
	n      int      // its length; more than the array holds means too long to matter
	alnum  bool     // it has a letter or digit
	words  int      // words of this sentence that white space has ended
	letter class    // of the sentence's first letter or digit; 0: none yet

	waiting waiting
}

// marks is a run of final marks and the closers behind it.
type marks struct {
	any      bool
	stops    int // full stops
	bang     bool
	ask      bool
	full     bool // a mark of a script that writes no space behind it
	ellipsis bool
	wide     bool // the first mark follows an ideograph or kana
	closed   bool // a closing quote, bracket or emphasis mark follows
	cite     int  // characters a reference such as [12] may still have; 0: not in one
	short    abbr // what the word before a single full stop is; valid behind white space
}

// waiting is a boundary that more text has to decide.
type waiting struct {
	kind  wait
	at    int  // offset in the Segmenter's buf
	level int  // what the boundary is if it ends no sentence
	quote bool // the last character waited over is a quote, which may close or open
}

type wait uint8

const (
	waitNot    wait = iota
	waitOpener      // for the character behind an opening quote or bracket
	waitWord        // for the next word
)

// verdict is what decide found in front of a character.
type verdict struct {
	level  int
	wait   wait
	clause bool
}

// decide says what boundary stands in front of r, of class c, neither white space nor a combining mark.
func (sc *scanner) decide(r rune, c class) verdict {
	m := &sc.marks
	v := verdict{clause: sc.clause != 0 && (sc.space || sc.clause == clFullClause && !attached[c])}
	if sc.space || v.clause {
		v.level = atWord
	}
	switch {
	case sc.lines >= 2:
		v.level = atParagraph
	case sc.lines == 1: // UAX #29, SB4
		v.level = atSentence
	case m.any && sc.space:
		switch end, wait := sc.ends(c); {
		case wait != waitNot:
			v.wait = wait
		case end:
			v.level = atSentence
		}
	case m.any && m.cite == 0:
		if sc.endsTight(r, c) {
			v.level = atSentence
		}
	case v.level == 0 && sc.newWord(r, c):
		v.level = atWord
	}
	return v
}

// ends says whether marks and white space in front of a character of class c end a sentence.
func (sc *scanner) ends(c class) (end bool, w wait) {
	m := &sc.marks
	if opener[c] {
		return false, waitOpener
	}
	if attached[c] { // UAX #29, SB8a; and a closing bracket
		return false, waitNot
	}
	switch {
	case m.full, m.ask:
		return m.full || c != clLower || !m.closed, waitNot // "Really?" she asked.
	case m.bang:
		return c != clLower, waitNot
	case m.ellipsis || m.stops > 1:
		return c == clUpper || c == clEnd, waitNot
	}
	switch m.short {
	case abMarker, abNever:
		return false, waitNot
	case abNumber: // "No. 5", but "No. That"
		return c == clUpper || c == clEnd, waitNot
	case abInitial, abMaybe:
		if c == clUpper {
			return false, waitWord
		}
		return c == clEnd || m.short == abMaybe && c == clWide, waitNot
	}
	// UAX #29, SB8; but who begins a sentence small will begin the next one small too.
	return c != clLower || sc.letter == clLower && sc.words >= 3 && !m.closed, waitNot
}

// quotative is the Japanese particle behind a quotation. With a combining mark it is another syllable.
const quotative = 'と'

// endsTight is ends without white space.
func (sc *scanner) endsTight(r rune, c class) bool {
	m := &sc.marks
	switch {
	case m.full:
		switch {
		case attached[c], c == clQuote, c == clFormat, c == clCloseQuote:
			return false
		case c == clEmphasis:
			return !sc.emphasis
		case m.closed && (r == quotative || r == 'っ'): // 「はい。」と
			return false
		}
		return true
	case m.ask || m.bang:
		return m.wide && c == clWide
	}
	return false
}

// newWord says whether a word begins at r with no white space in front. Every such place is a boundary of
// UAX #29 too, but not the other way round.
func (sc *scanner) newWord(r rune, c class) bool {
	switch {
	case c == clWide:
		now, before := wideScript(r), wideScript(sc.last)
		switch {
		case now == hiragana || now == sameKana:
			return false
		case sc.prev == clWide:
			return now == han || before != katakana && before != sameKana || now != katakana
		}
		return sc.prev == clUpper || sc.prev == clLower || sc.prev == clLetter || sc.prev == clDigit ||
			sc.prev == clClose || sc.prev == clCloseQuote
	case c == clUpper || c == clLower || c == clLetter || c == clDigit:
		return sc.prev == clWide || sc.prev == clWordSep
	}
	return false
}

// resume goes on with what waits, now that r follows. It returns the level of the boundary there, or -1
// for none at all, or what to wait for still.
func (sc *scanner) resume(r rune, c class) (level int, w wait) {
	switch sc.waiting.kind {
	case waitOpener:
		switch {
		case c == clExtend:
			return 0, waitOpener
		case opener[c]:
			sc.waiting.quote = quotish[c]
			return 0, waitOpener
		case c == clSpace || c == clLine:
			if sc.waiting.quote { // « Vraiment ? » dit-il: it closed
				sc.marks.closed = true
				return -1, waitNot
			}
			c = clOther
		}
		end, w := sc.ends(c)
		switch {
		case w != waitNot:
			sc.waiting.kind = w
			return 0, w
		case end:
			return atSentence, waitNot
		}
		sc.marks = marks{}
	case waitWord:
		if isLetter[c] && sc.n <= 12 || c == clExtend {
			return 0, waitWord
		}
		if sc.n <= len(sc.word) && starters[string(sc.word[:sc.n])] {
			return atSentence, waitNot
		}
	}
	return sc.waiting.level, waitNot
}

// update reads r, which is of class c.
func (sc *scanner) update(r rune, c class) {
	m := &sc.marks
	crlf := sc.cr && r == '\n'
	sc.cr = r == '\r'
	if c == clSpace || c == clLine {
		if !sc.space {
			sc.endWord()
			sc.space, sc.lines = true, 0
		}
		switch {
		case r == '\u2029':
			sc.lines += 2
		case c == clLine && !crlf:
			sc.lines++
		}
		sc.lines = min(sc.lines, 2)
		return
	}
	after := sc.space
	sc.space, sc.lines = false, 0
	if c == clExtend && !after {
		if sc.n > 0 && !m.any {
			sc.spell(r)
		}
		return
	}
	tight := m.any && !after
	switch {
	case opener[c] && sc.waiting.kind == waitOpener:
		sc.emphasis = sc.emphasis || c == clEmphasis
		sc.prev, sc.last = c, r
		return
	case m.cite > 0 && tight:
		m.cite--
		if r == ']' {
			m.cite, m.closed = 0, true
		} else if m.cite == 0 {
			sc.text(c, false)
		}
	case isMark[c]:
		if !tight {
			*m = marks{any: true, wide: sc.prev == clWide}
		}
		switch c {
		case clStop:
			m.stops++
		case clBang:
			m.bang = true
		case clAsk:
			m.ask = true
		case clFull:
			m.full = true
		case clEllipsis:
			m.ellipsis = true
		}
		sc.clause = 0
	case tight && (c == clClose || c == clCloseQuote || c == clQuote || c == clEmphasis || c == clOpenQuote && !m.full):
		m.closed = true
	case tight && c == clFormat:
	case tight && r == '[' && !m.full:
		m.cite = 12
	default:
		sc.text(c, tight)
		switch {
		case isLetter[c] || c == clDigit:
			sc.alnum = true
			if sc.letter == 0 {
				sc.letter = c
			}
			sc.spell(r)
		case opener[c] || c == clClose:
			sc.n = 0
		default:
			sc.spell(r)
		}
	}
	sc.emphasis = sc.emphasis || c == clEmphasis
	sc.prev, sc.last = c, r
}

// text ends a run of marks because text of class c follows.
func (sc *scanner) text(c class, tight bool) {
	if sc.marks.any {
		if m := sc.marks; tight && m.stops == 1 && !m.closed && !m.full && !m.ask && !m.bang && (isLetter[c] || c == clDigit) {
			sc.spell('.') // "e.g", "U.S": one word so far
		} else if tight {
			sc.n = 0
		}
		sc.marks = marks{}
	}
	switch {
	case c == clClause || c == clFullClause:
		sc.clause = c
	case c != clClose && c != clCloseQuote && c != clQuote:
		sc.clause = 0
	}
}

// spell adds r to the word being read.
func (sc *scanner) spell(r rune) {
	if size := utf8.RuneLen(r); size > 0 && sc.n+size <= len(sc.word) {
		sc.n += utf8.EncodeRune(sc.word[sc.n:], r)
		return
	}
	sc.n = len(sc.word) + 1
}

// endWord is called where white space begins.
func (sc *scanner) endWord() {
	if sc.alnum {
		sc.words++
		sc.alnum = false
	}
	switch m := &sc.marks; {
	case m.cite > 0: // no reference: those have no space in them
		*m = marks{}
	case m.any && m.stops == 1 && m.short == abUnknown:
		m.short = sc.short(sc.words == 1)
	}
	sc.n = 0
}

// short classifies the word before a full stop.
func (sc *scanner) short(first bool) abbr {
	if sc.n == 0 || sc.n > len(sc.word) {
		return abNone
	}
	return abbreviation(string(sc.word[:sc.n]), first)
}

// sentence begins a new sentence.
func (sc *scanner) sentence() {
	sc.marks, sc.clause, sc.emphasis, sc.words, sc.letter = marks{}, 0, false, 0, 0
}

// began says that the sentence just begun has its first letter already.
func (sc *scanner) began(c class) { sc.letter = c }

// forget begins anew behind a pause.
func (sc *scanner) forget() {
	space, lines, cr, prev, last := sc.space, sc.lines, sc.cr, sc.prev, sc.last
	*sc = scanner{space: space, lines: lines, cr: cr, prev: prev, last: last}
}

// reached returns the level of the boundary at the end of the text read, if none follows.
func (sc *scanner) reached() int {
	switch {
	case sc.lines >= 2:
		return atParagraph
	case sc.lines == 1:
		return atSentence
	case sc.marks.any && sc.marks.cite == 0:
		probe := *sc
		probe.endWord()
		if end, _ := probe.ends(clEnd); end {
			return atSentence
		}
	}
	if sc.space {
		return atWord
	}
	return 0
}

// pausable is reached for a text that may go on.
func (sc *scanner) pausable() int {
	m := &sc.marks
	if sc.waiting.kind != waitNot || sc.lines == 0 && !m.any || sc.cr {
		return 0
	}
	if sc.lines == 0 && m.stops == 1 && !m.full && !m.ask && !m.bang && !m.ellipsis {
		probe := *sc
		probe.endWord()
		switch only := probe.words == 1; probe.marks.short {
		case abNone:
			if !sc.space && !m.closed && sc.digit() {
				return 0 // 3.14
			}
		case abNumber:
			if !only {
				return 0
			}
		default:
			return 0
		}
	}
	if level := sc.reached(); level >= atSentence {
		return level
	}
	return 0
}

// digit reports whether the word before the marks may be a number.
func (sc *scanner) digit() bool {
	if sc.n > len(sc.word) {
		return true
	}
	r, _ := utf8.DecodeLastRune(sc.word[:sc.n])
	return unicode.IsDigit(r)
}
