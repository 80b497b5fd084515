//go:build linux || darwin || freebsd

package ipc

import "net"

// uidOf calls ask with the file descriptor of conn, which stays open meanwhile, and returns the
// user id that ask returns, or -1 with an error. peerUID of each system is made of it.
func uidOf(conn *net.UnixConn, ask func(fd int) (uint32, error)) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	var uid uint32
	if closed := raw.Control(func(fd uintptr) { uid, err = ask(int(fd)) }); closed != nil {
		return -1, closed
	}
	if err != nil {
		return -1, err
	}
	return int(uid), nil
}
