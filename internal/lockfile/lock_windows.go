package lockfile

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// Open opens a file to be read and appended to, and makes it if it is not there. Others may read it
// meanwhile, and not write, rename or remove it. ErrInUse says that another process has it open,
// ErrLink that it is a symbolic link.
func Open(path string) (*os.File, error) {
	const sharingViolation = syscall.Errno(32)
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	// To write a file through to the disk takes the right to write all of it.
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL|syscall.FILE_FLAG_OPEN_REPARSE_POINT, 0) // a link itself, not what it leads to
	if err != nil {
		if errors.Is(err, sharingViolation) {
			return nil, ErrInUse
		}
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(h), path)
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		f.Close()
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrLink}
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// SyncFolder does nothing: the file system keeps names in order by itself.
func SyncFolder(string) error { return nil }

// Removed reports false: a file that is open keeps its name here.
func Removed(*os.File) bool { return false }
