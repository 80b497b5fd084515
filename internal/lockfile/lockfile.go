// Package lockfile opens files that one process writes at a time, and replaces files whole.
//
// Replacing is in lockfile.go, and opening with the lock of each system in the files lock_*.go.
package lockfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLink is within the error of Open for a path that is a symbolic link.
var ErrLink = errors.New("it is a symbolic link, which could be led elsewhere: name the file itself")

// ErrInUse is returned by Open where the file is open in another process, or elsewhere in this one.
var ErrInUse = errors.New("the file is in use")

// WriteWhole replaces a file by way of another one in its folder, so that under its name there is
// all of the old content or all of the new, whatever happens.
func WriteWhole(path string, content []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".aaep-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
