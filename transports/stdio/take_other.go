//go:build !unix && !windows

package stdio

import (
	"errors"
	"os"
)

func take() (in, out *os.File, err error) { return nil, nil, errors.ErrUnsupported }
