//go:build unix

package stdio

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// moveStreams returns the standard input and output under new descriptors, which no child inherits.
// In their place it puts an empty input, and standard error as the output.
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

// moveDescriptor returns the file of the descriptor fd under a new descriptor, called name, and
// makes fd a duplicate of the descriptor replacement. On an error fd is as it was.
func moveDescriptor(fd, replacement int, name string) (*os.File, error) {
	moved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("stdio: file descriptor %d: %w", fd, err)
	}
	if err := unix.Dup2(replacement, fd); err != nil {
		unix.Close(moved)
		return nil, fmt.Errorf("stdio: file descriptor %d: %w", fd, err)
	}
	return os.NewFile(uintptr(moved), name), nil
}
