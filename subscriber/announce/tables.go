package announce

import (
	"regexp"
	"strings"

	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

// belowNames is the line that stands below the first row of a table, and makes that the names of
// the columns.
var belowNames = regexp.MustCompile(`^[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$`)

// namedColumns is from how many columns on a cell is told behind the name of its column. Of two,
// what the second is about is the first.
const namedColumns = 3

// table is where a text is in a table, whose rows may come one by one.
type table struct {
	names  []string // of its columns; nil are not known yet
	last   []string // the row before, which is that of the names if a line below says so
	manner Manner   // how it is told: but for Read, once it is over
	rows   [][]string
}

// speakRows returns text with each row of a table as a sentence: what it is about, then each cell
// behind the name of its column. An empty cell is left out. A row may come before the line below
// the names has told that a table begins. Where t.manner is not Read, the rows are kept in t.rows
// too, at most maxHeld, and not said; text without rows ends the table.
func (t *table) speakRows(text string) string {
	if !strings.Contains(text, "|") {
		if strings.TrimSpace(text) != "" {
			*t = table{}
		}
		return text
	}
	var result strings.Builder
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\r\n")
		cells := row.FindStringSubmatch(bare)
		switch {
		case belowNames.MatchString(bare) && t.last != nil:
			t.names, t.last = t.last, nil
		case cells != nil && !belowNames.MatchString(bare):
			t.last = splitRow(cells[1])
			if t.manner == "" || t.manner == Read {
				result.WriteString(words.Sentence(t.speakRow(t.last)) + "\n")
			} else if len(t.rows) < maxHeld {
				t.rows = append(t.rows, t.last)
			}
			if t.names != nil {
				t.last = nil
			}
			continue
		case strings.TrimSpace(bare) == "" && t.names == nil && t.last == nil:
		default:
			*t = table{}
		}
		result.WriteString(line)
	}
	return result.String()
}

// endHeld ends the table and returns the lines that announce it, by column or as its names and
// number of rows, if its rows were held back; else "".
func (t *table) endHeld(language string) string {
	rows, hasNames, manner := t.rows, t.names != nil, t.manner
	*t = table{manner: manner}
	switch {
	case rows == nil || manner == Skip:
		return ""
	case manner == ByColumn:
		var b strings.Builder
		for i := range rows[0] {
			name, cells := columnWords(rows, i+1, hasNames)
			b.WriteString(words.Sentence(name) + "\n" + words.Sentence(cells) + "\n")
		}
		return b.String()
	}
	n := len(rows)
	if hasNames {
		n--
	}
	text := words.Sentence(t.speakRow(rows[0])) + "\n"
	if _, known := phrase.In(language, phrase.TableOf, ""); known || isEnglish(language) {
		text = phrase.Counted(language, phrase.TableOf, n, "row") + "\n" + text
	}
	return text
}

// columnWords returns what is said of the column with a number, from one on: its name, where the
// first row has names, and of each other row the first cell and the one in the column. Rows that
// have no such cell, or an empty one, are left out.
func columnWords(rows [][]string, column int, hasNames bool) (name, cellWords string) {
	var parts []string
	for i, cells := range rows {
		if column < 1 || column > len(cells) {
			continue
		}
		cell := cells[column-1]
		switch {
		case i == 0 && hasNames:
			name = cell
		case cell == "":
		case column > 1 && cells[0] != "":
			parts = append(parts, cells[0]+": "+cell)
		default:
			parts = append(parts, cell)
		}
	}
	return name, strings.Join(parts, "; ")
}

// speakRow returns what is said of a row: its cells that are not empty, with commas between. In a
// table of namedColumns or more, each cell but the first stands behind the name of its column,
// where it has one.
func (t *table) speakRow(cells []string) string {
	var parts []string
	for i, cell := range cells {
		switch {
		case cell == "":
		case i > 0 && i < len(t.names) && len(t.names) >= namedColumns && t.names[i] != "":
			parts = append(parts, t.names[i]+": "+cell)
		default:
			parts = append(parts, cell)
		}
	}
	return strings.Join(parts, ", ")
}

// splitRow returns the cells of a row. A bar behind a backslash is one that the cell has.
func splitRow(text string) (cells []string) {
	const bar = "\x00" // which no text has that is made safe
	for cell := range strings.SplitSeq(strings.ReplaceAll(strings.ReplaceAll(text, bar, ""), `\|`, bar), "|") {
		cells = append(cells, strings.TrimSpace(strings.ReplaceAll(cell, bar, "|")))
	}
	return cells
}
