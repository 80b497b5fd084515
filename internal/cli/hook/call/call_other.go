//go:build !unix

package call

import (
	"errors"
	"io/fs"
	"os/exec"
)

// absent reports whether an error of dialing says that no server listens.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func detach(*exec.Cmd) {}
