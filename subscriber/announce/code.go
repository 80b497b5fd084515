package announce

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aaep-go/aaep/internal/phrase"
)

var (
	hunk       = regexp.MustCompile(`^@@ -[0-9]{1,6}(?:,([0-9]{1,6}))? \+[0-9]{1,6}(?:,([0-9]{1,6}))? @@`)
	diffHeader = regexp.MustCompile(`^(?:diff --git |@@ -[0-9]|--- (?:a/|/dev/null)|\+\+\+ (?:b/|/dev/null)|index [0-9a-f]{7,}\.\.)`)
	fileMode   = regexp.MustCompile(`^(?:new file|deleted file|old mode|new mode|rename (?:from|to)|similarity index|Binary files) `)
	signedLine = regexp.MustCompile(`^([-+])(?:[ \t]+|)(\S.*)$`)
	numbered   = regexp.MustCompile(`^[-+][0-9.]`)
)

// languageNames are the names of programming languages, as people say them, by what stands behind a
// fence.
var languageNames = map[string]string{
	"bash": "Shell", "c": "C", "c++": "C++", "cpp": "C++", "cs": "C#", "csharp": "C#", "css": "CSS", "go": "Go",
	"golang": "Go", "html": "HTML", "java": "Java", "javascript": "JavaScript", "js": "JavaScript", "json": "JSON",
	"kotlin": "Kotlin", "php": "PHP", "py": "Python", "python": "Python", "rb": "Ruby", "rs": "Rust", "ruby": "Ruby",
	"rust": "Rust", "sh": "Shell", "shell": "Shell", "sql": "SQL", "swift": "Swift",
	"toml": "TOML", "ts": "TypeScript", "typescript": "TypeScript", "xml": "XML", "yaml": "YAML", "yml": "YAML",
}

// block is code, or a diff, of which not all may have come.
type block struct {
	fence, info    string // that it began with; a diff may have none
	diff           bool
	lines          int      // that are not empty,
	added, removed int      // and of a diff, that are signed
	before, after  int      // lines of a hunk that have yet to come, on its two sides
	quoted         bool     // with > in front of each line
	file           string   // of a diff, the newest; a path
	files          int      // that it is of
	pending        string   // a file that may be the name of one that is gone
	kept           []string // its lines, the first of them
	earlier        *block   // that ended in the same text before it
}

// isOpen reports whether a block has begun.
func (b block) isOpen() bool { return b.fence != "" || b.diff }

// openingText returns a text that, read as code, begins the block as far as it has come: with its
// fence or header, its files, and as many lines of each kind, which say nothing; "" for none.
func (b block) openingText() string {
	if !b.isOpen() {
		return ""
	}
	head, heads := "", 0 // the lines that name files
	if b.pending != "" {
		head, heads = "--- a/"+b.pending+"\n", 1
	}
	for range min(b.files, 2) {
		head, heads = head+"+++ b/"+cmp.Or(b.file, "unnamed")+"\n", heads+1
	}
	others, space := max(b.lines-b.added-b.removed-heads, 0), ""
	opening := b.fence + b.info + "\n" + head
	if b.fence == "" {
		others, space = max(others-1, 0), " "
		opening = head + fmt.Sprintf("@@ -1,%d +1,%d @@\n", b.before+b.removed+others, b.after+b.added+others)
	} else if b.diff && b.info != "diff" {
		opening = b.fence + "diff\n" + head
	}
	opening += strings.Repeat("+\n", b.added) + strings.Repeat("-\n", b.removed) + strings.Repeat(space+".\n", others)
	if b.quoted {
		opening = strings.TrimSuffix("> "+strings.ReplaceAll(opening, "\n", "\n> "), "> ")
	}
	return opening
}

// continueWith reads text, which goes on with the block b. withOpening is text behind the opening
// of that block, so that all of it is counted again in few words; open is the code that the text
// ends in, if that goes on; and ended is the last code that ends in it, or nil. isEnd says that
// nothing follows: then code that goes on has ended too.
//
// The opening is left out for a diff without a fence that goes on, unless nothing follows: a long
// one comes line by line, and would be told from its beginning for each.
func (b block) continueWith(text string, isEnd bool) (withOpening string, open block, ended *block) {
	replaceCodeFrom(b, text, func(b block, closed bool) string {
		if !closed {
			open = b
		}
		if closed || isEnd {
			b.earlier = ended
			ended = &b
		}
		return ""
	})
	if open.diff && open.fence == "" && !isEnd {
		return text, open, ended
	}
	return b.openingText() + text, open, ended
}

// openAfter returns the block of code that is still open at the end of a text, which begins in the
// block b; an empty one where none is open.
func (b block) openAfter(text string) (open block) {
	replaceCodeFrom(b, text, func(b block, closed bool) string {
		if !closed {
			open = b
		}
		return ""
	})
	return open
}

// replaceCode returns text with each block of code, and each diff, replaced by what describe
// returns for it. closed is false for a block that the text ends in.
func replaceCode(text string, describe func(b block, closed bool) string) string {
	return replaceCodeFrom(block{}, text, describe)
}

// replaceCodeFrom returns text, which goes on with the block b, with what describe returns in the
// place of each block of code. closed is false for the one that text ends in the middle of. Code in
// a quotation ends with the quotation.
func replaceCodeFrom(b block, text string, describe func(b block, closed bool) string) string {
	var result strings.Builder
	for line := range strings.Lines(text) {
		if b.endsBefore(line) {
			result.WriteString(describe(b, true))
			b = block{}
		}
		before := b
		kind, bare := b.readLine(line)
		switch isClosed := before.isOpen() && !b.isOpen(); {
		case isClosed:
			result.WriteString(describe(before, true))
		case kind == codeLine:
			b.addLine(bare)
		case kind == proseLine:
			result.WriteString(line)
		}
	}
	if b.isOpen() {
		result.WriteString(describe(b, false))
	}
	return result.String()
}

// readLine reads the next line of a text, with its end: whether the block b goes on, closes or
// opens with it. kind is codeLine for a line of the block, hiddenLine for a fence, and else
// proseLine. bare is the line without the marks of the quotation that the block is in. Where
// endsBefore reports that the block is over, the caller passes an empty one.
func (b *block) readLine(line string) (kind lineKind, bare string) {
	mark, bare := quote.FindString(line), line
	if b.quoted || !b.isOpen() {
		bare = line[len(mark):]
	}
	switch m := fence.FindStringSubmatch(bare); {
	case b.fence != "":
		end := strings.TrimSpace(bare)
		if isFence := len(end) >= len(b.fence) && strings.Trim(end, b.fence[:1]) == ""; isFence {
			*b = block{}
			return hiddenLine, bare
		}
		b.diff = b.diff || diffHeader.MatchString(bare)
		return codeLine, bare
	case b.diff:
		return codeLine, line
	case m != nil && (m[1][0] == '~' || !strings.Contains(m[2], "`")):
		info, _, _ := strings.Cut(strings.TrimSpace(m[2]), " ")
		*b = block{fence: m[1], info: strings.ToLower(info), quoted: mark != ""}
		b.diff = b.info == "diff" || b.info == "patch"
		return hiddenLine, bare
	case diffHeader.MatchString(line):
		*b = block{diff: true}
		return codeLine, line
	}
	return proseLine, bare
}

// endsBefore reports whether a block is over without an end of its own where a text begins: a
// quotation, or a diff that has no fence.
func (b *block) endsBefore(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	endsQuote := b.quoted && !quote.MatchString(line)
	endsDiff := b.diff && b.fence == "" && !b.takesLine(line)
	return endsQuote || endsDiff
}

// takesLine reports whether a line belongs to the diff without a fence that b is: a header, a
// signed line within a hunk or right after the headers, or any line of a hunk that has fewer lines
// than its header counts. The diff ends at the first other line.
func (b *block) takesLine(line string) bool {
	line = strings.TrimRight(line, "\r\n")
	switch {
	case diffHeader.MatchString(line), fileMode.MatchString(line):
		return true
	case line == "":
		return b.before > 0 && b.after > 0
	case line[0] == '+', line[0] == '-', line[0] == '\\':
		followsHeaders := b.lines < 5
		return b.before+b.after > 0 || followsHeaders && !mayBeBullet(line)
	}
	return (line[0] == ' ' || line[0] == '\t') && b.before > 0 && b.after > 0
}

// mayBeBullet reports whether a line may be one of a list.
func mayBeBullet(line string) bool { return len(line) > 1 && line[1] == ' ' }

// addLine counts a line of a block, and keeps its first maxSentence bytes if fewer than maxHeld
// lines are kept.
func (b *block) addLine(line string) {
	line = strings.TrimRight(line, "\r\n")
	if len(b.kept) < maxHeld { // blocks are copied, and must not share what is appended
		b.kept = append(slices.Clip(b.kept), line[:min(len(line), maxSentence)])
	}
	b.countLine(line)
}

// countLine counts a line of a block, without its end: as a line that is not blank and, in a diff,
// as added or removed, or as the header of a file or hunk.
func (b *block) countLine(line string) {
	if strings.TrimSpace(line) != "" {
		b.lines++
	}
	if !b.diff {
		return
	}
	if m := hunk.FindStringSubmatch(line); m != nil {
		lines := func(n string) int {
			if n == "" {
				return 1
			}
			i, _ := strconv.Atoi(n)
			return i
		}
		b.before, b.after = lines(m[1]), lines(m[2])
		return
	}
	switch {
	case b.before+b.after == 0 && (strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ")):
		b.noteFile(line)
	case strings.HasPrefix(line, "+"):
		b.added, b.after = b.added+1, max(b.after-1, 0)
	case strings.HasPrefix(line, "-"):
		b.removed, b.before = b.removed+1, max(b.before-1, 0)
	default:
		b.before, b.after = max(b.before-1, 0), max(b.after-1, 0)
	}
}

// diffFile is the line of a diff that names a file by a path of plain letters, which could be taken
// for nothing else.
var diffFile = regexp.MustCompile(`^(?:---|\+\+\+) (?:[ab]/)?([\pL\pN_./@+-]{1,200})(?:\t.*)?$`)

// noteFile reads the name of the file from a header line of a diff (---, +++) into b.file, and
// counts the files. Of a file that was deleted, the name is on the --- side.
func (b *block) noteFile(line string) {
	const none = "/dev/null"
	m := diffFile.FindStringSubmatch(line)
	switch {
	case m == nil:
		b.file, b.files = "", 2 // no one file can be named
	case line[0] == '-' && m[1] != none:
		b.pending = m[1]
	case line[0] == '+' && m[1] == none:
		b.file, b.files = b.pending, b.files+1
	case line[0] == '+':
		b.file, b.files = m[1], b.files+1
	}
}

// describeBlock returns what is said of a block in a language, or else in English: "Go, 14 lines.",
// "Diff, 2 lines added, 1 removed." id is the phrase that counts lines, such as CodeSoFar for a
// block that goes on. It returns "" for the headers of a diff alone, so far.
func (b block) describeBlock(language string, id phrase.ID) string {
	if b.diff && b.added+b.removed > 0 {
		return b.describeDiff(language)
	}
	if b.diff && id == phrase.CodeSoFar {
		return "" // its headers alone
	}
	text := sayCount(language, id, b.lines, "line")
	if name := languageNames[b.info]; name != "" {
		if i := strings.IndexAny(text, ",،"); i >= 0 {
			text = name + text[i:]
		}
	}
	return text
}

// describeDiff returns what is said of a diff in which lines change, as describeBlock does: of a
// single file by its name, else as "Diff".
func (b block) describeDiff(language string) string {
	var counts []string
	noun := "line" // which only the first number has
	if b.added > 0 {
		counts = append(counts, sayCount(language, phrase.LinesAdded, b.added, noun))
		noun = ""
	}
	if b.removed > 0 {
		counts = append(counts, sayCount(language, phrase.LinesRemoved, b.removed, noun))
	}
	changes := strings.Join(counts, ", ") + "."
	if b.files == 1 && b.file != "" {
		return path.Base(b.file) + ": " + changes
	}
	return sayCount(language, phrase.ADiff, 0, "") + ", " + changes
}

// sayCount returns a phrase with a number in a language, or else in English, where the noun stands
// behind the number; "" is no noun.
func sayCount(language string, id phrase.ID, n int, noun string) string {
	text, known := phrase.In(language, id, strconv.Itoa(n))
	switch {
	case known && language != "" && !sharesVoice(language, ownLanguage):
		return text
	case noun != "":
		return phrase.Counted(ownLanguage, id, n, noun)
	}
	text, _ = phrase.In(ownLanguage, id, strconv.Itoa(n))
	return text
}

// isDiff reports whether lines that begin with + or -, as those of a list may too, are those of a
// diff: one is added and one removed. No line is empty.
func isDiff(lines []string) (signed bool) {
	added, removed := false, false
	for _, line := range lines {
		added, removed = added || line[0] == '+', removed || line[0] == '-'
	}
	return added && removed
}

// isSigned reports whether a line begins with a sign that may be that of a diff.
func isSigned(line string) bool {
	line = strings.TrimRight(line, " \t\r\n")
	return signedLine.MatchString(line) && !numbered.MatchString(line) && !rule.MatchString(line) &&
		!strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "++")
}

// speakSign returns a line of a diff with its sign in words, in a language, or else in English.
func speakSign(line, language string) string {
	m := signedLine.FindStringSubmatch(strings.TrimRight(line, " \t\r\n"))
	id := phrase.LineAdded
	if m[1] == "-" {
		id = phrase.LineRemoved
	}
	sentence, _ := phrase.In(language, id, m[2])
	return sentence + "\n"
}

// speakSigns returns text with the signs + and - of diffs that have neither fence nor header in
// words: their lines would pass for those of a list. Only runs of two lines or more that look like
// a diff are changed.
func speakSigns(text, language string) string {
	if !strings.Contains(text, "+") || !strings.Contains(text, "-") {
		return text
	}
	var result strings.Builder
	var run []string
	flush := func() {
		signed := len(run) > 1 && isDiff(run)
		for _, line := range run {
			if signed {
				line = speakSign(line, language)
			}
			result.WriteString(line)
		}
		run = nil
	}
	for line := range strings.Lines(text) {
		if isSigned(line) {
			run = append(run, line)
			continue
		}
		if strings.HasPrefix(line, "* ") && run != nil { // a list that changes its marks
			result.WriteString(strings.Join(run, ""))
			run = nil
		}
		flush()
		result.WriteString(line)
	}
	flush()
	return result.String()
}
