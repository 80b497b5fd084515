//go:build unix

package acp

import "syscall"

// nonblocking has a named pipe opened without a wait for its other end.
const nonblocking = syscall.O_NONBLOCK
