package producer_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
)

// Who comes while several questions are open hears them in the order in which they were put. D-34
func TestNewcomerHearsQuestionsInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		st.record()
		want := ""
		for n := range 8 {
			each := pay
			each.Action = aaep.Say(fmt.Sprint("Pay $", n, "."))
			tool(st.session("Paying."), each, &deed{})
			synctest.Wait()
			want += each.Action.Normal + " "
		}
		got := ""
		for _, q := range of[*aaep.AwaitingConfirmation](st.listen(answering(everything())).events()) {
			got += q.Action + " "
		}
		if got != want {
			t.Errorf("it hears %q, want %q", got, want)
		}
	})
}
