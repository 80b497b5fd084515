package extensions_test

import (
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
)

// A braille display of twenty cells asks for text that fits it, and the extension has the agent cut
// it so.
func Example() {
	var caps aaep.Capabilities
	if err := caps.AddExtension(extensions.BrailleVocabulary, extensions.Braille{Cells: 20}); err != nil {
		fmt.Println(err)
		return
	}
	for _, served := range extensions.All() {
		if served.Vocabulary == extensions.BrailleVocabulary {
			effect := served.Honor(caps.Extensions[served.Prefix])
			fmt.Println(served.URI, effect.MaxChunk)
		}
	}
	// Output: https://github.com/aaep-go/aaep/extensions/braille/v1 20
}
