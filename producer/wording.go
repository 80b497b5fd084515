package producer

import (
	"encoding/json"
	"maps"
	"slices"

	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/phrase"
)

// speech is what an event says, in every language it can be said in, the event's own first. The
// Shaper of each subscription takes the language that its user understands best.
type speech struct {
	in   []said    // empty in the zero speech alone, which says nothing
	with aaep.Text // its extension data goes along

	urgent bool // the event is critical, whatever its type

	// These are for an event of an extension's own type.
	vocabulary aaep.Vocabulary
	members    json.RawMessage
}

// said is a speech in one language.
type said struct {
	lang    string
	text    aaep.Text
	payload aaep.Payload // nil: the payload of the event's own language
}

// speechOrPhrase returns the author's text or, where that is empty, the package's own phrase with
// arg put into it.
func (p *Producer) speechOrPhrase(text aaep.Text, id phrase.ID, arg string) speech {
	if text.IsZero() {
		sp := p.phraseSpeech(id, func(string) (string, bool) { return arg, true })
		sp.with = text
		return sp
	}
	return p.authoredSpeech(text)
}

// authoredSpeech returns the author's text in all languages that it has. It is said first in the
// agent's own language or, if it has no words in that, as foreignLanguage says.
func (p *Producer) authoredSpeech(text aaep.Text) speech {
	all := text.Translations()
	own := aaep.Text{Terse: text.Terse, Normal: text.At(aaep.VerbosityNormal), Detailed: text.Detailed}
	sp := speech{in: []said{{lang: p.cfg.Language, text: own}}, with: text}
	if tag := foreignLanguage(text); tag != "" {
		sp.in = nil
		sp.addLanguage(tag, all[tag])
		delete(all, tag)
	}
	for _, tag := range slices.Sorted(maps.Keys(all)) {
		sp.addLanguage(tag, all[tag])
	}
	return sp
}

// addLanguage adds a text in one more language.
func (sp *speech) addLanguage(tag string, t aaep.Text) {
	t.Normal = t.At(aaep.VerbosityNormal)
	sp.in = append(sp.in, said{lang: tag, text: t})
}

// foreignLanguage returns the language that a text is said in first if it says nothing in the
// agent's own: English if it has that. Otherwise it returns "".
func foreignLanguage(t aaep.Text) string {
	all := t.Translations()
	if _, ok := all["en"]; t.At(aaep.VerbosityNormal) != "" || len(all) == 0 {
		return ""
	} else if ok {
		return "en"
	}
	return slices.Min(slices.Collect(maps.Keys(all)))
}

// phraseSpeech returns one of the package's own phrases, in every language offered that has it. arg
// returns what is put into it in a language, and whether there is that; "" stands for the first
// language.
func (p *Producer) phraseSpeech(id phrase.ID, arg func(tag string) (string, bool)) speech {
	var sp speech
	for i, tag := range p.offer.Languages {
		what, ok := arg(tag)
		if i == 0 && !ok {
			what, _ = arg("")
		}
		text, known := phrase.In(tag, id, what)
		switch {
		case known && (ok || i == 0):
			sp.in = append(sp.in, said{lang: tag, text: aaep.Say(text)})
		case i == 0: // there is no such phrase in the agent's language
			sp.in = append(sp.in, said{lang: "en", text: aaep.Say(text)})
		}
	}
	return sp
}

// setPayloads gives each translation a payload of its own, or drops it where payload has none for
// its language.
func (sp *speech) setPayloads(payload func(tag string) (p aaep.Payload, ok bool)) {
	own, rest := sp.in[:1:1], sp.in[1:]
	for _, s := range rest {
		if p, ok := payload(s.lang); ok {
			s.payload = p
			own = append(own, s)
		}
	}
	sp.in = own
}

// textIn returns what a text says in a language, and whether it says anything there; "" is the
// language that it is said in first. A text without words says nothing, in every language.
func textIn(t aaep.Text, tag string) (words string, ok bool) {
	return textAt(t, tag, aaep.VerbosityNormal)
}

// textAt is textIn at a verbosity other than normal.
func textAt(t aaep.Text, tag string, v aaep.Verbosity) (words string, ok bool) {
	if tag == "" {
		tag = foreignLanguage(t)
	}
	if tag != "" && !t.IsZero() {
		if t, ok = t.Translations()[tag]; !ok {
			return "", false
		}
	}
	return norm.NFC.String(t.At(v)), true
}

// localizationHints returns the language of a text, and its direction, as an event has them.
func localizationHints(lang, text string) *aaep.LocalizationHints {
	return &aaep.LocalizationHints{PrimaryLanguage: lang, TextDirection: negotiation.Direction(lang, text)}
}

// normalForm returns a text with all its wordings in Unicode normal form C.
func normalForm(t aaep.Text) aaep.Text {
	return aaep.Text{Terse: norm.NFC.String(t.Terse), Normal: norm.NFC.String(t.Normal), Detailed: norm.NFC.String(t.Detailed)}
}
