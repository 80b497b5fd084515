//go:build unix

package call

import (
	"errors"
	"io/fs"
	"os/exec"
	"syscall"
)

// isAbsent reports whether an error of dialing says that no server listens.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// detachProcess lets a program go on when the agent that started us ends, or ends all that it
// started.
func detachProcess(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
