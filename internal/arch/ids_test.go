package arch

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"testing"
)

// The ids of our own that Go files name, and the page that says what each means. Those of
// requirements are in docs/coverage.md.
var idPages = map[string]*regexp.Regexp{
	"docs/decisions.md":  regexp.MustCompile(`\bD-\d\d\b`),
	"docs/invariants.md": regexp.MustCompile(`\b(?:INV-\d\d|P(?:[1-9]|10)|T(?:[1-8]|-[A-Z]+))\b`),
}

func TestIDs(t *testing.T) {
	tree := os.DirFS(root)
	files, err := tracked(tree)
	if err != nil {
		t.Fatal(err)
	}
	for page, id := range idPages {
		check(t, "each id that Go files name is explained on "+page+", and those it explains are named",
			"an id that nobody can look up proves nothing, and one that no test names is not proved",
			ids(tree, files, page, id))
	}
}

// ids compares the ids in Go files with those that begin the rows of a page's tables.
func ids(tree fs.FS, files []string, page string, id *regexp.Regexp) (problems []string) {
	text, err := fs.ReadFile(tree, page)
	if err != nil {
		return []string{err.Error()}
	}
	var explained, named []string
	for _, m := range regexp.MustCompile(`(?m)^\| (`+id.String()+`) \|`).FindAllSubmatch(text, -1) {
		if slices.Contains(explained, string(m[1])) {
			problems = append(problems, fmt.Sprintf("%s: explains %s twice", page, m[1]))
		}
		explained = append(explained, string(m[1]))
	}
	for _, file := range files {
		if path.Ext(file) != ".go" || path.Dir(file) == "internal/arch" {
			continue
		}
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			continue // gone since it was listed
		}
		for _, found := range id.FindAllString(string(text), -1) {
			if named = append(named, found); !slices.Contains(explained, found) {
				problems = append(problems, fmt.Sprintf("%s: names %s, which is not on the page", file, found))
			}
		}
	}
	for _, e := range explained {
		if !slices.Contains(named, e) {
			problems = append(problems, fmt.Sprintf("%s: explains %s, which no Go file names", page, e))
		}
	}
	return problems
}

func TestTheIDsRuleCanFail(t *testing.T) {
	tree := files{"x.md": "| D-01 | kept |\n| D-02 | once |\n| D-02 | again |\n\nD-04, of which no row is.",
		"a.go": "// D-01, INV-01, D-013\nvar x = \"D-03\"", "b.md": "D-05"}.tree()
	expect(t, ids(tree, []string{"a.go", "b.md", "gone.go"}, "x.md", idPages["docs/decisions.md"]),
		"x.md: explains D-02 twice", "a.go: names D-03", "x.md: explains D-02, which no", "x.md: explains D-02, which no")
	expect(t, ids(tree, nil, "y.md", idPages["docs/decisions.md"]), "y.md")
}
