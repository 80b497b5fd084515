package phrase

import (
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// IsLanguageTag reports whether a language may have a tag: it begins with two or three letters, as
// no word such as "english" does. Newer tags than this program knows are among them.
func IsLanguageTag(tag string) bool {
	first, _, more := strings.Cut(tag, "-")
	return len(first) == 2 || len(first) == 3 || len(first) == 1 && more
}

// NamesLanguage reports whether a tag names a language that this program knows; a well-formed one,
// such as "english", may name none.
func NamesLanguage(tag string) bool {
	_, err := language.Parse(tag)
	return err == nil
}

// LanguageName returns what the language of tag is called in the language of listener, another tag:
// "Yoruba" for "yo". A region belongs to the name, as in "Mexican Spanish". Where the listener's
// language has no name for it, the name is the English one, or the tag. It is for a sentence in
// which the word for a language stands before it.
func LanguageName(listener, tag string) string {
	parsed, err := language.Parse(tag)
	if err != nil || parsed == language.Und {
		return tag
	}
	if base, _ := parsed.Base(); base.String() == "sr" { // with a script it would be another language
		parsed = language.Serbian
	}
	for _, in := range []string{listener, "en"} {
		if names := display.Tags(language.Make(in)); names != nil {
			if name := names.Name(parsed); name != "" && name != names.Name(language.Und) {
				return strings.TrimPrefix(name, "Èdè ") // which is the word for a language
			}
		}
	}
	return tag
}
