package announce

import (
	"regexp"
	"strings"

	"github.com/aaep-go/aaep/internal/words"
)

// belowNames is the line that stands below the first row of a table, and makes that the names of
// the columns.
var belowNames = regexp.MustCompile(`^[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$`)

// named is from how many columns on a cell is told behind the name of its column. Of two, what the
// second is about is the first.
const named = 3

// table is where a text is in a table, whose rows may come one by one.
type table struct {
	names []string // of its columns; nil are not known yet
	last  []string // the row before, which is that of the names if a line below says so
}

// speakRows is text with each row of a table as a sentence: what it is about, then each cell behind
// the name of its column. What is empty is left out.
func (t *table) speakRows(text string) string {
	if !strings.Contains(text, "|") {
		if strings.TrimSpace(text) != "" {
			*t = table{}
		}
		return text
	}
	var rest strings.Builder
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\r\n")
		cells := row.FindStringSubmatch(bare)
		switch {
		case belowNames.MatchString(bare) && t.last != nil:
			t.names, t.last = t.last, nil
		case cells != nil && !belowNames.MatchString(bare):
			t.last = splitRow(cells[1])
			rest.WriteString(words.Sentence(t.speakRow(t.last)) + "\n")
			if t.names != nil {
				t.last = nil
			}
			continue
		case strings.TrimSpace(bare) == "" && t.names == nil && t.last == nil:
		default:
			*t = table{}
		}
		rest.WriteString(line)
	}
	return rest.String()
}

// speakRow is what is said of a row.
func (t *table) speakRow(cells []string) string {
	var said []string
	for i, cell := range cells {
		switch {
		case cell == "":
		case i > 0 && i < len(t.names) && len(t.names) >= named && t.names[i] != "":
			said = append(said, t.names[i]+": "+cell)
		default:
			said = append(said, cell)
		}
	}
	return strings.Join(said, ", ")
}

// splitRow returns the cells of a row. A bar behind a backslash is one that the cell has.
func splitRow(text string) (cells []string) {
	const bar = "\x00" // which no text has that is made safe
	for cell := range strings.SplitSeq(strings.ReplaceAll(strings.ReplaceAll(text, bar, ""), `\|`, bar), "|") {
		cells = append(cells, strings.TrimSpace(strings.ReplaceAll(cell, bar, "|")))
	}
	return cells
}
