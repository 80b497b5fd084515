//go:build unix

package ipc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"github.com/aaep-go/aaep/internal/errkind"
)

// maxPath is the longest path of a socket on every system, in bytes.
const maxPath = 103

// Path returns where an agent's socket is for the user of this process (B.4.2): in the aaep folder
// of the runtime directory, on macOS in the user's Application Support, else in a folder of the
// user's own in the temporary directory.
func Path(agentID string) (string, error) {
	folder, err := socketFolder()
	if err != nil {
		return "", err
	}
	const ending = ".sock"
	room := maxPath - len(folder) - 1 - len(ending)
	if room < 24 {
		return "", errkind.Folder.Mark(fmt.Errorf("ipc: the folder %s is too deep for a socket", folder))
	}
	return filepath.Join(folder, fileName(agentID, room)+ending), nil
}

// socketFolder returns the folder for sockets of the user of this process, which may not exist yet:
// under the home on macOS, else under XDG_RUNTIME_DIR where that is the user's alone, else under
// the folder for temporary files, by the user's id.
func socketFolder() (string, error) {
	if runtime.GOOS == "darwin" {
		home, err := os.UserHomeDir()
		return filepath.Join(home, "Library", "Application Support", "AAEP"), err
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && checkOwned(dir) == nil {
		return filepath.Join(dir, "aaep"), nil
	}
	return filepath.Join(os.TempDir(), "aaep-"+strconv.Itoa(os.Getuid())), nil
}

// makeFolder makes the folder of a socket, for its owner alone. A folder that is there must be ours
// alone already: in a shared directory another user may have been quicker (D-69, INV-46).
func makeFolder(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return checkOwned(dir)
}

// checkOwned returns an error that says why dir is not a folder that only the user of this process
// can enter, or nil if it is one.
func checkOwned(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return errkind.Folder.Mark(fmt.Errorf("ipc: %s is not a folder, but %s; remove it", dir, info.Mode().Type()))
	case !ok || int(stat.Uid) != os.Getuid():
		return fmt.Errorf("ipc: the folder %s belongs to somebody else: %w", dir, fs.ErrPermission)
	case info.Mode().Perm()&0o077 != 0:
		return errkind.Folder.Mark(
			fmt.Errorf("ipc: the folder %s is open to others; use one that is yours alone, with the mode 0700", dir))
	}
	return nil
}
