//go:build unix

package sqlite

import (
	"fmt"
	"os"
	"syscall"

	"github.com/aaep-go/aaep/internal/lockfile"
)

// checkOwned returns nil for a folder or regular file at path that belongs to the user of this
// process and gives others none of rights. A link is refused, wherever it leads. The error for
// rights says what others may do by action, "open" or "write to", and names the mode that is
// wanted. Opening a log calls it.
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
