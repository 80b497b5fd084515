//go:build unix

package acp

import (
	"os"
	"os/exec"
	"syscall"
)

// nonblocking has a named pipe opened without a wait for its other end.
const nonblocking = syscall.O_NONBLOCK

// ownGroup has a command begin in a process group of its own, which killGroup ends.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }
