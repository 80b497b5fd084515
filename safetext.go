package aaep

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SafeText returns s with every character that could deceive or disturb made visible, as in <U+202E>:
// C0 and C1 controls but tab and newline, DEL, invalid UTF-8, bidirectional embeddings and overrides,
// isolates that are not balanced, line and paragraph separators, private use, and tag characters outside
// an emoji flag. Joiners that spell (Persian, Indic scripts, emoji) stay. SafeText(SafeText(s)) is
// SafeText(s). Apply it to whatever a peer wrote before a terminal, a log or a person gets it (INV-57).
func SafeText(s string) string {
	first := firstUnsafe(s)
	if first < 0 {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:first])
	sc := safeScanner{text: s}
	for i := first; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case sc.safe(r, size):
			b.WriteString(s[i : i+size])
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "<0x%02X>", s[i])
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
		i += size
	}
	return b.String()
}

// oneLine is SafeText for an error text, which must stay on its line of the log (INV-36).
func oneLine(s string) string {
	return strings.NewReplacer("\n", "<U+000A>", "\t", "<U+0009>").Replace(SafeText(s))
}

// firstUnsafe returns the index of the first character SafeText would replace, or -1.
func firstUnsafe(s string) int {
	sc := safeScanner{text: s}
	for i := 0; i < len(s); {
		if c := s[i]; c >= 0x20 && c < 0x7f {
			sc.tags = 0
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !sc.safe(r, size) {
			return i
		}
		i += size
	}
	return -1
}

// The flags of England, Scotland and Wales are a black flag, up to six tag characters that spell the place,
// and a tag that ends them. More would be a hidden message.
const (
	blackFlag = 0x1f3f4
	endOfTags = 0xe007f
	flagTags  = 7
)

// A safeScanner tells safe characters from unsafe ones, given in order.
type safeScanner struct {
	text     string
	isolates int // whether the isolates of text may stay: 0 not yet known, 1 yes, -1 no
	tags     int // how many tag characters may follow
}

func (sc *safeScanner) safe(r rune, size int) bool {
	tags := sc.tags
	sc.tags = 0
	switch {
	case r == '\n' || r == '\t':
		return true
	case r < 0x20 || r >= 0x7f && r <= 0x9f:
		return false
	case r == utf8.RuneError:
		return size > 1
	case r >= 0x202a && r <= 0x202e || r == 0x2028 || r == 0x2029:
		return false
	case r >= 0x2066 && r <= 0x2069:
		return sc.isolatesStay()
	case r == blackFlag:
		sc.tags = flagTags
	case r == endOfTags:
		return tags > 0 && tags < flagTags
	case r >= 0xe0000 && r <= 0xe007f:
		c := byte(r - 0xe0000)
		if tags <= 1 || !isDigit(c) && !(c >= 'a' && c <= 'z') {
			return false
		}
		sc.tags = tags - 1
	}
	return !unicode.Is(unicode.Co, r) && (r < 0xfff9 || r > 0xfffb)
}

// isolatesStay reports whether every isolate of the text is closed and none is closed before it opens.
func (sc *safeScanner) isolatesStay() bool {
	if sc.isolates == 0 {
		sc.isolates = -1
		if isolatesBalanced(sc.text) {
			sc.isolates = 1
		}
	}
	return sc.isolates > 0
}

func isolatesBalanced(s string) bool {
	depth := 0
	for _, r := range s {
		switch r {
		case 0x2066, 0x2067, 0x2068:
			depth++
		case 0x2069:
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}
