package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/aaep-go/aaep/internal/duplex"
	"github.com/aaep-go/aaep/transports"
	aaepv1 "github.com/aaep-go/aaep/transports/grpc/aaep/v1"
)

// TR-011: a server that stops is no goodbye, one that stops gracefully has said it; both let go of
// everything.
func TestStop(t *testing.T) {
	for name, graceful := range map[string]bool{"at once": false, "gracefully": true} {
		s := NewServer(ServerOptions{})
		host := rpc.NewServer(Options()...)
		s.Register(host)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go host.Serve(ln)
		conns := acceptLoop(t, s)
		a, err := Dialer{Target: ln.Addr().String()}.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b := <-conns
		if graceful {
			for n := range 200 {
				if err := b.Send(t.Context(), fmt.Appendf(nil, `{"n":%d}`, n)); err != nil {
					t.Fatal(err)
				}
			}
			go func() { b.Close(); host.GracefulStop() }()
			for n := range 200 {
				if got, err := receiveSoon(t, a); err != nil || string(got) != fmt.Sprintf(`{"n":%d}`, n) {
					t.Fatalf("message %d is %s, %v", n, got, err)
				}
			}
			if _, err := receiveSoon(t, a); err != io.EOF {
				t.Errorf("%s: Receive = %v, want io.EOF", name, err)
			}
		} else {
			host.Stop()
			for end, c := range map[string]transports.Conn{"subscriber": a, "producer": b} {
				if _, err := receiveSoon(t, c); err == nil || err == io.EOF || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: the %s got %v, want a broken link", name, end, err)
				}
			}
		}
		a.Close()
		b.Close()
		host.Stop()
	}
}

// After Close no stream is accepted, and who comes is told to come again; who is there stays.
func TestClose(t *testing.T) {
	s := NewServer(ServerOptions{})
	addr, _ := serveTapped(t, s)
	stream := openRaw(t, addr)
	c, err := s.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	if _, err := s.Accept(t.Context()); !errors.Is(err, transports.ErrClosed) {
		t.Errorf("Accept = %v, want ErrClosed", err)
	}
	if code, text := closed(openRaw(t, addr)); code != codes.Unavailable {
		t.Errorf("a newcomer got %v %s", code, text)
	}
	stream.Send(&aaepv1.AaepMessage{Json: []byte(`{}`)})
	if got, err := receiveSoon(t, c); err != nil || string(got) != `{}` {
		t.Errorf("who was there: %s, %v", got, err)
	}
	c.Close()
	if code, text := closed(stream); code != codes.OK {
		t.Errorf("who was there: %v %s", code, text)
	}
}

// serveVirtual serves a Server in memory, for virtual time, and returns a connection to it.
func serveVirtual(t *testing.T, o ServerOptions) (*Server, *rpc.ClientConn, func()) {
	s := NewServer(o)
	host := rpc.NewServer(Options()...)
	s.Register(host)
	ln := bufconn.Listen(64 << 10)
	go host.Serve(ln)
	conn, err := rpc.NewClient("passthrough:///x", rpc.WithTransportCredentials(insecure.NewCredentials()),
		rpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return ln.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	return s, conn, func() { conn.Close(); host.Stop() }
}

// TR-026, INV-54: a peer that takes nothing for ten seconds is given up, from either end.
func TestStalled(t *testing.T) {
	stall := func(t *testing.T, c transports.Conn) {
		last := time.Now()
		for {
			if err := c.Send(t.Context(), make([]byte, 1<<16)); err != nil {
				if took := time.Since(last); took != writeTimeout || !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("Send = %v after %v, want after %v", err, took, writeTimeout)
				}
				return
			}
			last = time.Now()
		}
	}
	t.Run("producer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, conn, stop := serveVirtual(t, ServerOptions{Authenticate: acceptAny})
			defer stop()
			stream, err := aaepv1.NewAaepServiceClient(conn).Subscribe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			c, err := s.Accept(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			stall(t, c)
			c.Close()
			if code, text := closed(stream); code != codes.DeadlineExceeded {
				t.Errorf("the stream ended with %v %s", code, text)
			}
		})
	})
	t.Run("subscriber", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, conn, stop := serveVirtual(t, ServerOptions{Authenticate: acceptAny})
			defer stop()
			ctx, cancel := context.WithCancel(context.Background())
			stream, err := aaepv1.NewAaepServiceClient(conn).Subscribe(ctx)
			if err != nil {
				t.Fatal(err)
			}
			c := duplex.New(&dialedStream{stream: stream, conn: conn, cancel: cancel, ended: make(chan struct{})}, "")
			b, err := s.Accept(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			stall(t, c)
			c.Close()
			b.Close()
		})
	})
}

// A stream that is not accepted is let go, and told so.
func TestNeverAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, conn, stop := serveVirtual(t, ServerOptions{Authenticate: acceptAny})
		defer stop()
		begin := time.Now()
		stream, err := aaepv1.NewAaepServiceClient(conn).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if code, text := closed(stream); code != codes.Unavailable || time.Since(begin) != duplex.AcceptTimeout {
			t.Errorf("%v %s after %v", code, text, time.Since(begin))
		}
	})
}
