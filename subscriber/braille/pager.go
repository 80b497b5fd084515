package braille

import (
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"golang.org/x/text/unicode/norm"
)

// A word is what a page breaks between: its cells, and the places at which it may be cut if it is
// wider than the display. A cell is a rune: a Unicode braille pattern (U+2800 to U+28FF) is shown
// as its dots, any other in the table that the person chose in BRLTTY.
type word struct {
	cells  []rune
	cuts   []cut
	joined bool // to the word before: one number, written with spaces
}

// A cut is a place in a word: after so many cells. Where the word says so itself, after a hyphen or
// a slash, is good.
type cut struct {
	at   int
	good bool
}

// textWords returns the words of a plain text that BRLTTY translates, with a cell for each
// character, and where each word may be cut. A number is kept whole, and the groups of digits of
// one are joined.
func textWords(text string) []word {
	var words []word
	for _, s := range strings.FieldsFunc(text, isPageBreak) {
		w := word{}
		for len(s) > 0 {
			n := len(aNumber.FindString(s))
			if n == 0 {
				g := graphemes.FromString(s)
				g.Next()
				n = len(g.Value())
			}
			w.cells = append(w.cells, []rune(s[:n])...)
			w.cuts = append(w.cuts, cut{len(w.cells), n == 1 && strings.Contains("-/_.,:;@\\", s[:n])})
			s = s[n:]
		}
		for i, r := range w.cells {
			if unicode.IsSpace(r) {
				w.cells[i] = ' '
			}
		}
		w.joined = len(words) > 0 && continuesNumber(words[len(words)-1].cells, w.cells)
		words = append(words, w)
	}
	return words
}

// mostIndented is how many cells of indentation are shown.
const mostIndented = 8

// indentWords puts cells without dots in front of a line of code, for as much as it is indented.
func indentWords(words []word, n int) []word {
	if n = min(n, mostIndented); n == 0 || len(words) == 0 {
		return words
	}
	first := &words[0]
	first.cells = append(slices.Repeat([]rune{' '}, n), first.cells...)
	for i := range first.cuts {
		first.cuts[i].at += n
	}
	return words
}

// dotWord makes a word of cells that liblouis returned, in Unicode braille. It may not be cut
// between a prefix and what it belongs to, nor in a number: those two rules are common to most
// braille codes.
func dotWord(cells []rune) word {
	w := word{cells: cells}
	digits := false
	for i, r := range cells {
		digits = r == numberSign || digits && inNumber(r)
		prefix := r != blank && r&^0x38 == blank // dots 4, 5 and 6 only
		isInside := digits && i+1 < len(cells) && inNumber(cells[i+1])
		if !prefix && !isInside {
			w.cuts = append(w.cuts, cut{at: i + 1})
		}
	}
	return w
}

const (
	blank      = '⠀' // U+2800
	numberSign = '⠼'
)

// inNumber reports whether a cell goes on with a number: a digit, in the upper or the lower cells,
// or what may stand between digits.
func inNumber(r rune) bool {
	return strings.ContainsRune("⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠂⠆⠒⠲⠢⠖⠶⠦⠔⠴⠐⠄⠨", r)
}

// removeInvisible returns a text in the form that takes the fewest cells, without the characters
// that have none.
func removeInvisible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector):
			return -1
		}
		return r
	}, norm.NFC.String(text))
}

// isPageBreak reports whether a page may end in place of a character. The spaces between the groups
// of a number are no such place.
func isPageBreak(r rune) bool {
	return unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f' && r != '\u2007' && r != '\u2009'
}

// aNumber is digits, what stands between them, a sign or currency before, a per cent behind.
var aNumber = regexp.MustCompile(
	`^[-+−±#\p{Sc}]{0,2}\p{Nd}+(?:[-.,:/'’٫٬·\x{a0}\x{2007}\x{2009}\x{202f}]\p{Nd}+)*[%‰°\p{Sc}]?`)

// continuesNumber reports whether b is the next group of three digits of the number at the end of
// a, as in 10 000, so that both stay on one page.
func continuesNumber(a, b []rune) bool {
	n := 0
	for n < len(b) && unicode.IsDigit(b[n]) {
		n++
	}
	if n != 3 || len(b) > 3 && unicode.IsLetter(b[3]) {
		return false
	}
	n = 0
	for n < len(a) && unicode.IsDigit(a[len(a)-1-n]) {
		n++
	}
	return n >= 1 && n <= 3
}

// A page is what fits on the display at once, and where in the text it begins, as a number of cells
// without spaces: that finds the place again when the display has another size.
type page struct {
	cells []rune
	start int
}

// layOutPages lays words out on pages of width cells, at least 1. A word that is wider than a page
// is cut, at a place of its own where it has one; joined words stay together if they fit.
func layOutPages(words []word, width int) []page {
	var pages []page
	var line []rune // the page that is being filled
	placed := 0     // how many cells are on pages and on line, without spaces
	start := 0      // what placed was when line began
	flush := func() {
		if len(line) > 0 {
			pages = append(pages, page{line, start})
			line = nil
		}
		start = placed
	}
	appendCells := func(space int, cells []rune) {
		for ; space > 0; space-- {
			line = append(line, ' ')
		}
		line = append(line, cells...)
		for _, c := range cells {
			if c != ' ' {
				placed++
			}
		}
	}
	for len(words) > 0 {
		var w word
		w, words = takeJoined(words, width)
		space := min(1, len(line))
		if len(line)+space+len(w.cells) > width {
			flush()
			space = 0
		}
		cellStart := 0
		for len(w.cells)-cellStart > width { // then w is a single word
			cutAt := w.cutPlace(cellStart, width)
			appendCells(0, w.cells[cellStart:cutAt])
			cellStart = cutAt
			flush()
		}
		appendCells(space, w.cells[cellStart:])
	}
	flush()
	return pages
}

// takeJoined returns the first of some words together with those that are joined to it, as far as
// all of that fits into width cells, as one word, and the words that follow.
func takeJoined(words []word, width int) (w word, rest []word) {
	w, rest = words[0], words[1:]
	for len(rest) > 0 && rest[0].joined && len(w.cells)+1+len(rest[0].cells) <= width {
		w.cells = append(append(slices.Clip(w.cells), ' '), rest[0].cells...)
		rest = rest[1:]
	}
	return w, rest
}

// cutPlace returns where to cut a word that goes on for more than width cells after from: at the
// last good place of the second half of the page, else at the last place, else in the middle of
// what should not be cut.
func (w word) cutPlace(start, width int) int {
	last := 0
	after := sort.Search(len(w.cuts), func(i int) bool { return w.cuts[i].at > start+width })
	for i := after - 1; i >= 0 && w.cuts[i].at > start; i-- {
		c := w.cuts[i]
		if c.good && c.at > start+width/2 {
			return c.at
		}
		last = max(last, c.at)
	}
	if last == 0 {
		return start + width
	}
	return last
}
