package aaep

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// maxVariants is how many languages of one event are read beside its own.
	maxVariants = 64
	// maxTag is the length of the longest tag that is read as one. Real ones have some 35
	// characters at most.
	maxTag = 128
)

// summaryMembers are the members of an event that have its summary.
var summaryMembers = [...]string{"summary_normal", "summary_terse", "summary_detailed"}

// splitVariant splits the name of a language variant, such as "summary_normal_yo_NG", into the
// member and its language tag, yo-NG; both are "" for any other name. We write such names in lower
// case with underscores, and read any case and hyphens (D-73).
func splitVariant(name string) (base, tag string) {
	for _, base := range summaryMembers {
		suffix, ok := strings.CutPrefix(name, base+"_")
		if !ok || len(suffix) > maxTag {
			continue
		}
		if tag := strings.ReplaceAll(suffix, "_", "-"); ValidLanguageTag(tag) {
			return base, tag
		}
	}
	return "", ""
}

// addVariant adds value, the JSON value of a language variant that splitVariant has split into base
// and tag, to the translations of an event. A value that is no text is passed over, and so are all
// of an event with more text than its summary, and the languages beyond maxVariants. Of two for one
// tag the first counts.
func (e *Event) addVariant(base, tag string, value []byte) {
	words, ok := asString(value)
	if !ok || words == "" || !toldBySummaryAlone(e.Payload) {
		return
	}
	i := slices.IndexFunc(e.Translations, func(t Translation) bool { return strings.EqualFold(t.Language(), tag) })
	if i < 0 {
		if len(e.Translations) == maxVariants {
			return
		}
		i = len(e.Translations)
		e.Translations = append(e.Translations,
			Translation{LocalizationHints: &LocalizationHints{PrimaryLanguage: tag}})
	}
	switch t := &e.Translations[i].Summary; base {
	case "summary_terse":
		t.Terse = cmp.Or(t.Terse, words)
	case "summary_normal":
		t.Normal = cmp.Or(t.Normal, words)
	case "summary_detailed":
		t.Detailed = cmp.Or(t.Detailed, words)
	}
}

// toldBySummaryAlone reports whether the summary is the only text for people in a payload's event.
// Other text is in the event's own language, and one label cannot be right for both.
func toldBySummaryAlone(payload Payload) bool {
	switch p := payload.(type) {
	case *OutputStreaming, *AwaitingConfirmation, *AwaitingClarification:
		return false
	case *SessionErrored:
		return p.RemediationHint == ""
	}
	return true
}
