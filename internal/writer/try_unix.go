//go:build unix

package writer

import (
	"net"
	"sync"
	"syscall"
)

// rawOf returns the system's side of conn, for tryWrite, if conn is a TCP connection or a Unix
// socket itself; nil for one whose bytes are changed on the way, as by TLS.
func rawOf(conn Conn) syscall.RawConn {
	switch c := conn.(type) {
	case *net.TCPConn:
		return rawConn(c)
	case *net.UnixConn:
		return rawConn(c)
	}
	return nil
}

// rawConn returns the system's side of a connection, to write to without waiting; nil where there
// is none.
func rawConn(conn syscall.Conn) syscall.RawConn {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// An attempt is one call of write(2), in memory that is used again.
type attempt struct {
	b     []byte
	n     int
	write func(fd uintptr)
}

var attempts = sync.Pool{New: func() any {
	a := new(attempt)
	a.write = func(fd uintptr) {
		for {
			n, err := syscall.Write(int(fd), a.b)
			if err == syscall.EINTR {
				continue
			}
			a.n = max(n, 0)
			return
		}
	}
	return a
}}

// tryWrite writes as much of b as the system takes without waiting, and returns how much that is.
// An error of the connection counts as 0: the next Write finds it.
func tryWrite(raw syscall.RawConn, b []byte) int {
	a := attempts.Get().(*attempt)
	a.b, a.n = b, 0
	if raw.Control(a.write) != nil {
		a.n = 0
	}
	n := a.n
	a.b = nil
	attempts.Put(a)
	return n
}
