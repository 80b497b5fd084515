//go:build unix || windows

package ipc

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/conformance/aaeptest"
	"github.com/aaep-go/aaep/internal/duplex"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// half is one end of a stream within the process, of which each direction can end by itself.
type half struct {
	net.Conn // that it reads
	out      net.Conn
}

// Write writes to the other direction.
func (h half) Write(b []byte) (int, error) { return h.out.Write(b) }

// CloseWrite ends the direction that is written.
func (h half) CloseWrite() error { return h.out.Close() }

// SetWriteDeadline sets the deadline of the direction that is written.
func (h half) SetWriteDeadline(t time.Time) error { return h.out.SetWriteDeadline(t) }

// SetDeadline sets the deadlines of both directions.
func (h half) SetDeadline(t time.Time) error {
	if err := h.Conn.SetReadDeadline(t); err != nil {
		return err
	}
	return h.out.SetWriteDeadline(t)
}

// Close ends both directions.
func (h half) Close() error {
	h.out.Close()
	return h.Conn.Close()
}

// newStream returns the two ends of a stream.
func newStream() (a, b stream) {
	up, upEnd := net.Pipe()
	down, downEnd := net.Pipe()
	return half{down, up}, half{upEnd, downEnd}
}

// framed reaches a producer as any program that connects to its socket does, in either framing;
// what the system knows of the two is left out.
type framed struct {
	p       *producer.Producer
	framing int32
}

// Dial connects to the producer in this framing.
func (f framed) Dial(context.Context) (transports.Conn, error) {
	near, far := newStream()
	go f.p.ServeConn(duplex.New(newFrames(far, framingUnknown), ""))
	return duplex.New(newFrames(near, f.framing), ""), nil
}

// LVL-029: our own producer passes Level 3 in both framings of a local socket.
func TestProducerLevel3(t *testing.T) {
	for name, framing := range map[string]int32{"lengths": framingLengths, "lines": framingLines} {
		t.Run(name, func(t *testing.T) {
			aaeptest.Virtual(t, func(t *testing.T) conformance.ProducerRun {
				p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "target"}, ShortTimeouts: true})
				if err != nil {
					t.Fatal(err)
				}
				p.AddEndpoint(manifest.WebSocket, manifest.Endpoint{Address: "/aaep/v1/ws"}) // a manifest names one
				t.Cleanup(func() { p.Shutdown(context.Background()) })
				agent := &aaeptest.Agent{Producer: p}
				return conformance.ProducerRun{Dialer: framed{p, framing}, Driver: agent, Level: 3,
					Manifest: agent.Manifest}
			})
		})
	}
}
