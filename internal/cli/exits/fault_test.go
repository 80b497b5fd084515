package exits

import (
	"os"
	"path/filepath"
	"testing"
)

// Where a folder is missing, it is named, and not the file that was to be written in it.
func TestMissingFolder(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{
		filepath.Join(dir, "x"):         "there is no file " + filepath.Join(dir, "x"),
		filepath.Join(dir, "none", "x"): "there is no folder " + filepath.Join(dir, "none"),
	} {
		_, err := os.Open(name)
		if got := PlainError(err); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
