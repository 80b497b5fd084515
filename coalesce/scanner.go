package coalesce

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// A scanner holds what the rules of boundaries need to know of the text read so far. It keeps no
// text but a few words, so that a caller can copy it and try on the copy what would follow.
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

// wordBuffer holds a word to compare, without allocating.
type wordBuffer struct {
	b [longestWord]byte
	n int // bytes of the word, or more than b holds if the word is too long to be compared
}

// addRune appends a character to the word; a word that would outgrow longestWord counts as too
// long.
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

// addByte appends a character of ASCII to the word. A word that is full becomes one that is too
// long to be compared.
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

// readHidden reads r, of class c, as a part of code, a formula, a link or another span in which no
// sentence ends.
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

// readSpace reads r, white space of class c, which is clSpace or clLine. The first white space
// behind a word ends that word.
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

// read reads r, of class c, which stands in ordinary text. Final marks, and what closes behind
// them, are gathered in marks; everything else goes on with the word or begins a new one. readNext
// calls it for a character outside code, formulas and tags. A combining mark changes the word
// alone.
func (sc *scanner) read(r rune, c class) {
	if c == clSpace || c == clLine {
		sc.readSpace(r, c)
		return
	}
	m := &sc.marks
	afterSpace := sc.space
	sc.cr, sc.space, sc.lines, sc.onlyMarkers = false, false, 0, false
	if sc.lineStart {
		sc.beginLine()
	}
	if c == clExtend && !afterSpace { // a combining mark changes only the word
		if sc.word.n > 0 && !m.any {
			sc.word.addRune(r)
		}
		return
	}

	tight := m.any && !afterSpace // r stands close behind final marks
	c = sc.classInContext(r, c)
	switch {
	case isMark[c]:
		sc.readMark(r, c, afterSpace)
	case tight && (closesMarks[c] || c == clOpenQuote && !m.full):
		m.closed = true
		m.quoted = m.quoted || c != clClose && c != clEmphasis
	case !m.any && !afterSpace && (c == clQuote || c == clCloseQuote) && sc.prev == clContinue && sc.last != '-':
		// A dash at the end of a quotation ends it as a mark does: "But I—"
		*m = marks{any: true, exclamation: true, closed: true, quoted: true}
	case tight && (c == clFormat || c == clNote): // they change nothing
	case c == clExtend || c == clFormat && afterSpace:
	default:
		sc.endMarks(c, tight)
		sc.readIntoWord(r, c)
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

// readMark adds the final mark r, of class c, to the run of marks that it stands close behind, or
// begins a run with it.
func (sc *scanner) readMark(r rune, c class, afterSpace bool) {
	m := &sc.marks
	goesOn := m.any && !afterSpace
	switch {
	case !goesOn:
		*m = marks{any: true, wide: sc.prev == clWide, omission: sc.prev == clOpen && !afterSpace}
		if isLoose := c == clStop && afterSpace; isLoose {
			sc.looseStops++
		} else {
			sc.looseStops = 0
		}
	case c == clStop && m.closed && m.stops > 0 && !m.full:
		*m, sc.word.n = marks{any: true}, 0 // "(in the U.S.)." does not end in what the bracket ends in
	}
	sc.addMark(c)
	m.fullQuestion = m.fullQuestion || r == '؟' || r == '？' || r == '！'
	sc.clause = 0
}

// closesMarks has the classes that close what a final mark ends: (Yes.) and "No."
var closesMarks = [classes]bool{clClose: true, clCloseQuote: true, clQuote: true, clEmphasis: true}

// readIntoWord reads r, of class c, which is no white space and no part of a run of marks, as a
// part of the word being read. An opener or a closing bracket begins the word anew.
func (sc *scanner) readIntoWord(r rune, c class) {
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

// classInContext returns the class of r, which is c but for three marks: a Greek semicolon is a
// question mark, an Armenian colon and a doubled Ethiopic word separator are full stops.
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

// addMark counts a mark of class c among the run of final marks that ends the text so far. A class
// that is no final mark changes nothing.
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

// endMarks ends the run of marks, if there is one, because text of class c follows; tight says that
// no white space stands between. It also sets sc.clause: whether that text is a clause mark.
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

// endWord ends the word being read, where white space begins: it counts the word, sets the language
// by its script, sets lastKind where a single full stop follows it, and makes it lastWord.
func (sc *scanner) endWord() {
	if sc.wordHasLetters {
		sc.wordCount++
		sc.lineWords = min(sc.lineWords+1, wordsEnough)
		sc.wordHasLetters = false
		if sc.wordCount == 1 {
			sc.beganShort = countLetters(&sc.word) <= 2
		}
	}

	// Most words begin with an ASCII character and are in a language written in Latin letters.
	// These need no search for their script.
	if b := sc.word.b[0]; sc.word.n > 0 && b < utf8.RuneSelf && sc.given.latin {
		if b >= 'A' {
			sc.lang = sc.given
		}
	} else if r, _ := utf8.DecodeRune(sc.word.b[:min(sc.word.n, len(sc.word.b))]); isLetter[classOf(r)] {
		sc.lang = sc.given.forScript(r)
	}

	if sc.marks.isSingleStop() && sc.word.n > 0 && sc.word.n <= len(sc.word.b) {
		sc.lastKind = sc.classifyEndedWord(sc.lastKind)
	} else {
		sc.lastKind = notAbbreviation
	}
	sc.priorWord, sc.lastWord = sc.lastWord, sc.word
	sc.word.n, sc.wordIsPlain = 0, true
}

// classifyEndedWord returns what the word being read is, which a single full stop follows. lastWord
// is still the word before it, and before is what that one is: the two may be one abbreviation, or
// a number and its unit.
func (sc *scanner) classifyEndedWord(before abbreviation) abbreviation {
	word := sc.word.bytes()
	kind := sc.lang.classifyWord(word, sc.wordCount == 1)
	if pair, ok := sc.lang.classifyPair(sc.lastWord.bytes(), word); ok && sc.wordCount > 1 {
		return pair
	}
	first, _ := utf8.DecodeRune(sc.lastWord.bytes())
	if kind == abbrInitial && before == abbrNeverEnds && !unicode.IsUpper(first) {
		return abbrNeverEnds // "z. B.", but not "Mrs. D."
	}
	if sc.wordCount == 1 && sc.lineWords == 1 && isItemLabel(word) {
		return abbrItemMarker
	}

	followsNumber := sc.wordCount > 1 && sc.endsInDigit()
	switch {
	case followsNumber && (kind == abbrBeforeNumber && sc.isHour() ||
		kind == abbrNeverEnds && (countLetters(&sc.word) == 1 || sc.isCaseless(&sc.word))):
		if sc.lang.smallLetters || sc.isHour() {
			return abbrEndsList // it is a unit, as in 400 m.
		}
		return abbrMayEnd
	case kind == notAbbreviation && !followsNumber:
		if capital, ok := isAllConsonants(word); capital {
			return abbrMayEnd // Hr. Tamm
		} else if ok || bytes.HasSuffix(word, []byte("str")) { // Goethestr. 5
			return abbrBeforeDigit
		}
	}
	return kind
}

// endsComplete reports whether the marks read last end a sentence if the text ends here. It ends
// the word being read, so callers call it on a copy of the scanner.
func (sc *scanner) endsComplete() bool {
	if !sc.space {
		sc.endWord()
	}
	return sc.lastKind != abbrNeverEnds && sc.lastKind != abbrItemMarker
}

// beginSentence forgets what was read of the sentence that has ended, but for its last two words.
// It is called at each boundary of a sentence or paragraph.
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

// endsInDigit reports whether the last word ends in a digit; a word that is too long to be kept
// whole counts as one that does.
func (sc *scanner) endsInDigit() bool {
	if sc.lastWord.n > len(sc.lastWord.b) {
		return true
	}
	r, _ := utf8.DecodeLastRune(sc.lastWord.bytes())
	return unicode.IsDigit(r)
}
