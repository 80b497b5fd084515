//go:build !unix

package call

import (
	"errors"
	"io/fs"
	"os/exec"
)

// isAbsent reports whether an error of dialing says that no server listens.
func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// detachProcess leaves cmd as it is on this system.
func detachProcess(*exec.Cmd) {}
