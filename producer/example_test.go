package producer_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// An agent tells what it does, asks before it pays, and one person listens.
func Example() {
	ctx := context.Background()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	theirs, ours := transports.Pipe()
	go p.ServeConn(ours)
	heard := make(chan struct{})
	go func() { defer close(heard); listen(theirs) }()
	p.WaitSubscriber(ctx)

	s, _ := p.StartSession(ctx, aaep.Say("Planning your retirement."))
	defer s.Close()

	out := s.Output() // tokens in, sentences out
	io.Copy(out, strings.NewReader("You save $500 a month. That is enough."))
	out.Close()

	s.Tool(ctx, producer.Tool{Name: "transfer", Irreversible: true, // asks first, runs only on accept
		Action: aaep.Say("Transfer $500."), Consequence: aaep.Say("Funds move at once.")},
		func(context.Context) (string, error) { return "receipt 7", nil })

	s.Complete(aaep.Say("Plan ready."))
	p.Shutdown(ctx)
	<-heard
	// Output:
	// Planning your retirement.
	// You save $500 a month. That is enough.
	// Transfer $500. Funds move at once. (accept)
	// Transfer $500.
	// Transfer finished.
	// Plan ready.
}

// listen stands for a screen reader; package subscriber does this better.
func listen(link transports.Conn) {
	ctx := context.Background()
	send := func(m aaep.Message) { msg, _ := aaep.Encode(m); link.Send(ctx, msg) }
	send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "reader", Capabilities: aaep.Capabilities{
		SupportsConfirmationReply: new(true), CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryCompletion}}})
	var id string
	for {
		data, err := link.Receive(ctx)
		if err != nil {
			return
		}
		m, _ := aaep.Decode(data)
		if a, ok := m.(*aaep.SubscriptionAccepted); ok {
			id = a.SubscriptionID
		}
		ev, ok := m.(*aaep.Event)
		if !ok {
			continue
		}
		switch q := ev.Payload.(type) {
		case *aaep.StateChanged:
		case *aaep.AwaitingConfirmation:
			fmt.Println(q.Action, q.Consequence, "(accept)")
			send(&aaep.ConfirmationReply{ReplyToken: q.ReplyToken, Decision: aaep.Accept, SubscriptionID: id, Timestamp: time.Now()})
		default:
			fmt.Println(ev.Text(aaep.VerbosityNormal))
		}
	}
}
