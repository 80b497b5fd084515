//go:build !windows && !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package lockfile

import (
	"errors"
	"os"
)

// Open refuses: without a lock, two processes could write into each other's lines.
func Open(path string) (*os.File, error) {
	return nil, &os.PathError{Op: "lock", Path: path, Err: errors.ErrUnsupported}
}

// SyncFolder does nothing on this system, which has no such order for a folder.
func SyncFolder(string) error { return nil }

// Removed reports false: a file that is open keeps its name here.
func Removed(*os.File) bool { return false }
