//go:build !linux

package cli

import "os/exec"

// noOrphan can do nothing here: a program whose aaep was killed goes on until it writes, which no
// reader takes.
func noOrphan(*exec.Cmd) (release func()) { return func() {} }
