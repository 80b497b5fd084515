package llm

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/language"
)

// A script is one that tells languages apart, with the language that most of what is written so is
// in. Latin is no such one.
type script struct {
	letters *unicode.RangeTable
	names   string // in tags
	tag     string
}

var scripts = []script{
	{unicode.Hiragana, "Jpan", "ja"}, {unicode.Katakana, "Jpan", "ja"}, {unicode.Hangul, "Kore", "ko"},
	{unicode.Han, "Hans Hant Jpan", "zh"},
	{unicode.Arabic, "Arab", "ar"}, {unicode.Hebrew, "Hebr", "he"}, {unicode.Cyrillic, "Cyrl", "ru"},
	{unicode.Greek, "Grek", "el"},
	{unicode.Devanagari, "Deva", "hi"}, {unicode.Bengali, "Beng", "bn"}, {unicode.Gurmukhi, "Guru", "pa"},
	{unicode.Gujarati, "Gujr", "gu"},
	{unicode.Tamil, "Taml", "ta"}, {unicode.Telugu, "Telu", "te"}, {unicode.Kannada, "Knda", "kn"},
	{unicode.Malayalam, "Mlym", "ml"},
	{unicode.Sinhala, "Sinh", "si"}, {unicode.Thai, "Thai", "th"}, {unicode.Lao, "Laoo", "lo"},
	{unicode.Khmer, "Khmr", "km"},
	{unicode.Myanmar, "Mymr", "my"}, {unicode.Georgian, "Geor", "ka"}, {unicode.Armenian, "Armn", "hy"},
	{unicode.Ethiopic, "Ethi", "am"},
}

// languageOf guesses the language of a model's answer from its first letter: the first of the
// agent's languages in that script, or else the script's most common one. No provider states it,
// and a voice for another script says nothing or spells. It returns "" for a text without letters.
// Kana and Hangul decide for Japanese and Korean wherever they stand.
func languageOf(text string, agents []string) string {
	first := strings.IndexFunc(text, unicode.IsLetter)
	if first < 0 || len(agents) == 0 {
		return ""
	}
	found := -1 // the index in scripts of the text's script; -1 is Latin
	for _, r := range text[first:] {
		i := slices.IndexFunc(scripts, func(s script) bool { return unicode.Is(s.letters, r) })
		if found < 0 {
			found = i
		}
		if found < 0 || scripts[found].letters != unicode.Han {
			break
		}
		if i >= 0 && i < found { // kana and Hangul stand before Han in scripts
			found = i
			break
		}
	}
	names, defaultTag := "Latn", agents[0]
	if found >= 0 {
		names, defaultTag = scripts[found].names, scripts[found].tag
	}
	for _, tag := range agents {
		if script, _ := language.Make(tag).Script(); strings.Contains(names, script.String()) {
			return tag
		}
	}
	return defaultTag
}
