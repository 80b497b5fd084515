package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"modernc.org/sqlite"

	"github.com/aaep-go/aaep/internal/lockfile"
)

// Backup writes the log in a folder to a new file, whole and as it is at this moment, also while a
// producer appends to the log. The file must not exist. Only its owner may read it, and it is on
// the disk when Backup returns. Restore puts it back.
func Backup(ctx context.Context, dir, file string) (err error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return errors.New("it is a file: name the folder of the log first, and then the new file")
	}
	if _, err := os.Stat(filepath.Join(dir, fileName)); err != nil {
		return err
	}
	s, err := openReadOnly(ctx, &Store{dir: dir}, filepath.Join(dir, fileName))
	if err != nil {
		return err
	}
	defer s.Close()
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s: %w: name a new file for the copy", file, fs.ErrExist)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no folder %s for the copy", filepath.Dir(file))
	case err != nil:
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
		return s.explainCopyError(err, file)
	}
	return errors.Join(f.Sync(), lockfile.SyncFolder(filepath.Dir(file)))
}

// explainCopyError returns the error of writing a copy of the log to file: a full disk is that of
// the copy, everything else is explained as by explainError.
func (s *Store) explainCopyError(err error, file string) error {
	if sqliteErr, ok := errors.AsType[*sqlite.Error](err); ok && sqliteErr.Code()&0xff == diskFull {
		return fmt.Errorf("%s cannot be written: the disk that it is on is full", file)
	}
	return s.explainError(err)
}

// Restore makes a folder with the log that Backup wrote to a file. The folder must not exist, or be
// empty. A file that is no log, is damaged or of a newer version is refused with the errors of
// Open, and leaves nothing behind.
func Restore(ctx context.Context, file, dir string) (err error) {
	switch info, err := os.Stat(file); {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a folder: name first the file that aaep log backup wrote, and then the new folder")
	}
	s, err := openReadOnly(ctx, &Store{dir: filepath.Dir(file), backup: file}, file)
	if err != nil {
		return err
	}
	err = s.checkFile(ctx, true)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	switch entries, readErr := os.ReadDir(dir); {
	case errors.Is(readErr, fs.ErrNotExist):
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				os.Remove(dir)
			}
		}()
	case readErr != nil:
		return readErr
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: name a new folder, so that no other log is overwritten", dir)
	}
	return copyLog(file, dir)
}

// copyLog copies the file of a log into dir under its usual name. That name appears only once the
// copy is whole and on the disk.
func copyLog(file, dir string) error {
	source, err := os.Open(file)
	if err != nil {
		return err
	}
	defer source.Close()
	unfinished := filepath.Join(dir, fileName+".new")
	target, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if err == nil {
		err = target.Sync()
	}
	if err = errors.Join(err, target.Close()); err == nil {
		err = os.Rename(unfinished, filepath.Join(dir, fileName))
	}
	if err != nil {
		os.Remove(unfinished)
		return err
	}
	return lockfile.SyncFolder(dir)
}

// openReadOnly opens the database file of a log at path, which another process may write, for
// reading. s has the dir or backup that errors name, and is returned. The caller closes it, unless
// there is an error.
func openReadOnly(ctx context.Context, s *Store, path string) (_ *Store, err error) {
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	wal, walErr := os.Stat(path + "-wal") // before SQLite changes it
	empty, err := s.connectTo(ctx, path, "")
	if sqliteErr, ok := errors.AsType[*sqlite.Error](err); ok && sqliteErr.Code()&0xff == cannotOpen {
		// On a file system that may only be read, SQLite cannot make the files that it wants beside
		// this one. Without them it does not see what is in the -wal file.
		if walErr == nil && wal.Size() > 0 {
			return nil, fmt.Errorf("what was written last in %s cannot be read where nothing may be written: copy the "+
				"folder to where it may, and name that copy", s.dir)
		}
		s.out.Close()
		s.db.Close()
		empty, err = s.connectTo(ctx, path, "&immutable=1")
	}
	switch {
	case err != nil:
		return nil, s.explainError(err)
	case empty:
		return nil, s.damagedError("it is empty")
	}
	return s, s.identifyFile(ctx)
}

// cannotOpen is SQLite's code for a file that it cannot open.
const cannotOpen = 14

// connectTo opens the database file at path as s.db, with one connection to it, s.out, and reports
// whether there is no table in it. options are added to the file's URL. openReadOnly, which a
// backup and "aaep log" read with, calls it; after an error it closes both.
func (s *Store) connectTo(ctx context.Context, path, options string) (empty bool, err error) {
	if s.db, err = openDB(path, options); err != nil {
		return false, err
	}
	if s.out, err = s.db.Conn(ctx); err != nil {
		return false, err
	}
	err = s.out.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM sqlite_schema) = 0").Scan(&empty)
	return empty, err
}
