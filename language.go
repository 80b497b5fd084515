package aaep

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// TextIn is Text for a listener who understands languages, best first: the wording in the one that serves
// best, and that wording's language tag, "" if the peer did not say. An event is in its own language, and may
// carry summaries in others as members such as "summary_normal_yo_ng" (§11.5.1). When none of the languages
// is among them, the event's fallback chain is tried, then the text is as Text returns it, in English where
// it is made from the payload.
//
// For each language the same tag is best, then one that says more, as en-US does for en, then the one that
// shares most of its subtags; case does not matter, and scripts are not crossed. It is a smaller matching
// than that of package handshake, which also knows the scripts that tags imply.
func (e *Event) TextIn(v Verbosity, languages []string) (text, language string) {
	own := e.Language()
	all := wordings(e, own)
	chain := []string(nil)
	if e.LocalizationHints != nil {
		chain = e.LocalizationHints.FallbackChain
	}
	for _, list := range [...][]string{languages, chain} {
		for _, want := range list {
			best, most := -1, 0
			for i := range all {
				if n := nearness(want, all[i].tag); n > most {
					best, most = i, n
				}
			}
			if best >= 0 {
				return all[best].text.At(v), all[best].tag
			}
		}
	}
	text = e.Text(v)
	if text != "" && e.Summary.IsZero() && e.spoken() == "" {
		own = "en" // this package made the words
	}
	return text, own
}

// spoken returns what the payload itself says in the producer's words.
func (e *Event) spoken() string {
	switch p := e.Payload.(type) {
	case *ProgressUpdated:
		if p != nil {
			return p.Progress.Description
		}
	case *OutputStreaming, *AwaitingConfirmation, *AwaitingClarification:
		return e.Text(VerbosityNormal)
	}
	return ""
}

// A wording is an event's summary in one language.
type wording struct {
	tag  string
	text Text
}

// maxWordings is how many languages of one event are looked at.
const maxWordings = 64

// wordings returns the event's own text, if it has one, and its variants, one for each language.
func wordings(e *Event, own string) (all []wording) {
	if !e.Summary.IsZero() {
		all = append(all, wording{own, e.Summary})
	} else if s := e.spoken(); s != "" {
		all = append(all, wording{own, Say(s)})
	}
	if len(e.Unknown) == 0 || e.Type() == TypeOutputStreaming {
		return all
	}
	eachMember(e.Unknown, func(name string, value []byte) {
		base, tag := variant(name)
		if tag == "" {
			return
		}
		words, err := jsontext.AppendUnquote(nil, value)
		if err != nil || len(words) == 0 {
			return
		}
		i := 0
		for i < len(all) && !strings.EqualFold(all[i].tag, tag) {
			i++
		}
		if i == len(all) {
			if len(all) == maxWordings {
				return
			}
			all = append(all, wording{tag: tag})
		}
		switch t := &all[i].text; {
		case base == "summary_terse" && t.Terse == "":
			t.Terse = string(words)
		case base == "summary_normal" && t.Normal == "":
			t.Normal = string(words)
		case base == "summary_detailed" && t.Detailed == "":
			t.Detailed = string(words)
		}
	})
	return all
}

var summaryMembers = [...]string{"summary_normal", "summary_terse", "summary_detailed"}

// variant returns what a member such as "summary_normal_yo_NG" is a variant of, and its language tag, yo-NG;
// or "" if it is none. We write such names in lower case with underscores, and read any case and hyphens (D-73).
func variant(name string) (base, tag string) {
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

// maxTag is the length of the longest tag that is compared. Real ones have some 35 characters at most.
const maxTag = 128

// nearness says how well a tag serves who asked for another: 0 is not at all.
func nearness(want, have string) int {
	if want == "" || have == "" || len(want) > maxTag || len(have) > maxTag {
		return 0
	}
	if strings.EqualFold(want, have) {
		return 1 << 20
	}
	shared := 0
	for w, h := want, have; w != "" && h != ""; shared++ {
		var a, b string
		a, w, _ = strings.Cut(w, "-")
		b, h, _ = strings.Cut(h, "-")
		if !strings.EqualFold(a, b) {
			break
		}
	}
	if shared == 0 || scriptsDiffer(want, have) {
		return 0
	}
	n := 16 * shared
	if shared == subtags(have) || shared == subtags(want) {
		n += 8 // one of them only says more, which is better than another region
	}
	return n
}

func subtags(tag string) int { return strings.Count(tag, "-") + 1 }

// scriptsDiffer reports whether a text in one of the languages may be unreadable to who asked for the other. A
// tag without script serves all of its language's (D-75).
func scriptsDiffer(a, b string) bool {
	a, b = scriptIn(a), scriptIn(b)
	return a != "" && b != "" && !strings.EqualFold(a, b)
}

// scriptIn returns the script that a tag names, or that it implies by its region where that is common: Chinese.
func scriptIn(tag string) string {
	language, rest, _ := strings.Cut(tag, "-")
	sub, rest, _ := strings.Cut(rest, "-")
	if len(sub) == 3 && !isDigit(sub[0]) { // an extended language, as in zh-yue-Hant
		sub, _, _ = strings.Cut(rest, "-")
	}
	switch {
	case len(sub) == 4 && !isDigit(sub[0]):
		return sub
	case !strings.EqualFold(language, "zh"):
		return ""
	}
	switch strings.ToUpper(sub) {
	case "TW", "HK", "MO":
		return "Hant"
	case "CN", "SG", "MY":
		return "Hans"
	}
	return ""
}
