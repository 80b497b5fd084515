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
	s := opened(t, dir)
	must(t, s.SetMeta([]byte("key")))
	must(t, s.Append([][]byte{[]byte("one"), []byte("two")}))
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
	must(t, errors.Join(err, <-done))
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the backup is %v, %v; want mode 0600", info.Mode(), err)
	}
	if err := Backup(ctx, dir, file); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second backup into the same file: %v", err)
	}
	restored := filepath.Join(t.TempDir(), "again")
	must(t, Restore(ctx, file, restored))
	r := opened(t, restored)
	records, err := r.Read(0, 2)
	must(t, err)
	meta, err := r.Meta()
	must(t, err)
	if !slices.Equal([]string{string(records[0]), string(records[1]), string(meta)}, []string{"one", "two", "key"}) {
		t.Errorf("it has %q and %q", records, meta)
	}
	must(t, r.Append([][]byte{[]byte("three")}))
	if err := Restore(ctx, file, restored); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("restored over a log: %v", err)
	}
}

// What is no log, or is damaged, is not restored, and leaves no folder behind.
func TestRestoreRefuses(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "log")
	s := opened(t, dir)
	must(t, s.Append([][]byte{[]byte("one")}))
	whole := filepath.Join(t.TempDir(), "whole.db")
	must(t, Backup(ctx, dir, whole))
	data, err := os.ReadFile(whole)
	must(t, err)
	for name, content := range map[string][]byte{"empty": {}, "text": []byte("hello\n"), "cut": data[:len(data)/2]} {
		file, to := filepath.Join(t.TempDir(), "f.db"), filepath.Join(t.TempDir(), "to")
		must(t, os.WriteFile(file, content, 0o600))
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
