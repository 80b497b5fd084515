package aaep

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is what a person hears, in up to three lengths. Normal is the one every listener gets;
// Terse and Detailed are for those who asked for fewer or more words.
type Text struct {
	Terse    string `json:"summary_terse,omitzero"`
	Normal   string `json:"summary_normal,omitzero"`
	Detailed string `json:"summary_detailed,omitzero"`
}

// Say returns a Text of normal length.
func Say(normal string) Text { return Text{Normal: normal} }

// At returns the wording for verbosity v, or the nearest one there is, or "".
func (t Text) At(v Verbosity) string {
	switch v {
	case VerbosityTerse:
		return firstOf(t.Terse, t.Normal, t.Detailed)
	case VerbosityDetailed:
		return firstOf(t.Detailed, t.Normal, t.Terse)
	}
	return firstOf(t.Normal, t.Detailed, t.Terse)
}

// IsZero reports whether there is no wording at all.
func (t Text) IsZero() bool { return t == Text{} }

// SafeText returns s with every character that could deceive or disturb made visible, as in <U+202E>:
// C0 and C1 controls but tab and newline, DEL, invalid UTF-8, bidirectional embeddings and overrides,
// isolates that are not balanced, line and paragraph separators, private use, and tag characters outside
// an emoji flag. Joiners that spell (Persian, Indic scripts, emoji) stay. SafeText(SafeText(s)) is
// SafeText(s). Apply it to whatever a peer wrote before a terminal, a log or a person gets it.
func SafeText(s string) string {
	isolates := isolatesBalanced(s)
	first := firstUnsafe(s, isolates)
	if first < 0 {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:first])
	sc := safeScanner{isolates: isolates}
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

// firstUnsafe returns the index of the first character SafeText would replace, or -1.
func firstUnsafe(s string, isolates bool) int {
	sc := safeScanner{isolates: isolates}
	for i := 0; i < len(s); {
		if c := s[i]; c >= 0x20 && c < 0x7f {
			sc.flag = false
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

// A safeScanner tells safe characters from unsafe ones, given in order.
type safeScanner struct {
	isolates bool // isolates are balanced and may stay
	flag     bool // inside an emoji flag spelled with tag characters
}

func (sc *safeScanner) safe(r rune, size int) bool {
	tag := r >= 0xe0000 && r <= 0xe007f
	if !tag {
		sc.flag = r == 0x1f3f4 // the black flag that England, Scotland and Wales begin with
	}
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
		return sc.isolates
	case tag:
		return sc.flag
	}
	return !unicode.Is(unicode.Co, r) && (r < 0xfff9 || r > 0xfffb)
}

func isolatesBalanced(s string) bool {
	depth := 0
	for i := 0; ; i += 3 {
		// Isolates are U+2066 to U+2069: E2 81 A6 to E2 81 A9.
		j := strings.Index(s[i:], "\u2066"[:2])
		if j < 0 || i+j+2 >= len(s) {
			return depth == 0
		}
		i += j
		switch s[i+2] {
		case 0xa6, 0xa7, 0xa8:
			depth++
		case 0xa9:
			if depth--; depth < 0 {
				return false
			}
		}
	}
}

func firstOf(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}

func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
