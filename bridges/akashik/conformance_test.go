package akashik_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/akashik"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
)

// What the bridge tells conforms at Level 3: the events of a field come before each scenario, which
// the suite's own agent does beside them, for Akashik has no words for it. Where the suite joins
// all that is written, or counts the questions of one session, there are none.
func TestConformance(t *testing.T) {
	told := 0
	var all []map[string]any
	for _, e := range events[:len(events)-1] { // not the end of a session, which the suite would take for its own
		all = append(all, maps.Clone(e.n))
	}
	report := aaeptest.Virtual(t, func(t *testing.T) conformance.ProducerRun {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "field"}, Languages: []string{"en"},
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
			b, err := akashik.New(p, akashik.Config{URL: "http://127.0.0.1"})
			if err != nil {
				return err
			}
			defer b.Close()
			action := notification("conflict.detected", 99, 1, "Two prices", "", "con-9", true)
			for _, n := range append(slices.Clone(all), action) {
				n["subscription_id"] = "sub"
				text, err := json.Marshal(n)
				if err != nil {
					return err
				}
				b.Pushed(text)
			}
			told++
			return within.Start(ctx, sc)
		})
		return conformance.ProducerRun{Dialer: within, Manifest: within.Manifest, Driver: driver, Level: 3}
	})
	if report.Verdict != conformance.Pass || told == 0 {
		t.Errorf("the bridge may not claim Level 3: %s, with %d fields", report.Summary(), told)
	}
}
