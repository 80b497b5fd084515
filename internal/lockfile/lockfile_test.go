package lockfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/aaep-go/aaep/internal/lockfile"
)

// T-SQUAT: a symbolic link is not followed, to a file that is there or not, and nothing is made
// where it leads.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	there, nowhere := filepath.Join(dir, "there"), filepath.Join(dir, "nowhere")
	if err := os.WriteFile(there, []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{there, nowhere, filepath.Join(dir, "chain")} {
		link := filepath.Join(dir, "to-"+filepath.Base(target))
		if filepath.Base(target) == "chain" {
			if err := os.Symlink(there, target); err != nil {
				t.Skip(err)
			}
		}
		if err := os.Symlink(target, link); err != nil {
			t.Skip(err) // on Windows it takes a right
		}
		f, err := lockfile.Open(link)
		if !errors.Is(err, lockfile.ErrLink) {
			t.Errorf("Open of a link to %s = %v", target, err)
		}
		if f != nil {
			f.Close()
		}
	}
	if _, err := os.Lstat(nowhere); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a link led to was made: %v", err)
	}
	f, err := lockfile.Open(there)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
