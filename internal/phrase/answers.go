package phrase

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Answer reads a line that a person typed or dictated: a whole word for a yes or a no in English or
// in the languages of the tags, and nothing else. Capitals make no difference, nor do missing
// accents and the full stop of a dictation, but for a single letter.
func Answer(line string, tags ...string) (yes, ok bool) {
	for _, tag := range append([]string{"en"}, tags...) {
		c := catalogueFor(tag)
		switch {
		case c == nil:
		case slices.ContainsFunc(c.yes, matchLine(line)):
			return true, true
		case slices.ContainsFunc(c.no, matchLine(line)):
			return false, true
		}
	}
	return false, false
}

// Decision is Answer for a question whether something shall be done: the words by which such an
// answer is announced, in English or a language of tags, are answers too.
func Decision(line string, tags ...string) (accept, ok bool) {
	for _, tag := range append([]string{"en"}, tags...) {
		for id, accept := range map[ID]bool{SaidAccept: true, SaidReject: false} {
			if word, _ := In(tag, id, ""); matchLine(line)(word) {
				return accept, true
			}
		}
	}
	return Answer(line, tags...)
}

// Is reports whether a line that a person typed or dictated is a word, as Answer reads it.
func Is(line, word string) bool { return matchLine(line)(word) }

// matchLine returns a function that reports whether a word is what the line means. Of a single
// letter the accents count: it has no others to be known by.
func matchLine(line string) func(word string) bool {
	return func(word string) bool {
		if utf8.RuneCountInString(word) == 1 {
			return foldCase(word) == foldCase(line)
		}
		return foldAccents(word) == foldAccents(strings.TrimSuffix(strings.TrimSpace(line), "."))
	}
}

// foldCase returns a word in NFC, without the difference of capitals and small letters.
func foldCase(word string) string {
	return cases.Fold().String(norm.NFC.String(strings.TrimSpace(word)))
}

// foldAccents returns a word without its accents and, as foldCase does, without capitals.
func foldAccents(word string) string {
	return foldCase(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(word)))
}

// splitOffer splits a sentence that offers a yes or a no, such as "Type yes to accept or no to
// reject": start ends with the word for a yes, and middle is what stands between that and the "or"
// before the word for a no.
func (c *catalogue) splitOffer(sentence string) (start, middle string) {
	yes, no := c.yes[0], c.no[0]
	start, rest, _ := strings.Cut(sentence, " "+yes+" ")
	middle, _, _ = strings.Cut(rest, " "+no+" ")
	if i := strings.LastIndex(middle, " "); i >= 0 { // the or
		middle = middle[:i]
	}
	return start + " " + yes, middle
}

// Offer is how a line begins that asks a person to type something: its start, and what else is in
// it where the start alone is a common beginning. Readers of the line rely on it.
type Offer struct{ Start, In string }

// Offers returns how the sentences begin by which every language offers to answer, for questions of
// every kind, so that a program can tell them from an agent's words.
func Offers() (offers []Offer) {
	for _, c := range catalogues() {
		before, after, _ := strings.Cut(c.text(TypeIt), "{what}")
		yes, _, _ := strings.Cut(c.text(Decide), " "+c.yes[0]+" ")
		_, middle := c.splitOffer(c.text(Decide))
		offers = append(offers, Offer{yes, middle}) // with another word, as DecideBy has one
		for _, sentence := range []string{c.text(Decide), c.text(DecideAgain), before + c.text(YesOrNo) + after} {
			start, middle := c.splitOffer(sentence)
			offers = append(offers, Offer{start, middle})
		}
		for _, id := range []ID{ANumberTo, ANumber, YourAnswer} {
			opening, _, _ := strings.Cut(c.text(id), "{")
			opening = strings.TrimRight(opening, "0123456789.,")
			offers = append(offers, Offer{Start: before + opening})
		}
	}
	return offers
}
