package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// target is our own producer, which does what the scenarios say.
type target struct {
	p *producer.Producer
	// step, if set, is called before each thing that is written or reported.
	step func()
}

func newTarget(t *testing.T) *target {
	t.Helper()
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "target", AgentName: "Target", AgentVersion: "1.0.0"}})
	if err != nil {
		t.Fatal(err)
	}
	return &target{p: p, step: func() {}}
}

// Dial makes a link to it within the process.
func (g *target) Dial(context.Context) (transports.Conn, error) {
	a, b := transports.Pipe()
	go g.p.ServeConn(b)
	return a, nil
}

// Start plays a scenario.
func (g *target) Start(ctx context.Context, sc conformance.Scenario) error {
	s, err := g.p.StartSession(ctx, aaep.Say("Doing what the suite says."))
	if err != nil {
		return err
	}
	defer s.Close()
	timeout := time.Duration(sc.TimeoutSeconds) * time.Second
	ok := func(context.Context) (string, error) { return "Done.", nil }
	switch sc.Name {
	case conformance.Stream:
		out := s.Output()
		for _, text := range sc.Sentences {
			g.step()
			if _, err := io.WriteString(out, text); err != nil {
				return err
			}
		}
		if err := out.Close(); err != nil {
			return err
		}
	case conformance.Tools:
		_, err = s.Tool(ctx, producer.Tool{Name: "look", Action: aaep.Say("Looking.")}, ok)
	case conformance.Ask:
		_, err = s.Tool(ctx, producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true, Timeout: timeout,
			Action: aaep.Say("Pay 5 dollars."), Consequence: aaep.Say("The money is gone.")}, ok)
		if errors.Is(err, producer.ErrRejected) || errors.Is(err, producer.ErrTimedOut) || errors.Is(err, producer.ErrUnreachable) {
			err = nil
		}
	case conformance.Errored:
		for i := range 20 {
			g.step()
			if err := s.Progress(aaep.Say(fmt.Sprintf("Step %d.", i+1)), aaep.Progress{Step: int64(i + 1), TotalSteps: 20}, 0); err != nil {
				return err
			}
		}
		g.step()
		return s.Fail(errors.New("the disk is full"), aaep.Say("It failed."))
	case conformance.Handoff:
		err = s.Handoff(aaep.Say("A person takes over."), aaep.HandoffRequested{Reason: "A person must decide.", TargetKind: "human"})
	case conformance.Clarify:
		_, err = s.Clarify(ctx, producer.Question{Ask: aaep.Say("Shall it be green?"), Kinds: []aaep.ResponseKind{"yes_no"}, Default: "false", Timeout: timeout})
	case conformance.Idle:
		if err := s.State(aaep.StateThinking, aaep.Say("Thinking.")); err != nil {
			return err
		}
		select {
		case <-time.After(2 * time.Second):
		case <-ctx.Done():
		}
		return s.Cancel("system", aaep.Say("Cancelled."))
	}
	if err != nil {
		return err
	}
	return s.Complete(aaep.Say("Done."))
}

// inBubble runs the suite in virtual time.
func inBubble(t *testing.T, run func(*target) conformance.Run) (report *conformance.Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newTarget(t)
		var err error
		if report, err = run(g).Producer(t.Context()); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		g.p.Shutdown(ctx)
	})
	return report
}

// LVL-041, LVL-042, LVL-043: our own producer passes every case, and none of them for want of evidence.
func TestOurProducer(t *testing.T) {
	report := inBubble(t, func(g *target) conformance.Run { return conformance.Run{Dialer: g, Driver: g, Level: 3} })
	if report == nil {
		t.FailNow()
	}
	for _, r := range report.Results {
		if r.Verdict != conformance.Pass {
			t.Errorf("%s %s (%s): %s\n%v", r.Verdict, r.Case.Name, r.Play, r.Seen, r.Evidence)
		}
	}
	if report.Verdict != conformance.Pass {
		t.Errorf("the verdict is %s", report.Verdict)
	}
	t.Log(report.Summary())
}
