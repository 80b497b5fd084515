//go:build !unix && !windows

package terminal

import (
	"errors"
	"io"
	"os"
)

// eachKey is not known for other systems: there, lines are read.
func eachKey(*os.File) (screen io.Writer, restore func(), err error) {
	return nil, nil, errors.ErrUnsupported
}

// watchSuspension watches nothing.
func (t *Terminal) watchSuspension() (stop func()) { return func() {} }
