//go:build !unix

package acp

import (
	"os"
	"os/exec"
)

// nonblocking is nothing where no folder has named pipes.
const nonblocking = 0

// setProcessGroup makes a command start in a process group of its own, which killGroup ends.
func setProcessGroup(*exec.Cmd) {}

// killGroup ends a command; what it has started goes on where there are no process groups.
func killGroup(p *os.Process) { p.Kill() }
