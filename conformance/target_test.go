package conformance_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/producer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// target is our own producer, which does what the scenarios say.
type target = aaeptest.Agent

func newTarget(t *testing.T) *target {
	t.Helper()
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "target", AgentName: "Target", AgentVersion: "1.0.0"}})
	if err != nil {
		t.Fatal(err)
	}
	return &target{Producer: p}
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
		g.Producer.Shutdown(ctx)
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
