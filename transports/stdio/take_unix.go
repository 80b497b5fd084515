//go:build unix

package stdio

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// moveStreams takes the standard streams for the link and puts others in their place, which no
// child inherits the link through.
func moveStreams() (in, out *os.File, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, fmt.Errorf("stdio: %w", err)
	}
	defer null.Close()
	if in, err = moveDescriptor(0, int(null.Fd()), "the link's input"); err != nil {
		return nil, nil, err
	}
	if out, err = moveDescriptor(1, 2, "the link's output"); err != nil {
		unix.Dup2(int(in.Fd()), 0)
		in.Close()
		return nil, nil, err
	}
	return in, out, nil
}

// moveDescriptor gives what fd is a new descriptor, and makes fd another name for instead.
func moveDescriptor(fd, instead int, name string) (*os.File, error) {
	moved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("stdio: file descriptor %d: %w", fd, err)
	}
	if err := unix.Dup2(instead, fd); err != nil {
		unix.Close(moved)
		return nil, fmt.Errorf("stdio: file descriptor %d: %w", fd, err)
	}
	return os.NewFile(uintptr(moved), name), nil
}
