package extensions

import "github.com/aaep-go/aaep/handshake"

// BrailleVocabulary names the extension for braille displays.
var BrailleVocabulary = newVocabulary("braille")

// Braille is a display. Output comes in pieces that fit it, cut between words.
type Braille struct {
	// Cells is how many characters a line of the display shows, from 1 to 1000.
	Cells int `json:"cells"`
	// Rows is how many lines it has; zero is one.
	Rows int `json:"rows,omitzero"`
	// Table names the braille table in use, for agents that care; nothing depends on it.
	Table string `json:"table,omitzero"`
}

// newBraille returns the extension for braille displays. Its effect is that output comes in pieces
// of as many characters as the display shows at once.
func newBraille() handshake.Extension {
	return newExtension(BrailleVocabulary, func(d Braille) handshake.Effect {
		return handshake.Effect{MaxChunk: d.Cells * max(d.Rows, 1)}
	})
}
