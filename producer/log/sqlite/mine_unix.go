//go:build unix

package sqlite

import (
	"fmt"
	"os"
	"syscall"

	"github.com/aaep-go/aaep/internal/lockfile"
)

// checkOwned reports what keeps a file or folder from being ours alone: others must have none of
// the rights.
func checkOwned(path string, rights os.FileMode, to, want string) error {
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
		return fmt.Errorf("others than its owner may %s %s, its mode is %04o: run chmod %s on it", to, path,
			info.Mode().Perm(), want)
	}
	return nil
}
