package announce

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

// codeText is a line of code, or of a diff.
type codeText struct {
	text string // without sign
	sign byte   // of a line of a diff that changes; of another a space, and zero of code
}

// newCodeItem returns an announcement of the block of code that was announced last, one sentence
// for each line, or nil where there is none. Details queues it.
func (a *Announcer) newCodeItem(now time.Time) *item {
	if a.toldCode == nil {
		return nil
	}
	return a.codeItemOf(now, a.toldCode)
}

// codeItemOf returns an announcement of the code of which teller announced the number of lines, one
// sentence for each line, or nil where the code has none. It is recorded and in no queue yet; like
// teller, it is text of the agent.
func (a *Announcer) codeItemOf(now time.Time, teller *item) *item {
	language := teller.sentences[0].Language
	var lines []Part
	for b := teller.code; b != nil; b = b.earlier {
		lines = append(a.p.Content.sayLines(b.linesToSay(), language), lines...)
	}
	if len(lines) == 0 {
		return nil
	}
	it := &item{source: teller.source, session: teller.session, kind: Output, event: teller.event, sentences: lines,
		arrived: now, wanted: true, verbatim: true}
	a.recordItem(it)
	return it
}

// diffContext is how many lines that do not change are said before and after those of a diff that
// do.
const diffContext = 1

// linesToSay returns the lines of code, or, of a diff, those that change and a line around them,
// behind the names of the files where there are several.
func (b *block) linesToSay() (texts []codeText) {
	if !b.diff {
		for _, line := range b.kept {
			texts = append(texts, codeText{text: line})
		}
		return texts
	}
	changed := func(i int) bool {
		return i >= 0 && i < len(b.kept) && !isHeader(b.kept[i]) && signedLine.MatchString(b.kept[i])
	}
	for i, line := range b.kept {
		switch file := diffFile.FindStringSubmatch(line); {
		case file != nil && line[0] == '+' && isHeader(line) && b.files > 1:
			texts = append(texts, codeText{text: words.Sentence(path.Base(file[1]))})
		case isHeader(line):
		case changed(i):
			texts = append(texts, codeText{line[1:], line[0]})
		case changed(i-diffContext) || changed(i+diffContext):
			texts = append(texts, codeText{strings.TrimPrefix(line, " "), ' '})
		}
	}
	return texts
}

// isHeader reports whether a line of a diff is about the files, and no line of one.
func isHeader(line string) bool {
	return diffHeader.MatchString(line) || fileMode.MatchString(line) || strings.HasPrefix(line, `\ No newline`)
}

// sayLines returns lines of code as a voice says them: the sign of a diff in words, and the depth
// of indentation where it changes; in a diff only where lines differ in nothing else.
func (c Content) sayLines(lines []codeText, language string) (parts []Part) {
	unit, last := indentUnit(lines), 0
	for _, line := range lines {
		if part, ok := c.sayLine(line, unit, last, lines, language); ok {
			parts = append(parts, part)
			last = countIndent(line.text)
		}
	}
	return parts
}

// sayLine returns a line of code as a voice says it, or false for an empty line. unit is the number
// of spaces or tabs of one level of indentation, last is the indentation of the line before, and
// lines are those around it, with which a changed line of a diff is compared.
func (c Content) sayLine(line codeText, unit, last int, lines []codeText, language string) (Part, bool) {
	text := words.OneLine(aaep.SafeTextIn(line.text, language))
	if text == "" {
		return Part{}, false
	}
	n := countIndent(line.text)
	tellsIndent := n != last
	if line.sign != 0 {
		tellsIndent = slices.ContainsFunc(lines, func(other codeText) bool {
			return other.sign != line.sign && other.sign != ' ' && line.sign != ' ' &&
				strings.TrimSpace(other.text) == strings.TrimSpace(line.text)
		})
	}
	switch {
	case c.Indent == InCells:
		text = strings.Repeat(" ", (n+unit-1)/unit) + text
	case tellsIndent && c.Indent != Unspoken:
		if indent, known := phrase.In(language, phrase.Indented, fmt.Sprint(n)); known || isEnglish(language) {
			text = indent + " " + text
		}
	}
	switch {
	case line.sign != '+' && line.sign != '-':
	case c.Indent == InCells:
		text = string(line.sign) + text
	default:
		id := phrase.LineAdded
		if line.sign == '-' {
			id = phrase.LineRemoved
		}
		text, _ = phrase.In(language, id, strings.TrimLeft(text, " "))
	}
	return Part{Language: language, Text: text}, true
}

// isEnglish reports whether what this package says in English can stand in a text in a language.
func isEnglish(language string) bool { return language == "" || sharesVoice(language, ownLanguage) }

// countIndent returns how many spaces and tabs a line begins with.
func countIndent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// indentUnit returns how many spaces or tabs the code has for each level: the fewest that a line
// has.
func indentUnit(lines []codeText) int {
	unit := 0
	for _, line := range lines {
		n := countIndent(line.text)
		isBlank := n == len(line.text)
		if n > 0 && !isBlank && (unit == 0 || n < unit) {
			unit = n
		}
	}
	return max(unit, 1)
}
