package aaep

import (
	"cmp"
	"slices"
	"strings"
)

// Text is what a person hears, in up to three lengths. Normal is the one every listener gets;
// Terse and Detailed are for those who asked for fewer or more words.
type Text struct {
	Terse    string `json:"summary_terse,omitzero"`
	Normal   string `json:"summary_normal,omitzero"`
	Detailed string `json:"summary_detailed,omitzero"`

	additions *addition // what In and With added, newest first; never changed
}

// An addition is one thing that goes with a Text: a translation that In added, which has tag and
// words, or data of an extension that With added, which has v and data.
type addition struct {
	next          *addition // the one that was added before it, or nil
	isTranslation bool
	tag           string // the language of words
	words         Text
	v             Vocabulary // the extension of data
	data          any
}

// Say returns a Text of normal length.
func Say(normal string) Text { return Text{Normal: normal} }

// In returns t with the same said in another language, named by its tag. A producer gives each
// listener the language it understands best.
//
//	aaep.Say("Planning your retirement.").In("es", aaep.Say("Planificando su jubilación."))
//
// A Text that has words by In alone is said in one of those languages, and labelled so, where the
// agent's own is another. Without a tag or without words, what is made of the Text is refused: see
// Extend.
func (t Text) In(tag string, words Text) Text {
	words.additions = nil
	t.additions = &addition{next: t.additions, isTranslation: true, tag: tag, words: words}
	return t
}

// With returns t with data of an extension that goes with it, such as the pattern of a haptic
// device, as Event.AddExtension takes it. It goes to those who named the extension.
func (t Text) With(v Vocabulary, data any) Text {
	t.additions = &addition{next: t.additions, v: v, data: data}
	return t
}

// Without returns t without what With added of an extension.
func (t Text) Without(v Vocabulary) Text {
	stripped := t
	stripped.additions = nil
	var keep []*addition
	for m := t.additions; m != nil; m = m.next {
		if m.v != v {
			keep = append(keep, m)
		}
	}
	for _, m := range slices.Backward(keep) {
		relinked := *m
		relinked.next = stripped.additions
		stripped.additions = &relinked
	}
	return stripped
}

// Translations returns what In added, by tag; of two for one tag the newer.
func (t Text) Translations() map[string]Text {
	var translations map[string]Text
	for m := t.additions; m != nil; m = m.next {
		if _, ok := translations[m.tag]; ok || !m.isTranslation || m.tag == "" {
			continue
		}
		if translations == nil {
			translations = map[string]Text{}
		}
		translations[m.tag] = m.words
	}
	return translations
}

// Extend puts on an event the data of extensions that With added to t, in that order. Of two with
// one prefix and one URI the newer counts; with two URIs that is an *InvalidError, for an event has
// room for one of them. So is what would be dropped: words that In has no tag for, and a tag that
// In has no words for.
func (t Text) Extend(ev *Event) error {
	var extensions []*addition
	for m := t.additions; m != nil; m = m.next {
		problem := ""
		switch {
		case !m.isTranslation:
			extensions = append(extensions, m)
		case m.tag == "":
			problem = "has words that were given to Text.In without the tag of their language, such as en"
		case m.words.At(VerbosityNormal) == "":
			problem = "was given to Text.In for " + oneLine(shortenName(m.tag)) +
				" without words; leave that language out"
		}
		if problem != "" {
			return &InvalidError{Message: ev.MessageType(), Violations: []Violation{{
				Requirement: "I18N-006", Pointer: "/summary_normal", Problem: problem}}}
		}
	}
	uris := map[string]string{}
	for _, m := range slices.Backward(extensions) {
		if uri, ok := uris[m.v.Prefix]; ok && uri != m.v.URI {
			return &InvalidError{Message: ev.MessageType(),
				Violations: []Violation{{Requirement: "EXT-002", Pointer: appendPointer("/extensions", m.v.Prefix),
					Problem: "has data of both " + uri + " and " + m.v.URI + "; give one of them"}}}
		}
		uris[m.v.Prefix] = m.v.URI
		if err := ev.AddExtension(m.v, m.data); err != nil {
			return err
		}
	}
	return nil
}

// At returns the wording for verbosity v, or the nearest one there is, or "".
func (t Text) At(v Verbosity) string {
	switch v {
	case VerbosityTerse:
		return cmp.Or(t.Terse, t.Normal, t.Detailed)
	case VerbosityDetailed:
		return cmp.Or(t.Detailed, t.Normal, t.Terse)
	}
	return cmp.Or(t.Normal, t.Detailed, t.Terse)
}

// IsZero reports whether there is no wording at all, in any language.
func (t Text) IsZero() bool { return t.At(VerbosityNormal) == "" && len(t.Translations()) == 0 }

// spaceOut returns a name such as awaiting_input as words.
func spaceOut(name string) string { return strings.ReplaceAll(name, "_", " ") }
