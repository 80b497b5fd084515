// Package memnet is a network within one process: there net/http's servers and clients meet in a
// bubble of virtual time, whose clock a socket would stop. To each end the other is on this
// machine. It is for tests; nothing that users compile imports it.
package memnet

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
)

// Listener accepts what its own Dial and Client open.
type Listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// Listen must be called in the bubble in which the Listener is used.
func Listen() *Listener { return &Listener{conns: make(chan net.Conn), done: make(chan struct{})} }

var here = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}

// conn has the addresses by which servers know who is on this machine.
type conn struct{ net.Conn }

func (conn) LocalAddr() net.Addr   { return here }
func (conn) RemoteAddr() net.Addr  { return here }
func (l *Listener) Addr() net.Addr { return here }
func (l *Listener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }

// Accept returns the next connection that was dialled, or an error once the listener is closed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Dial connects to the Listener, whatever the address, and waits until it accepts. Its signature is
// that of http.Transport's DialContext. The error is net.ErrClosed or that of ctx.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case l.conns <- conn{b}:
		return conn{a}, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Client reaches the Listener by every http URL. The connections it keeps end with the test.
func (l *Listener) Client(t testing.TB) *http.Client {
	tr := &http.Transport{DialContext: l.Dial}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}
