package main

import (
	"context"
	"errors"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// transfer is what the agent does: it asks whether it may move money, and says what came of that. A
// no is an outcome and no error, as is that no user could be asked: with Restart=on-failure the
// same question would come again.
func transfer(ctx context.Context, p *producer.Producer) error {
	s, err := p.StartSession(context.WithoutCancel(ctx), aaep.Say("Looking after your savings."))
	if err != nil {
		return err
	}
	defer s.Close()
	receipt, err := s.Tool(ctx, producer.Tool{
		Name: "transfer_funds", Risk: aaep.RiskHigh, Irreversible: true,
		Action:      aaep.Say("Transfer $500 from checking to savings."),
		Consequence: aaep.Say("The money moves at once and cannot be called back."),
	}, func(context.Context) (string, error) { return "Receipt 7.", nil })
	switch {
	case err == nil:
		return s.Complete(aaep.Say("Your savings are in order. " + receipt))
	case ctx.Err() != nil:
		return errors.Join(context.Cause(ctx), s.Cancel(aaep.CancelledByProducer, aaep.Say("The bank was stopped. No money was moved.")))
	case errors.Is(err, producer.ErrRejected), errors.Is(err, producer.ErrTimedOut), errors.Is(err, producer.ErrUnreachable):
		return s.Complete(aaep.Say("No money was moved."))
	}
	return errors.Join(err, s.Fail(err, aaep.Say("The transfer failed.")))
}
