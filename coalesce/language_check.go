package coalesce

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep"
)

// CheckLanguage reads a file that says where sentences end in a language, as those in the folder
// languages do, and cuts its test sentences by it. The error has a line for everything that is
// wrong or missing; docs/languages.md explains the format. The file replaces the one that is built
// in for its first tag.
func CheckLanguage(file, text string) error {
	l, err := parseLanguage(file, text)
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(builtinLanguages(), func(other *language) bool { return other.tags[0] == l.tags[0] })
	problems := slices.Concat(l.missing(), l.badTags(list), l.badWords(), l.wrongCuts(newRuleSet(append(list, l))))
	return errors.Join(problems...)
}

// errorf returns an error about a line of the file; line 0 is the whole file.
func (l *language) errorf(line int, format string, args ...any) error {
	place := l.file
	if line > 0 {
		place = fmt.Sprintf("%s:%d", l.file, line)
	}
	return fmt.Errorf("%s: %s", place, fmt.Sprintf(format, args...))
}

// missing returns an error for each part that the file lacks: its name, its source, and test
// sentences for the words it has.
func (l *language) missing() (problems []error) {
	add := func(format string, args ...any) { problems = append(problems, l.errorf(0, format, args...)) }
	if l.name == "" {
		add("no line such as \"Language: Swahili\"")
	}
	if l.source == "" {
		add("no line such as \"Source: collected for this project\"")
	}
	if len(l.sentences) == 0 {
		add("no test sentence, under the heading %q", testHeading)
		return problems
	}
	if !slices.ContainsFunc(l.sentences, func(s testSentence) bool { return strings.Contains(s.marked, "¦") }) {
		add("no test sentence with ¦, where one sentence ends and the next begins")
	}
	untested := func(kind int, words []fileWord) bool {
		return len(words) > 0 && !l.tested(words, kind < int(letterWords))
	}
	abbreviations := slices.Concat(l.words[:letterWords]...)
	none := untested(0, abbreviations)
	if none {
		add("no test sentence with an abbreviation, such as %s.", abbreviations[0].written("."))
	}
	for kind, words := range l.words {
		if untested(kind, words) && !(none && kind < int(letterWords)) {
			add("no test sentence with a word under %q, such as %s", headings[kind], words[0].written("."))
		}
	}
	return problems
}

// written returns a word as running text has it, without its last full stop. stop is written behind
// the first part of an abbreviation of two words: "." or nothing.
func (w fileWord) written(stop string) string {
	return strings.ReplaceAll(strings.Trim(w.text, "~."), "_", stop+" ")
}

// tested reports whether a test sentence has one of the words. abbreviations says that they are
// such, which count only with their full stop.
func (l *language) tested(words []fileWord, abbreviations bool) bool {
	return slices.ContainsFunc(words, func(w fileWord) bool {
		return slices.ContainsFunc(l.sentences, func(s testSentence) bool {
			text := strings.ReplaceAll(s.marked, "¦", "")
			if abbreviations {
				return hasWord(text, w.written(".")+".") || hasWord(text, w.written("")+".")
			}
			return hasWord(text, w.written(""))
		})
	})
}

// hasWord reports whether a word stands in a text between characters that end words; as a part of
// another word it does not count.
func hasWord(text, word string) bool {
	for {
		before, behind, found := strings.Cut(text, word)
		if !found {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(behind)
		if endsWord(last) && (strings.HasSuffix(word, ".") || endsWord(next)) {
			return true
		}
		text = behind
	}
}

// endsWord reports whether a word cannot go on over r: r is no letter or mark, or is an ideograph.
func endsWord(r rune) bool { return classOf(r) == clWide || !unicode.In(r, unicode.L, unicode.M) }

// badTags returns an error for each tag that is no language in small letters, or that another file
// has.
func (l *language) badTags(others []*language) (problems []error) {
	for _, tag := range l.tags {
		if tag != strings.ToLower(tag) || strings.ContainsAny(tag, "-_") {
			problems = append(problems, l.errorf(0, "the tag %q is not a language in small letters, such as sw", tag))
		}
		for _, other := range others {
			if slices.Contains(other.tags, tag) {
				problems = append(problems, l.errorf(0, "the tag %q is in %s too", tag, other.file))
			}
		}
	}
	return problems
}

// badWords returns an error for each word of the file that can never match a word of a text, that
// would match one of another language, or that is an abbreviation in two lines.
func (l *language) badWords() (problems []error) {
	lines := map[string]fileWord{}
	for kind, words := range l.words {
		for _, w := range words {
			word, foreign := strings.CutPrefix(w.text, "~")
			abbreviation := kind < int(letterWords)
			add := func(format string, args ...any) { problems = append(problems, l.errorf(w.line, format, args...)) }
			switch first, _ := utf8.DecodeRuneInString(word); {
			case word == "":
				add("a ~ stands alone; it belongs to the word behind it")
			case !norm.NFC.IsNormalString(word):
				add("%q is not in the Unicode form NFC, as text is when it is compared", word)
			case strings.HasSuffix(word, "."):
				add("write %q without its last full stop", word)
			case len(word) > longestWord:
				add("%q has more than %d bytes and can never match", word, longestWord)
			case !foreign && (kind == int(neverEnd) || kind == int(mayEnd)) && len(word) == 1:
				add("a single letter means something else in other languages: write ~%s", word)
			case kind == int(firstWords) && unicode.IsLower(first):
				add("%q does not begin with a capital, as the first word of a sentence does", word)
			}
			if old, ok := lines[word]; abbreviation && ok && old.line != w.line {
				problems = append(problems, l.errorf(w.line, "%q is in line %d too", word, old.line))
			}
			if abbreviation {
				lines[word] = w
			}
		}
	}
	return problems
}

// wrongCuts cuts the test sentences by the rules of set, and returns an error for each that is not
// cut as it is marked.
func (l *language) wrongCuts(set *ruleSet) (problems []error) {
	for _, s := range l.sentences {
		seg := segmenterBy(aaep.BoundarySentence, 0, set.forTag(l.tags[0]))
		var got []string
		for _, p := range append(seg.Write(strings.ReplaceAll(s.marked, "¦", "")), seg.Flush(true)...) {
			got = append(got, p.Text)
		}
		if cut := strings.Join(got, "¦"); cut != s.marked {
			problems = append(problems, l.errorf(s.line, "this is cut as %q", cut))
		}
	}
	return problems
}
