package npmtest

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// However many tests need the same packages at once, they are fetched once, and each test has a
// folder of its own to write in.
func TestInstallOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs that stand in for npm and node are shell scripts")
	}
	bin, from := t.TempDir(), t.TempDir()
	calls := filepath.Join(bin, "calls")
	for path, text := range map[string]string{
		filepath.Join(bin, "node"):               "#!/bin/sh\n",
		filepath.Join(bin, "npm"):                "#!/bin/sh\necho \"$@\" >> " + calls + "\n/bin/mkdir node_modules\n: > node_modules/there\n",
		filepath.Join(from, "package-lock.json"): "{}",
		filepath.Join(from, "agent.mjs"):         "// An agent.",
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	t.Setenv("AAEP_NPM", filepath.Join(t.TempDir(), "npm"))
	var all sync.WaitGroup
	var mu sync.Mutex
	folders := map[string]bool{}
	for range 4 {
		all.Go(func() {
			dir := Install(t, from, "--include=optional")
			for _, name := range []string{"agent.mjs", "node_modules/there"} {
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
					t.Error(err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			folders[dir] = true
		})
	}
	all.Wait()
	said, err := os.ReadFile(calls)
	if err != nil || strings.Count(string(said), "\n") != 1 || !strings.Contains(string(said), "--include=optional") || len(folders) != 4 {
		t.Errorf("npm was called with %q, %v, for the folders %v", said, err, folders)
	}
}
