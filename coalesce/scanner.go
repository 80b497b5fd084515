package coalesce

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// A scanner is the state of the text read, as far as the rules of boundaries need it. It holds no
// text but a few words, so it can be copied to try what would follow.
type scanner struct {
	given *rules // of the language that the caller has set
	lang  *rules // of the language that the last word is written in, as far as its script tells

	prev class // of the last character that is not a combining mark
	last rune  // the last character that is not a combining mark

	space  bool // white space was read last
	lines  int  // line ends in that white space, at most 2; a paragraph separator counts as two
	cr     bool // the last character was a carriage return
	indent int  // characters of white space behind the last line end, at most indentEnough

	marks      marks // the final marks read last, until text follows them
	clause     class // clClause or clFullClause read last, until text follows it; else 0
	emphasis   bool  // this sentence has an emphasis mark
	looseStops int   // full stops in a row with white space in front of each: . . .
	hiddenTail class // the final mark at the end of the code or link being read; else 0

	word           wordBuffer   // the word being read, or the one before the marks
	lastWord       wordBuffer   // the last word that white space has ended
	priorWord      wordBuffer   // the one before that
	lastKind       abbreviation // what lastWord is, if a single full stop follows it
	wordHasLetters bool         // the word being read has a letter or digit
	wordIsPlain    bool         // the word being read has nothing but letters and digits
	wordCount      int          // words of this sentence that white space has ended
	wideCount      int          // ideographs and kana of this sentence
	firstLetter    class        // of this sentence's first letter or digit; 0 if it has none yet

	beganWithPicture bool // this sentence began with a picture
	beganShort       bool // this sentence began with a word of one or two letters, as in "In 1990"

	lineState
}

// marks is a run of final marks and the closing quotes, brackets and emphasis marks behind it.
type marks struct {
	any          bool // there is a mark
	stops        int  // full stops
	exclamation  bool
	question     bool
	fullQuestion bool // ؟ or the like, or ！
	full         bool // a mark of a script that writes no space behind it
	ellipsis     bool
	wide         bool // the first mark follows an ideograph or kana
	closed       bool // a closing quote, bracket or emphasis mark follows
	quoted       bool // a closing quote follows
	omission     bool // the run follows an opening bracket, as in [...]
}

// isSingleStop reports whether the run is one full stop.
func (m *marks) isSingleStop() bool {
	return m.any && m.stops == 1 && !m.full && !m.question && !m.exclamation && !m.ellipsis
}

// longestWord is how many bytes of a word are compared. No word in a language's file is longer.
const longestWord = 24

// wordBuffer is a word.
type wordBuffer struct {
	b [longestWord]byte
	n int // bytes of the word, or more than b holds if the word is too long to be compared
}

// addRune appends a character to the word.
func (w *wordBuffer) addRune(r rune) {
	if r < utf8.RuneSelf {
		w.addByte(byte(r))
		return
	}
	if size := utf8.RuneLen(r); size > 0 && w.n+size <= len(w.b) {
		w.n += utf8.EncodeRune(w.b[w.n:], r)
		return
	}
	w.n = len(w.b) + 1
}

// addByte appends a character of ASCII to the word.
func (w *wordBuffer) addByte(b byte) {
	if w.n < len(w.b) {
		w.b[w.n] = b
		w.n++
		return
	}
	w.n = len(w.b) + 1
}

// bytes returns the word, or nil if it is too long to be compared.
func (w *wordBuffer) bytes() []byte {
	if w.n > len(w.b) {
		return nil
	}
	return w.b[:w.n]
}

// readHidden reads r, of class c, as part of something that has no sentences in it.
func (sc *scanner) readHidden(r rune, c class) {
	if c == clSpace || c == clLine {
		sc.readSpace(r, c)
		return
	}
	sc.space, sc.lines, sc.cr, sc.lineStart = false, 0, false, false
	sc.wordHasLetters, sc.wordIsPlain = true, false
	sc.dialogueTurn = sc.dialogueTurn || c == clContinue && sc.firstLetter == 0 && r != '-'
	if c != clExtend {
		sc.prev, sc.last = c, r
	}
}

// Counts stop where more makes no difference, so that two Segmenters that have read the same of a
// sentence are in the same state, however far back their texts began.
const (
	indentEnough = 2 // characters in front of a line's text
	wordsEnough  = 4 // words of a line
)

// readSpace reads r, white space of class c.
func (sc *scanner) readSpace(r rune, c class) {
	crlf := sc.cr && r == '\n'
	sc.cr = r == '\r'
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
	sc.indent = min(sc.indent+1, indentEnough)
	if c == clLine {
		sc.lineStart, sc.indent = true, 0
	}
}

// read reads r, of class c.
func (sc *scanner) read(r rune, c class) {
	if c == clSpace || c == clLine {
		sc.readSpace(r, c)
		return
	}
	m := &sc.marks
	after := sc.space
	sc.cr, sc.space, sc.lines = false, false, 0
	if sc.onlyMarkers = false; sc.lineStart {
		sc.beginLine()
	}
	if c == clExtend && !after {
		if sc.word.n > 0 && !m.any {
			sc.word.addRune(r)
		}
		return
	}
	tight := m.any && !after
	c = sc.classInContext(r, c)
	switch {
	case isMark[c]:
		if tight && c == clStop && m.closed && m.stops > 0 && !m.full {
			*m, sc.word.n = marks{any: true}, 0 // "(in the U.S.)." does not end in what the bracket ends in
		}
		if !tight {
			*m = marks{any: true, wide: sc.prev == clWide, omission: sc.prev == clOpen && !after}
			if sc.looseStops++; c != clStop || !after {
				sc.looseStops = 0
			}
		}
		sc.addMark(c)
		m.fullQuestion = m.fullQuestion || r == '؟' || r == '？' || r == '！'
		sc.clause = 0
	case tight && (c == clClose || c == clCloseQuote || c == clQuote || c == clEmphasis || c == clOpenQuote && !m.full):
		m.closed = true
		m.quoted = m.quoted || c != clClose && c != clEmphasis
	case !m.any && !after && (c == clQuote || c == clCloseQuote) && sc.prev == clContinue && sc.last != '-':
		// A dash at the end of a quotation ends it as a mark does: "But I—"
		*m = marks{any: true, exclamation: true, closed: true, quoted: true}
	case tight && (c == clFormat || c == clNote):
	case c == clExtend || c == clFormat && after:
	default:
		sc.endMarks(c, tight)
		switch {
		case isLetter[c] || c == clDigit:
			sc.wordHasLetters = true
			if sc.firstLetter == 0 {
				sc.firstLetter = c
			}
			if c == clWide {
				sc.wideCount++
			}
			sc.word.addRune(r)
		case opener[c] && (c != clQuote || !sc.wordHasLetters) || c == clClose:
			sc.word.n = 0
		default:
			sc.wordIsPlain = sc.wordIsPlain && r == ',' && sc.prev == clDigit // 1,000
			sc.word.addRune(r)
		}
	}
	switch c {
	case clEmphasis:
		sc.emphasis = true
	case clEmoji:
		sc.beganWithPicture = sc.beganWithPicture || sc.firstLetter == 0
	case clContinue:
		sc.dialogueTurn = sc.dialogueTurn || sc.firstLetter == 0
	}
	sc.prev, sc.last = c, r
}

// classInContext returns the class of r, which is c but for some marks behind some scripts.
func (sc *scanner) classInContext(r rune, c class) class {
	switch {
	case r == ';' && (unicode.Is(unicode.Greek, sc.last) || sc.lang.greekMark):
		return clAsk // Greek writes a semicolon for the question mark
	case r == ':' && unicode.Is(unicode.Armenian, sc.last):
		return clBang // many type a colon for the Armenian full stop
	case r == '፡' && sc.last == '፡':
		return clFull // many type two word separators for ።
	}
	return c
}

// addMark adds a mark of class c to the run.
func (sc *scanner) addMark(c class) {
	m := &sc.marks
	switch c {
	case clStop:
		m.stops++
	case clBang:
		m.exclamation = true
	case clAsk:
		m.question = true
	case clFull:
		m.full = true
	case clEllipsis:
		m.ellipsis = true
	}
}

// endMarks ends the run of marks because text of class c follows; tight says that no white space
// stands between.
func (sc *scanner) endMarks(c class, tight bool) {
	if sc.marks.any {
		goesOn := isLetter[c] || c == clDigit || c == clContinue && countLetters(&sc.word) <= 4
		if m := sc.marks; tight && goesOn && m.isSingleStop() && !m.closed {
			sc.word.addRune('.') // "e.g", "U.S" and "J.-P" are one word
			sc.wordIsPlain = false
		} else if tight {
			sc.word.n = 0
		}
		sc.marks, sc.looseStops = marks{}, 0
	}
	switch {
	case c == clClause || c == clFullClause:
		sc.clause = c
	case c == clClose || c == clContinue:
		if sc.clause == 0 {
			sc.clause = clClause
		}
	case c != clCloseQuote && c != clQuote:
		sc.clause = 0
	}
}

// endWord ends the word being read. It is called where white space begins, and classifies the word
// if a single full stop follows it.
func (sc *scanner) endWord() {
	if sc.wordHasLetters {
		sc.wordCount++
		sc.lineWords = min(sc.lineWords+1, wordsEnough)
		sc.wordHasLetters = false
		if sc.wordCount == 1 {
			sc.beganShort = countLetters(&sc.word) <= 2
		}
	}
	if b := sc.word.b[0]; sc.word.n > 0 && b < utf8.RuneSelf && sc.given.latin { // which are most words, and need no look for their script
		if b >= 'A' {
			sc.lang = sc.given
		}
	} else if r, _ := utf8.DecodeRune(sc.word.b[:min(sc.word.n, len(sc.word.b))]); isLetter[classOf(r)] {
		sc.lang = sc.given.forScript(r)
	}
	prior := sc.lastKind
	sc.lastKind = notAbbreviation
	if sc.marks.isSingleStop() && sc.word.n > 0 && sc.word.n <= len(sc.word.b) {
		number := sc.wordCount > 1 && sc.endsInDigit()
		sc.lastKind = sc.lang.classifyWord(sc.word.bytes(), sc.wordCount == 1)
		if a, ok := sc.lang.classifyPair(sc.lastWord.bytes(), sc.word.bytes()); ok && sc.wordCount > 1 {
			sc.lastKind = a
		} else if r, _ := utf8.DecodeRune(sc.lastWord.bytes()); sc.lastKind == abbrInitial && prior == abbrNeverEnds &&
			!unicode.IsUpper(r) {
			sc.lastKind = abbrNeverEnds // "z. B.", but not "Mrs. D."
		} else if sc.wordCount == 1 && sc.lineWords == 1 && isItemLabel(sc.word.bytes()) {
			sc.lastKind = abbrItemMarker
		} else if number && (sc.lastKind == abbrBeforeNumber && sc.isHour() ||
			sc.lastKind == abbrNeverEnds && (countLetters(&sc.word) == 1 || sc.isCaseless(&sc.word))) {
			if sc.lastKind = abbrMayEnd; sc.lang.smallLetters || sc.isHour() {
				sc.lastKind = abbrEndsList // it is a unit, as in 400 m.
			}
		} else if sc.lastKind == notAbbreviation && !number {
			if capital, ok := isAllConsonants(sc.word.bytes()); capital {
				sc.lastKind = abbrMayEnd // Hr. Tamm
			} else if ok || bytes.HasSuffix(sc.word.bytes(), []byte("str")) { // Goethestr. 5
				sc.lastKind = abbrBeforeDigit
			}
		}
	}
	sc.priorWord, sc.lastWord = sc.lastWord, sc.word
	sc.word.n, sc.wordIsPlain = 0, true
}

// endsComplete reports whether the marks read last end a sentence if the text ends here. It ends
// the word being read, so callers try it on a copy.
func (sc *scanner) endsComplete() bool {
	if !sc.space {
		sc.endWord()
	}
	return sc.lastKind != abbrNeverEnds && sc.lastKind != abbrItemMarker
}

// beginSentence forgets what was read of the sentence that has ended.
func (sc *scanner) beginSentence() {
	sc.marks, sc.clause, sc.emphasis, sc.looseStops = marks{}, 0, false, 0
	sc.wordCount, sc.wideCount, sc.firstLetter, sc.lastKind = 0, 0, 0, notAbbreviation
	sc.word.n, sc.wordHasLetters, sc.wordIsPlain = 0, false, true
	sc.beganWithPicture, sc.beganShort = false, false
}

// forgetSentence forgets all but the line and what stands at its end. It is called behind a pause,
// where nothing is held any more.
func (sc *scanner) forgetSentence() {
	*sc = scanner{
		given: sc.given, lang: sc.lang, prev: sc.prev, last: sc.last,
		space: sc.space, lines: sc.lines, cr: sc.cr, lineState: sc.lineState,
	}
}

// endsInDigit reports whether the last word ends in a digit, or is too long to tell.
func (sc *scanner) endsInDigit() bool {
	if sc.lastWord.n > len(sc.lastWord.b) {
		return true
	}
	r, _ := utf8.DecodeLastRune(sc.lastWord.bytes())
	return unicode.IsDigit(r)
}
