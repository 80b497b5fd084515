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

// languageNames are those of code, as people say them, by what stands behind a fence.
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

// openingText is text that begins as much of a block.
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
	rest, space := max(b.lines-b.added-b.removed-heads, 0), ""
	begin := b.fence + b.info + "\n" + head
	if b.fence == "" {
		rest, space = max(rest-1, 0), " "
		begin = head + fmt.Sprintf("@@ -1,%d +1,%d @@\n", b.before+b.removed+rest, b.after+b.added+rest)
	} else if b.diff && b.info != "diff" {
		begin = b.fence + "diff\n" + head
	}
	begin += strings.Repeat("+\n", b.added) + strings.Repeat("-\n", b.removed) + strings.Repeat(space+".\n", rest)
	if b.quoted {
		begin = strings.TrimSuffix("> "+strings.ReplaceAll(begin, "\n", "\n> "), "> ")
	}
	return begin
}

// continueWith is text with the part of the block in front of it that was told, in few words, and
// the code that it ends in, if that goes on. Ended is the last code that it is the end of, where
// wanted says that nothing follows also such that goes on.
//
// The whole is left out of a diff without a fence that goes on, unless it is wanted: a long one
// comes line by line, and would be told from its beginning for each.
func (b block) continueWith(text string, wanted bool) (whole string, open block, ended *block) {
	replaceCodeFrom(b, text, func(b block, closed bool) string {
		if !closed {
			open = b
		}
		if closed || wanted {
			b.earlier = ended
			ended = &b
		}
		return ""
	})
	if open.diff && open.fence == "" && !wanted {
		return text, open, ended
	}
	return b.openingText() + text, open, ended
}

// goOn is what a text that goes on with a block ends in.
func (b block) goOn(text string) (open block) {
	replaceCodeFrom(b, text, func(b block, closed bool) string {
		if !closed {
			open = b
		}
		return ""
	})
	return open
}

// replaceCode is text with each block of code, and each diff, replaced by what is said of it.
func replaceCode(text string, says func(b block, closed bool) string) string {
	return replaceCodeFrom(block{}, text, says)
}

// replaceCodeFrom is replaceCode of a text that goes on with a block. Code in a quotation ends with
// that.
func replaceCodeFrom(b block, text string, says func(b block, closed bool) string) string {
	var rest strings.Builder
	for line := range strings.Lines(text) {
		if b.endsBefore(line) {
			rest.WriteString(says(b, true))
			b = block{}
		}
		mark, bare := quote.FindString(line), line
		if b.quoted || !b.isOpen() {
			bare = line[len(mark):]
		}
		switch m := fence.FindStringSubmatch(bare); {
		case b.fence != "":
			end := strings.TrimSpace(bare)
			if len(end) >= len(b.fence) && strings.Trim(end, b.fence[:1]) == "" {
				rest.WriteString(says(b, true))
				b = block{}
				continue
			}
			b.diff = b.diff || diffHeader.MatchString(bare)
			b.addLine(bare)
		case b.diff:
			b.addLine(line)
		case m != nil && (m[1][0] == '~' || !strings.Contains(m[2], "`")):
			info, _, _ := strings.Cut(strings.TrimSpace(m[2]), " ")
			b = block{fence: m[1], info: strings.ToLower(info), quoted: mark != ""}
			b.diff = b.info == "diff" || b.info == "patch"
		case diffHeader.MatchString(line):
			b.diff = true
			b.addLine(line)
		default:
			rest.WriteString(line)
		}
	}
	if b.isOpen() {
		rest.WriteString(says(b, false))
	}
	return rest.String()
}

// endsBefore reports whether a block is over without an end of its own where a text begins: a
// quotation, or a diff that has no fence.
func (b *block) endsBefore(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	return b.quoted && !quote.MatchString(line) || b.diff && b.fence == "" && !b.takesLine(line)
}

// takesLine reports whether a line belongs to a diff that has no fence: a line of its hunk, or of
// its headers.
func (b *block) takesLine(line string) bool {
	line = strings.TrimRight(line, "\r\n")
	switch {
	case diffHeader.MatchString(line), fileMode.MatchString(line):
		return true
	case line == "":
		return b.before > 0 && b.after > 0
	case line[0] == '+', line[0] == '-', line[0] == '\\':
		return b.before+b.after > 0 || b.lines < 5 && !mayBeBullet(line)
	}
	return (line[0] == ' ' || line[0] == '\t') && b.before > 0 && b.after > 0
}

// mayBeBullet reports whether a line may be one of a list.
func mayBeBullet(line string) bool { return len(line) > 1 && line[1] == ' ' }

// addLine keeps a line of a block, and counts it.
func (b *block) addLine(line string) {
	line = strings.TrimRight(line, "\r\n")
	if len(b.kept) < maxHeld { // blocks are copied, and must not share what is appended
		b.kept = append(slices.Clip(b.kept), line[:min(len(line), maxSentence)])
	}
	b.countLine(line)
}

// countLine counts a line of a block, without its end.
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

// noteFile notes the file that a line of a diff names. One that is not there any more has its name
// on the side before.
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

// describeBlock is what is said of a block in a language, or else in English: "Go, 14 lines.",
// "Diff, 2 lines added, 1 removed."
func (b block) describeBlock(language string, id phrase.ID) string {
	in := func(id phrase.ID, n int, bare bool) string {
		says, known := phrase.In(language, id, strconv.Itoa(n))
		if english := language == "" || sharesVoice(language, ownLanguage); english || !known {
			says, _ = phrase.In(ownLanguage, id, strconv.Itoa(n))
			if !bare {
				says = phrase.Counted(ownLanguage, id, n, "line")
			}
		}
		return says
	}
	if b.diff && b.added+b.removed > 0 {
		all := []string{in(phrase.ADiff, 0, true)}
		named := b.files == 1 && b.file != ""
		if named {
			all = nil
		}
		if b.added > 0 {
			all = append(all, in(phrase.LinesAdded, b.added, false))
		}
		if b.removed > 0 {
			all = append(all, in(phrase.LinesRemoved, b.removed, b.added > 0))
		}
		says := strings.Join(all, ", ") + "."
		if named {
			says = path.Base(b.file) + ": " + says
		}
		return says
	}
	if b.diff && id == phrase.CodeSoFar {
		return "" // its headers alone
	}
	says := in(id, b.lines, false)
	if name := languageNames[b.info]; name != "" {
		if i := strings.IndexAny(says, ",،"); i >= 0 {
			says = name + says[i:]
		}
	}
	return says
}

// isDiff are the lines of a text that look like those of a list or a diff; it is a diff where one
// is added and one removed.
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

// speakSign is a line of a diff with its sign in words, in a language, or else in English.
func speakSign(line, language string) string {
	m := signedLine.FindStringSubmatch(strings.TrimRight(line, " \t\r\n"))
	id := phrase.LineAdded
	if m[1] == "-" {
		id = phrase.LineRemoved
	}
	says, _ := phrase.In(language, id, m[2])
	return says + "\n"
}

// speakSigns is text with the signs of its diffs that have neither fence nor header in words: its
// lines would pass for those of a list.
func speakSigns(text, language string) string {
	if !strings.Contains(text, "+") || !strings.Contains(text, "-") {
		return text
	}
	var rest strings.Builder
	var run []string
	flush := func() {
		signed := len(run) > 1 && isDiff(run)
		for _, line := range run {
			if signed {
				line = speakSign(line, language)
			}
			rest.WriteString(line)
		}
		run = nil
	}
	for line := range strings.Lines(text) {
		if isSigned(line) {
			run = append(run, line)
			continue
		}
		if strings.HasPrefix(line, "* ") && run != nil { // a list that changes its marks
			rest.WriteString(strings.Join(run, ""))
			run = nil
		}
		flush()
		rest.WriteString(line)
	}
	flush()
	return rest.String()
}
