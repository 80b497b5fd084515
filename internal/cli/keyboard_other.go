//go:build !unix && !windows

package cli

import (
	"errors"
	"io"
	"os"
)

// eachKey is not known for other systems: there, lines are read.
func eachKey(*os.File) (screen io.Writer, restore func(), err error) {
	return nil, nil, errors.ErrUnsupported
}

func (t *terminal) watch() (stop func()) { return func() {} }

// hasTerminal reports whether there is a terminal that this program ends with, which nothing here
// tells.
func hasTerminal() bool { return true }
