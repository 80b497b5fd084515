package endpoint_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/endpoint"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/sse"
)

// A subscriber of one's own is proved within a test: what it presents, it tells the hook.
func Example() {
	s, err := endpoint.Listen("http://127.0.0.1:0", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	reader := conformance.SubscriberFunc(func(ctx context.Context, h *conformance.Hook) error {
		sub, err := subscriber.Dial(ctx, sse.Dialer{URL: s.URL()}, subscriber.Config{ID: "reader", NoReconnect: true})
		if err != nil {
			return err
		}
		defer sub.Close()
		for ev, err := range sub.Events(ctx) {
			if err != nil {
				return err
			}
			line, err := json.Marshal(map[string]string{"event_id": ev.EventID, "text": ev.Text(aaep.VerbosityNormal)})
			if err != nil {
				return err
			}
			h.Tell(line)
		}
		return nil
	})
	run := conformance.SubscriberRun{Listener: s, Subscriber: reader, Level: 1,
		Only: []string{"start-told", "hint-told"}}
	report, err := run.Prove(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Results {
		if r.Verdict != conformance.Skipped {
			fmt.Println(r.Verdict, r.Case.Name)
		}
	}
	// Output:
	// pass start-told
	// deviation hint-told
}
