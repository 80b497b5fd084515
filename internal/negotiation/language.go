package negotiation

import (
	"slices"
	"strings"

	"golang.org/x/text/language"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
)

// chooseLanguages returns the requested tags that match an offered one, in the order of the request
// (§5.4.4, §11.2). Where none does, it returns an empty list and adds a note if offer.AnyLanguage
// says so, and otherwise the error is an *aaep.Rejection that lists what is offered. A nil request,
// and an empty offer, are en-US.
func chooseLanguages(requested []string, offer Offer, note func(string, ...any)) ([]string, error) {
	if requested == nil {
		requested = defaultLanguages
	}
	offered := offer.Languages
	if len(offered) == 0 {
		offered = defaultLanguages
	}
	honored := []string{} // never nil: that would be the default at the next renegotiation
	for _, tag := range requested {
		if _, ok := MatchLanguage([]string{tag}, offered); ok {
			honored = append(honored, tag)
		}
	}
	if len(honored) > 0 {
		return honored, nil
	}
	if offer.AnyLanguage {
		note("%s", sayIn(phrase.Best(requested), phrase.NoneOfLanguages, offered[0]))
		return honored, nil
	}
	return nil, refuseLanguages(offered)
}

// MatchLanguage returns the offered tag that serves a person best, going through the requested
// tags in order (§11.1.3): the same tag; an offered tag that says more, as en-US does for en; then
// the requested tag with subtags dropped from the right. It never crosses scripts, unless the
// offered tag names neither script nor region and no tag of the requested script fits as well.
// Case does not matter.
func MatchLanguage(requested, offered []string) (tag string, ok bool) {
	longest := 0
	for _, offer := range offered {
		longest = max(longest, len(offer))
	}
	for _, want := range requested {
		script := scriptOf(want)
		for prefix := want; prefix != ""; prefix = dropSubtag(prefix) {
			if len(prefix) > longest {
				continue // a request may be as long as a message, and be nothing but subtags
			}
			for _, fits := range []func(offer string) bool{ // the best match first
				func(offer string) bool { return strings.EqualFold(offer, prefix) && scriptOf(offer) == script },
				func(offer string) bool { return isNarrower(offer, prefix) && scriptOf(offer) == script },
				func(offer string) bool { return strings.EqualFold(offer, prefix) && !strings.Contains(offer, "-") },
			} {
				if i := slices.IndexFunc(offered, fits); i >= 0 {
					return offered[i], true
				}
			}
		}
	}
	return "", false
}

// ChooseLanguage returns which of the languages of an event serves a person best: 0 is the
// event's own, also where none matches, and i is that of its translation i-1.
func ChooseLanguage(requested []string, ev *aaep.Event) int {
	tags := []string{ev.Language()}
	for _, t := range ev.Translations {
		tags = append(tags, t.Language())
	}
	if tag, ok := MatchLanguage(requested, tags); ok {
		return slices.Index(tags, tag)
	}
	return 0
}

// isNarrower reports whether a tag is another one with further subtags, as en-US is en with US.
func isNarrower(tag, wider string) bool {
	return len(tag) > len(wider) && tag[len(wider)] == '-' && strings.EqualFold(tag[:len(wider)], wider)
}

// dropSubtag takes the last subtag off a tag; it returns "" where no language would be left.
func dropSubtag(tag string) string {
	i := strings.LastIndexByte(tag, '-')
	// A single letter introduces the subtags after it and goes with them.
	if i >= 2 && tag[i-2] == '-' {
		i -= 2
	}
	if i < 2 { // a first subtag x or i introduces too, and is no language
		return ""
	}
	return tag[:i]
}

// scriptOf returns the script that a tag names or implies, such as Latn.
func scriptOf(tag string) string {
	// The script is among the first subtags, and Parse is slow on long tags. It leaves out what it
	// does not know.
	t, _ := language.Parse(tag[:min(len(tag), 64)])
	s, _ := t.Script()
	return s.String()
}
