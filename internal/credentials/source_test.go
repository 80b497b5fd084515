package credentials

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// text makes its value of two files that must begin alike, as a certificate must fit its key.
func text(contents [][]byte) (string, error) {
	if len(contents[0]) == 0 || contents[0][0] != contents[1][0] {
		return "", errors.New("they do not fit")
	}
	return string(contents[0]), nil
}

// What changes is read anew; what does not fit is told once and changes nothing.
func TestSource(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write(t, a, "1 one", 0o600)
	if _, err := NewSource(nil, ReadFile, text, a, b); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the second file: %v", err)
	}
	write(t, b, "1", 0o600)
	var logged bytes.Buffer
	s, err := NewSource(slog.New(slog.NewTextHandler(&logged, nil)), ReadFile, text, a, b)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(what, want string, lines int) {
		t.Helper()
		for range 3 {
			if got := s.Get(); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		if got := strings.Count(logged.String(), "\n"); got != lines {
			t.Errorf("%s: %d lines in the log, want %d:\n%s", what, got, lines, &logged)
		}
	}
	expect("as it was", "1 one", 0)
	write(t, a, "1 two", 0o600)
	expect("replaced at once, of the same size", "1 two", 0)
	write(t, a, "2 three", 0o600)
	expect("the second does not fit yet", "1 two", 1)
	write(t, b, "2", 0o600)
	expect("both fit", "2 three", 2)
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	expect("the second is gone", "2 three", 3)
	write(t, b, "2", 0o600)
	expect("it is back", "2 three", 4)
	write(t, a, "", 0o600)
	expect("empty", "2 three", 5)
}

// A file that was settled is not read again; one that was just written is, for its time may not
// show a second change.
func TestSourceReadsWhatChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	reads := 0
	read := func(path string) ([]byte, error) { reads++; return ReadFile(path) }
	write(t, path, "one", 0o600)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	s, err := NewSource(nil, read, func(c [][]byte) (string, error) { return string(c[0]), nil }, path, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		s.Get()
	}
	if reads != 1 {
		t.Errorf("an unchanged file was read %d times", reads)
	}
	// Another file of the same age and size.
	write(t, path+".other", "two", 0o600)
	if err := os.Chtimes(path+".other", old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".other", path); err != nil {
		t.Fatal(err)
	}
	if got := s.Get(); got != "two" {
		t.Errorf("Get = %q, want what is in the other file", got)
	}
	// Written in place twice, within one tick of its file system's clock.
	recent := time.Now()
	for _, text := range []string{"ten", "six"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, recent, recent); err != nil {
			t.Fatal(err)
		}
		if got := s.Get(); got != text {
			t.Errorf("Get = %q, want %q", got, text)
		}
	}
}

// A change that could not be read, as where too many files are open, is read when it can be: else a
// peer that was taken out would stay in for good.
func TestSourceReadsAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	var broken error
	read := func(path string) ([]byte, error) {
		if broken != nil {
			return nil, broken
		}
		return ReadFile(path)
	}
	var logged bytes.Buffer
	write(t, path, "one", 0o600)
	s, err := NewSource(slog.New(slog.NewTextHandler(&logged, nil)), read, func(c [][]byte) (string, error) {
		return string(c[0]), nil
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "two", 0o600)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	broken = syscall.EMFILE
	for range 3 {
		if got := s.Get(); got != "one" {
			t.Errorf("Get = %q of a file that cannot be read, want what was read before", got)
		}
	}
	broken = nil
	if got := s.Get(); got != "two" {
		t.Errorf("Get = %q of a file that can be read again", got)
	}
	if got := strings.Count(logged.String(), "\n"); got != 2 {
		t.Errorf("%d lines in the log, want that it is not read and that it is:\n%s", got, &logged)
	}
}

// A file that says the same makes nothing anew, though it was just written, or will be, by the
// clock of the disk it is on: a key that signs is tried each time that it is read, and a peer that
// asks may be a stranger.
func TestSourceOfTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	write(t, path, "one", 0o600)
	made := 0
	s, err := NewSource(nil, ReadFile, func(c [][]byte) (string, error) { made++; return string(c[0]), nil }, path)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		s.Get()
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		s.Get()
	}
	if made != 1 {
		t.Errorf("made %d times of the same", made)
	}
	write(t, path, "two", 0o600)
	if got := s.Get(); got != "two" || made != 2 {
		t.Errorf("Get = %q, made %d times", got, made)
	}
}

// One Source serves many goroutines.
func TestSourceAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	write(t, path, "0", 0o600)
	s, err := NewSource(nil, ReadFile, func(c [][]byte) (string, error) { return string(c[0]), nil }, path)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				s.Get()
			}
		})
	}
	write(t, path, "1", 0o600)
	all.Wait()
	if got := s.Get(); got != "1" {
		t.Errorf("Get = %q in the end", got)
	}
}

// INV-37
func TestReadPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if runtime.GOOS != "windows" {
		for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o620: false,
			0o601: false} {
			write(t, path, "hunter2", mode)
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			_, err := ReadPrivate(path)
			if (err == nil) != ok || err != nil &&
				(!strings.Contains(err.Error(), "chmod 600") || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("mode %o: %v, want read: %v", mode, err, ok)
			}
		}
	}
	// What systemd hands over with an access list looks as if a group could read it.
	if runtime.GOOS != "windows" {
		t.Setenv("CREDENTIALS_DIRECTORY", filepath.Dir(path)+"/")
		for mode, ok := range map[os.FileMode]bool{0o440: true, 0o400: true, 0o460: false, 0o444: false} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadPrivate(path); (err == nil) != ok {
				t.Errorf("a credential of systemd, mode %o: %v, want read: %v", mode, err, ok)
			}
		}
		t.Setenv("CREDENTIALS_DIRECTORY", filepath.Dir(filepath.Dir(path)))
		if err := os.Chmod(path, 0o440); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPrivate(path); err == nil {
			t.Error("a file elsewhere was taken for one of systemd")
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err != nil {
		t.Errorf("a file that is no secret: %v", err)
	}
	write(t, path, strings.Repeat("a", MaxFile+1), 0o600)
	if _, err := ReadPrivate(path); err == nil || !strings.Contains(err.Error(), "1 MiB") {
		t.Errorf("a large file: %v", err)
	}
	if _, err := ReadPrivate(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("a folder: %v", err)
	}
}
