//go:build linux

package speechd

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"
)

// A Scene is what a person must hear in it, in words that one who uses a screen reader can check.
type Scene struct{ hears, once, never []string }

// ReadScene reads a file that describes a scene in plain words and then has lines that begin with
// "hears", for what is heard to its end, each after that of the line before or in the same breath;
// "once", for what is heard exactly once; and "never", for what is not asked to be said at all.
func ReadScene(t *testing.T, path string) (s Scene) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]*[]string{"hears": &s.hears, "once": &s.once, "never": &s.never}
	for line := range strings.Lines(string(text)) {
		rule, words, _ := strings.Cut(strings.TrimSpace(line), " ")
		if list := rules[rule]; list != nil {
			*list = append(*list, words)
		}
	}
	if len(s.hears) == 0 {
		t.Fatalf("%s: nothing is to be heard", path)
	}
	return s
}

// Missing returns the first words of the scene that were not heard to their end in all, or not
// where they belong; "" if all were.
func (s Scene) Missing(all []Message) string {
	next, from := 0, 0
	for _, words := range s.hears {
		for ; next < len(all); next, from = next+1, 0 {
			if i := strings.Index(all[next].Words()[from:], words); i >= 0 && all[next].Heard() {
				from += i + len(words)
				break
			}
		}
		if next == len(all) {
			return words
		}
	}
	return ""
}

// Faults returns, in words, all that was not as the scene says; none if all was.
func (s Scene) Faults(all []Message) (faults []string) {
	if words := s.Missing(all); words != "" {
		faults = append(faults, fmt.Sprintf("%q was not heard to its end, or not where it belongs", words))
	}
	for _, words := range s.once {
		n := 0
		for _, m := range all {
			if m.Heard() {
				n += strings.Count(m.Words(), words)
			}
		}
		if n != 1 {
			faults = append(faults, fmt.Sprintf("%q was heard %d times", words, n))
		}
	}
	for _, words := range s.never {
		for _, m := range all {
			if strings.Contains(m.Words(), words) {
				faults = append(faults, fmt.Sprintf("it was said: %q", m.Words()))
			}
		}
	}
	return faults
}

var markup = regexp.MustCompile(`<[^>]*>`)

// Words is the text of a message without its markup.
func (m Message) Words() string {
	return strings.TrimSpace(html.UnescapeString(markup.ReplaceAllString(m.Text, "")))
}
