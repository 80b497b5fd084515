//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lockfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Open opens a file to read and append to, and locks it against other processes that call Open. A
// file that exists must belong to this user and must not be writable for others: in a shared folder
// another user may have made it first, and a program that ignores locks could change it. A symbolic
// link is not followed, whether its target exists or not.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&os.ModeSymlink != 0 {
			err = &os.PathError{Op: "open", Path: path, Err: ErrLink}
		}
		return nil, err
	}
	if err := checkOwned(f); err != nil {
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

// checkOwned returns an error for a regular file that is another user's or that others may write;
// anything but a regular file, such as a device, passes.
func checkOwned(f *os.File) error {
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

// SyncFolder makes the names in the folder at path durable, such as that of a file that was made or
// renamed.
func SyncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
