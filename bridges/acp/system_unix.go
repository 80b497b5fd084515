//go:build unix

package acp

import (
	"os"
	"os/exec"
	"syscall"
)

// nonblocking has a named pipe opened without a wait for its other end.
const nonblocking = syscall.O_NONBLOCK

// setProcessGroup makes a command start in a process group of its own, which killGroup ends.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a process that setProcessGroup has prepared, and all that it has started.
func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }
