package phrase

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Each phrase is used somewhere: one that is not is translated in vain, and perhaps its place in
// the code speaks English.
func TestEachIsSaid(t *testing.T) {
	use := regexp.MustCompile(`\bphrase\.(\w+)`)
	said := map[string]bool{}
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, path)
		for _, m := range use.FindAllSubmatch(text, -1) {
			said[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names(t) {
		if !said[name] {
			t.Errorf("nobody says %s", name)
		}
	}
}
