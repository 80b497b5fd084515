package conformance_test

import (
	"context"
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// dialPipe reaches a producer within this process.
type dialPipe struct{ p *producer.Producer }

func (d dialPipe) Dial(context.Context) (transports.Conn, error) {
	a, b := transports.Pipe()
	go d.p.ServeConn(b)
	return a, nil
}

// A producer is asked for what it must refuse. Whole levels need a Driver that knows all scenarios.
func Example() {
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "planner"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Shutdown(context.Background())
	run := conformance.Run{
		Dialer: dialPipe{p},
		Driver: conformance.DriverFunc(func(context.Context, conformance.Scenario) error { return nil }),
		Level:  3,
		Only:   []string{"version-refused", "invalid-refused"},
	}
	report, err := run.Producer(context.Background())
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
