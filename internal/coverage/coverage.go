// Command coverage writes docs/coverage.md: for each requirement of AAEP, the tests that name it.
// Run it from the root of the repository, or with "go generate ./internal/coverage".
//
//go:generate go run . ../..
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/aaep-go/aaep/internal/requirements"
)

// main writes docs/coverage.md in the folder that its argument names, or in this one. It exits with
// 1 after an error.
func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	page, err := renderPage(root)
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "docs", "coverage.md"), []byte(page), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

// areas are the families of requirements, each with its prefix.
var areas = []struct{ prefix, title string }{
	{"ENV", "Envelope"},
	{"EVT", "Event types"},
	{"SM", "State machine"},
	{"HS", "Handshake"},
	{"CONF", "Confirmation"},
	{"EXT", "Extensions"},
	{"I18N", "Languages"},
	{"VER", "Versions"},
	{"TERM", "Terms"},
	{"TR", "Transport"},
	{"SSE", "Server-Sent Events"},
	{"SEC", "Security"},
	{"WS", "WebSocket"},
	{"IPC", "Sockets and pipes"},
	{"STDIO", "Standard input and output"},
	{"GRPC", "gRPC"},
	{"XT", "Across transports"},
	{"LVL", "Conformance"},
}

var id = func() *regexp.Regexp {
	var prefixes []string
	for _, a := range areas {
		prefixes = append(prefixes, a.prefix)
	}
	return regexp.MustCompile(`\b(?:` + strings.Join(prefixes, "|") + `)-\d{3}\b`)
}()

// several matches a list that names its family once, as in "EVT-042, 043".
var several = regexp.MustCompile(`\b([A-Z0-9]{2,5})-(\d{3})((?:(?:, | and |/)\d{3}\b)+)`)

// renderPage returns the text of docs/coverage.md for the tree below root: each requirement with
// the tests that name it, or why none does.
func renderPage(root string) (string, error) {
	named, err := findTests(root)
	if err != nil {
		return "", err
	}
	why := map[string]string{}
	for _, r := range reasons {
		why[r.id] = r.why
	}
	covered, excused, total := 0, 0, len(requirements.All())
	var body strings.Builder
	for _, a := range areas {
		var rows strings.Builder
		n, all := 0, 0
		for _, r := range requirements.All() {
			if prefix, _, _ := strings.Cut(r.ID, "-"); prefix != a.prefix {
				continue
			}
			all++
			tests := strings.Join(named[r.ID], ", ")
			if tests != "" {
				n++
			} else if tests = why[r.ID]; tests != "" {
				excused++
			} else {
				tests = "not named in a test"
			}
			fmt.Fprintf(&rows, "| %s | %s | %s | %s | %s |\n", r.ID, r.Side, r.Strength, cell(r.Text), tests)
		}
		covered += n
		fmt.Fprintf(&body, "\n## %s (%s): %d of %d\n\n| id | side | strength | requirement | named in, or why not |\n| --- | --- | --- | --- | --- |\n%s", a.title, a.prefix, n, all, rows.String())
	}
	return fmt.Sprintf(`# Requirements and the tests that name them

Written by "go generate ./internal/coverage" from [requirements.csv](../internal/requirements/requirements.csv) and the test sources; a test
keeps it current. Of %d requirements:

- named in tests: %d. A test is to name only what it would see broken.
- with a reason: %d. No test names them, and their row says why; "not done yet" is meant as it says.
- neither: %d.
`, total, covered, excused, total-covered-excused) + body.String(), nil
}

// cell returns a text for a cell of a table in Markdown.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// findTests returns, by requirement, the files of test sources below root that name it: Go tests,
// and the scripts and tables they read.
func findTests(root string) (map[string][]string, error) {
	named := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == ".git" || name == "tools" || name == "coverage" && path != root {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") && !strings.Contains(filepath.ToSlash(path), "/testdata/") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, found := range ids(string(text)) {
			if rel := filepath.ToSlash(rel); !slices.Contains(named[found], rel) {
				named[found] = append(named[found], rel)
			}
		}
		return nil
	})
	return named, err
}

// ids returns the requirement ids a text names, also those of a list such as "EVT-042, 043".
func ids(text string) []string {
	found := id.FindAllString(text, -1)
	for _, m := range several.FindAllStringSubmatch(text, -1) {
		for _, n := range regexp.MustCompile(`\d{3}`).FindAllString(m[3], -1) {
			if full := m[1] + "-" + n; id.MatchString(full) {
				found = append(found, full)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
