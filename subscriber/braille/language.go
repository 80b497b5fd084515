package braille

import (
	"context"
	"maps"
	"strings"
	"unicode"

	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep/subscriber/announce"
)

// DefaultTables are the tables of liblouis for Options.Tables: contracted where readers of the
// language usually read that, else uncontracted. There is none for Yoruba, Hausa and Igbo, in any
// version of liblouis up to 3.39.
func DefaultTables() map[string]string { return maps.Clone(defaultTables) }

var defaultTables = map[string]string{
	"af": "afr-za-g1.ctb", "ar": "ar-ar-g1.utb", "be": "bel.utb", "bg": "bg.utb", "bn": "be-in-g1.utb",
	"ca": "ca-g1.ctb",
	"cs": "cs-g1.ctb", "cy": "cy-cy-g1.utb", "da": "da-dk-g16.ctb", "de": "de-g1.ctb", "el": "el.ctb",
	"en": "en-ueb-g2.ctb",
	"eo": "eo-g1.ctb", "es": "es-g1.ctb", "et": "et-g0.utb", "fa": "fa-ir-g1.utb", "fi": "fi.utb",
	"fr": "fr-bfu-comp6.utb",
	"ga": "ga-g1.utb", "gu": "gu-in-g1.utb", "he": "he-IL.utb", "hi": "hi-in-g1.utb", "hr": "hr-g1.ctb",
	"hu": "hu-hu-g1.ctb",
	"is": "is.ctb", "it": "it-it-comp6.utb", "kn": "ka-in-g1.utb", "ko": "ko-2006-g1.ctb", "lg": "lg-ug-g1.utb",
	"lt": "lt-6dot.utb",
	"lv": "Lv-Lv-g1.utb", "ml": "ml-in-g1.utb", "mr": "mr-in-g1.utb", "ne": "np-in-g1.utb", "nl": "nl-NL-g0.utb",
	"nb": "no-no-g0.utb", "nn": "no-no-g0.utb", "no": "no-no-g0.utb", "pa": "pu-in-g1.utb", "pl": "Pl-Pl-g1.utb",
	"pt": "pt-pt-g1.utb", "ro": "ro.ctb", "ru": "ru-litbrl.ctb", "rw": "rw-rw-g1.utb", "si": "si-in-g1.utb",
	"sk": "sk-g1.ctb",
	"sl": "sl-si-g1.utb", "sr": "sr-g1.ctb", "st": "sot-za-g1.ctb", "sv": "sv-g1.ctb", "sw": "sw-ke-g1.utb",
	"ta": "ta-ta-g1.ctb",
	"te": "te-in-g1.utb", "tn": "tsn-za-g1.ctb", "tr": "tr-g1.ctb", "uk": "uk.utb", "ur": "ur-pk-g1.utb",
	"vi": "vi-vn-g1.ctb",
	"xh": "xh-za-g1.utb", "zu": "zu-za-g1.utb",
}

// languageLetters are those by which a language shows whether a table is for it: the ones that
// others do not have.
var languageLetters = map[string]string{
	"ak": "ɛɔ", "az": "ə", "bm": "ɛɔɲŋ", "cs": "ěřů", "cy": "ŵŷ", "ee": "ɖɛƒɣɔ", "eo": "ĉŝŭ", "et": "šž", "ff": "ɓɗŋ",
	"ha": "ɓɗƙ",
	"hr": "čšž", "hu": "őű", "ig": "ịọụ", "ln": "ɛɔ", "lt": "ėų", "lv": "ģķ", "mt": "ħġ", "pl": "łąę", "ro": "șț",
	"sk": "ľŕ",
	"sl": "čšž", "tr": "ğış", "tw": "ɛɔ", "vi": "đơưạ", "wo": "ŋ", "yo": "ẹọṣ",
}

// scriptLetters is the same for the languages that have none of their own.
var scriptLetters = map[string]string{
	"Arab": "ابت", "Armn": "աբգ", "Beng": "কখগ", "Cyrl": "бжя", "Deva": "कखग", "Ethi": "ሀለሐ", "Geor": "აბგ",
	"Grek": "αβγ",
	"Gujr": "કખગ", "Guru": "ਕਖਗ", "Hans": "的一是", "Hant": "的一是", "Hebr": "אבג", "Jpan": "あア日", "Khmr": "កខគ",
	"Knda": "ಕಖಗ",
	"Kore": "가나다", "Laoo": "ກຂຄ", "Latn": "aez", "Mlym": "കഖഗ", "Mymr": "ကခဂ", "Orya": "କଖଗ", "Sinh": "කඛග",
	"Taml": "கஙச",
	"Telu": "కఖగ", "Thai": "กขค", "Tibt": "ཀཁག",
}

// sampleLetters returns a few letters that a display needs for a language, or "" if the language is
// unknown here. Speaks asks for those.
func sampleLetters(tag string) string {
	t, err := language.Parse(tag)
	if err != nil {
		return ""
	}
	base, _ := t.Base()
	script, _ := t.Script()
	if s := languageLetters[base.String()]; s != "" && script.String() == "Latn" {
		return s
	}
	return scriptLetters[script.String()]
}

// tableFor returns the table of a language: that of the whole tag, or of the tag with parts taken
// off its end; "" if there is none.
func tableFor(tables map[string]string, tag string) string {
	for tag != "" {
		if table := tables[tag]; table != "" {
			return table
		}
		tag = tag[:max(0, strings.LastIndexByte(tag, '-'))]
	}
	return ""
}

// Speaks reports whether text in a language can be read: whether Options.Tables names a table for
// it and liblouis has that, or else the table that the person chose in BRLTTY has its letters. A
// text without a language can, one in a language that is not known here cannot. The first question
// about a language starts liblouis or asks BRLTTY; the answer is kept.
func (d *Display) Speaks(language string) bool {
	d.mu.Lock()
	speaks, ok := d.speaks[language]
	d.mu.Unlock()
	if ok || language == "" {
		return speaks || language == ""
	}
	speaks = d.louis != nil && d.louis.hasTable(tableFor(d.louis.tables, language))
	if s := sampleLetters(language); !speaks && s != "" {
		speaks = replaceUnknown(s, d.characterKnown(context.Background())) == s
	}
	select {
	case <-d.gone:
		return false
	default:
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.speaks) < 1000 { // tags come from agents
		d.speaks[language] = speaks
	}
	return speaks
}

// characterKnown returns a function that asks BRLTTY whether its table has a character.
func (d *Display) characterKnown(ctx context.Context) func(rune) bool {
	return func(r rune) (known bool) {
		// An error stays in d.failed, which ends the display.
		_ = d.runOrder(ctx, func() { known, d.failed = d.client.hasCharacter(r) })
		return known
	}
}

// replaceUnknown returns a plain text without the characters that a table lacks: the letter without
// its marks if the table has that, else a question mark. Otherwise they would be shown as
// hexadecimal codes, or as full cells.
func replaceUnknown(text string, known func(rune) bool) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsSpace(r) || r>>8 == blank>>8 || known(r) {
			b.WriteRune(r)
			continue
		}
		isReplaced := unicode.Is(unicode.M, r) && b.Len() > 0
		for _, part := range norm.NFKD.String(string(r)) {
			if part != r && known(part) {
				b.WriteRune(part)
				isReplaced = true
			}
		}
		if !isReplaced {
			b.WriteByte('?')
		}
	}
	return b.String()
}

// wordsOf returns the words to show for an utterance: in dots by liblouis, if there is a table for
// the language and it works, else in characters that BRLTTY translates.
func (d *Display) wordsOf(ctx context.Context, u announce.Utterance) []word {
	text := removeInvisible(u.Text)
	if d.louis != nil && !u.Code { // code is shown sign by sign, in the table of BRLTTY
		if table := tableFor(d.louis.tables, u.Language); table != "" {
			known := func(r rune) bool { return d.louis.hasCharacter(table, r) }
			if words, err := d.louis.translateText(table, replaceUnknown(text, known)); err == nil {
				return words
			}
		}
	}
	words := textWords(replaceUnknown(text, d.characterKnown(ctx)))
	if u.Code {
		words = indentWords(words, len(text)-len(strings.TrimLeft(text, " ")))
	}
	return words
}
