// Package lockfile opens files that one process writes at a time.
//
// Opening is in lockfile.go, and the lock of each system in the files lock_*.go.
package lockfile

import "errors"

// ErrLink is within the error of Open for a path that is a symbolic link.
var ErrLink = errors.New("it is a symbolic link, which could be led elsewhere: name the file itself")

// ErrInUse is returned by Open where the file is open in another process, or elsewhere in this one.
var ErrInUse = errors.New("the file is in use")
