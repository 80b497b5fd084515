//go:build !unix

package writer

import "syscall"

func rawOf(Conn) syscall.RawConn { return nil }

func tryWrite(syscall.RawConn, []byte) int { return 0 }
