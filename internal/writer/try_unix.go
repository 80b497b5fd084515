//go:build unix

package writer

import (
	"net"
	"sync"
	"syscall"
)

// rawOf returns what asks the system about a Conn, which must be the system's own, to which nothing
// is added on the way; or nil.
func rawOf(conn Conn) syscall.RawConn {
	switch c := conn.(type) {
	case *net.TCPConn:
		return rawConn(c)
	case *net.UnixConn:
		return rawConn(c)
	}
	return nil
}

// rawConn returns the system's side of a connection, or nil.
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

// tryWrite writes what the system takes at once. What is wrong with a Conn the next Write finds
// out.
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
