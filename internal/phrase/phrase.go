// Package phrase holds the sentences that the SDK says by itself, in each language it can say them
// in. What an agent says in its author's words never comes from here.
//
// Each language is a catalogue in the folder catalogues, in the PO format of gettext;
// docs/languages.md says how to correct one, and how to add a language. An ID in ids.go names a
// sentence: it is the sentence's msgctxt.
//
// To add a sentence, give it an ID, and an entry in en.po and in every other catalogue, with the
// English as msgid everywhere. Sentences are short, say plainly what was not done, and do without
// "I" and, but where a person is asked, "you". "go test ./internal/phrase" names what is missing.
//
// What counts as a yes, a no or a choice is in answers.go. words.go hands out the words that are
// asked for in place of a yes where keys are not seen: they are a sentence of each catalogue.
// Plural forms are in plural.go, PO files are read in po.go and catalogues in catalogue.go, and
// durations and times are worded in time.go.
package phrase

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
)

// Languages returns the tags there are, English first.
func Languages() []string {
	var tags []string
	for _, c := range catalogues() {
		tags = append(tags, c.tag)
	}
	return tags
}

// In returns the sentence in the language of tag, with arg put where the sentence wants it, and
// whether that language is known; otherwise the sentence is in English. A region makes no
// difference: "es-419" gives "es". A script does: Arabic in Latin letters, "ar-Latn", is not known.
//
// Arg is a tool's or a state's name as it is on the wire, such as "transfer_funds", or what an
// author called an action, which is left as it is. A sentence that takes none ignores it. An ID
// that names none gives "".
func In(tag string, id ID, arg string) (string, bool) {
	if c := catalogueFor(tag); c != nil && c.text(id) != "" {
		return fillArgument(c.text(id), arg), true
	}
	return fillArgument(english().text(id), arg), false
}

// catalogueFor returns the catalogue of the language that a tag means, or nil if there is none.
func catalogueFor(tag string) *catalogue {
	language, script := parseTag(tag)
	for _, c := range catalogues() {
		if strings.EqualFold(c.tag, language) && (script == "" || strings.EqualFold(c.script, script)) {
			return c
		}
	}
	return nil
}

// catalogueOrEnglish is catalogueFor, and English for a language that has no catalogue.
func catalogueOrEnglish(tag string) *catalogue { return cmp.Or(catalogueFor(tag), english()) }

// Best returns the first of the tags whose language has a catalogue of phrases; "en" where none has
// one.
func Best(tags []string) string {
	if i := slices.IndexFunc(tags, func(tag string) bool { return catalogueFor(tag) != nil }); i >= 0 {
		return tags[i]
	}
	return "en"
}

// Counted is In for a number of things. In English its argument is the number with the noun, such
// as "3 lines"; in any other language it is the number alone, and the sentence has the noun.
func Counted[N int | int64](tag string, id ID, n N, thing string) string {
	arg := strconv.FormatInt(int64(n), 10)
	if catalogueOrEnglish(tag) == english() {
		arg = words.Count(n, thing)
	}
	sentence, _ := In(tag, id, arg)
	return sentence
}

// Text is a sentence in those of an agent's languages that are known, the first of which is its
// own.
func Text(tags []string, id ID, arg string) aaep.Text {
	return Texts(tags, func(tag string) (string, bool) { return In(tag, id, arg) })
}

// Texts is Text for what is put together of several sentences: say returns it in the language of a
// tag, in English where that is not known, and whether it is known. Where the agent's own language,
// the first of tags, is not known, the Text is English, and labelled so.
func Texts(tags []string, say func(tag string) (says string, known bool)) aaep.Text {
	first := "en"
	if len(tags) > 0 {
		first, tags = tags[0], tags[1:]
	}
	sentence, known := say(first)
	text := aaep.Say(sentence)
	if !known {
		text = aaep.Text{}.In("en", text)
	}
	for _, tag := range tags {
		if sentence, known := say(tag); known {
			text = text.In(tag, aaep.Say(sentence))
		}
	}
	return text
}

// parseTag returns the language of a tag, and its script if it names one.
func parseTag(tag string) (language, script string) {
	language, rest, _ := strings.Cut(tag, "-")
	for part := range strings.SplitSeq(rest, "-") {
		switch {
		case len(part) == 1: // what follows is an extension
			return language, ""
		case len(part) == 4 && (part[0] < '0' || part[0] > '9'): // four with a digit are a variant, as in de-1996
			return language, part
		}
	}
	return language, ""
}

// fillArgument puts arg in the place of the braces of a sentence. The word in the braces says what
// arg is: a tool's or a state's name is written with spaces, one that begins the sentence with a
// capital, and what an author called an action is left as it is.
func fillArgument(sentence, arg string) string {
	before, rest, found := strings.Cut(sentence, "{")
	if !found {
		return sentence
	}
	kind, after, _ := strings.Cut(rest, "}")
	if kind != "action" {
		first := "" // the first letter, as a capital
		if before == "" && arg != "" && kind != "time" {
			r, size := utf8.DecodeRuneInString(arg)
			first, arg = string(unicode.ToUpper(r)), arg[size:]
		}
		if kind == "tool" || kind == "state" {
			arg = strings.ReplaceAll(arg, "_", " ")
		}
		arg = first + arg
	}
	return before + arg + after
}
