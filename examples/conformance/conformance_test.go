// Package conformance proves in a go test that an agent keeps what AAEP demands of Level 3: each
// case of the suite is a subtest, and says which requirement it is for, what was seen and what
// would be right. Copy this file beside your agent, and let play make that agent act.
//
//	go test ./examples/conformance           # in virtual time: a minute of waiting takes none
//	go test -v ./examples/conformance        # with a line for each case
//
// An agent that is a program of its own, in any language, is proved by: aaep conformance producer
// --help
package conformance

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
)

func TestConformance(t *testing.T) {
	report := aaeptest.Virtual(t, func(t *testing.T) conformance.ProducerRun {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "clerk"}, ShortTimeouts: true}) // the suite answers fast
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Shutdown(context.Background()) })
		p.AddEndpoint(manifest.Stdio, manifest.Endpoint{}) // how it is reached when it is not tested
		within := &aaeptest.Agent{Producer: p}             // and when it is
		return conformance.ProducerRun{Dialer: within, Manifest: within.Manifest, Driver: conformance.DriverFunc(agent{p}.play), Level: 3}
	})
	if report.Verdict != conformance.Pass {
		t.Errorf("the agent may not claim Level 3: %s", report.Summary())
	}
}

// agent is yours.
type agent struct{ *producer.Producer }

// play makes it do what a case needs to see, as one session. What came of a question is for the
// suite to judge.
func (a agent) play(ctx context.Context, sc conformance.Scenario) error {
	if sc.Name == conformance.Shutdown {
		return a.Shutdown(ctx)
	}
	s, err := a.StartSession(ctx, aaep.Say("Working."))
	if err != nil {
		return err
	}
	defer s.Close()
	limit := time.Duration(sc.TimeoutSeconds) * time.Second
	pay := producer.Tool{Name: "pay", Action: aaep.Say("Pay 5 dollars."), Consequence: aaep.Say("The money is gone.")}
	run := func(context.Context) (string, error) { return "Paid.", nil }
	switch sc.Name {
	case conformance.Stream:
		out := s.Output()
		for _, text := range sc.Sentences {
			io.WriteString(out, text)
		}
		out.Close()
	case conformance.Tools:
		s.Tool(ctx, pay, run)
	case conformance.Hang:
		pay.RunTimeout = limit
		s.Tool(ctx, pay, func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	case conformance.Withdraw:
		time.AfterFunc(500*time.Millisecond, func() { s.Cancel(aaep.CancelledByUser, aaep.Say("Never mind.")) })
		fallthrough
	case conformance.Ask:
		pay.Risk, pay.Irreversible, pay.Timeout = aaep.RiskHigh, true, limit
		s.Tool(ctx, pay, run)
	case conformance.Clarify:
		s.AskYesNo(ctx, producer.Question{Text: aaep.Say("Pay at once?"), Default: "false", Timeout: limit})
	case conformance.Handoff:
		s.Handoff(aaep.Say("A person takes over."), aaep.HandoffRequested{Reason: "It is beyond me.", TargetKind: "human"})
	case conformance.Errored:
		for i := range int64(20) {
			s.Progress(aaep.Say(fmt.Sprintf("Step %d.", i+1)), aaep.Progress{Step: i + 1, TotalSteps: 20}, 0)
		}
		s.Fail(nil, aaep.Say("It failed."))
	case conformance.Idle:
		time.Sleep(200 * time.Millisecond)
		s.Cancel(aaep.CancelledBySystem, aaep.Say("Stopped."))
	}
	s.Complete(aaep.Say("Done.")) // unless it has ended otherwise
	return nil
}
