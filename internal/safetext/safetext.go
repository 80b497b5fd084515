// Package safetext finds what could deceive or disturb the reader of a text, and takes it away:
// characters that cannot be seen, and order on the screen that is not the order in which a voice, a
// braille display and the record have the same text.
//
// It decides by the text and its language alone. Class is the one table of characters, for Go and
// for the web page, which gets it as Script. Begin with Clean.
//
// Which characters are shown, named or removed is in class.go and safetext.go, and order from right
// to left in order.go.
package safetext

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Clean returns s as it may be heard, shown and recorded; see aaep.SafeText. A part of a longer
// text keeps what only its surroundings could judge: fillers, joiners, marks of direction and many
// accents. Language is a tag, or empty.
func Clean(s, language string, part bool) string {
	first := firstUnsafe(s, part, true)
	if first < 0 && (part || !mayReorder(s)) {
		return s
	}
	if first >= 0 {
		s = cleanFrom(s, first, part, false)
	}
	if part {
		return s
	}
	s, _ = orderAsHeard(s, language)
	return s
}

// Exact is Clean for a command, a path or another text of which each character counts, in no known
// language: what Clean leaves out, or makes a plain space, is shown by its number.
func Exact(s string) string {
	if first := firstUnsafe(s, false, true); first >= 0 {
		s = cleanFrom(s, first, false, true)
	}
	s = oddSpaces.ReplaceAllStringFunc(s, showNumber)
	if !mayReorder(s) {
		return s
	}
	ordered, _ := orderAsHeard(s, "")
	marksLen := func(s string) int { return len(s) - len(stripMarks(s)) } // in bytes
	if marksLen(ordered) < marksLen(s) {
		s = directionMarks.ReplaceAllStringFunc(s, showNumber)
		ordered, _ = orderAsHeard(s, "")
	}
	return ordered
}

var (
	// directionMarks are characters that only say how others are ordered.
	directionMarks = regexp.MustCompile("[\u061c\u200e\u200f\u2066-\u2069]")
	// oddSpaces are spaces that natural text may have, and that look like the plain one.
	oddSpaces = regexp.MustCompile(`[^\x00-\x7f\PZ]`)
)

// showNumber returns a character by its number, as in <U+202E>.
func showNumber(char string) string {
	r, _ := utf8.DecodeRuneInString(char)
	return fmt.Sprintf("<U+%04X>", r)
}

// stripMarks returns s without marks and isolates of direction.
func stripMarks(s string) string { return directionMarks.ReplaceAllString(s, "") }

// First returns the index of the first character of s that a producer may not send, or -1, and why.
// Fillers and needless marks of direction may be sent, for they are left out where people get the
// text.
func First(s, language string, part bool) (index int, problem string) {
	if i := firstUnsafe(s, part, false); i >= 0 {
		r, _ := utf8.DecodeRuneInString(s[i:])
		if !part && Class(r)&Accent != 0 {
			return i, fmt.Sprintf("has more than %d accents on one letter", maxAccents)
		}
		return i, fmt.Sprintf("has the character U+%04X, which could deceive or disturb its reader", r)
	}
	if !part && mayReorder(s) {
		if _, broken := orderAsHeard(s, language); broken >= 0 {
			return broken, "is seen in another order than it is heard and recorded in: take out the marks and isolates " +
				"of direction, name the text's language, and in a text from left to right put U+200E behind " +
				"right-to-left words that numbers follow"
		}
	}
	return -1, ""
}

// maxAccents is how many combining marks a letter may have. Vietnamese needs two, Hebrew with its
// accents five, Tibetan seven.
const maxAccents = 8

// cleanFrom returns s with unsafe characters, from offset first on, left out, made a plain space or
// shown by their number; exact shows all of them so. It does not look at the order of characters.
func cleanFrom(s string, first int, part, exact bool) string {
	var b strings.Builder
	b.WriteString(s[:first])
	sc := scanner{text: s, part: part}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		verdict := sc.judgeChar(r, size, s[i+size:])
		if i >= first {
			switch {
			case verdict == keep:
				b.WriteString(s[i : i+size])
			case verdict == blank && !exact:
				b.WriteByte(' ')
			case verdict == show && size == 1 && r == utf8.RuneError:
				fmt.Fprintf(&b, "<0x%02X>", s[i])
			case verdict == show || exact:
				fmt.Fprintf(&b, "<U+%04X>", r)
			}
		}
		i += size
	}
	return b.String()
}

// firstUnsafe returns the index of the first character of s that is not kept as it is, or -1. part
// says that s is a part of a text. fillers says whether characters that are only left out, or made
// a plain space, count.
func firstUnsafe(s string, part, fillers bool) int {
	sc := scanner{text: s, part: part}
	for i := 0; i < len(s); {
		if c := s[i]; c >= 0x20 && c < 0x7f {
			sc.tags, sc.accents, sc.before, sc.letter = 0, 0, rune(c), 0
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch sc.judgeChar(r, size, s[i+size:]) {
		case keep:
		case drop, blank:
			if fillers || sc.accents > maxAccents {
				return i
			}
		case show:
			return i
		}
		i += size
	}
	return -1
}

// A verdict says what becomes of a character.
type verdict uint8

const (
	keep  verdict = iota
	drop          // it shows nothing
	blank         // it is a space that looks like nothing, or like many
	show          // by its number
)

const (
	zwsp      = 0x200b
	zwnj      = 0x200c
	zwj       = 0x200d
	lrm       = 0x200e
	rlm       = 0x200f
	alm       = 0x061c
	lri       = 0x2066
	rli       = 0x2067
	fsi       = 0x2068
	pdi       = 0x2069
	blackFlag = 0x1f3f4
	endOfTags = 0xe007f
	// The flags of England, Scotland and Wales are a black flag, up to six tag characters that
	// spell the place, and a tag that ends them. More would be a hidden message.
	flagTags = 7
	// maxIsolates is how many isolates may be within each other.
	maxIsolates = 4
)

// A scanner judges the characters of a text, in order.
type scanner struct {
	text     string
	part     bool    // whether text is a part of a longer one; see Clean
	isolates int     // whether the isolates of text may stay: 0 not yet known, 1 yes, -1 no
	tags     int     // how many tag characters may follow, after a black flag
	accents  int     // how many the letter before has so far
	before   rune    // what was kept before; 0 at the start
	letter   Classes // of the last letter that was kept, and its accents
}

// judgeChar decides what becomes of r, the next character, of size bytes; rest is the text behind
// it. Callers judge every character in order, for accents, tags and joiners depend on those before.
func (sc *scanner) judgeChar(r rune, size int, rest string) verdict {
	tags := sc.tags
	sc.tags = 0
	c := Class(r)
	switch {
	case r == utf8.RuneError && size == 1:
		sc.before, sc.accents, sc.letter = r, 0, 0
		return show
	case c&Accent != 0:
		if sc.accents++; sc.accents > maxAccents && !sc.part {
			return drop
		}
	case c&(Filler|Joiner|Variant) == 0:
		sc.accents = 0
	}
	v := keep
	switch {
	case r >= lri && r <= pdi:
		if !sc.isolatesStay() {
			v = show
		}
	case r == blackFlag:
		sc.tags = flagTags
	case r == endOfTags:
		if tags == 0 || tags == flagTags {
			v = show
		}
	case r >= 0xe0000 && r <= 0xe007f:
		if a := r - 0xe0000; tags <= 1 || !(a >= '0' && a <= '9') && !(a >= 'a' && a <= 'z') {
			v = show
		} else {
			sc.tags = tags - 1
		}
	case c&Hidden != 0:
		v = show
	case sc.part:
	case c&Blank != 0:
		v = blank
	case c&(Filler|Joiner|Variant) != 0 && !sc.hasUse(r, c, rest):
		return drop
	}
	if sc.before = r; c&Accent == 0 {
		sc.letter = 0
	}
	sc.letter |= c
	return v
}

// hasUse reports whether r, of the classes c, which shows nothing, spells or chooses something
// between what is kept before it and rest, which follows.
func (sc *scanner) hasUse(r rune, c Classes, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	previous, following := Class(sc.before), Class(next)
	switch {
	case r == zwsp:
		return previous&following&Unspaced != 0
	case c&Joiner != 0 && sc.letter&Joined != 0:
		return true
	case r == zwj:
		return (previous&(Symbol|Variant) != 0 || sc.before == endOfTags) && following&Symbol != 0
	case r == 0x115f || r == 0x1160: // half a syllable block
		return previous&Jamo != 0 || following&Jamo != 0
	case r >= 0x180b && r <= 0x180f:
		return previous&Mongolian != 0
	case r >= 0x13430 && r <= 0x13455:
		return previous&Egyptian != 0
	case r == 0xfe0e || r == 0xfe0f:
		return previous&(Symbol|Keycap) != 0
	case r >= 0xfe00 && r <= 0xfe0d:
		return previous&(Symbol|Varied|Han) != 0
	case r >= 0xe0100 && r <= 0xe01ef:
		return previous&Han != 0
	}
	return false
}

// isolatesStay reports whether every isolate of the text is closed on its line, none is closed
// before it opens, and they are nested a few deep at most.
func (sc *scanner) isolatesStay() bool {
	if sc.isolates == 0 {
		sc.isolates = -1
		if isolatesBalanced(sc.text) {
			sc.isolates = 1
		}
	}
	return sc.isolates > 0
}

// isolatesBalanced reports whether isolates are closed on their line, none is closed before it
// opens, and they are nested no deeper than maxIsolates.
func isolatesBalanced(s string) bool {
	depth := 0
	for _, r := range s {
		switch r {
		case lri, rli, fsi:
			if depth++; depth > maxIsolates {
				return false
			}
		case pdi:
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
