//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lockfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Open opens a file to be read and appended to, by nobody else who does so. One that is there must be ours, and nobody else may write
// it: in a shared folder somebody may have been quicker, and whoever pays no heed to locks could change it. A symbolic link is not
// followed, to a file that is there or not.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&os.ModeSymlink != 0 {
			err = &os.PathError{Op: "open", Path: path, Err: ErrLink}
		}
		return nil, err
	}
	if err := mine(f); err != nil {
		f.Close()
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, ErrInUse
	}
	return nil, &os.PathError{Op: "lock", Path: path, Err: err}
}

func mine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	switch stat, ok := info.Sys().(*syscall.Stat_t); {
	case !ok || int(stat.Uid) != os.Geteuid():
		return errors.New("it belongs to somebody else, who could change it")
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("others than its owner may write it, its mode is %04o: run chmod 600 on it", info.Mode().Perm())
	}
	return nil
}

// Removed reports whether a file that is open has no name any more: what is written to it is lost
// when it is closed.
func Removed(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
