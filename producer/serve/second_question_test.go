package serve_test

import (
	"context"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/sse"
)

// Whoever is told little at a time is asked a second time while much of what was before waits. A person needs half a minute to
// answer, in which all of that comes, and their answer counts (INV-24, D-82).
func TestSecondQuestion(t *testing.T) {
	bubble(t, producer.Config{}, func(t *testing.T, v *virtual) {
		sub, err := subscriber.Dial(context.Background(), sse.Dialer{URL: "http://localhost", Client: v.client}, subscriber.Config{ID: "real", Capabilities: terms(1, aaep.BoundarySentence)})
		check(t, err)
		defer sub.Close()
		s, err := v.p.StartSession(context.Background(), aaep.Say("Planning."))
		check(t, err)
		agent := later(func() (any, error) {
			if _, err := s.Tool(context.Background(), pay, ok); err != nil {
				return nil, err
			}
			answer, err := s.Clarify(context.Background(), producer.Question{Text: aaep.Say("Which day?"), Kinds: []aaep.ResponseKind{aaep.ResponseNumeric}})
			s.Complete(aaep.Say("Done."))
			return answer, err
		})
		mustCollect(t, sub, func(ev *aaep.Event) bool {
			switch ev.Payload.(type) {
			case *aaep.AwaitingConfirmation:
				check(t, sub.Reply(context.Background(), ev, aaep.Accept))
			case *aaep.AwaitingClarification:
				time.Sleep(30 * time.Second)
				check(t, sub.Answer(context.Background(), ev, 3))
			}
			return isOver(ev)
		})
		if r := wait(t, agent); r.err != nil || r.value != 3.0 {
			t.Errorf("the agent is told %v, %v", r.value, r.err)
		}
	})
}
