package credentials

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep/internal/shield"
)

// MaxFile bounds a file of credentials, in bytes.
const MaxFile = 1 << 20

// ErrEmpty is returned by what builds a value of files, with the value, where they hold nothing.
// Such files may be about to be written, so the value is used only once they have stood so for two
// seconds; in the beginning it is an error.
var ErrEmpty = errors.New("there is nothing in it to use")

// Unpaired marks an error of what builds a value of files that belong together, such as a
// certificate and its key: it may pass, for the other file may be yet to come. The text stays.
func Unpaired(err error) error { return unpaired{err} }

type unpaired struct{ error }

// replacedWithin is how long files that belong together may take to be replaced, until it is an
// error in the log that they do not fit each other.
const replacedWithin = 30 * time.Second

// Source is a value made of files, made anew when one of them changes. A change that makes no good
// value leaves the one before in force and is logged once, and so is the good one that follows. A
// Source may be used by many goroutines at once.
type Source[T any] struct {
	paths []string
	read  func(path string) ([]byte, error)
	build func(contents [][]byte) (T, error)
	log   *slog.Logger

	mu        sync.Mutex
	value     T
	builtFrom [sha256.Size]byte // the sum of the contents that value was made of
	infos     []fs.FileInfo     // the files when they were last read
	settled   bool              // they had not just been written then
	complaint string            // why they are not in force, as it was logged; "" if they are
	level     slog.Level        // at which that was logged
	unpaired  time.Time         // since when they do not fit each other; zero if they do
	emptied   bool              // the value in force is that of files that hold nothing
}

// NewSource makes the first value of the files; an empty path is a file that is always empty. Read
// is ReadFile or ReadPrivate. Diagnostics go to log, which may be nil.
func NewSource[T any](log *slog.Logger, read func(path string) ([]byte, error),
	build func(contents [][]byte) (T, error), paths ...string) (*Source[T], error) {
	log = shield.Logger(log)
	s := &Source[T]{paths: paths, read: read, build: build, log: log}
	return s, s.loadFiles(s.statFiles())
}

// Get returns the value of what is in the files now. Files that have changed are read again; where
// they cannot be used, that is logged once, and the value of before stays. Any goroutine may call
// it.
func (s *Source[T]) Get() T {
	s.mu.Lock()
	defer s.mu.Unlock()
	infos := s.statFiles()
	changed := !sameFiles(infos, s.infos)
	if s.settled && !changed {
		return s.value
	}
	switch err := s.loadFiles(infos); {
	case err == nil && s.complaint != "":
		s.complaint, s.unpaired = "", time.Time{}
		s.log.Warn("auth: the changed files are used now", "files", strings.Join(slices.DeleteFunc(
			slices.Clone(s.paths), func(path string) bool { return path == "" }), ", "))
	case err == nil:
	default:
		s.reportUnused(err, changed)
	}
	return s.value
}

// reportUnused logs, once, why changed files are not used. That they do not fit each other is a
// warning until it has lasted for replacedWithin; they are read again until then, so that it shows.
// changed says that they changed since that was logged. The caller holds mu.
func (s *Source[T]) reportUnused(err error, changed bool) {
	level := slog.LevelError
	if !errors.As(err, new(unpaired)) {
		s.unpaired = time.Time{}
	} else {
		if s.unpaired.IsZero() {
			s.unpaired = time.Now()
		}
		if time.Since(s.unpaired) < replacedWithin {
			level, s.settled = slog.LevelWarn, false
		}
	}
	if !changed && err.Error() == s.complaint && level == s.level {
		return
	}
	s.complaint, s.level = err.Error(), level
	s.log.Log(context.Background(), level, "auth: a changed file is not used; what was read before stays in force",
		"cause", s.complaint)
}

// timestampGranule is how long a file may be written again without its time changing, on the
// coarsest file systems.
const timestampGranule = 2 * time.Second

// loadFiles reads the files, whose FileInfos are infos, and makes the value of them, unless they
// hold what they did before. After an error the value is what it was. The caller holds mu.
func (s *Source[T]) loadFiles(infos []fs.FileInfo) error {
	first := s.infos == nil
	s.infos, s.settled = infos, true
	contents := make([][]byte, len(s.paths))
	for i, path := range s.paths {
		if path == "" {
			continue
		}
		if infos[i] != nil && time.Since(infos[i].ModTime()) < timestampGranule {
			s.settled = false
		}
		var err error
		if contents[i], err = s.read(path); err != nil {
			s.settled = false // the cause may pass without a change that can be seen in the FileInfo
			return err
		}
	}
	hash := sha256.New()
	for _, c := range contents {
		fmt.Fprintf(hash, "%d:%s", len(c), c)
	}
	builtFrom := [sha256.Size]byte(hash.Sum(nil))
	if !first && builtFrom == s.builtFrom {
		return nil // building may cost much, and unauthenticated peers can cause this call at any time
	}
	value, err := s.build(contents)
	if !first && s.settled && errors.Is(err, ErrEmpty) {
		s.log.Warn("auth: a file was emptied, and what was in it is no longer in force", "cause", err)
		err, s.complaint, s.emptied = nil, "", true
	} else if err == nil && s.emptied {
		s.complaint, s.emptied = "it was empty", false // Get says that this is over
	}
	if err == nil {
		s.value, s.builtFrom = value, builtFrom
	}
	return err
}

// statFiles returns the FileInfo of each file; nil for one that does not exist.
func (s *Source[T]) statFiles() []fs.FileInfo {
	infos := make([]fs.FileInfo, len(s.paths))
	for i, path := range s.paths {
		if path != "" {
			infos[i], _ = os.Stat(path) // reading says what is wrong
		}
	}
	return infos
}

// sameFiles reports whether a and b, two results of statFiles of the same paths, are of the same
// files, unchanged by time, size and mode.
func sameFiles(a, b []fs.FileInfo) bool {
	for i := range a {
		if (a[i] == nil) != (b[i] == nil) {
			return false
		}
		if a[i] != nil &&
			!(os.SameFile(a[i], b[i]) && a[i].ModTime().Equal(b[i].ModTime()) && a[i].Size() == b[i].Size() &&
				a[i].Mode() == b[i].Mode()) {
			return false
		}
	}
	return true
}

// ReadFile reads a file of at most 1 MiB.
func ReadFile(path string) ([]byte, error) { return readFile(path, false, true) }

// ReadPrivate reads a file of at most 1 MiB that only its owner may open, or that systemd keeps for
// this service. Windows has no such modes; there the file's access list is its owner's affair.
func ReadPrivate(path string) ([]byte, error) { return readFile(path, runtime.GOOS != "windows", true) }

// ReadOwn is ReadPrivate for a file that is named itself, and not by a symbolic link, which could
// be led elsewhere.
func ReadOwn(path string) ([]byte, error) { return readFile(path, runtime.GOOS != "windows", false) }

// readFile reads a regular file of at most MaxFile bytes. private refuses one that other users may
// open, and allowLink allows a path that is a symbolic link. The error says what to do.
func readFile(path string, private, allowLink bool) ([]byte, error) {
	if path == "" {
		return nil, errors.New("no file is named")
	}
	if named, err := os.Lstat(path); err == nil && !allowLink && named.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a symbolic link, which could be led elsewhere: name the file itself", path)
	}
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path) // opening a pipe would wait for its writer
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if named, err := os.Lstat(path); !allowLink && (err != nil || !os.SameFile(named, info)) {
		return nil, fmt.Errorf("%s became another file while it was opened", path)
	}
	if mode := info.Mode().Perm(); private && mode&0o077 != 0 && !isSystemdCredential(path, mode) {
		return nil,
			fmt.Errorf("%s holds secrets and others than its owner may open it, its mode is %04o: run chmod 600 on it",
				path, mode)
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(b) > MaxFile {
		err = errors.New(path + " is larger than 1 MiB")
	}
	return b, err
}

// isSystemdCredential reports whether systemd has given a file to this service alone
// (LoadCredential=). Where it does so by an access list, that is seen as a mode by which the group
// may read, of a file that is root's.
func isSystemdCredential(path string, mode fs.FileMode) bool {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	return dir != "" && filepath.Dir(path) == filepath.Clean(dir) && mode&0o037 == 0
}
