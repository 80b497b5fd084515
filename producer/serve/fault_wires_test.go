package serve_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/aaep-go/aaep/internal/faultproxy"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// wires are one producer's addresses on every transport, and the proxies before them.
type wires struct {
	t      *testing.T
	st     *fixture
	socket *ipc.Listener
	calm   atomic.Bool // connections from now on have no faults
	idle   []func()    // closes what waits to be used again
}

// listenEverywhere serves a producer on every transport until the test ends.
func listenEverywhere(t *testing.T, cfg producer.Config) *wires {
	t.Helper()
	w := &wires{t: t, st: startFixture(t, cfg)}
	socket, err := ipc.Listen(filepath.Join(t.TempDir(), "aaep", "agent.sock"), nil)
	check(t, err)
	w.socket = socket
	serving := make(chan struct{})
	go func() { defer close(serving); w.st.p.Serve(context.Background(), socket) }()
	t.Cleanup(func() { w.closeIdle(); socket.Close(); <-serving })
	return w
}

var wireNames = []string{"sse", "websocket", "ipc"}

// newDialer dials the producer over one wire; through a proxy, if there is a plan.
func (w *wires) newDialer(wire string, plan faultproxy.Plan) (transports.Dialer, *faultproxy.Proxy) {
	network, target := "tcp", w.st.addr
	if wire == "ipc" {
		network, target = "unix", w.socket.Addr()
	}
	at := target
	var px *faultproxy.Proxy
	if plan != nil {
		here := "127.0.0.1:0"
		if wire == "ipc" {
			here = filepath.Join(filepath.Dir(target), fmt.Sprint(rand.Uint32()))
		}
		ln, err := net.Listen(network, here)
		check(w.t, err)
		px = faultproxy.New(ln, func() (net.Conn, error) {
			conn, err := net.Dial(network, target)
			if c, ok := conn.(*net.TCPConn); ok {
				err = c.SetReadBuffer(64 << 10) // what is held there is soon held at the producer, too
			}
			return conn, err
		}, func(n int) (up, down faultproxy.Line) {
			if w.calm.Load() {
				return up, down
			}
			return plan(n)
		})
		w.t.Cleanup(func() { px.Close() })
		at = px.Addr().String()
	}
	switch wire {
	case "sse":
		tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", at)
		}}
		w.idle = append(w.idle, tr.CloseIdleConnections)
		return sse.Dialer{URL: "http://" + target, Client: &http.Client{Transport: tr}}, px
	case "websocket":
		return websocket.Dialer{URL: "ws://" + at, Header: http.Header{"Host": {target}}}, px
	}
	return ipc.Dialer{Path: at}, px
}

// closeIdle closes the connections that wait to be used again.
func (w *wires) closeIdle() {
	for _, end := range w.idle {
		end()
	}
	w.idle = nil
}
