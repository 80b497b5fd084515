package phrase

import (
	"slices"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// answers are the words for a yes and for a no in each language. The first of them is the one that the sentences offer. What is
// a yes in one language is a no in none, also where somebody leaves the accents out.
var answers = map[string]struct{ yes, no []string }{
	"en": {[]string{"y", "yes"}, []string{"n", "no"}},
	"ar": {[]string{"ن", "نعم"}, []string{"ل", "لا"}},
	"de": {[]string{"j", "ja"}, []string{"n", "nein"}},
	"es": {[]string{"s", "sí", "si"}, []string{"n", "no"}},
	"fr": {[]string{"o", "oui"}, []string{"n", "non"}},
	"yo": {[]string{"bẹ́ẹ̀ni", "bẹ́ẹ̀ ni", "bẹẹni", "beeni"}, []string{"rárá", "rara"}}, // a letter would stand for bẹ́ẹ̀ kọ́ too
}

// Answer reads a line that somebody typed: a whole word for a yes or a no in English or in the languages of the tags, and nothing
// else. Capitals make no difference.
func Answer(line string, tags ...string) (yes, ok bool) {
	line = folded(line)
	is := func(word string) bool { return folded(word) == line }
	for _, tag := range append([]string{"en"}, tags...) {
		language := known(tag)
		switch {
		case slices.ContainsFunc(answers[language].yes, is):
			return true, true
		case slices.ContainsFunc(answers[language].no, is):
			return false, true
		}
	}
	return false, false
}

func folded(word string) string {
	return cases.Fold().String(norm.NFC.String(strings.TrimSpace(word)))
}

// offered is the start of a sentence that asks for a yes or a no, to the word for a yes, and what is between that and the
// word for a no.
func offered(sentence, language string) (start, middle string) {
	yes, no := answers[language].yes[0], answers[language].no[0]
	before, rest, _ := strings.Cut(sentence, " "+yes+" ")
	middle, _, _ = strings.Cut(rest, " "+no+" ")
	if i := strings.LastIndex(middle, " "); i >= 0 { // the or
		middle = middle[:i]
	}
	return before + " " + yes, middle
}

// Offer is how a line begins that asks somebody to type something: its start, and what else is in it where that alone is a common
// beginning. Whoever reads the line relies on it.
type Offer struct{ Start, In string }

// Offers returns those of every language.
func Offers() (all []Offer) {
	for _, l := range languages {
		before, after, _ := strings.Cut(l.says[TypeIt], "{what}")
		for _, sentence := range []string{l.says[Decide], l.says[DecideAgain], before + l.says[YesOrNo] + after} {
			start, middle := offered(sentence, l.tag)
			all = append(all, Offer{start, middle})
		}
		for _, id := range []ID{ANumberTo, ANumber, YourAnswer} {
			what, _, _ := strings.Cut(l.says[id], "{")
			what, _, _ = strings.Cut(what, "12.5")
			all = append(all, Offer{Start: before + what})
		}
	}
	return all
}
