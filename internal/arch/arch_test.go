// Package arch holds the rules of the house as tests: which package may import which, what the core
// may never do, and what every package owes its readers. CONTRIBUTING.md tells the same in prose.
package arch

import (
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// root is the repository, seen from this folder.
const root = "../.."

// check fails the test with every problem, below the rule and its reason.
func check(t *testing.T, rule, why string, problems []string) {
	t.Helper()
	if len(problems) > 0 {
		t.Errorf("\nrule:  %s\nwhy:   %s\nwhere: %s", rule, why, strings.Join(problems, "\n       "))
	}
}

var loaded = sync.OnceValues(func() ([]pack, error) { return load(os.DirFS(root)) })

func packages(t *testing.T) []pack {
	t.Helper()
	packs, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return packs
}

func TestArrows(t *testing.T) {
	check(t, "a package imports only what the map in internal/arch/map_test.go allows it",
		"arrows that all point down keep each part small enough to read, test and replace alone",
		arrows(packages(t), theMap))
}

func TestPurity(t *testing.T) {
	check(t, "the core decides, the rim acts: pure packages take now as an argument and do no input, output, waiting or sharing",
		"only so can every promise about time be tested in virtual time, in milliseconds and without luck",
		purity(packages(t), theMap))
}

func TestPackageComments(t *testing.T) {
	check(t, "each package has exactly one package comment",
		"it is the first thing a reader sees; two are shown one after the other",
		comments(packages(t)))
}

func TestExamples(t *testing.T) {
	check(t, "each public package has an example that is run",
		"an example with an // Output: comment cannot go stale; one without is only compiled",
		examples(packages(t)))
}

func TestExampleLengths(t *testing.T) {
	check(t, "no example is longer than 99 lines", "an example has one idea and is read in one go", lengths(packages(t)))
}

func TestHygiene(t *testing.T) {
	tree := os.DirFS(root)
	names, err := tracked(tree)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "the repository stands alone: no path of one machine, no file from outside it, no leftover note",
		"a clone must build, test and read the same for everyone",
		hygiene(tree, names))
}

func TestGuide(t *testing.T) {
	check(t, "CONTRIBUTING.md names every folder of the map, and it and docs/architecture.md only Go files that are there",
		"a map that leaves out a room or shows a wall where there is a door is worse than none",
		append(guide(os.DirFS(root), "CONTRIBUTING.md", theMap), guide(os.DirFS(root), "docs/architecture.md", nil)...))
}

func TestLinks(t *testing.T) {
	tree := os.DirFS(root)
	names, err := tracked(tree)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "what a page of the repository leads to is there",
		"a reader who lands nowhere does not come back",
		links(tree, names))
}

func TestProofs(t *testing.T) {
	check(t, "each threat in docs/security.md names tests, and they are there",
		"a promise of security that nothing shows is worse than none",
		proofs(os.DirFS(root), "docs/security.md", packages(t)))
}

// tracked lists the files of the repository: those git tracks or, where git cannot tell, all that
// are there.
func tracked(tree fs.FS) (names []string, err error) {
	git := exec.Command("git", "ls-files", "-z")
	git.Dir = root
	if out, err := git.Output(); err == nil && len(out) > 0 {
		return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
	}
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}
