//go:build !unix && !windows

package stdio

import (
	"errors"
	"os"
)

// moveStreams returns errors.ErrUnsupported: this package does not know how to move the standard
// streams of these systems.
func moveStreams() (in, out *os.File, err error) { return nil, nil, errors.ErrUnsupported }
