package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aaep-go/aaep/internal/lockfile"
)

// Backup writes the log in a folder to a new file, whole and as it is at this moment, also while a
// producer appends to the log. The file must not exist. Only its owner may read it, and it is on
// the disk when Backup returns. Restore puts it back.
func Backup(ctx context.Context, dir, file string) (err error) {
	if _, err := os.Stat(filepath.Join(dir, fileName)); err != nil {
		return err
	}
	s, err := openReadOnly(ctx, filepath.Join(dir, fileName))
	if err != nil {
		return err
	}
	defer s.Close()
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if err != nil {
			os.Remove(file)
		}
	}()
	if _, err := s.out.ExecContext(ctx, "VACUUM INTO ?", file); err != nil {
		// which takes an empty file, and keeps its mode
		return s.explainError(err)
	}
	return errors.Join(f.Sync(), lockfile.SyncFolder(filepath.Dir(file)))
}

// Restore makes a folder with the log that Backup wrote to a file. The folder must not exist, or be
// empty. A file that is no log, is damaged or of a newer version is refused with the errors of
// Open, and leaves nothing behind.
func Restore(ctx context.Context, file, dir string) (err error) {
	if _, err := os.Stat(file); err != nil {
		return err
	}
	s, err := openReadOnly(ctx, file)
	if err != nil {
		return err
	}
	err = s.checkFile(ctx, true)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	switch entries, err := os.ReadDir(dir); {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: name a new folder, so that no other log is overwritten", dir)
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	unfinished := filepath.Join(dir, fileName+".new")
	out, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(unfinished, filepath.Join(dir, fileName))
	}
	if err != nil {
		os.Remove(unfinished)
		return err
	}
	return lockfile.SyncFolder(dir)
}

// openReadOnly opens the file of a log, which another process may write, to look at it. The Store
// can do no more than that.
func openReadOnly(ctx context.Context, path string) (_ *Store, err error) {
	s := &Store{dir: filepath.Dir(path)}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.db, err = openDB(path); err != nil {
		return nil, err
	}
	if s.out, err = s.db.Conn(ctx); err != nil {
		return nil, s.explainError(err)
	}
	var empty bool
	if err := s.out.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM sqlite_schema) = 0").Scan(&empty); err != nil {
		return nil, s.explainError(err)
	}
	if empty {
		return nil, s.damagedError("it is empty")
	}
	return s, s.identifyFile(ctx)
}
