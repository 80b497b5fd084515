package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
)

// isolationCases judge whether subscriptions are served as if there were no others.
var isolationCases = []Case{
	{Name: "others-go-on", Requirements: []string{"HS-085", "HS-084", "TERM-014"}, Level: 3, Strength: Must,
		plays: []string{"closed"},
		Rule:  "closing one subscription does not disturb another", Judge: func(r *Recording) Finding {
			other := r.eventsOn(1)
			switch n := len(other); {
			case n == 0:
				return inconclusiveFinding("no event came to the subscriber that stayed")
			case !slices.ContainsFunc(other, message.isTerminal):
				return failFinding("the subscriber that stayed never saw the end", other[n-1].Entry)
			default:
				return passFinding("the subscriber that stayed saw the session to its end", other[n-1].Entry)
			}
		}},
	{Name: "subscriptions-apart", Requirements: []string{"HS-045", "TERM-014"}, Level: 3, Strength: Must,
		plays: []string{"verbosity", "closed"},
		Rule:  "two subscriptions have two subscription_ids", Judge: func(r *Recording) Finding {
			a, one := r.firstAnswer(0)
			b, two := r.firstAnswer(1)
			switch {
			case !one || !two || a.compactType() != "subscription.accepted" ||
				b.compactType() != "subscription.accepted":
				return inconclusiveFinding("not both requests were accepted")
			case a.stringMember("subscription_id") == b.stringMember("subscription_id"):
				return failFinding("two subscriptions have one subscription_id", a.Entry, b.Entry)
			}
			return passFinding("each has its own", a.Entry, b.Entry)
		}},
	{Name: "slow-costs-nobody", Requirements: []string{"HS-085"}, Level: 3, Strength: Must,
		plays: []string{"beside-slow"},
		Rule:  "a subscriber without a rate gets each event when it was made, also beside one with one event a second",
		Judge: func(r *Recording) Finding {
			list := r.eventsOn(0)
			if len(list) == 0 {
				return inconclusiveFinding("no event came to the subscriber without a rate")
			}
			began, _ := aaep.ParseTimestamp(list[0].stringMember("timestamp"))
			for _, m := range list {
				made, ok := aaep.ParseTimestamp(m.stringMember("timestamp"))
				if late := m.At.Sub(list[0].At) - made.Sub(began); ok && late > time.Second {
					return failFinding(fmt.Sprintf("%s came %v after it was made to the subscriber without a rate",
						shortName(m), late.Round(time.Millisecond)), list[0].Entry, m.Entry)
				}
			}
			if !slices.ContainsFunc(list, message.isTerminal) {
				return failFinding("the subscriber without a rate did not see the end within "+slow.String(),
					list[len(list)-1].Entry)
			}
			return passFinding(fmt.Sprintf("%d events came as they were made", len(list)), list[0].Entry)
		}},
}
