package aaeptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// Agent plays the suite's scenarios on a producer of this SDK: it proves how that producer is
// configured and reached, and shows what a driver does. An agent of your own needs one of its own.
// With producer.Config.ShortTimeouts questions are open for as long as the suite wants, which is
// shorter than people need.
type Agent struct {
	Producer *producer.Producer
	// Step, if set, is called before each text that is written and each report that is made.
	Step func()
}

// Dial reaches the producer within the process.
func (a *Agent) Dial(context.Context) (transports.Conn, error) {
	near, far := transports.Pipe()
	go a.Producer.ServeConn(far)
	return near, nil
}

// Manifest returns the producer's manifest, for conformance.ProducerRun.Manifest. It is valid once
// the producer has an endpoint.
func (a *Agent) Manifest(context.Context) ([]byte, error) {
	m, err := a.Producer.Manifest()
	if err != nil {
		return nil, err
	}
	return manifest.Encode(m)
}

// callStep calls a.Step, if it is set.
func (a *Agent) callStep() {
	if a.Step != nil {
		a.Step()
	}
}

// Start plays a scenario as the agent: it starts a session and does what the scenario asks for. It
// returns when the scenario is over; the error says why it could not be done. An answer that is no,
// or that did not come, is none.
func (a *Agent) Start(ctx context.Context, sc conformance.Scenario) error {
	if sc.Name == conformance.Shutdown {
		return a.Producer.Shutdown(ctx)
	}
	s, err := a.Producer.StartSession(ctx, aaep.Say("Doing what the suite says."))
	if err != nil {
		return err
	}
	defer s.Close()
	timeout := time.Duration(sc.TimeoutSeconds) * time.Second
	switch sc.Name {
	case conformance.Stream:
		err = a.streamSentences(s, sc.Sentences)
	case conformance.Tools:
		_, err = s.Tool(ctx, producer.Tool{Name: "look", Action: aaep.Say("Looking.")}, finishAtOnce)
	case conformance.Hang:
		err = hangInTool(ctx, s, timeout)
	case conformance.Ask:
		err = ignoreRefusal(askToPay(ctx, s, timeout))
	case conformance.Withdraw:
		cancelling := time.AfterFunc(500*time.Millisecond, func() { s.Cancel("user", aaep.Say("Cancelled.")) })
		defer cancelling.Stop()
		if err = askToPay(ctx, s, timeout); errors.Is(err, producer.ErrSessionOver) {
			return nil
		}
		err = ignoreRefusal(err)
	case conformance.Errored:
		return a.failAfterProgress(s)
	case conformance.Handoff:
		err = s.Handoff(aaep.Say("A person takes over."),
			aaep.HandoffRequested{Reason: "A person must decide.", TargetKind: "human"})
	case conformance.Clarify:
		err = askPatiently(timeout, func(timeout time.Duration) error {
			_, err := s.AskYesNo(ctx, producer.Question{Text: aaep.Say("Shall it be green?"), Default: "false",
				Timeout: timeout})
			return err
		})
	case conformance.Idle:
		return cancelIdle(ctx, s)
	}
	if err != nil {
		return err
	}
	return s.Complete(aaep.Say("Done."))
}

// finishAtOnce is a tool that does nothing.
func finishAtOnce(context.Context) (string, error) { return "Done.", nil }

// streamSentences writes the sentences as output, one in each step.
func (a *Agent) streamSentences(s *producer.Session, sentences []string) error {
	out := s.Output()
	for _, text := range sentences {
		a.callStep()
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	return out.Close()
}

// hangInTool runs a tool that does not end by itself, until the time for it is over.
func hangInTool(ctx context.Context, s *producer.Session, timeout time.Duration) error {
	_, err := s.Tool(ctx, producer.Tool{Name: "wait", Action: aaep.Say("Waiting for ever."), RunTimeout: timeout},
		func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// askToPay asks for an irreversible action, with this time to answer, and waits for the decision,
// whose error it returns.
func askToPay(ctx context.Context, s *producer.Session, timeout time.Duration) error {
	return askPatiently(timeout, func(timeout time.Duration) error {
		_, err := s.Tool(ctx, producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true, Timeout: timeout,
			Action: aaep.Say("Pay 5 dollars."), Consequence: aaep.Say("The money is gone.")}, finishAtOnce)
		return err
	})
}

// ignoreRefusal returns the error of a question, but nil for a no, silence, and a user who cannot be
// reached: these are answers too.
func ignoreRefusal(err error) error {
	if errors.Is(err, producer.ErrRejected) || errors.Is(err, producer.ErrTimedOut) ||
		errors.Is(err, producer.ErrUnreachable) {
		return nil
	}
	return err
}

// failAfterProgress reports twenty steps of progress and ends the session with an error.
func (a *Agent) failAfterProgress(s *producer.Session) error {
	const steps = 20
	for i := range steps {
		a.callStep()
		if err := s.Progress(aaep.Say(fmt.Sprintf("Step %d.", i+1)),
			aaep.Progress{Step: int64(i + 1), TotalSteps: steps}, 0); err != nil {
			return err
		}
	}
	a.callStep()
	return s.Fail(errors.New("the disk is full"), aaep.Say("It failed."))
}

// cancelIdle leaves a session that says nothing for a moment, and cancels it.
func cancelIdle(ctx context.Context, s *producer.Session) error {
	if err := s.State(aaep.StateThinking, aaep.Say("Thinking.")); err != nil {
		return err
	}
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
	}
	return s.Cancel("system", aaep.Say("Cancelled."))
}

// askPatiently asks once more, for longer, where the producer refuses to ask for so short a time.
func askPatiently(timeout time.Duration, ask func(time.Duration) error) error {
	err := ask(timeout)
	if invalid := new(aaep.InvalidError); errors.As(err, &invalid) {
		err = ask(max(timeout, 20*time.Second))
	}
	return err
}
