package serve_test

import (
	"context"
	"fmt"
	"net"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/sse"
)

// An agent listens on this machine, and a screen reader follows it.
func Example() {
	ctx := context.Background()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner", AgentName: "Planner"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0") // a free port; or ListenAndServe
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error)
	go func() { ended <- serve.Serve(ctx, ln, p) }()

	reader, err := subscriber.Dial(ctx, sse.Dialer{URL: "http://" + ln.Addr().String()},
		subscriber.Config{ID: "reader", Capabilities: subscriber.ScreenReader("en-US")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reader.Close()

	s, err := p.StartSession(ctx, aaep.Say("Planning your retirement."))
	if err != nil {
		fmt.Println(err)
		return
	}
	s.Complete(aaep.Say("Plan ready."))

	for ev, err := range reader.Events(ctx) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(ev.Text(aaep.VerbosityNormal))
		if ev.Type().Terminal() {
			break
		}
	}
	p.Shutdown(ctx)
	fmt.Println("Serve:", <-ended)
	// Output:
	// Planning your retirement.
	// Thinking.
	// Plan ready.
	// Serve: <nil>
}
