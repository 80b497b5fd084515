// Package phrase holds the sentences that the SDK says by itself, in each language it can say them in. What an
// agent says in its author's words never comes from here.
//
// Each language has one file, such as es.go: a name and a sentence on each line, next to the same line of en.go.
// No native speaker has read Arabic, French, German, Spanish and Yoruba yet, so all but English may hold mistakes:
// the tests can see a wrong character, not a wrong word.
//
// To report a mistake, quote the sentence to the project, github.com/aaep-go/aaep, and say what you would say
// instead, and whether it could hurt: people act on these sentences without seeing a screen. No Go is needed. To
// mend one yourself, change it between its quotation marks and run "go test ./internal/phrase".
//
// To add a language:
//
//  1. Copy en.go to a file named after the language's tag, such as ha.go, give its table the language's name, and
//     translate what stands in quotation marks. Say it as your language would to somebody who listens; it need not
//     follow the English word by word.
//  2. Keep what stands in braces and put it where your language wants it. {tool} is a tool's name, such as
//     "transfer funds", and {state} what an agent calls what it does: both are English or a program's words, so
//     build the sentence so that a foreign name can stand in it. A name that begins the sentence gets a capital.
//     {lines} and {number} are numbers; the sentence avoids saying what is counted in the singular or the plural. (In some,
//     English has the words with the number: "2 lines".) {time} is a time, such as "2 minutes", as the times at the file's
//     end say it, in each plural form that the language has.
//     {action} is a whole sentence of the author's: keep it at the end, with nothing behind it.
//     What somebody types stays as it is, such as /more and Ctrl-C.
//  3. Add the language to the list in phrase.go, its words for a yes and a no to that in answers.go, the first of which the
//     sentences offer, and its letters and marks to the list in phrase_test.go.
//
// The sentences are short, say plainly what was not done, and do without "I" and, but where a person is asked, "you".
package phrase

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
)

// A table is what a language says for each ID.
type table [count]string

// languages are those there are, English first.
var languages = []struct {
	tag, script string
	says        *table
	times       *times
}{
	{"en", "Latn", &english, &englishTimes},
	{"ar", "Arab", &arabic, &arabicTimes},
	{"de", "Latn", &german, &germanTimes},
	{"es", "Latn", &spanish, &spanishTimes},
	{"fr", "Latn", &french, &frenchTimes},
	{"yo", "Latn", &yoruba, &yorubaTimes},
}

// Languages returns the tags there are, English first.
func Languages() []string {
	var tags []string
	for _, l := range languages {
		tags = append(tags, l.tag)
	}
	return tags
}

// In returns the sentence in the language of tag, with arg put where the sentence wants it, and whether that
// language is known; otherwise the sentence is in English. A region makes no difference: "es-419" gives "es". A
// script does: Arabic in Latin letters, "ar-Latn", is not known.
//
// Arg is a tool's or a state's name as it is on the wire, such as "transfer_funds", or what an author called an
// action, which is left as it is. A sentence that takes none ignores it. An ID that is none of the above gives "".
func In(tag string, id ID, arg string) (string, bool) {
	if id < 0 || id >= count {
		return "", false
	}
	has := known(tag)
	for _, l := range languages {
		if l.tag == has {
			return fill(l.says[id], arg), true
		}
	}
	return fill(english[id], arg), false
}

// known returns the one of Languages that a tag means, or "".
func known(tag string) string {
	language, script := parse(tag)
	for _, l := range languages {
		if strings.EqualFold(l.tag, language) && (script == "" || strings.EqualFold(l.script, script)) {
			return l.tag
		}
	}
	return ""
}

// Best returns the first of somebody's languages that is known; if none is, English.
func Best(tags []string) string {
	if i := slices.IndexFunc(tags, func(tag string) bool { return known(tag) != "" }); i >= 0 {
		return tags[i]
	}
	return "en"
}

// Counted is In for a number of things. What a sentence of another language than English says of them does without their name.
func Counted[N int | int64](tag string, id ID, n N, thing string) string {
	arg := strconv.FormatInt(int64(n), 10)
	if has := known(tag); has == "en" || has == "" {
		arg = words.Count(n, thing)
	}
	says, _ := In(tag, id, arg)
	return says
}

// Text is a sentence in those of an agent's languages that are known, the first of which is its own.
func Text(tags []string, id ID, arg string) aaep.Text {
	return Texts(tags, func(tag string) (string, bool) { return In(tag, id, arg) })
}

// Texts is Text for what is put together of several sentences. Where the agent's own language is not known, it is English, and
// says so.
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

// parse returns the language of a tag, and its script if it names one.
func parse(tag string) (language, script string) {
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

// fill puts arg in the place of the braces.
func fill(sentence, arg string) string {
	before, rest, found := strings.Cut(sentence, "{")
	if !found {
		return sentence
	}
	what, after, _ := strings.Cut(rest, "}")
	if what != "action" {
		first := ""
		if before == "" && arg != "" && what != "time" {
			r, size := utf8.DecodeRuneInString(arg)
			first, arg = string(unicode.ToUpper(r)), arg[size:]
		}
		if what == "tool" || what == "state" {
			arg = strings.ReplaceAll(arg, "_", " ")
		}
		arg = first + arg
	}
	return before + arg + after
}
