package grpc_test

import (
	"context"
	"net"
	"sync"
	"testing"

	rpc "google.golang.org/grpc"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
	aaepgrpc "github.com/aaep-go/aaep/transports/grpc"
)

// LVL-029: our own producer passes Level 3 over gRPC. The clock is real here: it takes as long as a
// run takes.
func TestConformance(t *testing.T) {
	t.Parallel() // it waits more than it works
	p := newProducer(t)
	p.AddEndpoint(manifest.GRPC, manifest.Endpoint{Address: "127.0.0.1:443"}) // a manifest names one
	at, stop := serveAt(t, p, "127.0.0.1:0")
	defer stop()
	agent := &aaeptest.Agent{Producer: p}
	aaeptest.Producer(t,
		conformance.ProducerRun{Dialer: aaepgrpc.Dialer{Target: at}, Driver: agent, Manifest: agent.Manifest, Level: 3})
}

// LVL-012: and so does our own subscriber. What cannot be seen in a link of gRPC is said by the
// case.
func TestSubscriberConformance(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	requireNoError(t, err)
	lines := &cuttable{Listener: ln, lines: map[net.Conn]bool{}}
	s := aaepgrpc.NewServer(aaepgrpc.ServerOptions{})
	server := rpc.NewServer(aaepgrpc.Options()...)
	s.Register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(lines) }()
	defer func() {
		server.Stop()
		<-served
	}()
	caps := subscriber.ScreenReader("en-US")
	caps.SupportsConfirmationReply, caps.SupportsClarificationReply = new(true), new(true)
	caps.SupportedConformanceLevels, caps.MaxEventsPerSecond = []int64{1, 2, 3}, 0
	aaeptest.Subscriber(t, conformance.SubscriberRun{Listener: cuttableListener{s, lines}, Level: 3, Timeout: patience,
		Subscriber: aaeptest.Reader{Dialer: aaepgrpc.Dialer{Target: ln.Addr().String()}, Capabilities: caps}})
}

// cuttable is a listener whose connections can be broken.
type cuttable struct {
	net.Listener
	mu    sync.Mutex
	lines map[net.Conn]bool
}

// Accept accepts a connection, and keeps it for cutAll.
func (c *cuttable) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lines[conn] = true
	}
	return conn, err
}

// cutAll closes all connections.
func (c *cuttable) cutAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.lines {
		conn.Close()
	}
	clear(c.lines)
}

// cuttableListener is where the subscriber comes to.
type cuttableListener struct {
	transports.Listener
	lines *cuttable
}

// Accept returns a Conn that can be cut.
func (s cuttableListener) Accept(ctx context.Context) (transports.Conn, error) {
	c, err := s.Listener.Accept(ctx)
	return link{c, s.lines}, err
}

type link struct {
	transports.Conn
	lines *cuttable
}

// Cut closes all connections of the listener.
func (l link) Cut() { l.lines.cutAll() }
