//go:build unix && !linux && !darwin && !freebsd

package ipc

import (
	"net"
	"os"
)

// peerUID trusts the folder, which only its owner can enter: how to ask the kernel is not known
// here.
func peerUID(*net.UnixConn) (uid int, err error) { return os.Getuid(), nil }
