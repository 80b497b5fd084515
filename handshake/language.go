package handshake

import (
	"fmt"
	"strings"

	"golang.org/x/text/language"

	"github.com/aaep-go/aaep"
)

// languages returns the requested tags that match something offered (§5.4.4, §11.2).
func languages(requested []string, offer Offer, note func(string, ...any)) ([]string, error) {
	if requested == nil {
		requested = defaultLanguages
	}
	offered := offer.Languages
	if len(offered) == 0 {
		offered = defaultLanguages
	}
	var honored []string
	for _, tag := range requested {
		if _, ok := MatchLanguage([]string{tag}, offered); ok {
			honored = append(honored, tag)
		}
	}
	if len(honored) > 0 {
		return honored, nil
	}
	if offer.AnyLanguage {
		note("None of the requested languages is available; text is in %s.", offered[0])
		return nil, nil
	}
	return nil, &aaep.Rejection{Code: aaep.CapabilitiesIncompatible,
		Message: fmt.Sprintf("None of the requested languages is available. Available: %s.", strings.Join(offered, ", "))}
}

// MatchLanguage returns the offered tag that serves a listener best, going through the requested tags in
// order (§11.1.3): the same tag; an offered tag that says more, as en-US does for en; then the
// requested tag with subtags dropped from the right. It never crosses scripts, unless the offered
// tag names neither script nor region. Case does not matter.
func MatchLanguage(requested, offered []string) (tag string, ok bool) {
	for _, want := range requested {
		script := scriptOf(want)
		for cut := strings.ToLower(want); cut != ""; cut = dropSubtag(cut) {
			for _, exact := range []bool{true, false} {
				for _, have := range offered {
					lower := strings.ToLower(have)
					fits := lower == cut
					if !exact {
						fits = strings.HasPrefix(lower, cut+"-")
					}
					if fits && (!strings.Contains(have, "-") || scriptOf(have) == script) {
						return have, true
					}
				}
			}
		}
	}
	return "", false
}

func dropSubtag(tag string) string {
	i := strings.LastIndexByte(tag, '-')
	if i < 0 {
		return ""
	}
	// A single letter introduces the subtags after it and goes with them.
	if i >= 2 && tag[i-2] == '-' {
		i -= 2
	}
	return tag[:i]
}

// scriptOf returns the script a tag names or implies.
func scriptOf(tag string) string {
	t, err := language.Parse(tag)
	if err != nil {
		return ""
	}
	s, _ := t.Script()
	return s.String()
}
