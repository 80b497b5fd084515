// Package sqlite keeps a producer's log in a folder, in one SQLite file: a log.Store that survives
// restarts, crashes and, unless it is told otherwise, power cuts.
//
//	kept, err := sqlite.Open("log", sqlite.Options{})
//	defer kept.Close()                       // after Shutdown
//	p, err := producer.New(producer.Config{Agent: agent, Log: kept})
//
// The file is log.db, which the sqlite3 command can read meanwhile; beside it are log.db-wal and
// log.db-shm while it is in use, and lock, which says by whom. It must be on a disk of this
// machine: the memory that SQLite shares between processes does not work over a network. It holds
// what the agent said, and the key that event ids are made with, so only its owner may read it.
//
// Opening, checking and closing the file, and what its errors say, are in sqlite.go; appending,
// reading and what shrinks the file are in records.go; copies are in backup.go.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"modernc.org/sqlite"

	"github.com/aaep-go/aaep/internal/lockfile"
	"github.com/aaep-go/aaep/producer/log"
)

// What keeps a log from being opened. The errors say it in words, with the folder.
var (
	ErrInUse   = errors.New("the log is in use")
	ErrNewer   = errors.New("the log is of a newer version")
	ErrDamaged = errors.New("the log is damaged")
)

// Options say how much a Store keeps, and what that survives. The zero value is the safe one.
type Options struct {
	log.Limits
	// SurvivesCrash keeps an event once the operating system has it, which is many times faster. A
	// crash of the program, kill -9 too, loses nothing; a power cut or a crash of the machine loses
	// the last moments before it.
	//
	// Otherwise it is on the disk before any listener is shown it, and survives a power cut too, as
	// long as the disk tells the truth.
	SurvivesCrash bool
}

// Store is a log in a folder. All its methods may be called at once.
type Store struct {
	dir    string
	limits log.Limits
	late   bool // see Options.SurvivesCrash
	lock   *os.File
	db     *sql.DB   // for reading
	backup string    // the file that Restore looks at; empty is the log in dir
	out    *sql.Conn // for writing
	add    *sql.Stmt
	drop   *sql.Stmt

	file   os.FileInfo // of log.db
	began  time.Time   // when out was opened
	at     int64       // began by the log's clock, in Unix milliseconds; see logTime
	oldest int64       // when the oldest record came, by that clock; 0: there is none
	used   int64       // bytes of the file in use, when they were counted last
	added  int64       // bytes of the records added since then

	start, end atomic.Uint64
	closing    sync.Once
}

const (
	fileName      = "log.db"
	lockName      = "lock"
	applicationID = 0x41414550 // "AAEP"
	version       = 1
	schema        = `
CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), start INTEGER NOT NULL, meta BLOB);
CREATE TABLE events (pos INTEGER PRIMARY KEY, at INTEGER NOT NULL, data BLOB NOT NULL);
INSERT INTO state VALUES (1, 0, NULL);`
)

// Open opens the log in a folder to go on with it, or begins one. The folder and what is in it
// belong to the user of this process alone; a folder that is there must not be writable by others.
// The error is ErrInUse, ErrNewer or ErrDamaged inside one that says what to do, or one of the file
// system.
//
// After a crash the file is looked through first. What SQLite had not written whole is taken back;
// where more than that is wrong, nothing is opened.
func Open(dir string, opts Options) (_ *Store, err error) {
	if dir == "" {
		return nil, errors.New("the log has no folder: name one; the working directory is \".\"")
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	madeFolder, err := makeFolder(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{limits: opts.Limits.WithDefaults(), late: opts.SurvivesCrash}
	madeFile := false
	defer func() {
		if err == nil {
			return
		}
		// What this call made is removed again, unless another process has begun to use it.
		remove := madeFile && !errors.Is(err, ErrInUse)
		if remove {
			s.removeFiles()
		}
		s.Close()
		if remove && madeFolder {
			os.Remove(dir)
		}
	}()
	// The folder may be a link, as StateDirectory= of systemd with DynamicUser= makes one.
	if s.dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, fileName)
	if madeFile, err = makePrivate(s.dir, path); err != nil {
		return nil, err
	}
	if s.lock, err = lockFolder(filepath.Join(s.dir, lockName)); err != nil {
		return nil, err
	}
	if err := s.openToWrite(path); err != nil {
		return nil, err
	}
	return s, nil
}

// makeFolder makes the folder dir for this user alone, and reports whether it was not there. The
// error says what is there in its place, or is that of the file system.
func makeFolder(dir string) (made bool, err error) {
	info, err := os.Stat(dir)
	made = errors.Is(err, fs.ErrNotExist)
	if _, linkErr := os.Lstat(dir); linkErr == nil && made {
		return false, fmt.Errorf("%s is a link to a folder that is not there: make that folder, or name another", dir)
	}
	if err == nil && !info.IsDir() {
		return false, fmt.Errorf("%s is no folder: name a folder for the log, which is made if need be", dir)
	}
	return made, os.MkdirAll(dir, 0o700)
}

// openToWrite opens the database file at path, checks it if the process that wrote it last crashed,
// and prepares s to go on with it. The caller has locked the folder, and closes s after an error.
func (s *Store) openToWrite(path string) (err error) {
	crashed := false
	if info, err := os.Stat(path + "-wal"); err == nil {
		crashed = info.Size() > 0
	}
	if s.db, err = openDB(path, ""); err != nil {
		return err
	}
	ctx := context.Background()
	if s.out, err = s.db.Conn(ctx); err != nil {
		return s.explainError(err)
	}
	if err := s.identifyFile(ctx); err != nil {
		return err
	}
	if err := s.checkFile(ctx, crashed); err != nil {
		return err
	}
	return s.loadEnd(ctx)
}

// openDB opens the database file at path, for one writer and maxReaders readers. options are added
// to its URL.
func openDB(path, options string) (*sql.DB, error) {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), OmitHost: true,
		RawQuery: "_pragma=busy_timeout(5000)" + options}
	if filepath.VolumeName(path) != "" {
		u.Path = "/" + u.Path
	}
	c, err := sqlite.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1 + maxReaders)
	db.SetMaxIdleConns(1 + maxReaders)
	return db, nil
}

// maxReaders is how many read at a time; the others wait.
const maxReaders = 4

// removeFiles removes the files of a log that Open has just made and could not begin.
func (s *Store) removeFiles() {
	for _, name := range []string{fileName, fileName + "-wal", fileName + "-shm", lockName} {
		os.Remove(filepath.Join(s.dir, name))
	}
}

// makePrivate makes the file at path in dir, unless it exists, and returns an error if another user
// may read it or write to the folder. made says that it did not exist, also with an error.
func makePrivate(dir, path string) (made bool, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if made = err == nil; made {
		err = errors.Join(f.Close(), lockfile.SyncFolder(dir))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return made, err
	}
	return made, errors.Join(checkOwned(dir, 0o022, "write to", "700"), checkOwned(path, 0o077, "open", "600"))
}

// lockFolder locks the lock file at path for this process, until the file that it returns is
// closed, and writes into it which process that is. The error is ErrInUse, with the process that
// has it.
func lockFolder(path string) (*os.File, error) {
	f, err := lockfile.Open(path)
	if errors.Is(err, lockfile.ErrInUse) {
		holder, _ := os.ReadFile(path)
		if len(holder) == 0 {
			holder = []byte("another program")
		}
		return nil, fmt.Errorf("%w: %s writes to %s; name another folder, or end that first", ErrInUse, holder,
			filepath.Dir(path))
	}
	if err != nil {
		return nil, err
	}
	self := fmt.Sprintf("process %d (%s, since %s)", os.Getpid(), filepath.Base(os.Args[0]),
		time.Now().Format("2006-01-02 15:04"))
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteString(self)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// identifyFile makes the tables in a file without any, and refuses a file that is not a log, or one
// of a newer version.
func (s *Store) identifyFile(ctx context.Context) error {
	var id, v, tables int
	err := s.out.QueryRowContext(ctx,
		"SELECT (SELECT * FROM pragma_application_id), (SELECT * FROM pragma_user_version), (SELECT count(*) FROM "+
			"sqlite_schema)").Scan(&id, &v, &tables)
	switch {
	case err != nil:
		return s.explainError(err)
	case id == 0 && v == 0 && tables == 0:
		// Both take effect before the first table is there, and only then.
		if err := s.execAll(ctx, "PRAGMA auto_vacuum = INCREMENTAL", "PRAGMA journal_mode = WAL"); err != nil {
			return err
		}
		return s.execAll(ctx, "PRAGMA synchronous = FULL",
			fmt.Sprintf("BEGIN IMMEDIATE; %s PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", schema,
				applicationID, version))
	case id != applicationID:
		if s.backup != "" {
			return fmt.Errorf("%w: %s is no copy of a log; aaep log backup makes one", ErrDamaged, s.backup)
		}
		return fmt.Errorf("%w: %s is not one of this program's; name another folder, or move the file away", ErrDamaged,
			filepath.Join(s.dir, fileName))
	case v > version:
		return fmt.Errorf(
			"%w: %s has format %d, and this program knows %d; use a newer program, or name another folder", ErrNewer,
			cmp.Or(s.backup, s.dir), v, version)
	}
	return nil
}

// checkFile looks through the whole file for damage if crashed is set, which takes about a second
// for each gigabyte.
func (s *Store) checkFile(ctx context.Context, crashed bool) error {
	if !crashed {
		return nil
	}
	result := ""
	if err := s.out.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&result); err != nil {
		return s.explainError(err)
	}
	if result != "ok" {
		return s.damagedError(result)
	}
	return nil
}

// loadEnd reads the bounds of the log, sets its clock, and prepares the statements of Append.
// Records that are missing in between are ErrDamaged.
func (s *Store) loadEnd(ctx context.Context) error {
	mode := "FULL"
	if s.late {
		mode = "NORMAL"
	}
	if err := s.execAll(ctx, "PRAGMA journal_mode = WAL", "PRAGMA synchronous = "+mode,
		"PRAGMA journal_size_limit = 16777216"); err != nil {
		return err
	}
	var start, first, end, count uint64
	var newest int64
	err := s.out.QueryRowContext(ctx,
		"SELECT start, ifnull(min(pos), start + 1), ifnull(max(pos), start), count(pos), ifnull(max(at), 0) FROM "+
			"state LEFT JOIN events").
		Scan(&start, &first, &end, &count, &newest)
	if err != nil {
		return s.explainError(err)
	}
	if first != start+1 || end != start+count {
		return s.damagedError(fmt.Sprintf("of the events %d to %d only %d are there", start+1, end, count))
	}
	if s.file, err = os.Stat(filepath.Join(s.dir, fileName)); err != nil {
		return err
	}
	s.start.Store(start)
	s.end.Store(end)
	s.began, s.at = time.Now(), max(time.Now().UnixMilli(), newest)
	if s.add, err = s.out.PrepareContext(ctx, "INSERT INTO events VALUES (?, ?, ?)"); err == nil {
		s.drop, err = s.out.PrepareContext(ctx, "DELETE FROM events WHERE pos <= ?")
	}
	if err != nil {
		return s.explainError(err)
	}
	return s.findOldest(ctx)
}

// execAll executes statements, one after the other.
func (s *Store) execAll(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := s.out.ExecContext(ctx, statement); err != nil {
			return s.explainError(err)
		}
	}
	return nil
}

// logTime is the log's clock: it is the wall clock's when the store was opened, never runs
// backwards, and does not jump when that is set.
func (s *Store) logTime() int64 { return s.at + time.Since(s.began).Milliseconds() }

// fullDiskError is the syscall.ENOSPC of SQLite.
type fullDiskError struct{}

// Error names the problem.
func (fullDiskError) Error() string { return "the disk is full" }

// Is makes it match syscall.ENOSPC.
func (fullDiskError) Is(target error) bool { return target == syscall.ENOSPC }

// explainError returns err, of SQLite, with the folder or the copy it is about, and in words where
// its code means something to the user.
func (s *Store) explainError(err error) error {
	var sqliteErr *sqlite.Error
	if !errors.As(err, &sqliteErr) || errors.Is(err, driver.ErrBadConn) {
		return fmt.Errorf("the log in %s: %w", s.dir, err)
	}
	const readOnly, corrupt, notADatabase, shortRead = 8, 11, 26, 522
	switch code := sqliteErr.Code(); {
	case code&0xff == diskFull:
		return fmt.Errorf("the log in %s cannot be written: %w", s.dir, fullDiskError{})
	case code&0xff == readOnly:
		return fmt.Errorf("the log in %s cannot be written: %s, or the disk it is on, may only be read",
			s.dir, fileName)
	case code&0xff == corrupt, code&0xff == notADatabase, code == shortRead:
		return s.damagedError(sqliteErr.Error())
	}
	return fmt.Errorf("%s: %w", cmp.Or(s.backup, "the log in "+s.dir), err)
}

// diskFull is SQLite's code for a disk without room.
const diskFull = 13

// damagedError returns an ErrDamaged that says what is wrong with the log or the copy, and what to
// do.
func (s *Store) damagedError(problem string) error {
	if s.backup != "" {
		return fmt.Errorf("%w: %s is no copy of a log, or not as it was written (%s); aaep log backup makes one",
			ErrDamaged, s.backup, problem)
	}
	return fmt.Errorf("%w: %s in %s is not as it was written (%s); move it away to begin a new one, in which nobody "+
		"finds their place", ErrDamaged, fileName, s.dir, problem)
}

// Close closes the log and gives the folder free. A second Close does nothing, and returns nil;
// that of a nil Store is os.ErrInvalid. Append must not be called any more.
func (s *Store) Close() (err error) {
	if s == nil {
		return os.ErrInvalid
	}
	s.closing.Do(func() {
		for _, stmt := range []*sql.Stmt{s.add, s.drop} { // SQLite tidies up once nothing holds on to it
			if stmt != nil {
				err = errors.Join(err, stmt.Close())
			}
		}
		if s.out != nil {
			err = errors.Join(err, s.out.Close())
		}
		if s.db != nil {
			err = errors.Join(err, s.db.Close())
		}
		if s.lock != nil {
			err = errors.Join(err, s.lock.Truncate(0), s.lock.Close())
		}
	})
	return err
}
