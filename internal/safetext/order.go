package safetext

import (
	"strings"

	"golang.org/x/text/language"
)

// D-86. A screen shows a text that has right-to-left letters in another order than it is stored in,
// by the bidirectional algorithm of Unicode (UAX 9). Numbers have no direction of their own, so an
// invisible mark, an isolate or one right-to-left letter turns "Pay 100 / 9000" into "Pay 9000 /
// 100", for the eye alone. What holds after ordered, on each line:
//
//   - In a text from left to right, numbers and left-to-right words are seen from left to right, as they are heard. Where numbers
//     follow right-to-left words, a U+200E stands between them.
//   - In a text from right to left, two numbers with no left-to-right word between them are seen from right to left, as they would
//     be without marks and isolates.
//   - A mark or an isolate is left only where right-to-left letters are beside or within it, and no number or word is split.
//
// The rules look at letters and numbers alone, never at levels of embedding, so that the web page
// can have them too.

// FromRight reports whether a text is one from right to left: its language is written so, and it
// has such letters; or, where the language is not known, it begins with such a letter and has more
// of them than of others.
func FromRight(s, tag string) bool {
	first, left, right := Classes(0), 0, 0
	for _, r := range s {
		switch c := Class(r) & (Left | Right); {
		case c == 0:
			continue
		case c == Right:
			right++
		default:
			left++
		}
		if first == 0 {
			first = Class(r) & (Left | Right)
		}
	}
	switch {
	case right == 0:
		return false
	case tag != "":
		return WrittenFromRight(tag)
	}
	return first == Right && right > left
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

// mayReorder reports whether a text has characters that a screen may show in another order.
func mayReorder(s string) bool {
	var all Classes
	for _, r := range s {
		if r < 0x80 {
			all |= ascii[r]
			continue
		}
		if isControl(r) {
			return true
		}
		all |= Class(r)
	}
	return all&Arabic != 0 || all&Right != 0 && all&Digit != 0
}

// orderAsHeard returns s so that it is seen in the order in which it is heard, and the index of the
// first character of s because of which it was not; or -1. tag is the text's language, or empty.
// Isolates are balanced on their lines.
func orderAsHeard(s, tag string) (string, int) {
	right, broken, at := FromRight(s, tag), -1, 0
	var b strings.Builder
	for text := range strings.SplitAfterSeq(s, "\n") {
		l := newLine(text, right)
		l.decideIsolates()
		l.decideMarks()
		if l.broken >= 0 && broken < 0 {
			broken = at + l.at[l.broken]
		}
		l.writeTo(&b)
		at += len(text)
	}
	return b.String(), broken
}

// A line is looked at character by character.
type line struct {
	text    string
	right   bool // of a text from right to left
	runes   []rune
	class   []Classes
	at      []int  // in text
	pair    []int  // of an isolate's opener, its end
	digit   []bool // whether the next letter or digit from here on is a digit
	before  []bool // whether what is seen right before is a digit or a letter from left to right
	after   []bool // whether what is seen from here on is one
	dropped []bool
	hidden  []bool // within or around an isolate that stays
	holds   []bool // of the opener of one that stays, whether a number or a word from left to right is within
	mark    []bool // a U+200E is put behind it
	broken  int
}

// newLine takes a line apart; right says that its text runs from right to left.
func newLine(text string, right bool) *line {
	l := &line{text: text, right: right, broken: -1}
	for i, r := range text {
		l.runes, l.class, l.at = append(l.runes, r), append(l.class, Class(r)), append(l.at, i)
	}
	n := len(l.runes)
	l.pair, l.digit, l.before, l.after = make([]int, n), make([]bool, n+1), make([]bool, n+1), make([]bool, n+1)
	l.dropped, l.hidden, l.holds, l.mark = make([]bool, n), make([]bool, n), make([]bool, n), make([]bool, n)
	var open []int
	for i, r := range l.runes {
		if r == pdi {
			l.pair[open[len(open)-1]] = i
			open = open[:len(open)-1]
		} else if r >= lri && r < pdi {
			open = append(open, i)
		}
	}
	parts := func(i int) bool { return !isControl(l.runes[i]) && l.class[i]&unseen == 0 }
	for i := range n {
		if l.before[i+1] = l.before[i]; parts(i) {
			l.before[i+1] = l.class[i]&(Left|Digit) != 0
		}
	}
	for i := n - 1; i >= 0; i-- {
		if l.after[i] = l.after[i+1]; parts(i) {
			l.after[i] = l.class[i]&(Left|Digit) != 0
		}
		if l.digit[i] = l.digit[i+1]; l.class[i]&(Left|Right|Digit) != 0 {
			l.digit[i] = l.class[i]&Digit != 0
		}
	}
	return l
}

// dropChar leaves out the character at i. breaks says that it made the line run in another order
// than it is heard.
func (l *line) dropChar(i int, breaks bool) {
	l.dropped[i] = true
	if breaks && l.broken < 0 {
		l.broken = i
	}
}

// decideIsolates decides which isolates stay. Within one that stays there is no other, and no mark.
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

// decideIsolate reports whether the isolate between two places stays, and if not, whether it breaks
// the order in which the line is heard.
func (l *line) decideIsolate(from, to int) (stays, breaks bool) {
	units, numbers, controls := 0, 0, 0 // words from left to right and numbers; numbers; marks and isolates
	first := Classes(0)                 // of the first letter
	rights := false
	in, number := false, false // a unit, and one with a digit
	for k := from + 1; k < to; k++ {
		c := l.class[k]
		if c&(Left|Right) != 0 && first == 0 {
			first = c & (Left | Right)
		}
		switch {
		case c&(Left|Digit) != 0:
			if !in {
				units++
				number = false
			}
			if c&Digit != 0 && !number {
				numbers++
				number = true
			}
			in = true
			continue
		case c&unseen != 0, in && l.isWithinNumber(k):
			continue
		case c&Right != 0:
			rights = true
		case isControl(l.runes[k]):
			controls++
		}
		in = false
	}
	edge := l.before[from] || l.after[to+1]
	inner := l.runes[from] == rli || l.runes[from] == fsi && first == Right // what is within runs from right to left
	switch {
	case rights:
		stays = units <= 1 && !edge && !(l.right && l.digit[to+1])
	case l.right:
		stays = numbers <= 1 && units > 0 && controls == 0 && !edge
	}
	if inner != l.right {
		many := units
		if l.right {
			many = numbers
		}
		breaks = many > 1 || edge && units > 0
	} else {
		breaks = edge && rights
	}
	return stays, breaks
}

// isWithinNumber reports whether the character at k separates digits of one number.
func (l *line) isWithinNumber(k int) bool {
	if l.class[k]&Separator == 0 {
		return false
	}
	before, after := l.adjacentDigit(k, -1), l.adjacentDigit(k, 1)
	return before == after && before&Digit != 0
}

// adjacentDigit returns the class of the digit next to k, by steps of by, past marks and isolates;
// 0 if another character is there.
func (l *line) adjacentDigit(k, by int) Classes {
	for k += by; k >= 0 && k < len(l.runes); k += by {
		if !isControl(l.runes[k]) {
			return l.class[k] & (Digit | Arabic)
		}
	}
	return 0
}

// decideMarks decides which marks of direction stay outside isolates, and where U+200E has to be.
func (l *line) decideMarks() {
	var (
		before = Classes(0) // the letter before: Left, Right or none
		marks  []int        // since then
		last   = -1         // number since then, by its beginning
		count  int          // of numbers since then
		in     bool         // a number
		kind   Classes      // of its digits

		turned  = -1  // the end of the last right-to-left word, or Arabic number, since the last letter from left to right
		arabic  bool  // it is such a number
		touches bool  // nothing else came since then
		covered bool  // by a U+200E since then
		used    bool  // it is among the candidates
		after   int   // how many numbers come after one, or isolates with one
		held    int   // such isolates since then; they only count where what follows makes them run from right to left
		puts    []int // candidates for a U+200E
		breaks  = -1  // the first that has none
	)
	flush := func(next Classes) {
		for _, m := range marks {
			l.decideMark(m, before, next, m < last, count)
		}
		before, marks, last, count, in = next, marks[:0], -1, 0, false
	}
	put := func() {
		if !used {
			puts = append(puts, turned)
			if !covered && breaks < 0 {
				breaks = turned
			}
		}
		used = true
	}
	release := func() {
		if after += held; held > 0 {
			put()
		}
		held = 0
	}
	phrase := func() {
		if after > 1 && !l.right {
			for _, p := range puts {
				l.mark[p] = true
			}
			if breaks >= 0 && (l.broken < 0 || l.broken > breaks) {
				l.broken = breaks
			}
		}
		turned, after, held, puts, breaks, used, covered = -1, 0, 0, puts[:0], -1, false, false
	}
	for i, r := range l.runes {
		c := l.class[i]
		switch {
		case l.hidden[i]:
			in, touches = false, false
			switch {
			case !l.holds[i]:
			case l.right:
				last = i
				count++
			case turned >= 0:
				held++
			}
		case l.dropped[i]:
		case held > 0 && (r == rlm || r == alm):
			l.dropChar(i, true) // it would make the isolate before it run from right to left
		case isControl(r):
			marks, in = append(marks, i), in && !l.right
			covered = covered || r == lrm
		case c&Left != 0:
			flush(Left)
			phrase()
		case c&Right != 0:
			release()
			if flush(Right); turned >= 0 && arabic {
				put() // else the number before it would run with it
			}
			turned, arabic, touches, covered, used = i, false, true, false, false
		case c&Digit != 0:
			release()
			if !in || kind != c&Arabic { // digits of two kinds are two numbers
				last, kind = i, c&Arabic
				count++
				if turned >= 0 {
					after++
					put()
				} else if c&Arabic != 0 {
					after = 1
				}
			}
			if in = true; c&Arabic != 0 {
				turned, arabic, touches, covered, used = i, true, true, false, false
			} else {
				touches = false
			}
		case c&unseen != 0:
			if turned >= 0 && touches {
				turned = i
			}
		default:
			in, touches = in && l.isWithinNumber(i), false
		}
	}
	flush(0)
	phrase()
}

// decideMark decides on a mark between two letters, either of which may be missing, with so many
// numbers between them. follows says that one of these comes behind the mark: only such a number
// can be turned by it.
func (l *line) decideMark(m int, before, next Classes, follows bool, numbers int) {
	leftwards := l.runes[m] != lrm
	stays, breaks := false, false
	switch {
	case !l.right:
		stays = leftwards && before == Right && next != Right && numbers == 0
		breaks = leftwards && follows
	case follows:
		breaks = before == Left || next == Left || numbers > 1
		stays = before == Right && !breaks
	case leftwards:
		breaks = before == Left && next == Left
		stays = !breaks
	default:
		stays = before == Left && next != Left || before == Right && next == Left
	}
	if !stays {
		l.dropChar(m, breaks)
	}
}

// writeTo writes the line without what was dropped, and with the marks that were added.
func (l *line) writeTo(b *strings.Builder) {
	for i, at := range l.at {
		end := len(l.text)
		if i+1 < len(l.at) {
			end = l.at[i+1]
		}
		if !l.dropped[i] {
			b.WriteString(l.text[at:end])
		}
		if l.mark[i] {
			b.WriteRune(lrm)
		}
	}
}
