package producer

import (
	"reflect"
	"testing"

	"github.com/aaep-go/aaep/internal/negotiation"
)

// What a subscriber may not have is left out of the offer that its terms come of, so that terms
// which are equal give equal streams.
func TestRightsLimitTheOffer(t *testing.T) {
	sub := &subscription{p: &Producer{}, rights: Rights{Reply: true}}
	if whole := sub.currentOffer(); !reflect.DeepEqual(whole, negotiation.Offer{}) {
		t.Errorf("the offer to a subscriber with all rights is %+v", whole)
	}
	sub.rights = Rights{Withhold: []string{"aaep:agent.output.*"}}
	if less := sub.currentOffer(); !less.ReadOnly || len(less.Withhold) != 1 {
		t.Errorf("the offer to a subscriber with %+v is %+v", sub.rights, less)
	}
	if n := reflect.TypeFor[Rights]().NumField(); n != 2 {
		t.Errorf("Rights has %d fields: a new one that makes a difference to what is heard must be in the terms", n)
	}
}
