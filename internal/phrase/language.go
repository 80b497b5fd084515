package phrase

import (
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// LanguageName returns what the language of a tag is called in the language of another: "Yoruba"
// for "yo". A region belongs to it, as in "Mexican Spanish". Where either is not known it is in
// English, and else the tag. It stands behind the word for a language.
func LanguageName(own, tag string) string {
	named, err := language.Parse(tag)
	if err != nil || named == language.Und {
		return tag
	}
	if base, _ := named.Base(); base.String() == "sr" { // with a script it would be another language
		named = language.Serbian
	}
	for _, in := range []string{own, "en"} {
		if names := display.Tags(language.Make(in)); names != nil {
			if name := names.Name(named); name != "" && name != names.Name(language.Und) {
				return strings.TrimPrefix(name, "Èdè ") // which is the word for a language
			}
		}
	}
	return tag
}
