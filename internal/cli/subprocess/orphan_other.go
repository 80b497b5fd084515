//go:build !linux

package subprocess

import "os/exec"

// EndWithParent can do nothing here: a program whose aaep was killed goes on until it writes, which
// no reader takes.
func EndWithParent(*exec.Cmd) (release func()) { return func() {} }
