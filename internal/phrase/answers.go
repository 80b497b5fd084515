package phrase

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// answers are the words for a yes and for a no in each language, with all their accents. The first of them is the one that the
// sentences offer: where a letter alone means something else to the ear, or begins both, that is a word. What is a yes in one
// language is a no in none, also where somebody leaves the accents out.
var answers = map[string]struct{ yes, no []string }{
	"en": {[]string{"y", "yes"}, []string{"n", "no"}},
	"ar": {[]string{"نعم", "ن"}, []string{"لا", "ل"}},
	"de": {[]string{"j", "ja"}, []string{"n", "nein"}},
	"es": {[]string{"s", "sí"}, []string{"n", "no"}},
	"fr": {[]string{"o", "oui"}, []string{"n", "non"}},
	"yo": {[]string{"bẹ́ẹ̀ni", "bẹ́ẹ̀ ni"}, []string{"rárá", "bẹ́ẹ̀ kọ́", "bẹ́ẹ̀kọ́"}},
}

// Answer reads a line that somebody typed or dictated: a whole word for a yes or a no in English or in the languages of the tags,
// and nothing else. Capitals make no difference, nor do missing accents and the full stop of a dictation, but for a single letter.
func Answer(line string, tags ...string) (yes, ok bool) {
	for _, tag := range append([]string{"en"}, tags...) {
		language := answers[known(tag)]
		switch {
		case slices.ContainsFunc(language.yes, is(line)):
			return true, true
		case slices.ContainsFunc(language.no, is(line)):
			return false, true
		}
	}
	return false, false
}

// Decision is Answer to whether something shall be done: then the words by which such an answer is told are answers too.
func Decision(line string, tags ...string) (accept, ok bool) {
	for _, tag := range append([]string{"en"}, tags...) {
		for id, accept := range map[ID]bool{SaidAccept: true, SaidReject: false} {
			if word, _ := In(tag, id, ""); is(line)(word) {
				return accept, true
			}
		}
	}
	return Answer(line, tags...)
}

// Is reports whether a line that somebody typed or dictated is a word, as Answer reads it.
func Is(line, word string) bool { return is(line)(word) }

// is returns whether a word is what somebody meant by a line.
func is(line string) func(word string) bool {
	return func(word string) bool {
		if utf8.RuneCountInString(word) == 1 {
			return folded(word) == folded(line)
		}
		return bare(word) == bare(strings.TrimSuffix(strings.TrimSpace(line), "."))
	}
}

func folded(word string) string {
	return cases.Fold().String(norm.NFC.String(strings.TrimSpace(word)))
}

// bare is a word without its accents.
func bare(word string) string {
	return folded(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(word)))
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
		yes, _, _ := strings.Cut(l.says[Decide], " "+answers[l.tag].yes[0]+" ")
		_, middle := offered(l.says[Decide], l.tag)
		all = append(all, Offer{yes, middle}) // with another word, as DecideBy has one
		for _, sentence := range []string{l.says[Decide], l.says[DecideAgain], before + l.says[YesOrNo] + after} {
			start, middle := offered(sentence, l.tag)
			all = append(all, Offer{start, middle})
		}
		for _, id := range []ID{ANumberTo, ANumber, YourAnswer} {
			what, _, _ := strings.Cut(l.says[id], "{")
			what = strings.TrimRight(what, "0123456789.,")
			all = append(all, Offer{Start: before + what})
		}
	}
	return all
}
