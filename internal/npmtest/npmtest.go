// Package npmtest fetches for tests the programs of other projects that are published on npm. A run
// of internal/suite, which sets AAEP_NPM to a folder, fetches each set of them once; any other run
// does so for each test.
package npmtest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/lockfile"
	"github.com/aaep-go/aaep/internal/realtest"
)

// Install fetches the npm packages that the folder from pins, without optional ones unless the
// flags of npm ask for them. It returns a folder of this test alone that has copies of the files in
// from, and node_modules, which other tests read too.
func Install(t *testing.T, from string, flags ...string) (dir string) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			realtest.Missing(t, "%s is missing", program)
		}
	}
	dir = t.TempDir()
	copyFolder(t, dir, from)
	shared := os.Getenv("AAEP_NPM")
	if shared == "" {
		fetchPackages(t, dir, from, flags)
		return dir
	}
	pins, err := os.ReadFile(filepath.Join(from, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(pins)
	whole := filepath.Join(shared, hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	lock := lockFile(t, whole+".lock")
	defer lock.Close()
	if _, err := os.Stat(whole); err != nil {
		part := whole + ".part" // what an earlier test left there is fetched anew
		if err := os.RemoveAll(part); err != nil {
			t.Fatal(err)
		}
		copyFolder(t, part, from)
		fetchPackages(t, part, from, flags)
		if err := os.Rename(part, whole); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(whole, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// copyFolder copies the files of a folder into another, or fails the test.
func copyFolder(t *testing.T, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(filepath.FromSlash(from))); err != nil {
		t.Fatal(err)
	}
}

// fetchPackages makes node_modules in dir of the lock file there, with npm and flags. Where npm
// cannot, the test is skipped, or fails where everything has to run; from is what needs it.
func fetchPackages(t *testing.T, dir, from string, flags []string) {
	t.Helper()
	npm := exec.Command("npm", append([]string{"ci", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund",
		"--no-update-notifier"}, flags...)...)
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		realtest.Missing(t, "npm could not fetch what %s needs: %v: %.200q", from, err, out)
	}
}

// lockFile waits until no other test, of any process, has the file at path open, and returns it
// open and locked. The test fails where it ends first.
func lockFile(t *testing.T, path string) *os.File {
	t.Helper()
	for {
		f, err := lockfile.Open(path)
		switch {
		case err == nil:
			return f
		case !errors.Is(err, lockfile.ErrInUse):
			t.Fatal(err)
		case t.Context().Err() != nil:
			t.Fatal("the test ended while another fetched the packages")
		}
		time.Sleep(50 * time.Millisecond)
	}
}
