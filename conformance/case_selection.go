package conformance

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
)

// ReadKnown reads a list for ProducerRun.Known: the name of a case on each line. Empty lines and
// what follows a # are left out; a comment should say why. A line with several words is an error
// that names it.
func ReadKnown(r io.Reader) (names []string, err error) {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		name, _, _ := strings.Cut(lines.Text(), "#")
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("line %d: %q is not the name of one case", n, name)
		}
		names = append(names, name)
	}
	return names, lines.Err()
}

// beginReport fills in what the report is of, and returns which cases are chosen: those up to its
// level or, of these, the ones that only names. The error is for a level or a profile that there is
// not, and for a name in only or known that no case has; extra is the cases from outside, which a
// profile needs.
func (r *Report) beginReport(cases, extra []Case, only, known []string) (chosen func(Case) bool, err error) {
	r.Suite, r.SuiteVersion, r.SpecVersion, r.Began, r.Partial = "aaep-go", SuiteVersion, aaep.Version,
		time.Now().UTC(), len(only) > 0
	switch {
	case r.Level < 1 || r.Level > 3:
		return nil, fmt.Errorf("conformance: there is no level %d; it is 1, 2 or 3", r.Level)
	case r.Profile != "" && len(extra) == 0:
		return nil, fmt.Errorf("conformance: the profile %q has no cases; they go into Extra", r.Profile)
	}
	for _, name := range only {
		if len(Match(cases, name)) == 0 {
			why := ""
			if r.Kind == "producer" {
				why = ": " + whyUnjudged(name)
			}
			return nil, fmt.Errorf("conformance: no case for %ss is named %q or decides it%s", r.Kind, name, why)
		}
	}
	for _, name := range known {
		if !slices.ContainsFunc(cases, func(c Case) bool { return c.Name == name }) {
			return nil, fmt.Errorf("conformance: among the known failures is %q, and no case has that name", name)
		}
	}
	return func(c Case) bool {
		return c.Level <= r.Level && (len(only) == 0 || slices.ContainsFunc(only, c.isNamed))
	}, nil
}

// withKnown notes whether a result was expected.
func (res Result) withKnown(names []string) Result {
	res.Known = slices.Contains(names, res.Case.Name)
	return res
}
