package ipc

import (
	"net"

	"golang.org/x/sys/unix"
)

// peer returns the user id of who is at the other end, as the kernel knows it.
func peer(conn *net.UnixConn) (uid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	var cred *unix.Ucred
	if ctl := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); ctl != nil {
		return -1, ctl
	}
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}
