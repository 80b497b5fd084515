package websocket

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep/internal/memnet"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serveTapped serves s and returns its address.
func serveTapped(t *testing.T, s *Server) (addr string, conns chan net.Conn) {
	t.Helper()
	ln := memnet.Tap(t)
	srv := httptest.NewUnstartedServer(s)
	srv.Listener.Close()
	srv.Listener = ln
	srv.Start()
	t.Cleanup(func() { s.Close(); srv.Close() })
	return strings.TrimPrefix(srv.URL, "http://"), ln.Accepted
}

// quiet is for servers whose clients are turned away on purpose.
var quiet = log.New(io.Discard, "", 0)

// bearerName names the peer by its token.
func bearerName(r *http.Request) (string, error) {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), nil
}

func TestSuite(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Link {
		s := NewServer(ServerOptions{Authenticate: bearerName})
		addr, conns := serveTapped(t, s)
		accepted := make(chan transports.Conn, 1)
		go func() {
			c, err := s.Accept(context.Background())
			if err != nil {
				t.Error(err)
			}
			accepted <- c
		}()
		a, err := Dialer{URL: "ws://" + addr, Header: http.Header{"Authorization": {"Bearer ada"}}}.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tcp := <-conns
		return transporttest.Link{A: a, B: <-accepted, Principal: "ada", Cut: func() {
			tcp.(*net.TCPConn).CloseRead()
			tcp.(*net.TCPConn).CloseWrite()
		}}
	})
}
