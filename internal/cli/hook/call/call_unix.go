//go:build unix

package call

import (
	"errors"
	"io/fs"
	"os/exec"
	"syscall"
)

// absent reports whether an error of dialing says that no server listens.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// detach lets a program go on when the agent that started us ends, or ends all that it started.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
