package conformance

import (
	"fmt"
	"time"

	"github.com/aaep-go/aaep"
)

// besideCases judge whether subscriptions are served as if there were no others.
var besideCases = []Case{
	{Name: "others-go-on", Requirements: []string{"HS-085", "HS-084", "TERM-014"}, Level: 3, Strength: Must, plays: []string{"closed"},
		Rule: "closing one subscription does not disturb another", Judge: func(r *Recording) Finding {
			other := r.events(1)
			switch n := len(other); {
			case n == 0:
				return unseen("no event came to the subscriber that stayed")
			case !other[n-1].terminal():
				return fail("the subscriber that stayed never saw the end", other[n-1].Entry)
			default:
				return pass("the subscriber that stayed saw the session to its end", other[n-1].Entry)
			}
		}},
	{Name: "subscriptions-apart", Requirements: []string{"HS-045", "TERM-014"}, Level: 3, Strength: Must, plays: []string{"verbosity", "closed"},
		Rule: "two subscriptions have two subscription_ids", Judge: func(r *Recording) Finding {
			a, one := r.answer(0)
			b, two := r.answer(1)
			switch {
			case !one || !two || a.typ() != "subscription.accepted" || b.typ() != "subscription.accepted":
				return unseen("not both requests were accepted")
			case a.str("subscription_id") == b.str("subscription_id"):
				return fail("two subscriptions have one subscription_id", a.Entry, b.Entry)
			}
			return pass("each has its own", a.Entry, b.Entry)
		}},
	{Name: "slow-costs-nobody", Requirements: []string{"HS-085"}, Level: 3, Strength: Must, plays: []string{"beside-slow"},
		Rule: "a subscriber without a rate gets each event when it was made, also beside one with one event a second", Judge: func(r *Recording) Finding {
			list := r.events(0)
			if len(list) == 0 {
				return unseen("no event came to the subscriber without a rate")
			}
			began, _ := aaep.ParseTimestamp(list[0].str("timestamp"))
			for _, m := range list {
				made, ok := aaep.ParseTimestamp(m.str("timestamp"))
				if late := m.At.Sub(list[0].At) - made.Sub(began); ok && late > time.Second {
					return fail(fmt.Sprintf("%s came %v after it was made to the subscriber without a rate", short(m), late.Round(time.Millisecond)), list[0].Entry, m.Entry)
				}
			}
			if last := list[len(list)-1]; !last.terminal() {
				return fail("the subscriber without a rate did not see the end within "+slow.String(), last.Entry)
			}
			return pass(fmt.Sprintf("%d events came as they were made", len(list)), list[0].Entry)
		}},
}
