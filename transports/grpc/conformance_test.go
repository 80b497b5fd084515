package grpc_test

import (
	"testing"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/manifest"
	aaepgrpc "github.com/aaep-go/aaep/transports/grpc"
)

// LVL-029: our own producer passes Level 3 over gRPC. The clock is real here: it takes as long as a run takes.
func TestConformance(t *testing.T) {
	t.Parallel() // it waits more than it works
	p := newProducer(t)
	p.AddEndpoint(manifest.GRPC, manifest.Endpoint{Address: "127.0.0.1:443"}) // a manifest names one
	at, stop := host(t, p, "127.0.0.1:0")
	defer stop()
	agent := &aaeptest.Agent{Producer: p}
	aaeptest.Producer(t, conformance.Run{Dialer: aaepgrpc.Dialer{Target: at}, Driver: agent, Manifest: agent.Manifest, Level: 3})
}
