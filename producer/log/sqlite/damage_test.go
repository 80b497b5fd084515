package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aaep-go/aaep/producer/log"
)

// requireNoError ends the test if err is not nil.
func requireNoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openStore opens the log in dir until the test ends.
func openStore(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{})
	requireNoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// wantRefused checks that a folder is not opened, and what is said of it.
func wantRefused(t *testing.T, dir string, kind error, words ...string) {
	t.Helper()
	s, err := Open(dir, Options{})
	if err == nil {
		s.Close()
		t.Fatal("it was opened")
	}
	if kind != nil && !errors.Is(err, kind) {
		t.Errorf("%v is no %v", err, kind)
	}
	for _, w := range append(words, dir) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

// changeFile does something to the file with another program.
func changeFile(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := openDB(filepath.Join(dir, fileName), "")
	requireNoError(t, err)
	defer db.Close()
	_, err = db.Exec(statement)
	requireNoError(t, err)
}

// appendBatches appends batches of three records that say which they are.
func appendBatches(t *testing.T, s *Store, n int) {
	t.Helper()
	for range n {
		_, end := s.Bounds()
		requireNoError(t, s.Append([][]byte{recordAt(end + 1), recordAt(end + 2), recordAt(end + 3)}))
	}
}

// recordAt returns the record at pos, which says which it is.
func recordAt(pos uint64) []byte { return fmt.Appendf(nil, "%d %s", pos, strings.Repeat("x", 300)) }

// checkWhole checks all that a store holds, and returns how much that is.
func checkWhole(t *testing.T, s *Store) uint64 {
	t.Helper()
	start, end := s.Bounds()
	for cursor := start; cursor < end; {
		records, err := s.Read(cursor, 100)
		requireNoError(t, err)
		for _, r := range records {
			if cursor++; string(r) != string(recordAt(cursor)) {
				t.Fatalf("record %d is %.20q", cursor, r)
			}
		}
	}
	return end - start
}

// copyTornLog copies a log that is in use, as a kill would leave it.
func copyTornLog(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "log")
	requireNoError(t, os.Mkdir(to, 0o700))
	for _, name := range []string{fileName, fileName + "-wal"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		requireNoError(t, err)
		requireNoError(t, os.WriteFile(filepath.Join(to, name), data, 0o600))
	}
	return to
}

// P8, P10: a log whose newest page was cut off at any byte is opened with what was whole before it,
// which is all but the last commit, and goes on.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	appendBatches(t, s, 20)
	torn := copyTornLog(t, dir)
	wal := filepath.Join(torn, fileName+"-wal")
	data, err := os.ReadFile(wal)
	requireNoError(t, err)
	base, err := os.ReadFile(filepath.Join(torn, fileName))
	requireNoError(t, err)
	const frame = 24 + 4096
	step := 37 // a prime
	if os.Getenv("AAEP_LONG") != "" {
		step = 1
	}
	for cut := 0; cut <= frame; cut += step {
		for name, tail := range map[string][]byte{"cut": nil, "zeroed": make([]byte, cut)} {
			requireNoError(t, os.WriteFile(filepath.Join(torn, fileName), base, 0o600))
			requireNoError(t, os.WriteFile(wal, append(data[:len(data)-cut:len(data)-cut], tail...), 0o600))
			requireNoError(t, os.RemoveAll(wal[:len(wal)-3]+"shm"))
			s, err := Open(torn, Options{})
			if err != nil {
				t.Fatalf("%d bytes %s: %v", cut, name, err)
			}
			if n := checkWhole(t, s); n > 60 || n < 57 || cut == 0 && n != 60 {
				t.Fatalf("%d bytes %s: %d records are left", cut, name, n)
			}
			appendBatches(t, s, 1)
			requireNoError(t, s.Close())
		}
	}
}

// A byte that is another one anywhere in the file is found, or changes nothing but a record's own
// text.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	appendBatches(t, s, 300)
	requireNoError(t, s.Close())
	path := filepath.Join(dir, fileName)
	data, err := os.ReadFile(path)
	requireNoError(t, err)
	for name, spoil := range map[string]func([]byte) []byte{
		"no database":   func(b []byte) []byte { copy(b, "This is a letter"); return b },
		"half of it":    func(b []byte) []byte { return b[:len(b)/2] },
		"a page zeroed": func(b []byte) []byte { clear(b[len(b)-2*4096 : len(b)-4096]); return b },
		"another's":     func(b []byte) []byte { copy(b[68:], "\x00\x00\x00\x2a"); return b },
	} {
		t.Run(name, func(t *testing.T) {
			requireNoError(t, os.WriteFile(path, spoil(append([]byte(nil), data...)), 0o600))
			requireNoError(t, os.WriteFile(path+"-wal", []byte("what a crash left"), 0o600))
			wantRefused(t, dir, ErrDamaged, "move")
		})
	}
}

func TestGap(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	appendBatches(t, s, 10)
	requireNoError(t, s.Close())
	changeFile(t, dir, "DELETE FROM events WHERE pos = 7")
	wantRefused(t, dir, ErrDamaged, "1 to 30", "29")
}

// What a newer program wrote is left alone.
func TestNewer(t *testing.T) {
	dir := t.TempDir()
	requireNoError(t, openStore(t, dir).Close())
	changeFile(t, dir, "PRAGMA user_version = 2")
	wantRefused(t, dir, ErrNewer, "format 2", "knows 1", "newer program")
}

// Others may neither read nor replace it.
func TestOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "log")
	requireNoError(t, openStore(t, dir).Close())
	path := filepath.Join(dir, fileName)
	for _, name := range []string{dir, path} {
		info, err := os.Stat(name)
		requireNoError(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	requireNoError(t, os.Chmod(path, 0o640))
	wantRefused(t, dir, nil, "chmod 600")
	requireNoError(t, os.Chmod(path, 0o600))
	requireNoError(t, os.Chmod(dir, 0o770))
	wantRefused(t, dir, nil, "chmod 700")
	requireNoError(t, os.Chmod(dir, 0o700))
	link := filepath.Join(t.TempDir(), "link")
	requireNoError(t, os.Symlink(dir, link))
	requireNoError(t, openStore(t, link).Close())
	requireNoError(t, os.Rename(path, path+".old"))
	requireNoError(t, os.Symlink(path+".old", path))
	wantRefused(t, dir, nil, "symbolic link")
}

// A disk that has become one to read is named as such; once it can be written again the log goes
// on.
func TestReadOnly(t *testing.T) {
	s := openStore(t, t.TempDir())
	appendBatches(t, s, 1)
	requireNoError(t, s.execAll(t.Context(), "PRAGMA query_only = 1"))
	_, end := s.Bounds()
	if err := s.Append([][]byte{recordAt(end + 1)}); err == nil ||
		!strings.Contains(err.Error(), "cannot be written: log.db, or the disk it is on, may only be read") {
		t.Error(err)
	}
	requireNoError(t, s.execAll(t.Context(), "PRAGMA query_only = 0"))
	appendBatches(t, s, 1)
	requireNoError(t, s.Close())
}

// A full disk is one clear error; what was kept before is there, and once there is room the log
// goes on.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	appendBatches(t, s, 10)
	requireNoError(t, s.execAll(t.Context(), "PRAGMA max_page_count = 40"))
	var err error
	for err == nil {
		_, end := s.Bounds()
		err = s.Append([][]byte{recordAt(end + 1)})
	}
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
	kept := checkWhole(t, s)
	requireNoError(t, s.execAll(t.Context(), "PRAGMA max_page_count = 1000000"))
	appendBatches(t, s, 1)
	requireNoError(t, s.Close())
	if n := checkWhole(t, openStore(t, dir)); n != kept+3 {
		t.Errorf("%d records are there, and %d were", n, kept+3)
	}
}

// The log's clock neither runs backwards nor stops: after the wall clock was set back, what is
// there still grows old.
func TestClock(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{Limits: log.Limits{Age: time.Hour}})
	requireNoError(t, err)
	s.at += (48 * time.Hour).Milliseconds() // the wall clock is two days ahead
	appendBatches(t, s, 2)
	requireNoError(t, s.Close())
	s, err = Open(dir, Options{Limits: log.Limits{Age: time.Hour}})
	requireNoError(t, err)
	defer s.Close()
	if ahead := s.logTime() - time.Now().UnixMilli(); ahead < (47 * time.Hour).Milliseconds() {
		t.Errorf("the log's clock ran back: it is %d ms ahead", ahead)
	}
	appendBatches(t, s, 1)
	if n := checkWhole(t, s); n != 9 {
		t.Errorf("%d are left", n)
	}
	s.began = s.began.Add(-61 * time.Minute)
	for range 3 {
		requireNoError(t, s.Append(nil))
	}
	if start, end := s.Bounds(); start != end || end != 9 {
		t.Errorf("%d to %d are left", start, end)
	}
}

const heldVariable = "AAEP_SQLITE_HELD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(heldVariable); dir != "" {
		_, err := Open(dir, Options{})
		fmt.Println("held", err)
		select {}
	}
	os.Exit(m.Run())
}

// A second process is told who has the log; the death of the first lets it in.
func TestTwoProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), heldVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	requireNoError(t, err)
	requireNoError(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var held, no string
	if _, err := fmt.Fscan(out, &held, &no); held != "held" || no != "<nil>" {
		t.Fatal(held, no, err)
	}
	wantRefused(t, dir, ErrInUse, fmt.Sprint("process ", cmd.Process.Pid), filepath.Base(os.Args[0]), "since")
	requireNoError(t, cmd.Process.Kill())
	cmd.Wait()
	requireNoError(t, openStore(t, dir).Close())
}

// What the owner keeps in the file is readable with SQLite's own tools while it is in use.
func TestReadableByOthersOfTheOwner(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	appendBatches(t, s, 2)
	db, err := sql.Open("sqlite", filepath.Join(dir, fileName))
	requireNoError(t, err)
	defer db.Close()
	var n int
	requireNoError(t, db.QueryRow("SELECT count(*) FROM events").Scan(&n))
	if n != 6 {
		t.Errorf("%d events", n)
	}
}

// TestOpenNoFolder checks that a link that leads nowhere, and a file, are refused in words.
func TestOpenNoFolder(t *testing.T) {
	dir := t.TempDir()
	link, file := filepath.Join(dir, "link"), filepath.Join(dir, "file")
	requireNoError(t, os.WriteFile(file, nil, 0o600))
	wantRefused(t, file, nil, "is no folder")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), link); err != nil {
		t.Skip(err)
	}
	wantRefused(t, link, nil, "a link to a folder that is not there")
}

// TestRemoved checks that a log whose folder was removed, or replaced, takes nothing more.
func TestRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there a file that is open cannot be removed")
	}
	for name, replace := range map[string]bool{"removed": false, "replaced": true} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "log")
			s := openStore(t, dir)
			requireNoError(t, s.Append([][]byte{[]byte("one")}))
			requireNoError(t, os.RemoveAll(dir))
			if replace {
				openStore(t, dir)
			}
			if err := s.Append([][]byte{[]byte("two")}); err == nil || !strings.Contains(err.Error(), "was removed") {
				t.Errorf("Append = %v", err)
			}
		})
	}
}
