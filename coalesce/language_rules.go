package coalesce

import (
	"bytes"
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// languageFiles has one file a language. Go code names a language or its words only for a rule that
// no other language has.
//
//go:embed languages/*.txt
var languageFiles embed.FS

// rules hold what the files say about one language, with what the shared file says about every
// language, ready to look words up. They are not changed once they are made.
type rules struct {
	set           *ruleSet
	known         bool // false for the rules of text in an unknown language
	abbreviations map[string]abbreviation
	firstParts    map[string]bool // the first parts of abbreviations of two parts
	// words has the lists that hold no abbreviations. letterNouns also has, as false, the word with
	// a small letter where the file has it with a capital only.
	words [wordLists]map[string]bool

	smallLetters, yearFirst, greekMark bool // as in language

	scripts []rune // by scriptOf, in which the words are; of the unknown rules, those that languages share
	latin   bool   // Latin is one of the scripts
}

// A ruleSet has the rules of all languages. It is not changed once it is made.
type ruleSet struct {
	unknown  *rules            // of text in a language that is not known or has no file
	byTag    map[string]*rules // by primary subtag, in small letters
	byScript map[rune]*rules   // the rules of the one language that is written so, or else unknown
}

// builtinRules are those of languageFiles. They are made once, when the first Segmenter asks for
// them, so that a program which cuts no text does not pay for them.
var builtinRules = sync.OnceValue(func() *ruleSet { return newRuleSet(builtinLanguages()) })

// builtinLanguages reads languageFiles, but for their test sentences. A test checks that none is
// bad.
func builtinLanguages() (list []*language) {
	files, _ := fs.Glob(languageFiles, "languages/*.txt")
	for _, file := range files {
		data, _ := languageFiles.ReadFile(file)
		if l, err := parseLanguage(path.Base(file), withoutTests(data)); err == nil {
			list = append(list, l)
		}
	}
	return list
}

// withoutTests returns a file's text up to its test sentences.
func withoutTests(data []byte) string {
	head, _, _ := bytes.Cut(data, []byte(testHeading))
	return string(head)
}

// newRuleSet makes the rules of all languages in list, which has the file that all share among
// them: rules for each language, found by its tags and, where no other language has it, by its
// script; and rules for a text of unknown language.
func newRuleSet(list []*language) *ruleSet {
	set := &ruleSet{byTag: map[string]*rules{}, byScript: map[rune]*rules{}}
	list = slices.Clone(list)
	i := slices.IndexFunc(list, func(l *language) bool { return l.tags[0] == sharedTag })
	list[0], list[i] = list[i], list[0]
	set.unknown = set.compile(list, false)
	for _, l := range list[1:] {
		r := set.compile([]*language{list[0], l}, true)
		for _, tag := range l.tags {
			set.byTag[tag] = r
		}
		for _, script := range r.scripts {
			if set.byScript[script] == nil {
				set.byScript[script] = r
			} else {
				set.byScript[script] = set.unknown
			}
		}
	}
	for script, r := range set.byScript {
		if r == set.unknown {
			r.scripts = append(r.scripts, script)
		}
	}
	set.unknown.latin = true
	return set
}

// compile makes the rules of a list of languages, the shared one first. Where the language is not
// known, words with a ~ are left out, and a word of several kinds is of the one that ends a
// sentence soonest. known says that the text's language is the last of the list.
func (set *ruleSet) compile(list []*language, known bool) *rules {
	r := &rules{set: set, known: known, firstParts: map[string]bool{}}
	// Maps are made as long as they become: growing them would take most of the time.
	count := func(kinds ...int) (n int) {
		for _, l := range list {
			for _, kind := range kinds {
				n += len(l.words[kind])
			}
		}
		return n
	}
	r.abbreviations = make(map[string]abbreviation,
		count(int(neverEnd), int(beforeNumber), int(mayEnd), int(endName), int(endList)))
	for kind := len(abbreviationKinds); kind < len(r.words); kind++ {
		r.words[kind] = make(map[string]bool, count(kind))
	}
	for i, l := range list {
		if known && i > 0 {
			r.addScripts(l)
		}
		for kind, words := range l.words {
			for _, w := range words {
				word, foreign := strings.CutPrefix(w.text, "~")
				switch {
				case foreign && !known:
				case kind < len(abbreviationKinds):
					r.addAbbreviation(word, abbreviationKinds[kind])
				default:
					r.words[kind][word] = true
				}
			}
		}
		for _, w := range l.words[letterNouns] { // Plan B, plan B
			first, size := utf8.DecodeRuneInString(w.text)
			if small := string(unicode.ToLower(first)) + w.text[size:]; !r.words[letterNouns][small] {
				r.words[letterNouns][small] = false
			}
		}
		if known {
			r.smallLetters = r.smallLetters || l.smallLetters
			r.yearFirst = r.yearFirst || l.yearFirst
			r.greekMark = r.greekMark || l.greekMark
		}
	}
	return r
}

// has reports whether a word is in a list that holds no abbreviations.
func (r *rules) has(list wordList, word []byte) bool { return r.words[list][string(word)] }

// addAbbreviation adds a word of a file. A later file replaces what an earlier one says of the
// word; in the rules for text of unknown language, the kind that ends a sentence sooner counts.
// compile calls it.
func (r *rules) addAbbreviation(word string, kind abbreviation) {
	if old, ok := r.abbreviations[word]; !ok || r.known || kind > old {
		r.abbreviations[word] = kind
	}
	if head, _, ok := strings.Cut(word, "_"); ok {
		r.firstParts[head] = true
	}
}

// addScripts adds the scripts in which a language is written, by the letters of its words, to r.
func (r *rules) addScripts(l *language) {
	for _, list := range []wordList{neverEnd, beforeNumber, quotationWords} {
		for _, w := range l.words[list] {
			for _, c := range w.text {
				if script := scriptOf(c); isLetter[classOf(c)] && !slices.Contains(r.scripts, script) {
					r.scripts = append(r.scripts, script)
					r.latin = r.latin || script == 'a'
				}
			}
		}
	}
}

// forTag returns the rules of a language by its BCP 47 tag, or those of text in an unknown language
// if the language has no file.
func (set *ruleSet) forTag(tag string) *rules {
	primary, _, _ := strings.Cut(strings.ReplaceAll(tag, "_", "-"), "-")
	if r := set.byTag[strings.ToLower(primary)]; r != nil {
		return r
	}
	return set.unknown
}

// forScript returns the rules for a word that begins with c. They are r, unless the language is not
// written in the script of c: then the word is in another language than the caller has set.
func (r *rules) forScript(c rune) *rules {
	script := scriptOf(c)
	if slices.Contains(r.scripts, script) {
		return r
	}
	if other := r.set.byScript[script]; other != nil {
		return other
	}
	return r.set.unknown
}
