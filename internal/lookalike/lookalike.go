// Package lookalike compares what texts look like, as Unicode's technical standard 39 does, with a
// small table of its own: the Cyrillic, Greek, Armenian and Cherokee letters that pass for Latin
// ones, small capitals, a few Latin ones that pass for others, digits and punctuation. What is
// alike within or between other scripts, several letters that look like one (rn, m), and what only
// sounds the same are not found.
package lookalike

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Skeleton returns what a text looks like: it is the same for texts that look the same, and with
// fold also for those that differ in case. It is for comparing, not for people.
func Skeleton(s string, fold bool) string {
	s = norm.NFKC.String(strings.Map(dropInvisible, norm.NFKC.String(s))) // which may produce invisible characters
	s = strings.Map(func(r rune) rune { return shapeOf(shapes, r) }, s)
	if fold {
		s = cases.Fold().String(s)
	} else {
		s = strings.Map(func(r rune) rune { return shapeOf(asWritten, r) }, s)
	}
	s = strings.Map(func(r rune) rune { return shapeOf(shapes, r) }, s)
	return norm.NFC.String(strings.Join(strings.Fields(s), " "))
}

// Visible returns what a reader may see of a text: without invisible characters, with single
// spaces, and cut after limit characters.
func Visible(s string, limit int) string {
	s = strings.Join(strings.Fields(strings.Map(dropInvisible, s)), " ")
	n := 0
	for i := range s {
		if n++; n > limit {
			return s[:i]
		}
	}
	return s
}

// dropInvisible returns r, or -1 for a character that is not seen, which strings.Map then drops;
// white space stays.
func dropInvisible(r rune) rune {
	if !unicode.IsSpace(r) && unicode.In(r, unicode.Cf, unicode.Cc, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Variation_Selector) {
		return -1
	}
	return r
}

// shapeOf returns the letter that r looks like by table, or r itself.
func shapeOf(table map[rune]rune, r rune) rune {
	if shape, ok := table[r]; ok {
		return shape
	}
	return r
}

// shapes has for a letter the Latin one, or the digit's letter, that looks like it. In each word
// the first is what the others look like.
var shapes = parseShapes(`
	aаɑαᴀ bЬƄʙ cсᴄ dԁᴅ eеҽᴇ fғƒꜰ gɡցɢ hһհʜ iіıɩιɪ jјϳᴊ kκкᴋ lӏǀ∣ʟ mмᴍ nпռɴ oоοօ๐ᴏ pрρᴘ qԛգꞯ rгᴦʀ sѕꜱ tтᴛ uυսʋᴜ vνѵᴠ wԝѡաᴡ xх× yуүγʏ zᴢ
	AАΑᎪ BВΒᏴ CСᏟ DᎠ EЕΕᎬ FϜ GԌᏀ HНΗᎻ IІΙӀ JЈᎫ KКΚᏦ LᏞ MМΜᎷ NΝ OОΟՕ PРΡᏢ QԚ RᎡ SЅՏᏚ TТΤᎢ UՍ VѴᏙ WԜᎳ XХΧ YҮΥ ZΖᏃ
	-‐‒–—−―⁃ '’‘ʼʹ′` + "`" + ` ·•∙⋅ :։∶ /∕⁄
`)

// asWritten are pairs of Latin letters and digits that only look alike in one case.
var asWritten = parseShapes("l1I| O0 ")

// parseShapes makes a table of words in which the first letter is what all others look like.
func parseShapes(words string) map[rune]rune {
	t := map[rune]rune{}
	for _, word := range strings.Fields(words) {
		alike := []rune(word)
		for _, r := range alike[1:] {
			if r != alike[0] {
				t[r] = alike[0]
			}
		}
	}
	return t
}
