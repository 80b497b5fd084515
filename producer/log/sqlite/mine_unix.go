//go:build unix

package sqlite

import (
	"fmt"
	"os"
	"syscall"

	"github.com/aaep-go/aaep/internal/lockfile"
)

// checkOwned returns an error if the file or folder at path does not belong to the user of this
// process, or gives others one of rights. The error says what others may do by action, "open" or
// "write to", and names the mode that is wanted.
func checkOwned(path string, rights os.FileMode, action, wantedMode string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		return fmt.Errorf("%s: %w", path, lockfile.ErrLink)
	case !info.IsDir() && !info.Mode().IsRegular():
		return fmt.Errorf("%s is neither a folder nor a file, but %s", path, info.Mode().Type())
	case !ok || int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to somebody else; name a folder of your own for the log", path)
	case info.Mode().Perm()&rights != 0:
		return fmt.Errorf("others than its owner may %s %s, its mode is %04o: run chmod %s on it", action, path,
			info.Mode().Perm(), wantedMode)
	}
	return nil
}
