package examples

import (
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
)

// What the model says is heard as it says it; its tool runs on a yes, and the model hears of a no.
func TestModel(t *testing.T) {
	t.Parallel()
	for decision, end := range map[aaep.Decision]string{aaep.Accept: "Five hundred dollars are in your savings.", aaep.Reject: "Nothing was moved, as you wish."} {
		t.Run(string(decision), func(t *testing.T) {
			t.Parallel()
			agent := start(t, nil, "model", "-listen", "127.0.0.1:0")
			heard := follow(t, agent.address(), subscriber.ScreenReader("en-US"), func(sub *subscriber.Subscription, ev *aaep.Event) {
				if err := sub.Reply(t.Context(), ev, decision); err != nil {
					t.Error(err)
				}
			})
			contains(t, heard, "I will put five hundred dollars into your savings.", "You will be asked first.",
				"Transfer $500 from checking to savings.", end, "The agent finished.")
			contains(t, agent.end(), "You will be asked first.", end)
		})
	}
}
