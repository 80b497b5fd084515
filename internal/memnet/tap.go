package memnet

import (
	"net"
	"testing"
)

// Tapped is a listener whose connections the test has too, to tear them.
type Tapped struct {
	net.Listener
	Accepted chan net.Conn
}

// Tap returns a listener on a free port of loopback that keeps the connections that it accepts for
// the test. Its sockets are real, so it is of no use in a bubble of virtual time.
func Tap(t testing.TB) *Tapped {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return &Tapped{ln, make(chan net.Conn, 64)}
}

// Accept returns the next connection, which the test gets from Accepted too.
func (l *Tapped) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.Accepted <- conn
	}
	return conn, err
}
