// Command bank is an agent that may move money, and has to ask first. It shows a guarded tool:
// Session.Tool asks, waits, runs the transfer only on a yes, and tells everybody what happened
// either way.
//
//	go run ./examples/bank                               # in one terminal
//	go run ./cmd/aaep listen http://127.0.0.1:8080       # in another: hear it, and answer y or n
//
// At the end it prints what is left on the account. With listen --no-reply no question can be
// answered, and no money moves.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
)

// account is in dollars.
type account struct{ checking, savings int }

// transfer moves an amount of dollars to the savings, and returns the receipt. Without enough money
// it moves nothing. The bank's tool calls it once the user has said yes.
func (a *account) transfer(amount int) (string, error) {
	if amount > a.checking {
		return "", errors.New("there is not enough money")
	}
	a.checking, a.savings = a.checking-amount, a.savings+amount
	return "Receipt 7.", nil
}

func main() {
	log.SetFlags(0)
	addr := flag.String("listen", "127.0.0.1:8080", "where the agent can be followed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // Ctrl-C ends it in words; pressed again, at once
	ada := &account{checking: 800, savings: 100}
	if err := run(ctx, *addr, ada); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
	fmt.Printf("Checking: $%d. Savings: $%d.\n", ada.checking, ada.savings)
	if ctx.Err() != nil {
		os.Exit(130) // as whatever Ctrl-C ends
	}
}

// run serves the agent at addr, waits for a listener, and does the agent's work: one transfer, if
// the user allows it. It returns when the listeners have heard the end.
func run(ctx context.Context, addr string, ada *account) error {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "bank", AgentName: "Bank"}})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { stop(new(serve.Server).Serve(context.Background(), ln, p)) }() // until the producer is shut down
	defer p.Shutdown(context.Background())                                     // which waits until the end was sent to everybody
	fmt.Printf("Follow me: aaep listen http://%s\n", ln.Addr())
	if err := p.WaitSubscriber(ctx); err != nil {
		return context.Cause(ctx) // that the agent could not be served, or Ctrl-C
	}

	s, err := p.StartSession(context.WithoutCancel(ctx), aaep.Say("Looking after your savings."))
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Tool(ctx, producer.Tool{
		Name: "transfer_funds", Risk: aaep.RiskHigh, Irreversible: true, // so it must ask, and silence means no
		Action:      aaep.Say("Transfer $500 from checking to savings."),
		Consequence: aaep.Say("The money moves at once and cannot be called back."),
	}, func(context.Context) (string, error) { return ada.transfer(500) })
	switch {
	case err == nil:
		return s.Complete(aaep.Say("Your savings are in order."))
	case ctx.Err() != nil: // by Ctrl-C
		return s.Cancel(aaep.CancelledByUser, aaep.Say("The bank was stopped. No money was moved."))
	case errors.Is(err, producer.ErrRejected), errors.Is(err, producer.ErrTimedOut), errors.Is(err, producer.ErrUnreachable):
		return s.Complete(aaep.Say("No money was moved."))
	}
	return s.Fail(err, aaep.Say("The transfer failed."))
}
