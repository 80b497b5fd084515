// Package lockfile opens files that one process writes at a time.
package lockfile

import "errors"

// ErrInUse is returned by Open where the file is open in another process, or elsewhere in this one.
var ErrInUse = errors.New("the file is in use")
