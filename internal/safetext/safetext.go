// Package safetext finds what could deceive or disturb the reader of a text.
package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean is aaep.SafeText; fillers may be kept, by whoever hands on pieces of a text.
func Clean(s string, fillers bool) string {
	first := First(s, fillers)
	if first < 0 {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:first])
	sc := safeScanner{text: s}
	if first > 0 {
		sc.before, _ = utf8.DecodeLastRuneInString(s[:first])
	}
	for i := first; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case isFiller(r):
			if fillers || sc.spells(r, s[i+size:]) {
				b.WriteString(s[i : i+size])
				sc.before = r
			}
			i += size
			continue
		case sc.safe(r, size):
			b.WriteString(s[i : i+size])
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "<0x%02X>", s[i])
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
		sc.before = r
		i += size
	}
	return b.String()
}

// First returns the index of the first character that Clean would not leave as it is, or -1.
func First(s string, fillers bool) int {
	sc := safeScanner{text: s}
	for i := 0; i < len(s); {
		if c := s[i]; c >= 0x20 && c < 0x7f {
			sc.tags, sc.before = 0, rune(c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if isFiller(r) {
			if !fillers && !sc.spells(r, s[i+size:]) {
				return i
			}
		} else if !sc.safe(r, size) {
			return i
		}
		sc.before = r
		i += size
	}
	return -1
}

// isFiller reports whether a character shows nothing by itself and changes no order: a deceiver can hide a word from a
// program with it, and nothing from a person.
func isFiller(r rune) bool {
	switch {
	case r < 0xad || r == zwnj || r == zwj || r >= 0xe0000 && r <= 0xe00ff:
		return false
	case r == 0xad || r == 0x200b || r >= 0x2060 && r <= 0x2064 || r == 0xfeff || r >= 0x1bca0 && r <= 0x1bca3 || r >= 0x1d173 && r <= 0x1d17a:
		return true
	case r >= 0x206a && r <= 0x206f:
		return true
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

const (
	zwnj = 0x200c
	zwj  = 0x200d
)

// unspaced are the scripts that are written without spaces, in which U+200B shows where a word ends.
var unspaced = []*unicode.RangeTable{unicode.Khmer, unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Tai_Le, unicode.New_Tai_Lue,
	unicode.Tai_Tham, unicode.Tai_Viet, unicode.Javanese, unicode.Balinese, unicode.Tibetan}

// spells reports whether a filler has a use between what is kept before it and what follows.
func (sc *safeScanner) spells(r rune, after string) bool {
	next, _ := utf8.DecodeRuneInString(after)
	switch {
	case r == 0x200b:
		return unicode.In(sc.before, unspaced...) && unicode.In(next, unspaced...)
	case r == 0x115f || r == 0x1160: // half a syllable block
		return isJamo(sc.before) || isJamo(next)
	case r >= 0x180b && r <= 0x180d || r == 0x180f:
		return unicode.Is(unicode.Mongolian, sc.before)
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef: // of a symbol, an emoji or an ideograph
		return !isFiller(sc.before) && unicode.IsGraphic(sc.before) && !unicode.IsSpace(sc.before) && (r < 0xe0000 || unicode.Is(unicode.Han, sc.before))
	}
	return false
}

func isJamo(r rune) bool { return r >= 0x1100 && r <= 0x11ff && r != 0x115f && r != 0x1160 }

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
	isolates int  // whether the isolates of text may stay: 0 not yet known, 1 yes, -1 no
	tags     int  // how many tag characters may follow
	before   rune // what was kept before
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
		if tags <= 1 || !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') {
			return false
		}
		sc.tags = tags - 1
	}
	return !unicode.Is(unicode.Co, r) && (r < 0xfff9 || r > 0xfffb)
}

// isolatesStay reports whether every isolate of the text is closed on its line and none is closed before it opens.
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
		case '\n': // which closes them
			if depth > 0 {
				return false
			}
		}
	}
	return depth == 0
}
