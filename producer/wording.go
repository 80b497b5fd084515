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

// speech is what an event says, in every language in which there are words for it, the event's own
// first. The Shaper of each subscription chooses the language that its user understands best.
type speech struct {
	wordings      []wording // empty in the zero speech alone, which says nothing
	extensionData aaep.Text // the data of extensions that this has goes with the event; its words do not

	data *dataCheck // what became of checking that data without a lock; nil is not checked

	urgent bool // the event is critical, whatever its type

	// These are for an event of an extension's own type.
	vocabulary aaep.Vocabulary
	members    json.RawMessage
}

// wording is a speech in one language.
type wording struct {
	lang    string // the tag of the language
	text    aaep.Text
	payload aaep.Payload // nil: the payload of the event's own language
}

// speechOrPhrase returns the author's text or, where that is empty, the package's own phrase with
// arg put into it.
func (p *Producer) speechOrPhrase(text aaep.Text, id phrase.ID, arg string) speech {
	if text.IsZero() {
		sp := p.phraseSpeech(id, func(string) (string, bool) { return arg, true })
		sp.extensionData = text
		return sp
	}
	return p.authoredSpeech(text)
}

// authoredSpeech returns the author's text in all languages that it has. The first of them is the
// agent's own or, if the text has no words in that, the one that foreignLanguage chooses.
func (p *Producer) authoredSpeech(text aaep.Text) speech {
	all := text.Translations()
	first := aaep.Text{Terse: text.Terse, Normal: text.At(aaep.VerbosityNormal), Detailed: text.Detailed}
	sp := speech{wordings: []wording{{lang: p.cfg.Language, text: first}}, extensionData: text}
	if tag := foreignLanguage(text); tag != "" {
		sp.wordings = nil
		sp.addLanguage(tag, all[tag])
		delete(all, tag)
	}
	for _, tag := range slices.Sorted(maps.Keys(all)) {
		sp.addLanguage(tag, all[tag])
	}
	return sp
}

// addLanguage adds the text t, which is in the language tag, after the languages that sp has.
func (sp *speech) addLanguage(tag string, t aaep.Text) {
	t.Normal = t.At(aaep.VerbosityNormal)
	sp.wordings = append(sp.wordings, wording{lang: tag, text: t})
}

// foreignLanguage returns the first language of a text that has no words in the agent's own:
// English if it has that, and otherwise the first of its tags in the order of the alphabet. It
// returns "" for a text in the agent's own language, or without words.
func foreignLanguage(t aaep.Text) string {
	all := t.Translations()
	if _, ok := all["en"]; t.At(aaep.VerbosityNormal) != "" || len(all) == 0 {
		return ""
	} else if ok {
		return "en"
	}
	return slices.Min(slices.Collect(maps.Keys(all)))
}

// phraseSpeech returns one of the package's own phrases in every language offered that has it, in
// English where the agent's own language has none. arg returns the words to put into the phrase in
// a language, and whether there are some; for "" it returns those of the first language.
func (p *Producer) phraseSpeech(id phrase.ID, arg func(tag string) (string, bool)) speech {
	var sp speech
	for i, tag := range p.offer.Languages {
		argument, ok := arg(tag)
		if i == 0 && !ok {
			argument, _ = arg("")
		}
		text, known := phrase.In(tag, id, argument)
		switch {
		case known && (ok || i == 0):
			sp.wordings = append(sp.wordings, wording{lang: tag, text: aaep.Say(text)})
		case i == 0: // there is no such phrase in the agent's language
			sp.wordings = append(sp.wordings, wording{lang: "en", text: aaep.Say(text)})
		}
	}
	return sp
}

// setPayloads gives each wording but the first a payload of its own. A wording in whose language
// payload has none is dropped, and its language is among leftOut.
func (sp *speech) setPayloads(payload func(tag string) (p aaep.Payload, ok bool)) (leftOut []string) {
	complete := sp.wordings[:1:1] // the event's own language has the event's payload
	for _, translation := range sp.wordings[1:] {
		if p, ok := payload(translation.lang); ok {
			translation.payload = p
			complete = append(complete, translation)
		} else {
			leftOut = append(leftOut, translation.lang)
		}
	}
	sp.wordings = complete
	return leftOut
}

// textIn returns the words of a text in a language, and whether the text has that language. The tag
// "" stands for the first language, see foreignLanguage. A text without words has every language.
func textIn(t aaep.Text, tag string) (words string, ok bool) {
	return textAt(t, tag, aaep.VerbosityNormal)
}

// textAt returns what textIn returns, at a verbosity: the words of a text in a language; ok is
// false where it has none.
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
	return aaep.Text{
		Terse: norm.NFC.String(t.Terse), Normal: norm.NFC.String(t.Normal), Detailed: norm.NFC.String(t.Detailed)}
}

// stateWords returns the phrase that announces a state where the author gives no text; a state of
// the agent's own is put into it by its name.
func stateWords(s aaep.State) phrase.ID {
	switch s {
	case aaep.StateIdle:
		return phrase.Idle
	case aaep.StateThinking:
		return phrase.Thinking
	case aaep.StateCallingTool:
		return phrase.UsingATool
	case aaep.StateWritingOutput:
		return phrase.Answering
	case aaep.StateAwaitingInput:
		return phrase.WaitingForAnswer
	case aaep.StateDeciding:
		return phrase.Deciding
	case aaep.StateHandingOff:
		return phrase.HandingOff
	}
	return phrase.InState
}
