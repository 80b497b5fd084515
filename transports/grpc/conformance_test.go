package grpc_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/producer"
	aaepgrpc "github.com/aaep-go/aaep/transports/grpc"
)

// LVL-029: our own producer passes over gRPC: what is quickly judged, for the clock is real here, and with AAEP_LONG all of
// Level 3.
func TestConformance(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "target"}})
	check(t, err)
	at, stop := host(t, p, "127.0.0.1:0")
	defer stop()
	run := conformance.Run{Dialer: aaepgrpc.Dialer{Target: at}, Driver: &aaeptest.Agent{Producer: p}, Level: 3,
		Only: []string{"first-reply-wins", "text-whole", "invalid-refused", "honors-no-more", "renegotiation-answered"}}
	if os.Getenv("AAEP_LONG") != "" {
		run.Only = nil
	}
	r, err := run.Producer(t.Context())
	check(t, err)
	if r.Verdict != conformance.Pass {
		var text bytes.Buffer
		r.WriteText(&text)
		t.Error(text.String())
	}
}
