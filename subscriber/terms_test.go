package subscriber

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aaep-go/aaep"
)

// An answer with more filters than can be compared in a moment is refused, and not compared. P10
func TestTooManyFilters(t *testing.T) {
	many := func(n int, form string) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf(form, i))
		}
		return list
	}
	all := &aaep.EventFilters{Include: []string{"aaep:agent.*", "*"}}
	for name, tt := range map[string]struct {
		asked, honored *aaep.EventFilters
		refused        bool
	}{
		"a message full": {all, &aaep.EventFilters{Include: many(26412, "aaep:agent.%x"), Exclude: many(67618, "%x")},
			true},
		"the most": {all, &aaep.EventFilters{Include: []string{"*"}, Exclude: many(maxFilters+1, "%x")}, false},
		"one more": {all, &aaep.EventFilters{Include: []string{"*"}, Exclude: many(maxFilters+2, "%x")}, true},
		"as many as were asked for": {&aaep.EventFilters{Include: many(2*maxFilters, "aaep:agent.%x")},
			&aaep.EventFilters{Include: many(2*maxFilters, "aaep:agent.%x")}, false},
	} {
		err := checkAccepted(&aaep.SubscriptionRequest{Capabilities: aaep.Capabilities{EventFilters: tt.asked}},
			&aaep.SubscriptionAccepted{AAEPVersion: aaep.Version,
				HonoredCapabilities: aaep.Capabilities{EventFilters: tt.honored}})
		if errors.Is(err, aaep.PolicyViolation) != tt.refused || !tt.refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
