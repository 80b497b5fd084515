package conformance

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ReadKnown reads a list for ProducerRun.Known: the name of a case on each line. What follows a # is a comment, and should say why.
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

// choose says which cases a run judges: those up to its level or, of these, the ones that were named.
func choose(level int, only, known []string, cases []Case) (chosen func(Case) bool, err error) {
	if level < 1 || level > 3 {
		return nil, fmt.Errorf("conformance: there is no level %d; it is 1, 2 or 3", level)
	}
	for _, name := range known {
		if !slices.ContainsFunc(cases, func(c Case) bool { return c.Name == name }) {
			return nil, fmt.Errorf("conformance: among the known failures is %q, and no case has that name", name)
		}
	}
	return func(c Case) bool {
		return c.Level <= level && (len(only) == 0 || slices.ContainsFunc(only, c.matches))
	}, nil
}

// known notes whether a result was expected.
func (res Result) known(names []string) Result {
	res.Known = slices.Contains(names, res.Case.Name)
	return res
}
