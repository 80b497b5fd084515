//go:build !unix

package cli

import (
	"os"
	"os/exec"
	"syscall"
)

func own(*exec.Cmd) {}

// signalGroup can only kill here; the scripts that need more are for Unix.
func signalGroup(p *os.Process, sig syscall.Signal) error { return p.Kill() }
