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

// A log, which is not heard, and which answers by a policy of its user's. What speaks to a person,
// and takes their answers, follows by package present.
func Example() {
	ctx := context.Background()
	sub, err := subscriber.Dial(ctx, script{},
		subscriber.Config{ID: "my-log", Capabilities: aaep.Capabilities{SupportsConfirmationReply: new(true)}})
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
			if err := sub.Question(ev).AutoReply(ctx, aaep.Reject, "no payments at night"); err != nil {
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
	// The answer was reject.
}

// A policy of the user's answers what is of low risk and can be undone. AutoReply refuses to accept
// anything else, which is for a person: their program follows by package present.
func ExampleSubscription_Questions() {
	ctx := context.Background()
	sub, err := subscriber.Dial(ctx, script{},
		subscriber.Config{ID: "my-policy", Capabilities: aaep.Capabilities{SupportsConfirmationReply: new(true)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sub.Close()
	for q := range sub.Questions(ctx) {
		fmt.Println(q.Event.Text(aaep.VerbosityNormal))
		fmt.Println(q.AutoReply(ctx, aaep.Accept, "small things"))
		break
	}
	// Output:
	// Pay 20 euros?
	// subscriber: a policy accepts only what is of low risk and can be undone; ask the user
}
