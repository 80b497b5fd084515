package subscriber_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// A pipe to a producer in the same process, and what the producer says.
type script struct{}

func (script) Dial(context.Context) (transports.Conn, error) {
	reader, agent := transports.Pipe()
	go func() {
		defer agent.Close()
		ctx := context.Background() // that of Dial ends with the handshake
		event := func(id, typ, more string) string {
			return `{"@context":"` + aaep.CoreContext + `","type":"aaep:agent.` + typ + `","event_id":"evt_` + id +
				`","session_id":"sess_1",` +
				`"timestamp":"2026-05-24T14:22:20.014Z","producer":{"agent_id":"helper"},` + more + `}`
		}
		_, _ = agent.Receive(ctx) // the subscription.request
		for _, msg := range []string{
			`{"type":"subscription.accepted","subscription_id":"sub_1","aaep_version":"1.0.0","producer":{"agent_id":"helper"},"honored_capabilities":{}}`,
			event("1", "session.started", `"summary_normal":"Paying your bill."`),
			event("2", "awaiting.confirmation",
				`"urgency":"critical","summary_normal":"Pay 20 euros?","action":"Pay 20 euros",`+
					`"consequence":"The money leaves your account.","reply_token":"rpl_1","timeout_seconds":60,"default_decision":"reject"`),
		} {
			_ = agent.Send(ctx, []byte(msg))
		}
		reply, _ := agent.Receive(ctx)
		var r struct{ Decision string }
		_ = json.Unmarshal(reply, &r)
		_ = agent.Send(ctx, []byte(event("3", "session.completed",
			`"summary_normal":"The answer was `+r.Decision+`."`)))
		_, _ = agent.Receive(ctx) // the subscription.close
	}()
	return reader, nil
}

// A screen reader that asks its user. Here the user always says yes; a real one must be asked.
func Example() {
	ctx := context.Background()
	sub, err := subscriber.Dial(ctx, script{},
		subscriber.Config{ID: "my-reader", Capabilities: subscriber.ScreenReader("en-US")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sub.Close()
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if text, ok := ev.Utterance(aaep.VerbosityNormal); ok {
			fmt.Println(text)
		}
		if _, asks := ev.Payload.(*aaep.AwaitingConfirmation); asks {
			if err := sub.Question(ev).Accept(ctx); err != nil {
				fmt.Println(err)
			}
		}
		if ev.Type().Terminal() {
			break
		}
	}
	// Output:
	// Paying your bill.
	// Pay 20 euros?
	// The answer was accept.
}

// Two buttons: the questions come one at a time, and what closes one meanwhile ends the wait for a
// button. Here the user presses the one that accepts.
func ExampleSubscription_Questions() {
	ctx := context.Background()
	sub, err := subscriber.Dial(ctx, script{},
		subscriber.Config{ID: "my-buttons", Capabilities: subscriber.Switch("en-US")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sub.Close()
	accept, reject := make(chan struct{}, 1), make(chan struct{})
	accept <- struct{}{}
	for q := range sub.Questions(ctx) {
		fmt.Println(q.Event.Text(aaep.VerbosityNormal))
		select {
		case <-accept:
			err = q.Accept(ctx)
		case <-reject:
			err = q.Reject(ctx)
		case <-q.Done():
			continue
		}
		fmt.Println("sent:", err == nil)
		break
	}
	// Output:
	// Pay 20 euros?
	// sent: true
}
