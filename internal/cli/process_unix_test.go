//go:build unix

package cli

import (
	"os"
	"os/exec"
	"syscall"
)

// own puts a program into a process group of its own, without a terminal.
func own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func signalGroup(p *os.Process, sig syscall.Signal) error { return syscall.Kill(-p.Pid, sig) }
