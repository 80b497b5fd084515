// Package realtest finds the real programs that tests meet, such as a speech server or a browser. A
// test without one is skipped and says so in one line; with AAEP_REAL=1, as in CI, it fails. make
// real installs them.
package realtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Need returns the path of the first of the programs that a test needs, and does not return where
// one of them is missing.
func Need(t testing.TB, programs ...string) (path string) {
	t.Helper()
	for i, name := range programs {
		found, err := exec.LookPath(name)
		if err != nil { // servers are in a folder that users mostly have not in their PATH
			found, err = exec.LookPath(filepath.Join("/usr/sbin", name))
		}
		if err != nil {
			Missing(t, "%s is missing: make real installs it", name)
		}
		if i == 0 {
			path = found
		}
	}
	return path
}

// Missing skips a test that needs what is not here, which it says; with AAEP_REAL=1 the test fails.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("AAEP_REAL") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format+" (AAEP_REAL=1 makes this a failure)", args...)
}
