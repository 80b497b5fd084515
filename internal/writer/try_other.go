//go:build !unix

package writer

import "syscall"

// rawOf returns nil: this system cannot be asked what a Conn takes at once.
func rawOf(Conn) syscall.RawConn { return nil }

// tryWrite is never called, since rawOf returns nil.
func tryWrite(syscall.RawConn, []byte) int { return 0 }
