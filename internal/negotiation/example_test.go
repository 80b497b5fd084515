package negotiation_test

import (
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// A screen reader asks for more than this producer can do, and gets what both can.
func ExampleNegotiate() {
	req := &aaep.SubscriptionRequest{
		AAEPVersion:  aaep.Version,
		SubscriberID: "screen-reader",
		Capabilities: aaep.Capabilities{
			MaxEventsPerSecond:        20,
			Languages:                 []string{"yo-NG", "fr", "en"},
			SupportsConfirmationReply: new(true),
			EventFilters:              &aaep.EventFilters{Exclude: []string{"aaep:agent.progress.*"}},
		},
	}
	terms, err := negotiation.Negotiate(req, negotiation.Offer{
		Languages:          []string{"en-US", "yo"},
		MaxEventsPerSecond: 10,
		Levels:             []int64{1, 2, 3},
	})
	fmt.Println(err)
	fmt.Println(terms.MaxEventsPerSecond, terms.Languages, terms.Boundaries, terms.Levels)
	fmt.Println(terms.ConfirmationReply, terms.ClarificationReply)
	fmt.Println(terms.Filters.Match(aaep.TypeToolInvoked), terms.Filters.Match(aaep.TypeProgressUpdated))
	fmt.Println(terms.Note())

	req.AAEPVersion = "2.0.0"
	_, err = negotiation.Negotiate(req, negotiation.Offer{})
	fmt.Println(err)
	// Output:
	// <nil>
	// 10 [yo-NG en] [sentence completion] [1]
	// true false
	// true false
	// Iye ìṣẹ̀lẹ̀ tí a lè fi ránṣẹ́ ní ìṣẹ́jú àáyá kan kò ju 10 lọ.
	// aaep: version unsupported: Version "2.0.0" is not supported; this producer speaks 1.0.0.
}
