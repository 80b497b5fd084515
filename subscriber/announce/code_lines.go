package announce

import (
	"path"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
)

// newCodeItem returns an announcement of the code that was told of last, a sentence for each line,
// or nil where there is none. It is text of the agent, as what it told of is.
func (a *Announcer) newCodeItem(now time.Time) *item {
	if a.toldCode == nil {
		return nil
	}
	told, language := a.toldCode, a.toldCode.sentences[0].Language
	var lines []Part
	for _, line := range told.code.linesToSay(language) {
		if line = words.OneLine(aaep.SafeTextIn(line, language)); line != "" {
			lines = append(lines, Part{language, line})
		}
	}
	if len(lines) == 0 {
		return nil
	}
	it := &item{source: told.source, session: told.session, kind: Output, event: told.event, sentences: lines,
		arrived: now, wanted: true}
	a.recordItem(it)
	return it
}

// diffContext is how many lines that do not change are said before and after those of a diff that
// do.
const diffContext = 1

// linesToSay returns the lines of code, or, of a diff, those that change, with their signs in words
// and a line around them, behind the names of the files where there are several.
func (b *block) linesToSay(language string) (said []string) {
	if !b.diff {
		return b.kept
	}
	changed := func(i int) bool {
		return i >= 0 && i < len(b.kept) && !isHeader(b.kept[i]) && signedLine.MatchString(b.kept[i])
	}
	for i, line := range b.kept {
		switch file := diffFile.FindStringSubmatch(line); {
		case file != nil && line[0] == '+' && isHeader(line) && b.files > 1:
			said = append(said, words.Sentence(path.Base(file[1])))
		case isHeader(line):
		case changed(i):
			said = append(said, speakSign(line, language))
		default:
			for d := 1; d <= diffContext; d++ {
				if changed(i-d) || changed(i+d) {
					said = append(said, line)
					break
				}
			}
		}
	}
	return said
}

// isHeader reports whether a line of a diff is none of a file.
func isHeader(line string) bool {
	return diffHeader.MatchString(line) || fileMode.MatchString(line) || strings.HasPrefix(line, `\ No newline`)
}
