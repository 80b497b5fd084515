// Package uilang is the language in which the command itself speaks to a person, who may have asked
// for another than English. Begin with Language. The sentences are in package phrase; what an agent
// says is never translated.
package uilang

import (
	"os"
	"strings"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// Language is the language of this program's own words to a listener: the first of their
// languages that there are phrases in.
type Language string

const English Language = ownLanguage

// PhraseText returns a sentence of this program in the language, or in English; see phrase.In.
func (t Language) PhraseText(id phrase.ID, arg string) string {
	text, _ := phrase.In(string(t), id, arg)
	return text
}

// IsEnglish reports whether it is English, of whatever region.
func (t Language) IsEnglish() bool {
	return t == English || strings.HasPrefix(string(t), ownLanguage+"-")
}

// InLanguage returns text marked with its language.
func (t Language) InLanguage(text string) announce.Words { return announce.In(string(t), text) }

// JoinList joins pieces to a list in this language; in English "and" stands before the last. No
// pieces are the phrase for nothing else.
func (t Language) JoinList(pieces []string) string {
	switch {
	case len(pieces) == 0:
		return t.PhraseText(phrase.NothingElse, "")
	case t.IsEnglish():
		return AndList(pieces)
	}
	return strings.Join(pieces, t.ListComma())
}

// ListComma returns what stands between the pieces of a list.
func (t Language) ListComma() string {
	or := t.PhraseText(phrase.Or, "") // begins with one
	_, n := utf8.DecodeRuneInString(or)
	return or[:n] + " "
}

// ExplainError returns an error as a sentence. An error without a phrase is in English, or in the
// peer's words.
func (t Language) ExplainError(err error) string {
	if id, arg := exits.PhraseForError(err); id != "" {
		return words.Sentence(t.PhraseText(id, arg))
	}
	return words.Sentence(exits.PlainError(err))
}

// SystemLanguages returns the languages of the person at this system, best first, as far as LC_ALL,
// LC_MESSAGES or LANG tells, the first of them that is set. The last is always en-US.
func SystemLanguages() []string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if locale := os.Getenv(name); locale != "" {
			tag, _, _ := strings.Cut(locale, ".")
			tag, _, _ = strings.Cut(tag, "@")
			tag = strings.ReplaceAll(tag, "_", "-")
			if language, _, _ := strings.Cut(tag, "-"); language != "en" &&
				aaep.ValidLanguageTag(tag) && phrase.IsLanguageTag(tag) { // neither C nor POSIX is one
				return []string{tag, "en-US"}
			}
			break
		}
	}
	return []string{"en-US"}
}

// AndList joins words as English does: "a, b, and c".
func AndList(words []string) string {
	switch last := len(words) - 1; last {
	case -1:
		return "nothing else"
	case 0:
		return words[0]
	case 1:
		return words[0] + " and " + words[1]
	default:
		return strings.Join(words[:last], ", ") + ", and " + words[last]
	}
}

// ownLanguage is what this program's own words are in.
const ownLanguage = "en"
