package phrase

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Alphabet is the letters of a language, without those of the alphabets before it in a list.
type Alphabet struct {
	Tag     string
	Letters []string
}

// Alphabets returns the letters in which a person can write text in the languages of tags, in their
// order, and in English: without marks, those that are in two languages once.
func Alphabets(tags ...string) (list []Alphabet) {
	seen := map[rune]bool{}
	for _, tag := range append(slices.Clone(tags), english().tag) {
		c := catalogueFor(tag)
		if c == nil {
			continue
		}
		a := Alphabet{Tag: c.tag}
		for _, r := range norm.NFD.String(headerField(c.header, "X-Letters")) {
			if unicode.IsLetter(r) && !seen[r] {
				seen[r] = true
				a.Letters = append(a.Letters, string(r))
			}
		}
		if len(a.Letters) > 0 {
			list = append(list, a)
		}
	}
	return list
}

// LatinMarks returns the marks that stand on Latin letters in any of the languages.
func LatinMarks() (marks []rune) {
	for _, c := range catalogues() {
		for _, r := range norm.NFD.String(headerField(c.header, "X-Letters")) {
			if strings.EqualFold(c.script, "Latn") && unicode.Is(unicode.Mn, r) && !slices.Contains(marks, r) {
				marks = append(marks, r)
			}
		}
	}
	return marks
}
