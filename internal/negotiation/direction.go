package negotiation

import (
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/bidi"

	"github.com/aaep-go/aaep"
)

// Direction returns the direction in which a text is shown: that of its language or, where it mixes
// letters of both directions, auto, so that its own first letter decides (§11.4).
func Direction(tag, text string) aaep.TextDirection {
	ofLanguage := aaep.DirectionLTR
	script, _ := language.Make(tag).Script()
	switch script.String() {
	case "Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm", "Rohg", "Mand", "Samr":
		ofLanguage = aaep.DirectionRTL
	}
	var left, right bool
	for i := 0; i < len(text) && !(left && right); {
		if text[i] < 0x80 { // most of all text
			left = left || 'a' <= text[i]|0x20 && text[i]|0x20 <= 'z'
			i++
			continue
		}
		p, size := bidi.LookupString(text[i:])
		switch p.Class() {
		case bidi.L:
			left = true
		case bidi.R, bidi.AL:
			right = true
		}
		i += max(size, 1)
	}
	if left && right {
		return aaep.DirectionAuto
	}
	return ofLanguage
}
