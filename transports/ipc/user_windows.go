package ipc

import (
	"net"

	"golang.org/x/sys/windows"
)

// ownerOnlyDescriptor returns the security descriptor of a pipe that belongs to user and lets only
// user in. It names the owner, because Windows would take the administrators for the owner of a
// pipe that a process with their rights makes.
func ownerOnlyDescriptor(user *windows.SID) string {
	return "O:" + user.String() + "D:P(A;;GA;;;" + user.String() + ")"
}

// pipeHandle returns the handle of a connection of package winio, which is valid until conn is
// closed.
func pipeHandle(conn net.Conn) windows.Handle {
	return windows.Handle(conn.(interface{ Fd() uintptr }).Fd())
}

// tokenUser returns the user of a process token.
func tokenUser(token windows.Token) (*windows.SID, error) {
	u, err := token.GetTokenUser()
	if err != nil {
		return nil, err
	}
	return u.User.Sid, nil
}

// pipeOwner returns the user a pipe belongs to. Only an administrator can name another user.
func pipeOwner(conn net.Conn) (*windows.SID, error) {
	sd, err := windows.GetSecurityInfo(pipeHandle(conn), windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return nil, err
	}
	owner, _, err := sd.Owner()
	return owner, err
}

// clientUser returns the process at the other end of a connection that was accepted, and the user
// it runs as. The pipe lets only us in; this is the second lock (B.3.6). pid is for the log, and is
// there where only the user could not be learned.
func clientUser(conn net.Conn) (user *windows.SID, pid uint32, err error) {
	if err := windows.GetNamedPipeClientProcessId(pipeHandle(conn), &pid); err != nil {
		return nil, 0, err
	}
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return nil, pid, err
	}
	defer windows.CloseHandle(process)
	var token windows.Token
	if err := windows.OpenProcessToken(process, windows.TOKEN_QUERY, &token); err != nil {
		return nil, pid, err
	}
	defer token.Close()
	user, err = tokenUser(token)
	return user, pid, err
}
