package producer

import (
	"encoding/json"
	"maps"
	"slices"

	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/phrase"
)

// A speech is what an event says, in every language it can be said in, the event's own first. Each subscription's
// Shaper takes the one its listener understands best.
type speech struct {
	in   []said
	with aaep.Text // its extension data goes along

	urgent bool // it is critical, whatever its type

	// For an event of an extension's own:
	vocabulary aaep.Vocabulary
	members    json.RawMessage
}

// said is a speech in one language.
type said struct {
	lang    string
	text    aaep.Text
	payload aaep.Payload // nil: as in the event's own language
}

// words returns the author's text, or, where that has none, the package's own phrase.
func (p *Producer) words(text aaep.Text, id phrase.ID, arg string) speech {
	if text.IsZero() {
		sp := p.phrase(id, func(string) (string, bool) { return arg, true })
		sp.with = text
		return sp
	}
	return p.authored(text)
}

// authored returns what the author said, in the languages of its translations.
func (p *Producer) authored(text aaep.Text) speech {
	all := text.Translations()
	own := aaep.Text{Terse: text.Terse, Normal: text.At(aaep.VerbosityNormal), Detailed: text.Detailed}
	sp := speech{in: []said{{lang: p.cfg.Language, text: own}}, with: text}
	if tag := foreign(text); tag != "" {
		sp.in = nil
		sp.say(tag, all[tag])
		delete(all, tag)
	}
	for _, tag := range slices.Sorted(maps.Keys(all)) {
		sp.say(tag, all[tag])
	}
	return sp
}

func (sp *speech) say(tag string, t aaep.Text) {
	t.Normal = t.At(aaep.VerbosityNormal)
	sp.in = append(sp.in, said{lang: tag, text: t})
}

// foreign is the language of a text that says nothing in the agent's own: English, if it is in that. Else it is "".
func foreign(t aaep.Text) string {
	all := t.Translations()
	if _, ok := all["en"]; t.At(aaep.VerbosityNormal) != "" || len(all) == 0 {
		return ""
	} else if ok {
		return "en"
	}
	return slices.Min(slices.Collect(maps.Keys(all)))
}

// phrase returns one of the package's own phrases. Arg is what is put into it, where there is that in a language.
func (p *Producer) phrase(id phrase.ID, arg func(tag string) (string, bool)) speech {
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
		case i == 0: // English, whatever the agent speaks
			sp.in = append(sp.in, said{lang: "en", text: aaep.Say(text)})
		}
	}
	return sp
}

// translate gives each translation its own payload, or drops it where make has none for its language.
func (sp *speech) translate(payload func(tag string) (p aaep.Payload, ok bool)) {
	own, rest := sp.in[:1:1], sp.in[1:]
	for _, s := range rest {
		if p, ok := payload(s.lang); ok {
			s.payload = p
			own = append(own, s)
		}
	}
	sp.in = own
}

// in returns what a text says in a language, if it says anything there; "" is the language it is said in first. A
// text without words says nothing in every language.
func in(t aaep.Text, tag string) (words string, ok bool) { return inAt(t, tag, aaep.VerbosityNormal) }

func inAt(t aaep.Text, tag string, v aaep.Verbosity) (words string, ok bool) {
	if tag == "" {
		tag = foreign(t)
	}
	if tag != "" && !t.IsZero() {
		if t, ok = t.Translations()[tag]; !ok {
			return "", false
		}
	}
	return norm.NFC.String(t.At(v)), true
}

func hints(lang, text string) *aaep.LocalizationHints {
	return &aaep.LocalizationHints{PrimaryLanguage: lang, TextDirection: handshake.Direction(lang, text)}
}

func composed(t aaep.Text) aaep.Text {
	return aaep.Text{Terse: norm.NFC.String(t.Terse), Normal: norm.NFC.String(t.Normal), Detailed: norm.NFC.String(t.Detailed)}
}
