package httpguard

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// silentConn is a connection that keeps whether it was closed.
type silentConn struct {
	net.Conn
	closed bool
}

func (s *silentConn) Close() error { s.closed = true; return nil }

// INV-50: of too many connections that ask nothing, the one silent longest goes; one that asks
// something counts no more.
func TestIdleConns(t *testing.T) {
	n := idleConns{most: 2}
	conns := make([]*silentConn, 5)
	for i := range conns {
		conns[i] = &silentConn{}
	}
	gone := func() (which []int) {
		for i, c := range conns {
			if c.closed {
				which = append(which, i)
			}
		}
		return which
	}
	n.trackState(conns[0], http.StateNew)
	n.trackState(conns[1], http.StateNew)
	n.trackState(conns[0], http.StateActive) // it has sent a request
	n.trackState(conns[2], http.StateNew)
	if got := gone(); got != nil {
		t.Fatalf("%v went, though two are silent", got)
	}
	n.trackState(conns[3], http.StateNew)
	n.trackState(conns[0], http.StateIdle) // it has its answer, and is the newest of the silent ones
	if got := gone(); !slices.Equal(got, []int{1, 2}) {
		t.Fatalf("%v went, want 1 and 2", got)
	}
	n.trackState(conns[3], http.StateClosed)
	n.trackState(conns[4], http.StateNew)
	n.trackState(conns[1], http.StateClosed) // as net/http says of one that was driven out
	if got := gone(); !slices.Equal(got, []int{1, 2}) {
		t.Fatalf("%v went, want 1 and 2", got)
	}
	if n.idle.Len() != 2 || len(n.elements) != 2 {
		t.Errorf("%d and %d are kept, want 2", n.idle.Len(), len(n.elements))
	}
}

// INV-26: who is driven out and reads nothing does not keep the one who came waiting for a last
// word over TLS.
func TestIdleConnsTLS(t *testing.T) {
	any := httptest.NewUnstartedServer(nil)
	any.StartTLS()
	any.Close()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer near.Close()
		theirs, ours := tls.Client(near, &tls.Config{InsecureSkipVerify: true}),
			tls.Server(far, &tls.Config{Certificates: any.TLS.Certificates, SessionTicketsDisabled: true})
		go theirs.Handshake()
		if err := ours.Handshake(); err != nil {
			t.Fatal(err)
		}
		n, begin := idleConns{most: 1}, time.Now()
		n.trackState(ours, http.StateNew)
		n.trackState(&silentConn{}, http.StateNew)
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("the next one waited for %v", waited)
		}
		if _, err := far.Write(nil); err == nil {
			t.Error("no connection was closed")
		}
	})
}
