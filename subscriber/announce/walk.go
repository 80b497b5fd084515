package announce

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

// Place is a kind of place in what the agents said, to which a person can walk.
type Place string

// The places there are.
const (
	turnPlace     Place = "turn"
	headingPlace  Place = "heading"
	questionPlace Place = "question"
	codePlace     Place = "code"
	diffPlace     Place = "diff"
	changePlace   Place = "change"
	tablePlace    Place = "table"
	columnPlace   Place = "column"
	listPlace     Place = "list"
	itemPlace     Place = "item"
	linePlace     Place = "line"
)

// Places returns all of them: a turn, a heading, a question, code, a diff, a change in a diff, a
// table, a column of the table that the person is at, a list, an item of one, and any line.
func Places() []Place {
	return []Place{turnPlace, headingPlace, questionPlace, codePlace, diffPlace, changePlace, tablePlace, columnPlace,
		listPlace, itemPlace, linePlace}
}

// ErrNoPlace says that there is no such place in that direction.
var ErrNoPlace = errors.New("announce: there is no such place")

// isAt reports whether a place of a kind, such as a heading or a block of code, begins at the line
// with an index. At the plain linePlace is any line that is not hidden, and not the rule below the
// head of a table.
func (t *transcript) isAt(place Place, i int) bool {
	line := t.lines[i]
	var previous *transcriptLine
	if i > 0 {
		previous = t.lines[i-1]
	}
	begins := line.block != 0 && (previous == nil || previous.block != line.block)
	switch place {
	case turnPlace:
		return line.begins
	case headingPlace:
		return line.kind == headingLine
	case questionPlace:
		return line.kind == questionLine
	case codePlace:
		return line.kind == codeLine && begins
	case diffPlace:
		return begins && (line.kind == hiddenLine || line.kind == contextLine || line.kind == changedLine)
	case changePlace:
		return line.kind == changedLine && (begins || previous.kind != changedLine)
	case tablePlace:
		return line.kind == tableLine && begins
	case listPlace:
		return line.kind == itemLine && begins
	case itemPlace:
		return line.kind == itemLine
	}
	return line.kind != hiddenLine && !(line.kind == tableLine && line.level > 0)
}

// position returns the index of the line where the person is. Before they have been anywhere it is
// the place before the newest turn that says something, or, going back, behind all lines; -1 is
// before the first line.
func (t *transcript) position(back bool) int {
	if t.at != nil {
		return slices.Index(t.lines, t.at)
	}
	if back {
		return len(t.lines)
	}
	for i := len(t.lines) - 1; i >= 0; i-- { // a turn that has yet said nothing is none to read
		if line := t.lines[i]; line.begins && (line.kind != turnLine || i+1 < len(t.lines)) {
			return i - 1
		}
	}
	return -1
}

// walk moves the person to the next place of a kind or, back, to the one before, and returns the
// index of its line. Without one that way it returns -1 and they stay where they are.
func (t *transcript) walk(place Place, back bool) int {
	t.readOpen()
	step := 1
	if back {
		step = -1
	}
	for i := t.position(back) + step; i >= 0 && i < len(t.lines); i += step {
		if t.isAt(place, i) {
			t.at, t.column = t.lines[i], 0
			return i
		}
	}
	return -1
}

// find moves the person to the next line or, back, the one before that has text in it, in capitals
// or small letters, and goes on at the other end. It returns the index of the line; without one,
// -1, and they stay where they are.
func (t *transcript) find(text string, back bool) int {
	t.readOpen()
	text = strings.ToLower(text)
	step := 1
	if back {
		step = -1
	}
	n, i := len(t.lines), t.position(back)
	for range n {
		i = (i + step + n) % n
		if line := t.lines[i]; t.isAt(linePlace, i) && strings.Contains(strings.ToLower(line.text), text) {
			t.at, t.column = line, 0
			return i
		}
	}
	return -1
}

// Walk reads out the next place of a kind in the transcript or, back, the one before, and moves the
// person there. Where there is none, they are told so and stay, and ErrNoPlace is returned.
func (a *Announcer) Walk(now time.Time, place Place, back bool) error {
	if !slices.Contains(Places(), place) {
		return fmt.Errorf("announce: %.40q is no place; there are %q", place, Places())
	}
	if place == columnPlace {
		return a.walkColumn(now, back)
	}
	i := a.transcript.walk(place, back)
	if i < 0 {
		a.addRequested(now, phraseIn(a.language, phrase.NoneThatWay, ""))
		return ErrNoPlace
	}
	a.announcePlace(now, a.transcript.lines[i], a.placeWords(place, i))
	return nil
}

// Find reads out the next line of the transcript that contains a text or, back, the one before,
// without regard to capitals. After the last comes the first.
func (a *Announcer) Find(now time.Time, text string, back bool) error {
	if text = strings.TrimSpace(text); text == "" {
		return errors.New("announce: there is nothing to look for")
	}
	i := a.transcript.find(text, back)
	if i < 0 {
		a.addRequested(now, labelText(a.language, phrase.NotFound, words.Sentence(words.OneLine(aaep.SafeText(text)))))
		return ErrNoPlace
	}
	line := a.transcript.lines[i]
	parts := a.lineWords(i)
	if place := a.whereWords(line); place != "" {
		parts = append([]Part{{Language: line.language, Text: place}}, parts...)
	}
	a.announcePlace(now, line, parts)
	return nil
}

// WriteTranscript writes what the agents said and did as far as it is kept, the newest two million
// bytes or so.
func (a *Announcer) WriteTranscript(w io.Writer) error { return a.transcript.writeTo(w, a.language) }

// NoteTyped keeps what the person typed for an agent, so that they can walk to it and find it. A
// program calls it when it sends that. Nothing is told.
func (a *Announcer) NoteTyped(now time.Time, text string) {
	a.transcript.addTyped(now, a.language, text)
}

// announcePlace queues the words of a place in the transcript ahead of all that is not critical,
// and replaces those of another place. What else was being said begins again after it. Walk and
// Find call it.
func (a *Announcer) announcePlace(now time.Time, line *transcriptLine, parts []Part) {
	parts = slices.DeleteFunc(parts, func(p Part) bool { return strings.TrimSpace(p.Text) == "" })
	if len(parts) == 0 {
		return
	}
	a.normal = slices.DeleteFunc(a.normal, func(it *item) bool {
		if !it.fromWalk {
			return false
		}
		if it.cancelled = a.saying != nil && a.saying.item == it; !it.cancelled {
			a.endItem(it, now, Expired)
		}
		return true
	})
	if s := a.saying; s != nil && !s.critical && !s.fromWalk && slices.Contains(a.normal, s.item) {
		s.item.postponed = true
	}
	it := &item{source: line.source, session: sessionOf(line.source, line.event), kind: Output, event: line.event,
		sentences: parts, arrived: now, wanted: true, fromWalk: true, verbatim: line.isCode()}
	a.recordItem(it)
	a.normal = slices.Insert(a.normal, 0, it)
}

// isCode reports whether a line is one of code or of a diff that is read out.
func (line *transcriptLine) isCode() bool {
	return line.kind == codeLine || line.kind == contextLine || line.kind == changedLine
}

// whereWords returns a sentence that says where a line of code is: in which file, and at which line
// of that. It is "" for a line that is not of code or a diff, or has no number.
func (a *Announcer) whereWords(line *transcriptLine) string {
	if line.block == 0 || line.number == 0 || !line.isCode() {
		return ""
	}
	place, known := phrase.In(line.language, phrase.AtLine, fmt.Sprint(line.number))
	if !known && !isEnglish(line.language) {
		place = fmt.Sprint(line.number)
	}
	if line.file == "" {
		return words.Sentence(place)
	}
	return words.Sentence(path.Base(line.file) + ", " + place)
}

// placeWords returns the words for a place of a kind that begins at line i of the transcript. For a
// change, which is read out whole, it moves the person to its last line. A change ends after
// maxRecited lines.
func (a *Announcer) placeWords(place Place, i int) (parts []Part) {
	line := a.transcript.lines[i]
	lines := a.transcript.blockAt(i)
	say := func(text string) { parts = append(parts, Part{Language: line.language, Text: text}) }
	switch place {
	case codePlace, diffPlace:
		b := block{fence: "```", info: line.info, diff: place == diffPlace}
		for _, l := range lines {
			b.countLine(l.text)
		}
		say(b.describeBlock(line.language, phrase.Code))
		if place == diffPlace {
			return parts
		}
	case changePlace:
		if where := a.whereWords(line); where != "" {
			say(where)
		}
		for k := i; k < min(i+maxRecited, len(a.transcript.lines)) && a.transcript.lines[k].kind == changedLine; k++ {
			parts = append(parts, a.codeWords(k)...)
			a.transcript.at = a.transcript.lines[k]
		}
		return parts
	case tablePlace:
		rows := 0
		for _, l := range lines {
			if isRow := l.level == 0; isRow {
				rows++
			}
		}
		if hasNames := a.transcript.columnNames(i) != nil; hasNames {
			rows--
		}
		w := In(line.language, phrase.Counted(line.language, phrase.TableOf, rows, "row"))
		parts = append(parts, a.splitWords(w, false)...)
	}
	return append(parts, a.lineWords(i)...)
}

// maxRecited is how many lines are told at once.
const maxRecited = 20

// lineWords returns what is said of the line with an index, by its kind: code by its manner, a row
// of a table as a sentence, with the names of its columns but for the head itself, a heading with
// its level, what the person typed behind a label, anything else as it is.
func (a *Announcer) lineWords(i int) []Part {
	line := a.transcript.lines[i]
	switch line.kind {
	case typedLine:
		return append(a.splitWords(phraseIn(a.language, phrase.Typed, ""), false), a.proseWords(line, line.text)...)
	case codeLine, contextLine, changedLine:
		return a.codeWords(i)
	case tableLine:
		t := table{}
		if isHead := line == a.transcript.blockAt(i)[0]; !isHead {
			t.names = a.transcript.columnNames(i)
		}
		return a.proseWords(line, words.Sentence(t.speakRow(rowCells(line.text))))
	case headingLine:
		title := line.text
		if m := heading.FindStringSubmatch(title); m != nil {
			title = m[1]
		}
		label := phraseIn(line.language, phrase.HeadingOf, fmt.Sprint(max(line.level, 1)))
		return a.splitWords(label.And(" ", In(line.language, words.Sentence(title))), false)
	}
	return a.proseWords(line, line.text)
}

// proseWords returns what is said of a text of a line that is no code.
func (a *Announcer) proseWords(line *transcriptLine, text string) []Part {
	if a.p.Reads {
		return []Part{{Language: line.language, Text: words.OneLine(aaep.SafeTextIn(text, line.language))}}
	}
	return In(line.language, text).splitSentences(false)
}

// codeWords returns what is said of the line of code or of a diff with an index, with its
// indentation where that changes. A line of which the person's settings say nothing has no words.
func (a *Announcer) codeWords(i int) []Part {
	var lines []codeText
	index, indent := 0, 0
	for _, l := range a.transcript.blockAt(i) {
		text := codeText{text: l.text}
		switch {
		case l.kind == hiddenLine:
			continue
		case l.kind == contextLine:
			text = codeText{strings.TrimPrefix(l.text, " "), ' '}
		case l.kind == changedLine:
			text = codeText{l.text[1:], l.text[0]}
		}
		if lines = append(lines, text); l == a.transcript.lines[i] {
			index = len(lines) - 1
		}
	}
	if index > 0 {
		indent = countIndent(lines[index-1].text)
	}
	nearby := lines[max(index-maxRecited, 0):min(index+maxRecited, len(lines))]
	part, ok := a.p.Content.sayLine(lines[index], indentUnit(lines), indent, nearby, a.transcript.lines[i].language)
	if !ok {
		return nil
	}
	return []Part{part}
}

// blockAt returns the lines of the code, diff, table or list that a line is of, or that line alone.
func (t *transcript) blockAt(i int) []*transcriptLine {
	id := t.lines[i].block
	if id == 0 {
		return t.lines[i : i+1]
	}
	start, end := i, i+1
	for start > 0 && t.lines[start-1].block == id {
		start--
	}
	for end < len(t.lines) && t.lines[end].block == id {
		end++
	}
	return t.lines[start:end]
}

// rowCells returns the cells of a line of a table; nil for a line that is no row.
func rowCells(text string) []string {
	if m := row.FindStringSubmatch(text); m != nil {
		return splitRow(m[1])
	}
	return nil
}

// columnNames returns the names of the columns of the table that a line is of, or nil.
func (t *transcript) columnNames(i int) []string {
	lines := t.blockAt(i)
	if len(lines) < 2 || lines[1].level == 0 {
		return nil
	}
	return rowCells(lines[0].text)
}

// walkColumn reads out the next column of the table that the person is at, or, back, the one
// before: its name and its cells. A person who is at no table is taken to the next. Without a
// column or table that way it says so, and returns ErrNoPlace.
func (a *Announcer) walkColumn(now time.Time, back bool) error {
	t := &a.transcript
	t.readOpen()
	i := -1
	if t.at != nil {
		i = slices.Index(t.lines, t.at)
	}
	if i < 0 || t.lines[i].kind != tableLine {
		if i = t.walk(tablePlace, back); i < 0 {
			a.addRequested(now, phraseIn(a.language, phrase.NoneThatWay, ""))
			return ErrNoPlace
		}
	}
	column := t.column + 1
	if back {
		column = t.column - 1
	}
	var rows [][]string
	for _, line := range t.blockAt(i) {
		if line.level == 0 {
			rows = append(rows, rowCells(line.text))
		}
	}
	name, cells := columnWords(rows, column, t.columnNames(i) != nil)
	if name == "" && cells == "" {
		a.addRequested(now, phraseIn(a.language, phrase.NoneThatWay, ""))
		return ErrNoPlace
	}
	t.column = column
	sentence := a.proseWords(t.lines[i], words.Sentence(name))
	a.announcePlace(now, t.lines[i], append(sentence, a.proseWords(t.lines[i], words.Sentence(cells))...))
	return nil
}
