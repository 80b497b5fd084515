package announce

import (
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

const (
	maxKeptText = 2 << 20 // bytes of a transcript; of more, the oldest lines are forgotten
	maxKeptLine = 8 << 10 // bytes of one line
)

// lineKind is what a line of a transcript is.
type lineKind int

const (
	proseLine lineKind = iota
	turnLine           // that a session began
	typedLine          // that the person typed for the agent
	questionLine
	newsLine // of a tool, or of the end of a session
	headingLine
	itemLine // of a list
	codeLine
	contextLine // of a diff, that does not change
	changedLine
	tableLine
	hiddenLine // is marks alone: a fence, a header of a diff, the rule below the names of a table
)

// transcriptLine is one line as an agent wrote it, or what it did.
type transcriptLine struct {
	at               time.Time
	source, language string
	event            *aaep.Event
	text             string
	kind             lineKind
	begins           bool // a turn: it is the first line of a session
	level            int  // of a heading
	// block is the number of the code, diff, table or list that the line is of; zero is of none.
	// number is that of the line in its code, or in the file of a diff.
	block, number int
	info          string // of the first line of code, what it is written in
	file          string // of a line of a diff
}

// openText is an output that goes on.
type openText struct {
	line   *transcriptLine // that has not ended; nil begins another
	block  block           // of code, that the next line may be of
	id     int             // of that, and of a list or a table
	number int
	before int // the number of the next line of a diff, in the file before it
	after  int
	last   *transcriptLine // that ended last
}

// A transcript keeps what the agents said as they wrote it, to be walked. It belongs to one
// Announcer.
type transcript struct {
	lines []*transcriptLine
	size  int                  // bytes of their texts
	open  map[string]*openText // by agent, session and output
	last  int                  // block
	begun map[string]bool      // sessions that a line is kept of, the newest of them
	asked bool                 // the newest line is what the person typed: the next session is of the same turn

	// Where the person is: at the line; nil is nowhere yet. column is of its table.
	at     *transcriptLine
	column int
}

var orderedItem = regexp.MustCompile(`^[ \t]*[0-9]{1,4}[.)][ \t]+\S`)

// addEvent adds an event to the transcript that the person can walk through: an output as it was
// written, and the words w of a session's beginning and end, a question or a tool call as one line.
// Other events add nothing.
func (t *transcript) addEvent(now time.Time, source string, ev *aaep.Event, w Words) {
	line := &transcriptLine{at: now, source: source, language: ev.Language(), event: ev}
	switch p := ev.Payload.(type) {
	case *aaep.OutputStreaming:
		t.addChunk(now, source, ev, p)
		return
	case *aaep.SessionStarted:
		line.kind = turnLine
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		line.kind = questionLine
	case *aaep.ToolInvoked, *aaep.ToolCompleted, *aaep.HandoffRequested:
		line.kind = newsLine
	default:
		if !ev.Type().Terminal() {
			return
		}
		line.kind = newsLine
		t.closeTexts(source, ev)
	}
	if line.text = words.OneLine(w.String()); line.text != "" {
		t.keep(line)
	}
}

// addTyped keeps what the person typed for the agent, which begins a turn.
func (t *transcript) addTyped(now time.Time, language, text string) {
	t.keep(&transcriptLine{at: now, language: language, event: &aaep.Event{}, text: words.OneLine(text), kind: typedLine})
}

// closeTexts ends in the transcript the outputs of an event's session that are open: their last
// lines count as whole. addEvent calls it at an event that ends the text.
func (t *transcript) closeTexts(source string, ev *aaep.Event) {
	begin := sessionOf(source, ev) + "\x00"
	for id, o := range t.open {
		if strings.HasPrefix(id, begin) {
			t.endLine(o)
			delete(t.open, id)
		}
	}
}

// addChunk adds a chunk of an output to the lines of that output. A line is classified once it
// ends. A line keeps its first maxKeptLine bytes. Beyond maxAnswers open outputs, all are taken for
// ended.
func (t *transcript) addChunk(now time.Time, source string, ev *aaep.Event, p *aaep.OutputStreaming) {
	id := sessionOf(source, ev) + "\x00" + p.OutputID
	o := t.open[id]
	if o == nil {
		if len(t.open) >= maxAnswers { // those that go on are begun anew
			clear(t.open)
		}
		o = &openText{}
		setEntry(&t.open, id, o)
	}
	language := p.Language
	if language == "" {
		language = ev.Language()
	}
	for part := range strings.Lines(p.Chunk) {
		text, ended := strings.CutSuffix(part, "\n")
		if o.line == nil {
			o.line = &transcriptLine{at: now, source: source, event: ev, language: language}
			t.keep(o.line)
		}
		text = text[:min(len(text), maxKeptLine-len(o.line.text))]
		o.line.text += strings.ToValidUTF8(strings.TrimSuffix(text, "\r"), "")
		t.size += len(text)
		if ended {
			t.endLine(o)
		}
	}
	if p.Complete {
		t.endLine(o)
		delete(t.open, id)
	}
}

// keep appends a line to the transcript, and marks it as the beginning of a turn where the person
// typed it, or where it is the first of a session and does not follow what they typed. Beyond
// maxKeptText it forgets the oldest eighth; a person who stood there stands nowhere.
func (t *transcript) keep(line *transcriptLine) {
	if line.kind == typedLine {
		line.begins = true
	} else if session := sessionOf(line.source, line.event); !t.begun[session] {
		if len(t.begun) >= maxAgents {
			clear(t.begun)
		}
		setEntry(&t.begun, session, true)
		line.begins = !t.asked
	}
	t.asked = line.kind == typedLine
	t.lines = append(t.lines, line)
	t.size += len(line.text)
	if t.size <= maxKeptText {
		return
	}
	n := 0
	for ; n < len(t.lines)-1 && t.size > maxKeptText*7/8; n++ {
		t.size -= len(t.lines[n].text)
		if t.lines[n] == t.at {
			t.at = nil
		}
	}
	t.lines = slices.Clone(t.lines[n:])
}

// endLine ends the last line of an output, as no more text of it comes: it finds out what kind of
// line that is, and keeps it as the output's last.
func (t *transcript) endLine(o *openText) {
	if o.line != nil {
		t.classify(o, o.line)
		o.line, o.last = nil, o.line
	}
}

// readOpen classifies the lines that have not ended, as far as they are there: before a walk.
func (t *transcript) readOpen() {
	for _, o := range t.open {
		if o.line != nil {
			copied := *o
			t.classify(&copied, o.line)
		}
	}
}

// begin returns the number of the list or table that the next line is of: a new one, unless the
// line before is of that kind too.
func (t *transcript) begin(o *openText, kind lineKind) int {
	if o.last == nil || o.last.kind != kind || o.last.block == 0 {
		t.last++
		o.id = t.last
	}
	return o.id
}

// classify sets the kind, the block and the level of a line, from what came before it in its
// output, and numbers the block where it begins. endLine calls it for a line that has ended,
// readOpen for one that has not.
func (t *transcript) classify(o *openText, line *transcriptLine) {
	line.kind, line.block, line.level = proseLine, 0, 0
	text := line.text
	if o.block.endsBefore(text) {
		o.block = block{}
	}
	wasOpen := o.block.isOpen()
	kind, bare := o.block.readLine(text + "\n")
	if begins := !wasOpen && o.block.isOpen(); begins {
		t.last++
		o.id, o.number = t.last, 0
	}
	switch bare = strings.TrimSuffix(bare, "\n"); kind {
	case codeLine:
		t.addCode(o, line, bare)
	case hiddenLine:
		line.kind = hiddenLine
	default:
		t.addProse(o, line, bare)
	}
}

// addCode is classify for a line within code or a diff; text is the line without marks of a
// quotation.
func (t *transcript) addCode(o *openText, line *transcriptLine, text string) {
	b := &o.block
	line.text, line.block, line.kind, line.info = text, o.id, codeLine, b.info
	o.number++
	line.number = o.number
	if !b.diff {
		return
	}
	if m := hunkStart.FindStringSubmatch(text); m != nil {
		o.before, _ = strconv.Atoi(m[1])
		o.after, _ = strconv.Atoi(m[2])
	}
	isOutsideHunk := b.before+b.after == 0
	namesFile := isOutsideHunk && (strings.HasPrefix(text, "--- ") || strings.HasPrefix(text, "+++ "))
	b.countLine(text)
	line.kind, line.file, line.number = contextLine, b.file, o.after
	switch {
	case namesFile || isHeader(text):
		line.kind = hiddenLine
	case strings.HasPrefix(text, "-"):
		line.kind, line.number = changedLine, o.before
		o.before++
	case strings.HasPrefix(text, "+"):
		line.kind = changedLine
		o.after++
	default:
		o.before, o.after = o.before+1, o.after+1
	}
	if o.before+o.after < 2 { // no hunk says where it is
		line.number = 0
	}
}

// hunkStart has where the lines of a hunk begin in both files.
var hunkStart = regexp.MustCompile(`^@@ -([0-9]{1,6})(?:,[0-9]{1,6})? \+([0-9]{1,6})`)

// underlined is a line that makes the one before it a heading.
var underlined = regexp.MustCompile(`^ {0,3}(=+|-+)[ \t]*$`)

// addProse is classify for a line that is no code; text is the line without marks of a quotation. A
// line of marks may make the one before it a heading.
func (t *transcript) addProse(o *openText, line *transcriptLine, text string) {
	title := heading.FindStringSubmatch(text)
	underline := underlined.FindStringSubmatch(text)
	switch {
	case title != nil:
		marks := strings.TrimLeft(text, " \t")
		line.kind, line.level = headingLine, len(marks)-len(strings.TrimLeft(marks, "#"))
	case underline != nil && o.last != nil && o.last.kind == proseLine && strings.TrimSpace(o.last.text) != "":
		line.kind, o.last.kind, o.last.level = hiddenLine, headingLine, 1
		if underline[1][0] == '-' {
			o.last.level = 2
		}
	case row.MatchString(text):
		line.block = t.begin(o, tableLine)
		if line.kind = tableLine; belowNames.MatchString(text) && o.last != nil && o.last.block == line.block {
			line.level = 1 // the rule below the names
		}
	case rule.MatchString(text):
		line.kind = hiddenLine
	case bullet.MatchString(text) || orderedItem.MatchString(text):
		line.block = t.begin(o, itemLine)
		line.kind = itemLine
	case strings.TrimSpace(text) == "":
		line.kind = hiddenLine
	}
}

// writeTo writes the transcript as it was written, with who said it and when, for WriteTranscript.
// What the person typed has a label in a language. The error is that of w.
func (t *transcript) writeTo(w io.Writer, language string) error {
	var b strings.Builder
	source := ""
	for _, line := range t.lines {
		isOwnLine := line.kind == turnLine || line.kind == questionLine || line.kind == newsLine
		switch {
		case line.kind == typedLine:
			b.WriteString("[" + line.at.Format(time.DateTime) + "] " + phraseIn(language, phrase.Typed, "").String() + " ")
		case isOwnLine || line.source != source:
			b.WriteString("[" + line.at.Format(time.DateTime) + " " + words.OneLine(aaep.SafeText(line.source)) + "]")
			if isOwnLine {
				b.WriteByte(' ')
			} else {
				b.WriteByte('\n')
			}
		}
		b.WriteString(aaep.SafeTextIn(line.text, line.language) + "\n")
		source = line.source
	}
	_, err := io.WriteString(w, b.String())
	return err
}
