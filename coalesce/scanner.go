package coalesce

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// A scanner knows what it has read well enough to say, with a look at what follows, whether a boundary
// stands in front of the next character. It holds no text but a few words.
type scanner struct {
	given *rules // of the language that the text is said to be in
	lang  *rules // of the one that the last word can be in

	prev class // of the last character that is not a combining mark
	last rune  // the last character that is not a combining mark

	space  bool // behind the text there is white space
	lines  int  // in which so many line ends; a paragraph separator counts as two
	cr     bool // the last character was a carriage return
	indent int  // and so many other characters behind the last line end, at most wide

	marks    marks // the final marks read last, until text follows them
	clause   class // clClause or clFullClause read last, until text follows it; else 0
	emphasis bool  // an emphasis mark has been seen in this sentence
	loose    int   // full stops in a row with white space in front of each: . . .
	tail     class // the mark at the end of the hidden text being read; else 0

	word   spelled // the word being read, or the one before the marks
	done   spelled // the last word that white space has ended
	before spelled // the one before that
	kind   abbr    // what done is, if a single full stop follows it
	alnum  bool    // the word being read has a letter or digit
	plain  bool    // it has nothing else
	words  int     // words of this sentence that white space has ended
	wides  int     // ideographs and kana of this sentence
	letter class   // of the sentence's first letter or digit; 0: none yet

	pictured bool // the sentence began with a picture
	fronted  bool // or with a short word, as in "In 1990"

	lineState
}

// marks is a run of final marks and the closers behind it.
type marks struct {
	any      bool
	stops    int // full stops
	bang     bool
	ask      bool
	query    bool // ؟ or the like, or ！
	full     bool // a mark of a script that writes no space behind it
	ellipsis bool
	wide     bool // the first mark follows an ideograph or kana
	closed   bool // a closing quote, bracket or emphasis mark follows
	quoted   bool // a closing quote does
	void     bool // it stands for something left out: [...]
}

// single says whether the run is one full stop.
func (m *marks) single() bool {
	return m.any && m.stops == 1 && !m.full && !m.ask && !m.bang && !m.ellipsis
}

// longestWord is how many bytes of a word are compared. No word of a language is longer.
const longestWord = 24

// spelled is a word; n is more than it holds if it is too long to matter.
type spelled struct {
	b [longestWord]byte
	n int
}

func (w *spelled) add(r rune) {
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

func (w *spelled) addByte(b byte) {
	if w.n < len(w.b) {
		w.b[w.n] = b
		w.n++
		return
	}
	w.n = len(w.b) + 1
}

// bytes is the word, or nothing if it is too long.
func (w *spelled) bytes() []byte {
	if w.n > len(w.b) {
		return nil
	}
	return w.b[:w.n]
}

// skip reads r as part of something that has no sentences in it.
func (sc *scanner) skip(r rune, c class) {
	if c == clSpace || c == clLine {
		sc.white(r, c)
		return
	}
	sc.space, sc.lines, sc.cr, sc.lineStart = false, 0, false, false
	sc.alnum, sc.plain = true, false
	sc.turn = sc.turn || c == clContinue && sc.letter == 0 && r != '-'
	if c != clExtend {
		sc.prev, sc.last = c, r
	}
}

// More than these make no difference, so that the same text is in the same state, however far back it began.
const (
	wide = 2 // characters in front of a line
	long = 4 // words of one
)

// white reads white space.
func (sc *scanner) white(r rune, c class) {
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
	sc.indent = min(sc.indent+1, wide)
	if c == clLine {
		sc.lineStart, sc.indent = true, 0
	}
}

// update reads r, which is of class c.
func (sc *scanner) update(r rune, c class) {
	if c == clSpace || c == clLine {
		sc.white(r, c)
		return
	}
	m := &sc.marks
	after := sc.space
	sc.cr, sc.space, sc.lines = false, false, 0
	if sc.bare = false; sc.lineStart {
		sc.beginLine()
	}
	if c == clExtend && !after {
		if sc.word.n > 0 && !m.any {
			sc.word.add(r)
		}
		return
	}
	tight := m.any && !after
	c = sc.meaning(r, c)
	switch {
	case isMark[c]:
		if tight && c == clStop && m.closed && m.stops > 0 && !m.full { // (in the U.S.). What the bracket ends in is not what ends here.
			*m, sc.word.n = marks{any: true}, 0
		}
		if !tight {
			*m = marks{any: true, wide: sc.prev == clWide, void: sc.prev == clOpen && !after}
			if sc.loose++; c != clStop || !after {
				sc.loose = 0
			}
		}
		sc.mark(c)
		m.query = m.query || r == '؟' || r == '？' || r == '！'
		sc.clause = 0
	case tight && (c == clClose || c == clCloseQuote || c == clQuote || c == clEmphasis || c == clOpenQuote && !m.full):
		m.closed = true
		m.quoted = m.quoted || c != clClose && c != clEmphasis
	case !m.any && !after && (c == clQuote || c == clCloseQuote) && sc.prev == clContinue && sc.last != '-': // "But I—"
		*m = marks{any: true, bang: true, closed: true, quoted: true}
	case tight && (c == clFormat || c == clNote):
	case c == clExtend || c == clFormat && after:
	default:
		sc.text(c, tight)
		switch {
		case isLetter[c] || c == clDigit:
			sc.alnum = true
			if sc.letter == 0 {
				sc.letter = c
			}
			if c == clWide {
				sc.wides++
			}
			sc.word.add(r)
		case opener[c] && (c != clQuote || !sc.alnum) || c == clClose:
			sc.word.n = 0
		default:
			sc.plain = sc.plain && r == ',' && sc.prev == clDigit // 1,000
			sc.word.add(r)
		}
	}
	switch c {
	case clEmphasis:
		sc.emphasis = true
	case clEmoji:
		sc.pictured = sc.pictured || sc.letter == 0
	case clContinue:
		sc.turn = sc.turn || sc.letter == 0
	}
	sc.prev, sc.last = c, r
}

// meaning is the class of a character that has another one in some scripts.
func (sc *scanner) meaning(r rune, c class) class {
	switch {
	case r == ';' && (unicode.Is(unicode.Greek, sc.last) || sc.lang.greekMark):
		return clAsk // the Greek question mark
	case r == ':' && unicode.Is(unicode.Armenian, sc.last):
		return clBang // what many type for the Armenian full stop
	case r == '፡' && sc.last == '፡':
		return clFull // two of them are typed for ።
	}
	return c
}

// mark adds one mark to a run.
func (sc *scanner) mark(c class) {
	m := &sc.marks
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
}

// text ends a run of marks because text of class c follows.
func (sc *scanner) text(c class, tight bool) {
	if sc.marks.any {
		if m := sc.marks; tight && m.single() && !m.closed && (isLetter[c] || c == clDigit || c == clContinue && letters(&sc.word) <= 4) {
			sc.word.add('.') // "e.g", "U.S", "J.-P": one word so far
			sc.plain = false
		} else if tight {
			sc.word.n = 0
		}
		sc.marks, sc.loose = marks{}, 0
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

// endWord is called where white space begins.
func (sc *scanner) endWord() {
	if sc.alnum {
		sc.words++
		sc.lineWords = min(sc.lineWords+1, long)
		sc.alnum = false
		if sc.words == 1 {
			sc.fronted = letters(&sc.word) <= 2
		}
	}
	if b := sc.word.b[0]; sc.word.n > 0 && b < utf8.RuneSelf && sc.given.latin { // most words
		if b >= 'A' {
			sc.lang = sc.given
		}
	} else if r, _ := utf8.DecodeRune(sc.word.b[:min(sc.word.n, len(sc.word.b))]); isLetter[classOf(r)] {
		sc.lang = sc.given.forScript(r)
	}
	prior := sc.kind
	sc.kind = abNone
	if sc.marks.single() && sc.word.n > 0 && sc.word.n <= len(sc.word.b) {
		number := sc.words > 1 && sc.digit()
		sc.kind = sc.lang.classify(sc.word.bytes(), sc.words == 1)
		if a, ok := sc.lang.pair(sc.done.bytes(), sc.word.bytes()); ok && sc.words > 1 {
			sc.kind = a
		} else if r, _ := utf8.DecodeRune(sc.done.bytes()); sc.kind == abInitial && prior == abBefore && !unicode.IsUpper(r) {
			sc.kind = abBefore // "z. B.", but not in "Mrs. D."
		} else if sc.words == 1 && sc.lineWords == 1 && called(sc.word.bytes()) {
			sc.kind = abMarker
		} else if number && (sc.kind == abBefore && (letters(&sc.word) == 1 || sc.caseless(&sc.word)) || sc.kind == abNumber && sc.hour()) {
			if sc.kind = abMay; sc.lang.smallLetters || sc.hour() {
				sc.kind = abList // a unit: 400 m.
			}
		} else if sc.kind == abNone && !number {
			if capital, ok := consonants(sc.word.bytes()); capital {
				sc.kind = abMay // Hr. Tamm
			} else if ok || bytes.HasSuffix(sc.word.bytes(), []byte("str")) { // Goethestr. 5
				sc.kind = abCut
			}
		}
	}
	sc.before, sc.done = sc.done, sc.word
	sc.word.n, sc.plain = 0, true
}

// complete says whether a sentence ends here, if the text ended too.
func (sc *scanner) complete() bool {
	if !sc.space {
		sc.endWord()
	}
	return sc.kind != abBefore && sc.kind != abMarker
}

// sentence begins a new sentence.
func (sc *scanner) sentence() {
	sc.marks, sc.clause, sc.emphasis, sc.words, sc.wides, sc.letter, sc.kind = marks{}, 0, false, 0, 0, 0, abNone
	sc.word.n, sc.alnum, sc.plain, sc.loose, sc.pictured, sc.fronted = 0, false, true, 0, false, false
}

// forget begins anew behind a pause.
func (sc *scanner) forget() {
	*sc = scanner{given: sc.given, lang: sc.lang, space: sc.space, lines: sc.lines, cr: sc.cr, prev: sc.prev, last: sc.last, lineState: sc.lineState}
}

// digit reports whether the last word may be a number.
func (sc *scanner) digit() bool {
	if sc.done.n > len(sc.done.b) {
		return true
	}
	r, _ := utf8.DecodeLastRune(sc.done.bytes())
	return unicode.IsDigit(r)
}
