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

	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cutter is a listener whose connections can be torn.
type cutter struct {
	net.Listener
	conns chan net.Conn
}

func (c *cutter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.conns <- conn
	}
	return conn, err
}

// start serves s and returns its address.
func start(t *testing.T, s *Server) (addr string, conns chan net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{ln, make(chan net.Conn, 64)}
	srv := httptest.NewUnstartedServer(s)
	srv.Listener.Close()
	srv.Listener = c
	srv.Start()
	t.Cleanup(func() { s.Close(); srv.Close() })
	return strings.TrimPrefix(srv.URL, "http://"), c.conns
}

// quiet is for servers whose clients are turned away on purpose.
var quiet = log.New(io.Discard, "", 0)

func bearer(r *http.Request) (string, error) {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), nil
}

func TestSuite(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Link {
		s := NewServer(ServerOptions{Authenticate: bearer})
		addr, conns := start(t, s)
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
