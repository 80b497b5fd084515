//go:build unix

package writer

import (
	"net"
	"sync"
	"syscall"
)

// tries reports whether a Conn is the system's own, to which nothing is added on the way.
func tries(conn Conn) bool {
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}

// An attempt is one call of write(2), in memory that is used again.
type attempt struct {
	b    []byte
	n    int
	make func(fd uintptr)
}

var attempts = sync.Pool{New: func() any {
	a := new(attempt)
	a.make = func(fd uintptr) {
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

// tryWrite writes what the system takes at once. What is wrong with a Conn the next Write finds out.
func tryWrite(conn Conn, b []byte) int {
	if !tries(conn) {
		return 0
	}
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0
	}
	a := attempts.Get().(*attempt)
	a.b, a.n = b, 0
	if raw.Control(a.make) != nil {
		a.n = 0
	}
	n := a.n
	a.b = nil
	attempts.Put(a)
	return n
}
