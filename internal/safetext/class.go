package safetext

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/bidi"
)

// Classes are what a character is, as far as that matters here.
type Classes uint32

const (
	Hidden    Classes = 1 << iota // it is shown by its number: controls, overrides, private use, noncharacters
	Filler                        // it shows nothing
	Joiner                        // it joins letters, or parts them
	Variant                       // it chooses the form of what is before it
	Blank                         // it is a space that looks like nothing, or like many
	Accent                        // it combines with the letter before it
	Right                         // a letter that is written from right to left
	Left                          // a letter, or digit, that is written from left to right whatever is around it
	Digit                         // of a number, which has no direction of its own
	Arabic                        // a Digit that makes what is between two numbers run from right to left
	Neutral                       // a Digit such as ½ or ① that runs as what is around it: a number of its own
	Separator                     // it keeps the digits around it together
	Symbol                        // it may have a Variant, and be joined to another one
	Keycap                        // it may be the top of a key
	Varied                        // a letter that may have a Variant
	Joined                        // a letter that a Joiner may follow
	Unspaced                      // a letter of a script without spaces, in which U+200B shows where a word ends
	Han
	Jamo
	Mongolian
	Egyptian
)

// The scripts of Joined, Unspaced, Varied and the categories of Symbol.
var (
	joinedScripts = []*unicode.RangeTable{
		unicode.Arabic, unicode.Syriac, unicode.Mandaic, unicode.Mongolian, unicode.Nko, unicode.Phags_Pa,
		unicode.Manichaean, unicode.Psalter_Pahlavi, unicode.Hanifi_Rohingya, unicode.Sogdian, unicode.Adlam,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
		unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
		unicode.Thai, unicode.Lao, unicode.Tibetan, unicode.Javanese, unicode.Balinese, unicode.Sundanese,
		unicode.Meetei_Mayek, unicode.Chakma, unicode.Grantha, unicode.Brahmi, unicode.Kaithi, unicode.Sharada,
		unicode.Newa, unicode.Tirhuta, unicode.Modi, unicode.Khojki, unicode.Khudawadi, unicode.Takri,
		unicode.Siddham, unicode.Saurashtra, unicode.Tai_Tham, unicode.Cham, unicode.Limbu, unicode.Lepcha,
		unicode.Syloti_Nagri,
	}
	unspacedScripts = []*unicode.RangeTable{
		unicode.Khmer, unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Tai_Le, unicode.New_Tai_Lue,
		unicode.Tai_Tham, unicode.Tai_Viet, unicode.Javanese, unicode.Balinese, unicode.Tibetan,
	}
	variedScripts = []*unicode.RangeTable{unicode.Myanmar, unicode.Phags_Pa, unicode.Manichaean}
	symbols       = []*unicode.RangeTable{unicode.S, unicode.P}
)

// Class returns the classes of a character; 0 is one that needs no care.
func Class(r rune) Classes {
	if r < 0x80 {
		return ascii[r&0x7f]
	}
	return classify(r)
}

// ascii are the classes of the ASCII characters.
var ascii = func() (t [0x80]Classes) {
	for r := range t {
		t[r] = classify(rune(r))
	}
	return t
}()

// classify computes the classes of a character; Class looks most of them up.
func classify(r rune) Classes {
	switch {
	case r == '\n' || r == '\t' || r == ' ' || r == unicode.ReplacementChar:
		return 0
	case r < 0x20, r >= 0x7f && r <= 0x9f, // C0 and C1 controls, DEL
		r >= 0x2028 && r <= 0x202e, r >= 0xfff9 && r <= 0xfffc, r >= 0xd800 && r <= 0xdfff,
		r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe, // noncharacters
		r >= 0xe0000 && r <= 0xe007f, // tags
		unicode.Is(unicode.Co, r):
		return Hidden
	case r == zwnj || r == zwj:
		return Joiner
	case r == lrm || r == rlm || r == alm || r >= lri && r <= pdi:
		return 0 // orderAsHeard looks at them
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef, r >= 0x180b && r <= 0x180d, r == 0x180f:
		return Variant
	case r == 0xad, r == zwsp, r == 0x180e, r >= 0x2060 && r <= 0x206f, r == 0xfeff, r >= 0x1bca0 && r <= 0x1bca3,
		r >= 0x1d173 && r <= 0x1d17a, r >= 0x13430 && r <= 0x13455,
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return Filler
	case r == 0x1680, r >= 0x2000 && r <= 0x2006, r == 0x2008, r == 0x200a, r == 0x205f, r == 0x2800:
		return Blank
	}
	return classifyShown(r)
}

// classifyShown computes the classes of a character that shows something: its direction, and what
// may follow it.
func classifyShown(r rune) Classes {
	var c Classes
	p, _ := bidi.LookupRune(r)
	switch p.Class() {
	case bidi.R, bidi.AL:
		c |= Right
	case bidi.L:
		c |= Left
	case bidi.EN:
		c |= Digit
	case bidi.AN:
		c |= Digit | Arabic
	case bidi.CS:
		c |= Separator
	}
	if c == 0 && (unicode.Is(unicode.N, r) || r == 0x1f51f) { // 🔟 is a symbol
		c = Digit | Neutral
	}
	if unicode.Is(unicode.M, r) {
		c |= Accent
	}
	if r >= '0' && r <= '9' || r == '#' || r == '*' {
		c |= Keycap
	}
	if r < 0x80 {
		return c
	}
	for _, script := range []struct {
		class  Classes
		tables []*unicode.RangeTable
	}{{Symbol, symbols}, {Joined, joinedScripts}, {Unspaced, unspacedScripts}, {Varied, variedScripts},
		{Han, []*unicode.RangeTable{unicode.Han}},
		{Mongolian, []*unicode.RangeTable{unicode.Mongolian}},
		{Egyptian, []*unicode.RangeTable{unicode.Egyptian_Hieroglyphs}}} {
		if unicode.In(r, script.tables...) {
			c |= script.class
		}
	}
	if r == 0x2139 { // ℹ is a letter that is an emoji
		c |= Symbol
	}
	if r >= 0x1100 && r <= 0x11ff {
		c |= Jamo
	}
	return c
}

// Script returns the table for the web page, as a JavaScript module: for each run of characters of
// the same classes, from U+0000 on, its length and the classes, in base 36. Both ends so read one
// table, whatever version of Unicode a browser knows. It takes some 50 ms.
func Script() string {
	var b strings.Builder
	b.WriteString("// Written by the SDK's package safetext.\nexport const table = \"")
	start, classes := rune(0), Class(0) // of the run being read
	for r := rune(1); r <= unicode.MaxRune+1; r++ {
		c := ^Classes(0)
		if r <= unicode.MaxRune {
			c = Class(r)
		}
		if c == classes {
			continue
		}
		b.WriteString(strconv.FormatInt(int64(r-start), 36) + "," + strconv.FormatUint(uint64(classes), 36) + ";")
		start, classes = r, c
	}
	b.WriteString("\";\n")
	return b.String()
}
