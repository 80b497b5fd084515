package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// npmInstall fetches the npm packages that a folder pins, and returns a copy of the folder with them. Where they cannot be had the test
// is skipped; with AAEP_REAL=1 it fails.
func npmInstall(t *testing.T, from string) (dir string) {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("AAEP_REAL") != "" {
		missing = t.Fatalf
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing("%s is missing", program)
		}
	}
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	npm := exec.Command("npm", "ci", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		missing("npm could not fetch what %s needs: %v: %.200q", from, err, out)
	}
	return dir
}

// TestBridgeA2A runs the command beside an agent on the library of the protocol's authors, in both versions of the protocol.
func TestBridgeA2A(t *testing.T) {
	dir := npmInstall(t, filepath.FromSlash("../../bridges/a2a/testdata/sdk"))
	for _, version := range []string{"1.0", "0.3"} {
		t.Run(version, func(t *testing.T) { runScripts(t, "a2a", map[string]string{"SDK": dir, "VERSION": version}) })
	}
}
