package extensions_test

import (
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// A braille display of twenty cells asks for text that fits it.
func Example() {
	caps := aaep.Capabilities{Languages: []string{"yo"}}
	if err := caps.AddExtension(extensions.BrailleVocabulary, extensions.Braille{Cells: 20}); err != nil {
		fmt.Println(err)
		return
	}
	terms, err := negotiation.Negotiate(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "display",
		Capabilities: caps},
		negotiation.Offer{Languages: []string{"en-US", "yo-NG"}, Extensions: extensions.All()})
	fmt.Println(terms.Languages, terms.MaxChunk, err)
	// Output: [yo] 20 <nil>
}
