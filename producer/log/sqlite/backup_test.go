package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A backup of a log that is written meanwhile has all that was kept when it began, is for its owner
// alone, and is gone on with after it was restored.
func TestBackupAndRestore(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "log")
	s := openStore(t, dir)
	requireNoError(t, s.SetMeta([]byte("key")))
	requireNoError(t, s.Append([][]byte{[]byte("one"), []byte("two")}))
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for {
			select {
			case <-stop:
				done <- err
				return
			default:
				err = errors.Join(err, s.Append([][]byte{[]byte("more")}))
			}
		}
	}()
	file := filepath.Join(t.TempDir(), "copy.db")
	err := Backup(ctx, dir, file)
	close(stop)
	requireNoError(t, errors.Join(err, <-done))
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the backup is %v, %v; want mode 0600", info.Mode(), err)
	}
	if err := Backup(ctx, dir, file); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second backup into the same file: %v", err)
	}
	restored := filepath.Join(t.TempDir(), "again")
	requireNoError(t, Restore(ctx, file, restored))
	r := openStore(t, restored)
	records, err := r.Read(0, 2)
	requireNoError(t, err)
	meta, err := r.Meta()
	requireNoError(t, err)
	if !slices.Equal([]string{string(records[0]), string(records[1]), string(meta)}, []string{"one", "two", "key"}) {
		t.Errorf("it has %q and %q", records, meta)
	}
	requireNoError(t, r.Append([][]byte{[]byte("three")}))
	if err := Restore(ctx, file, restored); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("restored over a log: %v", err)
	}
}

// What is no log, or is damaged, is not restored, and leaves no folder behind.
func TestRestoreRefuses(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "log")
	s := openStore(t, dir)
	requireNoError(t, s.Append([][]byte{[]byte("one")}))
	whole := filepath.Join(t.TempDir(), "whole.db")
	requireNoError(t, Backup(ctx, dir, whole))
	data, err := os.ReadFile(whole)
	requireNoError(t, err)
	for name, content := range map[string][]byte{"empty": {}, "text": []byte("hello\n"), "cut": data[:len(data)/2]} {
		file, to := filepath.Join(t.TempDir(), "f.db"), filepath.Join(t.TempDir(), "to")
		requireNoError(t, os.WriteFile(file, content, 0o600))
		if err := Restore(ctx, file, to); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", name, err)
		}
		if _, err := os.Stat(to); err == nil {
			t.Errorf("%s: the folder was made", name)
		}
	}
	if err := Backup(ctx, t.TempDir(), filepath.Join(t.TempDir(), "x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a backup of no log: %v", err)
	}
}

// Where nothing may be written beside it, a log that was closed is copied all the same; one whose
// last writes are in the -wal file is refused, for they would be missing.
func TestBackupWhereNothingMayBeWritten(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "log")
	s, err := Open(dir, Options{})
	requireNoError(t, err)
	requireNoError(t, s.Append([][]byte{[]byte("one")}))
	requireNoError(t, s.Close())
	if err := os.Symlink("/nowhere/shm", filepath.Join(dir, fileName+"-shm")); err != nil { // SQLite cannot make this file
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "copy.db")
	requireNoError(t, Backup(ctx, dir, file))
	restored := filepath.Join(t.TempDir(), "again")
	requireNoError(t, Restore(ctx, file, restored))
	records, err := openStore(t, restored).Read(0, 1)
	if err != nil || len(records) != 1 || string(records[0]) != "one" {
		t.Errorf("it has %q, %v", records, err)
	}
	requireNoError(t, os.WriteFile(filepath.Join(dir, fileName+"-wal"), []byte("unfinished"), 0o600))
	if err := Backup(ctx, dir, filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(err.Error(), "copy the folder") {
		t.Errorf("with unfinished writes: %v", err)
	}
}

// What goes wrong names the file that it is about, and what to name instead.
func TestBackupAndRestoreSayWhich(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "log")
	s := openStore(t, dir)
	requireNoError(t, s.Append([][]byte{[]byte("one")}))
	for name, content := range map[string]string{"text.db": "hello\n", "empty.db": ""} {
		file := filepath.Join(t.TempDir(), name)
		requireNoError(t, os.WriteFile(file, []byte(content), 0o600))
		err := Restore(ctx, file, filepath.Join(t.TempDir(), "to"))
		if err == nil || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), fileName) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Restore(ctx, dir, filepath.Join(t.TempDir(), "to")); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := s.out.ExecContext(ctx, "PRAGMA max_page_count = 1"); err != nil {
		t.Fatal(err)
	}
	_, full := s.out.ExecContext(ctx, "INSERT INTO events VALUES (9, 9, zeroblob(1000000))")
	if err := s.explainCopyError(full, "copy.db"); full == nil || !strings.HasPrefix(err.Error(), "copy.db cannot be written") {
		t.Errorf("a full disk is told as %v, of %v", err, full)
	}
}

// A log that cannot be begun leaves no file behind, and no folder that was not there.
func TestOpenLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	requireNoError(t, os.Mkdir(filepath.Join(dir, lockName), 0o700))
	requireNoError(t, os.WriteFile(filepath.Join(dir, lockName, "x"), nil, 0o600))
	if _, err := Open(dir, Options{}); err == nil {
		t.Fatal("it is open")
	}
	if _, err := os.Stat(filepath.Join(dir, fileName)); err == nil {
		t.Error("the file was left")
	}
	s := openStore(t, filepath.Join(t.TempDir(), "log"))
	requireNoError(t, s.Append([][]byte{[]byte("one")}))
	if _, err := Open(s.dir, Options{}); !errors.Is(err, ErrInUse) {
		t.Errorf("a second process: %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, fileName)); err != nil {
		t.Errorf("the log of the other is gone: %v", err)
	}
}
