//go:build !unix

package acp

import (
	"os"
	"os/exec"
)

// nonblocking is nothing where no folder has named pipes.
const nonblocking = 0

func ownGroup(*exec.Cmd) {}

// killGroup ends a command; what it has started goes on where there are no process groups.
func killGroup(p *os.Process) { p.Kill() }
