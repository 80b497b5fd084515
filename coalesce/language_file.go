package coalesce

import (
	"fmt"
	"strings"
)

// A wordList is one list of words in a language's file. docs/languages.md says what each is for.
type wordList int

const (
	neverEnd wordList = iota
	beforeNumber
	mayEnd
	endName
	timesOfDay
	endList
	letterWords
	firstWords
	quotationWords
	letterNouns
	ordinalWords
	nameParticles
	exclaimedNames
	clockWords
	countingWords
	contractions
	quotationEnds
	wordLists
)

// headings are the headings of the lists in a file.
var headings = [wordLists]string{
	neverEnd:       "Never end a sentence",
	beforeNumber:   "Stand before a number",
	mayEnd:         "May end a sentence",
	endName:        "End a name or a year",
	timesOfDay:     "Times of day",
	endList:        "End a list or an amount",
	letterWords:    "Letters that are words",
	firstWords:     "First words",
	quotationWords: "Words behind a quotation",
	letterNouns:    "Nouns before a letter or number",
	ordinalWords:   "Words beside an ordinal number",
	nameParticles:  "Small words of names",
	exclaimedNames: "Names that end in an exclamation mark",
	clockWords:     "Words behind a time of day",
	countingWords:  "Words before a plain number",
	contractions:   "Endings behind an apostrophe",
	quotationEnds:  "Words behind any quotation",
}

// testHeading is the heading of the test sentences, the last part of a file.
const testHeading = "== Test sentences"

// abbreviationKinds says what a word of each list is in front of a full stop. The lists behind them
// hold no abbreviations.
var abbreviationKinds = [...]abbreviation{
	neverEnd: abbrNeverEnds, beforeNumber: abbrBeforeNumber, mayEnd: abbrMayEnd, endName: abbrEndsName,
	timesOfDay: abbrTimeOfDay, endList: abbrEndsList, letterWords: notAbbreviation,
}

// sharedTag is the tag of the file whose words count in every language.
const sharedTag = "und"

// A language is what one file of the folder languages says: what ends a sentence where marks,
// capitals and white space are not enough.
//
// Words are whole, as running text has them, without their last full stop ("Dr", "z.B"). An
// underscore stands for a space inside ("z_B"), and a ~ in front marks an ordinary word of another
// language: it counts only in text of this one. All other words help text of unknown language too.
type language struct {
	file         string
	name, source string
	tags         []string // primary subtags of BCP 47; the first names the file
	smallLetters bool     // a single small letter before a full stop is an abbreviation, not a word
	yearFirst    bool     // a date begins with the year, each part with a full stop: 2026. 12. 3.
	// greekMark: a semicolon is a question mark.
	greekMark bool
	words     [wordLists][]fileWord
	sentences []testSentence
}

// A fileWord is a word of a list, and the line of the file that it stands in.
type fileWord struct {
	text string
	line int
}

// A testSentence is a text of a file, with ¦ where a sentence ends and the next begins.
type testSentence struct {
	marked string
	line   int
}

// parseLanguage reads the text of a file of the folder languages, whose name is for the error:
// head, lists of words under headings, test sentences. The error names the file, the line and what
// would be right; a file without tags is one.
func parseLanguage(file, text string) (*language, error) {
	l := &language{file: file}
	list, tests := wordLists, false // which part is being read: a list, the test sentences, or the head
	number := 0                     // of the line
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		line = strings.TrimRight(line, "\r\n")
		heading, isHeading := strings.CutPrefix(line, "==")
		heading = strings.Trim(heading, "= ")
		err := ""
		switch {
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
		case isHeading:
			tests = strings.EqualFold("== "+heading, testHeading)
			if list = listUnder(heading); list == wordLists && !tests {
				err = fmt.Sprintf("there is no heading %q; the headings are %q and %q", heading, headings,
					strings.TrimPrefix(testHeading, "== "))
			}
		case tests:
			var s string
			if s, err = unescape(line); err == "" {
				l.sentences = append(l.sentences, testSentence{s, number})
			}
		case list < wordLists:
			for word := range strings.FieldsSeq(line) {
				l.words[list] = append(l.words[list], fileWord{word, number})
			}
		default:
			err = l.setField(line)
		}
		if err != "" {
			return nil, fmt.Errorf("%s:%d: %s", file, number, err)
		}
	}
	if len(l.tags) == 0 {
		return nil, fmt.Errorf("%s:1: there is no line such as \"Tags: sw\"", file)
	}
	return l, nil
}

// setField reads a line such as "Language: Swahili". It returns what is wrong with the line, or "".
func (l *language) setField(line string) string {
	name, value, ok := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	set := func(flag *bool) string {
		if *flag = value == "yes"; !*flag {
			return fmt.Sprintf("%q has the value yes, or the line is left out; here it is %q", name, value)
		}
		return ""
	}
	switch {
	case !ok:
		return fmt.Sprintf("%q stands under no heading; a heading is a line such as %q", line, "== "+headings[neverEnd])
	case name == "Language":
		l.name = value
	case name == "Tags":
		l.tags = strings.Fields(value)
	case name == "Source":
		l.source = value
	case name == "Small letters are abbreviations":
		return set(&l.smallLetters)
	case name == "Dates begin with the year":
		return set(&l.yearFirst)
	case name == "A semicolon is a question mark":
		return set(&l.greekMark)
	default:
		return fmt.Sprintf("there is no %q; a file begins with Language, Tags, Source and, where they are true, "+
			"Small letters are abbreviations, Dates begin with the year and A semicolon is a question mark", name)
	}
	return ""
}

// listUnder returns the list with a heading, or wordLists if there is none.
func listUnder(heading string) wordList {
	for list, h := range headings {
		if strings.EqualFold(h, heading) {
			return wordList(list)
		}
	}
	return wordLists
}

// unescape reads a test sentence: \n is a line end, and \\, \# and \= are the characters
// themselves. problem is "" or says that another backslash is in it.
func unescape(line string) (text, problem string) {
	var b strings.Builder
	for {
		before, behind, found := strings.Cut(line, `\`)
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), ""
		case strings.HasPrefix(behind, "n"):
			b.WriteByte('\n')
		case behind != "" && strings.ContainsRune(`\#=`, rune(behind[0])):
			b.WriteByte(behind[0])
		default:
			return "", `a backslash in a test sentence is written \\, and a line end \n`
		}
		line = behind[1:]
	}
}
