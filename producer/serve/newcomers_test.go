package serve

import (
	"net"
	"net/http"
	"slices"
	"testing"
)

// silent is a connection that keeps whether it was closed.
type silent struct {
	net.Conn
	closed bool
}

func (s *silent) Close() error { s.closed = true; return nil }

// INV-50: of too many connections that ask nothing, the one silent longest goes; one that asks something counts no more.
func TestNewcomers(t *testing.T) {
	n := newcomers{most: 2}
	conns := make([]*silent, 5)
	for i := range conns {
		conns[i] = &silent{}
	}
	gone := func() (which []int) {
		for i, c := range conns {
			if c.closed {
				which = append(which, i)
			}
		}
		return which
	}
	n.state(conns[0], http.StateNew)
	n.state(conns[1], http.StateNew)
	n.state(conns[0], http.StateActive) // it has sent a request
	n.state(conns[2], http.StateNew)
	if got := gone(); got != nil {
		t.Fatalf("%v went, though two are silent", got)
	}
	n.state(conns[3], http.StateNew)
	n.state(conns[0], http.StateIdle) // it has its answer, and is the newest of the silent ones
	if got := gone(); !slices.Equal(got, []int{1, 2}) {
		t.Fatalf("%v went, want 1 and 2", got)
	}
	n.state(conns[3], http.StateClosed)
	n.state(conns[4], http.StateNew)
	n.state(conns[1], http.StateClosed) // as net/http says of one that was driven out
	if got := gone(); !slices.Equal(got, []int{1, 2}) {
		t.Fatalf("%v went, want 1 and 2", got)
	}
	if n.silent.Len() != 2 || len(n.where) != 2 {
		t.Errorf("%d and %d are kept, want 2", n.silent.Len(), len(n.where))
	}
}
