package ipc

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID returns the user id of the process at the other end, as the kernel knows it. Listener and
// Dialer compare it with this process's.
func peerUID(conn *net.UnixConn) (uid int, err error) {
	return uidOf(conn, func(fd int) (uint32, error) {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return 0, err
		}
		return cred.Uid, nil
	})
}
