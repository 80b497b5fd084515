package wake_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/wake"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
)

// What the bridge tells conforms at Level 3: wakes of every kind come before each scenario, which
// the suite's own agent does beside them, for Wake has no words for it. Where the suite joins all
// that is written, or counts the questions of one session, there are none.
func TestConformance(t *testing.T) {
	told := 0
	report := aaeptest.Virtual(t, func(t *testing.T) conformance.ProducerRun {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "swarm"}, Languages: []string{"en"},
			ShortTimeouts: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Shutdown(context.Background()) })
		p.AddEndpoint(manifest.Stdio, manifest.Endpoint{})
		within := &aaeptest.Agent{Producer: p}
		driver := conformance.DriverFunc(func(ctx context.Context, sc conformance.Scenario) error {
			if sc.Name == conformance.Stream || sc.Name == conformance.Ask {
				return within.Start(ctx, sc)
			}
			b, err := wake.New(p, wake.Config{Window: time.Second})
			if err != nil {
				return err
			}
			defer b.Close()
			for i, w := range []struct{ kind, payload string }{
				{"sent_to_me", message(1, "One")}, {"heartbeat_pulse", `{}`}, {"task_state_changed",
					task("t", "InputRequired")},
				{"digest", `{"breakdown":{"sent_to_me":{"count":4},"task_state_changed":{"count":2}}}`},
				{"dream", `{}`},
			} {
				if _, err := b.Take([]byte(envelope(w.kind, i+1, w.payload))); err != nil {
					return fmt.Errorf("%s: %w", w.kind, err)
				}
				told++
			}
			return within.Start(ctx, sc)
		})
		return conformance.ProducerRun{Dialer: within, Manifest: within.Manifest, Driver: driver, Level: 3}
	})
	if report.Verdict != conformance.Pass || told == 0 {
		t.Errorf("the bridge may not claim Level 3: %s, with %d wakes", report.Summary(), told)
	}
}
