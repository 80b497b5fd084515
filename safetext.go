package aaep

import (
	"strings"

	"github.com/aaep-go/aaep/internal/safetext"
)

// SafeText returns s with every character that could deceive or disturb made visible, as in <U+202E>:
// C0 and C1 controls but tab and newline, DEL, invalid UTF-8, bidirectional embeddings and overrides,
// isolates that are not balanced on their line, line and paragraph separators, private use, and tag characters outside
// an emoji flag. What fills and shows nothing, such as a soft hyphen or a zero width space, is left out, but where it
// spells: in Khmer and its neighbours, Hangul and Mongolian. Joiners that spell (Persian, Indic scripts, emoji) stay.
// SafeText(SafeText(s)) is SafeText(s). Apply it to whatever a peer wrote before a terminal, a log or a person gets it.
func SafeText(s string) string { return safetext.Clean(s, false) }

// oneLine is SafeText for an error text, which must stay on its line of the log (INV-36).
func oneLine(s string) string {
	return strings.NewReplacer("\n", "<U+000A>", "\t", "<U+0009>").Replace(SafeText(s))
}
