package aaep

import (
	"strings"

	"github.com/aaep-go/aaep/internal/safetext"
)

// SafeText returns s as it may be heard, shown and recorded, the same in all three.
//
// What could deceive or disturb is made visible, as in <U+202E>: C0 and C1 controls but tab and
// newline, DEL, invalid UTF-8, bidirectional embeddings and overrides, isolates that are not
// balanced on their line or nested more than four deep, line and paragraph separators, private use,
// noncharacters, and tag characters outside an emoji flag. What shows nothing is left out, such as
// a soft hyphen, a zero width space, a joiner or a variation selector, but where it spells or
// chooses: in Persian, Indic scripts, Khmer and its neighbours, Hangul, Mongolian, Han and emoji.
// Odd spaces become plain ones, and of the accents on a letter eight stay.
//
// Numbers and words are seen in the order in which they are heard: marks and isolates of direction
// stay where right-to-left letters need them and nothing is reordered, and U+200E is put between
// right-to-left words and several numbers behind them in a text that runs from left to right. A
// text runs from right to left if it begins with such a letter and has more of them than of others.
//
// SafeText(SafeText(s)) is SafeText(s). Apply it to whatever a peer wrote before a terminal, a log
// or a person gets it.
func SafeText(s string) string { return safetext.Clean(s, "", false) }

// SafeTextIn is SafeText for a text in a known language, which says how it runs. Language is a tag,
// or empty.
func SafeTextIn(s, language string) string { return safetext.Clean(s, language, false) }

// oneLine is SafeText for an error text, which must stay on its line of the log (INV-36).
func oneLine(s string) string {
	return strings.NewReplacer("\n", "<U+000A>", "\t", "<U+0009>").Replace(SafeText(s))
}
