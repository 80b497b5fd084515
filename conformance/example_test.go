package conformance_test

import (
	"context"
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/producer"
)

// A producer is asked for what it must refuse. Whole levels need a Driver that knows all scenarios.
func Example() {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Shutdown(context.Background())
	run := conformance.ProducerRun{
		Dialer: &aaeptest.Agent{Producer: p},
		Driver: conformance.DriverFunc(func(context.Context, conformance.Scenario) error { return nil }),
		Level:  3,
		Only:   []string{"version-refused", "invalid-refused"},
	}
	report, err := run.Prove(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Results {
		if r.Verdict != conformance.Skipped {
			fmt.Println(r.Verdict, r.Case.ID(), r.Seen)
		}
	}
	// Output:
	// pass HS-058 the request was rejected with version_unsupported
	// pass HS-012 it was rejected with "unknown"
}

// A profile for medicine says that a handoff names its recipient. Its case counts as the suite's
// own do.
func ExampleCase() {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "nurse"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Shutdown(context.Background())
	named := conformance.Case{
		Name: "medai-handoff-named", Requirements: []string{"MEDAI-007"}, Level: 2, Strength: conformance.Must,
		Rule: "a handoff names the ward in target_uri",
		Play: &conformance.Play{Does: "a subscriber follows a session that is handed over",
			Scenario: conformance.Scenario{Name: conformance.Handoff}},
		Judge: func(r *conformance.Recording) conformance.Finding {
			for _, e := range r.Events(0) {
				m, err := aaep.Decode(e.Data)
				if err != nil {
					continue
				}
				ev, _ := m.(*aaep.Event)
				if h, ok := ev.Payload.(*aaep.HandoffRequested); ok && h.TargetURI == "" {
					return conformance.Finding{Verdict: conformance.Fail, Seen: "a handoff named no agent",
						Evidence: []conformance.Entry{e}}
				} else if ok {
					return conformance.Finding{Verdict: conformance.Pass, Seen: "the handoff went to " + h.TargetURI}
				}
			}
			return conformance.Finding{Verdict: conformance.Inconclusive, Seen: "nothing was handed over"}
		},
	}
	agent := &aaeptest.Agent{Producer: p}
	report, err := conformance.ProducerRun{Dialer: agent, Driver: agent, Level: 2, Extra: []conformance.Case{named},
		Only: []string{"medai-handoff-named"}}.Prove(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Results {
		if r.Verdict != conformance.Skipped {
			fmt.Println(r.Verdict, r.Case.ID(), r.Seen)
		}
	}
	// Output:
	// fail MEDAI-007 a handoff named no agent
}
