package producer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// P7: who comes after a deed was announced, and wants to hear all of the session first, does not keep it waiting: else
// somebody who comes again and again would for ever.
func TestNewcomersDoNotHoldDeeds(t *testing.T) {
	bubbleWith(t, producer.Config{FromStart: true}, func(t *testing.T, st *stage) {
		asked := st.listen(answering(everything()))
		s := st.session("Paying.")
		for i := range 100 {
			s.Tool(context.Background(), producer.Tool{Name: fmt.Sprint("look", i), Action: aaep.Say("Looking.")}, ok)
		}
		slow := st.listen(caps(1, aaep.BoundaryNone)) // which is waited for
		began := time.Now()
		paid := later(func() (string, error) { return s.Tool(context.Background(), pay, ok) })
		asked.reply(asked.question(), aaep.Accept)
		for range 10 {
			time.Sleep(60 * time.Second)
			st.listen(caps(1, aaep.BoundaryNone))
		}
		slow.events()
		select {
		case r := <-paid:
			if took := r.at.Sub(began); r.err != nil || took < 100*time.Second || took > 6*time.Minute {
				t.Errorf("it ran after %v: %v", took, r.err)
			}
		default:
			t.Error("it has not run after ten minutes")
		}
	})
}

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
