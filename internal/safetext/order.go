package safetext

import (
	"strings"

	"golang.org/x/text/language"
)

// D-86. A screen shows a text that has right-to-left letters in another order than it is stored in,
// by the bidirectional algorithm of Unicode (UAX 9). Numbers have no direction of their own, so an
// invisible mark, an isolate or one right-to-left letter turns "Pay 100 / 9000" into "Pay 9000 /
// 100", for the eye alone. What holds behind orderAsHeard, on each line:
//
//   - In a text from left to right, numbers and left-to-right words are seen from left to right, as
//     they are heard. Where numbers follow right-to-left words, a U+200E stands between them.
//   - In a text from right to left, two numbers with no left-to-right word between them are seen
//     from right to left, as they would be without marks and isolates.
//   - Fractions and numbers within circles are numbers of their own: in a text from left to right,
//     1½ is two. In a text from right to left no mark decides where they are seen.
//   - A mark or an isolate is left only where right-to-left letters are beside or within it, and no
//     number or word is split.
//
// The rules look at letters and numbers alone, never at levels of embedding, so that the web page
// can have them too.

// FromRight reports whether a text is one from right to left: its language is written so, and it
// has such letters; or, where the language is not known, it begins with such a letter and has more
// of them than of others.
func FromRight(s, tag string) bool {
	first, leftLetters, rightLetters := Classes(0), 0, 0
	for _, r := range s {
		switch c := Class(r) & (Left | Right); {
		case c == 0:
			continue
		case c == Right:
			rightLetters++
		default:
			leftLetters++
		}
		if first == 0 {
			first = Class(r) & (Left | Right)
		}
	}
	switch {
	case rightLetters == 0:
		return false
	case tag != "":
		return WrittenFromRight(tag)
	}
	return first == Right && rightLetters > leftLetters
}

// WrittenFromRight reports whether a language is written from right to left.
func WrittenFromRight(tag string) bool {
	script, _ := language.Make(tag).Script()
	return strings.Contains(rightScripts, script.String())
}

// rightScripts are those of living languages; those of others come without a language tag.
const rightScripts = "Arab Hebr Thaa Syrc Nkoo Adlm Rohg Mand Samr"

// unseen is what does not part the characters around it.
const unseen = Accent | Filler | Joiner | Variant

// isControl reports whether a character is a mark or an isolate of direction.
func isControl(r rune) bool { return r == lrm || r == rlm || r == alm || r >= lri && r <= pdi }

// mayReorder reports whether a text has characters that a screen may show in another order than the
// one it is stored in: controls of direction, Arabic digits, or digits beside letters from right to
// left.
func mayReorder(s string) bool {
	var classes Classes
	for _, r := range s {
		if r < 0x80 {
			classes |= ascii[r]
			continue
		}
		if isControl(r) {
			return true
		}
		classes |= Class(r)
	}
	return classes&Arabic != 0 || classes&Right != 0 && classes&Digit != 0
}

// orderAsHeard returns s so that it is seen in the order in which it is heard, and the index of the
// first character of s because of which it was not; or -1. tag is the text's language, or empty.
// Isolates are balanced on their lines.
func orderAsHeard(s, tag string) (ordered string, broken int) {
	right, start := FromRight(s, tag), 0 // start: of the line, in s
	broken = -1
	var b strings.Builder
	for text := range strings.SplitAfterSeq(s, "\n") {
		l := newLine(text, right)
		l.decideIsolates()
		l.decideMarks()
		if l.broken >= 0 && broken < 0 {
			broken = start + l.offset[l.broken]
		}
		l.writeTo(&b)
		start += len(text)
	}
	return b.String(), broken
}

// A line is one line of a text, with what is known and decided of each of its characters: the
// slices are indexed by character. The decide methods fill in dropped and mark, and writeTo writes
// what is left.
type line struct {
	text    string
	right   bool // it is of a text from right to left
	runes   []rune
	class   []Classes
	offset  []int  // in text, in bytes
	pair    []int  // of an isolate's opener, its end
	digit   []bool // whether the next letter or digit from here on is a digit
	before  []bool // whether what is seen right before is a digit or a letter from left to right
	after   []bool // whether what is seen from here on is one
	dropped []bool
	hidden  []bool // within or around an isolate that stays
	holds   []bool // of the opener of one that stays, whether a number or a word from left to right is within
	mark    []bool // a U+200E is put behind it
	broken  int    // the first character because of which the line is seen in another order than heard, or -1
}

// newLine takes a line, without its end, apart into characters with their classes; right says that
// its text runs from right to left. Isolates must be closed on it.
func newLine(text string, right bool) *line {
	l := &line{text: text, right: right, broken: -1}
	for i, r := range text {
		l.runes, l.class, l.offset = append(l.runes, r), append(l.class, Class(r)), append(l.offset, i)
	}
	n := len(l.runes)
	l.pair, l.digit, l.before, l.after = make([]int, n), make([]bool, n+1), make([]bool, n+1), make([]bool, n+1)
	l.dropped, l.hidden, l.holds, l.mark = make([]bool, n), make([]bool, n), make([]bool, n), make([]bool, n)

	var open []int // openers of isolates that are not closed yet
	for i, r := range l.runes {
		if r == pdi {
			l.pair[open[len(open)-1]] = i
			open = open[:len(open)-1]
		} else if r >= lri && r < pdi {
			open = append(open, i)
		}
	}
	isSeen := func(i int) bool { return !isControl(l.runes[i]) && l.class[i]&unseen == 0 }
	for i := range n {
		if l.before[i+1] = l.before[i]; isSeen(i) {
			l.before[i+1] = l.class[i]&(Left|Digit) != 0
		}
	}
	for i := n - 1; i >= 0; i-- {
		if l.after[i] = l.after[i+1]; isSeen(i) {
			l.after[i] = l.class[i]&(Left|Digit) != 0
		}
		if l.digit[i] = l.digit[i+1]; l.class[i]&(Left|Right|Digit) != 0 {
			l.digit[i] = l.class[i]&Digit != 0
		}
	}
	return l
}

// dropChar leaves out the mark or isolate of direction at i. breaks says that because of it the
// line was seen in another order than it is heard; the first such one is kept in l.broken.
func (l *line) dropChar(i int, breaks bool) {
	l.dropped[i] = true
	if breaks && l.broken < 0 {
		l.broken = i
	}
}

// decideIsolates decides which isolates of the line stay, and drops the others. Within one that
// stays there is no other, and no mark.
func (l *line) decideIsolates() {
	for i := 0; i < len(l.runes); i++ {
		r := l.runes[i]
		if r < lri || r >= pdi {
			continue
		}
		end := l.pair[i]
		stays, breaks := l.decideIsolate(i, end)
		if !stays {
			l.dropChar(i, breaks)
			l.dropChar(end, breaks)
			continue
		}
		for k := i; k <= end; k++ {
			l.hidden[k] = true
			l.holds[i] = l.holds[i] || l.class[k]&(Left|Digit) != 0
			if k > i && k < end && isControl(l.runes[k]) {
				l.dropped[k] = true
			}
		}
		i = end
	}
}

// decideIsolate reports whether the isolate that begins at opener and ends at closer stays, and if
// not, whether it breaks the order in which the line is heard.
func (l *line) decideIsolate(opener, closer int) (stays, breaks bool) {
	within := l.countWithin(opener+1, closer)
	touchesUnit := l.before[opener] || l.after[closer+1]
	switch {
	case within.hasRight:
		digitFollows := l.right && l.digit[closer+1]
		stays = within.units <= 1 && !touchesUnit && !digitFollows
	case l.right:
		stays = within.numbers <= 1 && within.units > 0 && within.controls == 0 && !touchesUnit
	}

	innerRight := l.runes[opener] == rli || l.runes[opener] == fsi && within.first == Right
	switch {
	case innerRight == l.right:
		breaks = touchesUnit && within.hasRight
	case l.right: // what is within runs the other way than the line
		breaks = within.numbers > 1 || touchesUnit && within.units > 0
	default:
		breaks = within.units > 1 || touchesUnit && within.units > 0
	}
	return stays, breaks
}

// isolateContent is what an isolate holds.
type isolateContent struct {
	units    int     // words from left to right, and numbers
	numbers  int     // units with a digit
	controls int     // marks and isolates of direction
	first    Classes // the direction of the first letter, or zero
	hasRight bool    // a letter from right to left is among it
}

// countWithin counts what the line holds from one index to another.
func (l *line) countWithin(from, to int) (n isolateContent) {
	inUnit, isNumber := false, false // the character before is of a unit; that unit has a digit
	for k := from; k < to; k++ {
		c := l.class[k]
		if c&(Left|Right) != 0 && n.first == 0 {
			n.first = c & (Left | Right)
		}
		switch {
		case c&Neutral != 0:
			n.units++
			if !inUnit || !isNumber { // else it is the fraction of the number before
				n.numbers++
			}
			inUnit, isNumber = true, false
			continue
		case c&(Left|Digit) != 0:
			if !inUnit {
				n.units++
				isNumber = false
			}
			if c&Digit != 0 && !isNumber {
				n.numbers++
				isNumber = true
			}
			inUnit = true
			continue
		case c&unseen != 0, inUnit && l.isWithinNumber(k): // they do not end a unit
			continue
		case c&Right != 0:
			n.hasRight = true
		case isControl(l.runes[k]):
			n.controls++
		}
		inUnit = false
	}
	return n
}

// isWithinNumber reports whether the character at k separates digits, of one kind, of one number.
func (l *line) isWithinNumber(k int) bool {
	if l.class[k]&Separator == 0 {
		return false
	}
	before, after := l.adjacentDigit(k, -1), l.adjacentDigit(k, 1)
	return before == after && before&(Digit|Neutral) == Digit
}

// adjacentDigit returns the class of the digit next to k, past marks and isolates; 0 if another
// character is there. It looks before k if step is -1, and behind it if step is 1.
func (l *line) adjacentDigit(k, step int) Classes {
	for k += step; k >= 0 && k < len(l.runes); k += step {
		if !isControl(l.runes[k]) {
			return l.class[k] & (Digit | Arabic | Neutral)
		}
	}
	return 0
}

// A markPass is one pass of decideMarks over a line, from its beginning to its end.
type markPass struct {
	*line

	// What has been read since the last letter.
	letter     Classes // that letter: Left, Right, or none at the beginning
	marks      []int   // marks of direction
	lastNumber int     // where the last number begins, or -1
	numbers    int     // how many numbers
	inNumber   bool    // the character before is of a number
	hasNeutral bool    // one of the numbers is Neutral
	digits     Classes // Arabic or Neutral if the digits of that number are

	// What has been read since the last letter from left to right. A turn is the end of a word from
	// right to left, or of a number of Arabic digits: behind it, numbers run from right to left.
	turn          int   // the last turn, or -1
	turnIsNumber  bool  // it is a number
	turnTouches   bool  // nothing that is seen follows it so far
	turnCovered   bool  // a U+200E follows it
	turnListed    bool  // it is among candidates
	numbersBehind int   // numbers behind a turn, and isolates that hold one
	isolates      int   // isolates that hold one and are not counted yet: they count if what follows turns them
	candidates    []int // turns behind which a U+200E may have to be
	uncovered     int   // the first candidate that none follows, or -1
}

// decideMarks decides which marks of direction stay outside isolates, and where U+200E has to be.
// It runs behind decideIsolates.
func (l *line) decideMarks() {
	p := &markPass{line: l, lastNumber: -1, turn: -1, uncovered: -1}
	for i, r := range l.runes {
		c := l.class[i]
		switch {
		case l.hidden[i]:
			p.readIsolate(i)
		case l.dropped[i]:
		case p.isolates > 0 && (r == rlm || r == alm):
			l.dropChar(i, true) // it would make the isolate before it run from right to left
		case isControl(r):
			p.marks, p.inNumber = append(p.marks, i), p.inNumber && !l.right
			p.turnCovered = p.turnCovered || r == lrm
		case c&Left != 0:
			p.endStretch(Left)
			p.endTurns()
		case c&Right != 0:
			p.countIsolates()
			p.endStretch(Right)
			if p.turn >= 0 && p.turnIsNumber {
				p.listTurn() // else the number before it would run with it
			}
			p.beginTurn(i, false)
		case c&Digit != 0:
			p.readDigit(i, c&(Arabic|Neutral))
		case c&unseen != 0:
			if p.turn >= 0 && p.turnTouches {
				p.turn = i
			}
		default:
			p.inNumber, p.turnTouches = p.inNumber && l.isWithinNumber(i), false
		}
	}
	p.endStretch(0)
	p.endTurns()
}

// readIsolate reads the character at i, which belongs to an isolate that stays: as a number behind
// a turn, it may need a mark.
func (p *markPass) readIsolate(i int) {
	p.inNumber, p.turnTouches = false, false
	switch {
	case !p.holds[i]:
	case p.right:
		p.lastNumber = i
		p.numbers++
	case p.turn >= 0:
		p.isolates++
	}
}

// readDigit reads the digit at i; kind is Arabic, Neutral or 0. Digits of two kinds are two
// numbers, and so are two that are Neutral.
func (p *markPass) readDigit(i int, kind Classes) {
	p.countIsolates()
	if !p.inNumber || p.digits != kind || kind == Neutral {
		if isFraction := p.inNumber && kind == Neutral && p.digits == 0; !isFraction {
			p.numbers++
		}
		p.lastNumber, p.digits = i, kind
		p.hasNeutral = p.hasNeutral || kind == Neutral
		if p.turn >= 0 {
			p.numbersBehind++
			p.listTurn()
		} else if kind == Arabic {
			p.numbersBehind = 1
		}
	}
	p.inNumber = true
	if kind == Arabic {
		p.beginTurn(i, true)
	} else {
		p.turnTouches = false
	}
}

// beginTurn notes that the character at i is the end of a turn so far.
func (p *markPass) beginTurn(i int, isNumber bool) {
	p.turn, p.turnIsNumber, p.turnTouches, p.turnCovered, p.turnListed = i, isNumber, true, false, false
}

// endStretch decides on the marks between the last letter and the next one, which is Left, Right,
// or 0 at the end of the line, and begins the stretch behind that letter.
func (p *markPass) endStretch(next Classes) {
	for _, m := range p.marks {
		p.decideMark(m, p.letter, next, m < p.lastNumber, p.numbers)
		if p.right && p.hasNeutral && !p.dropped[m] {
			p.dropChar(m, p.numbers > 1)
		}
	}
	p.letter, p.marks, p.lastNumber, p.numbers = next, p.marks[:0], -1, 0
	p.inNumber, p.hasNeutral = false, false
}

// listTurn makes the last turn a candidate for a U+200E, once, and notes it as the first that no
// mark covers where that is so.
func (p *markPass) listTurn() {
	if !p.turnListed {
		p.candidates = append(p.candidates, p.turn)
		if !p.turnCovered && p.uncovered < 0 {
			p.uncovered = p.turn
		}
	}
	p.turnListed = true
}

// countIsolates counts the isolates since the last turn, because what follows turns them.
func (p *markPass) countIsolates() {
	p.numbersBehind += p.isolates
	if p.isolates > 0 {
		p.listTurn()
	}
	p.isolates = 0
}

// endTurns is called at a letter from left to right and at the end of the line. In a text from left
// to right it puts a U+200E behind each candidate, if two numbers or more would be seen in another
// order than they are heard.
func (p *markPass) endTurns() {
	if p.numbersBehind > 1 && !p.right {
		for _, turn := range p.candidates {
			p.mark[turn] = true
		}
		if p.uncovered >= 0 && (p.broken < 0 || p.broken > p.uncovered) {
			p.broken = p.uncovered
		}
	}
	p.turn, p.numbersBehind, p.isolates, p.candidates = -1, 0, 0, p.candidates[:0]
	p.uncovered, p.turnListed, p.turnCovered = -1, false, false
}

// decideMark decides on the mark of direction at m, between the letters previous and next, each
// Left, Right, or 0 where there is none. numbers is how many numbers are between the two letters;
// follows says that one of them comes behind the mark: only such a number can be turned by it.
func (l *line) decideMark(m int, previous, next Classes, follows bool, numbers int) {
	leftwards := l.runes[m] != lrm
	stays, breaks := false, false
	switch {
	case !l.right:
		stays = leftwards && previous == Right && next != Right && numbers == 0
		breaks = leftwards && follows
	case follows:
		breaks = previous == Left || next == Left || numbers > 1
		stays = previous == Right && !breaks
	case leftwards:
		breaks = previous == Left && next == Left
		stays = !breaks
	default:
		stays = previous == Left && next != Left || previous == Right && next == Left
	}
	if !stays {
		l.dropChar(m, breaks)
	}
}

// writeTo writes to b the line without what was dropped, and with the marks that were added.
func (l *line) writeTo(b *strings.Builder) {
	for i, start := range l.offset {
		end := len(l.text)
		if i+1 < len(l.offset) {
			end = l.offset[i+1]
		}
		if !l.dropped[i] {
			b.WriteString(l.text[start:end])
		}
		if l.mark[i] {
			b.WriteRune(lrm)
		}
	}
}
