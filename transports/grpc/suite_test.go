package grpc

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	rpc "google.golang.org/grpc"

	"github.com/aaep-go/aaep/internal/memnet"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/auth"
	"github.com/aaep-go/aaep/transports/transporttest"
)

// serveTapped serves s on loopback and returns its address.
func serveTapped(t *testing.T, s *Server, more ...rpc.ServerOption) (addr string, conns chan net.Conn) {
	t.Helper()
	ln := memnet.Tap(t)
	host := rpc.NewServer(append(Options(), more...)...)
	s.Register(host)
	served := make(chan error, 1)
	go func() { served <- host.Serve(ln) }()
	t.Cleanup(func() {
		s.Close()
		host.Stop()
		if err := <-served; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return ln.Addr().String(), ln.Accepted
}

// acceptAny names all peers alike.
func acceptAny(*http.Request) (string, error) { return "somebody", nil }

// bearerName names the peer by its token.
func bearerName(r *http.Request) (string, error) {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), nil
}

// link opens a stream with d, whose Target is not set yet.
func link(t *testing.T, s *Server, d Dialer, more ...rpc.ServerOption) transporttest.Link {
	t.Helper()
	addr, conns := serveTapped(t, s, more...)
	accepted := make(chan transports.Conn, 1)
	go func() {
		c, err := s.Accept(context.Background())
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	d.Target = addr
	a, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tcp := <-conns
	return transporttest.Link{A: a, B: <-accepted, Cut: func() {
		tcp.(*net.TCPConn).SetLinger(0)
		tcp.Close()
	}}
}

func TestSuite(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Link {
		l := link(t, NewServer(ServerOptions{Authenticate: bearerName}), Dialer{Credentials: auth.Bearer("ada")})
		l.Principal = "ada"
		return l
	})
}
