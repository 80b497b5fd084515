package acp

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// line is a peer's text in one line, safe to show. Where the line was broken is said, for a command means something else without.
func line(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), "\n", " <new line> ")
	text = words.OneLine(aaep.SafeText(text))
	if n := len([]rune(text)); n > maxQuestion {
		return fmt.Sprintf("%s (these are the first %d of %d characters; the details have all)", clip(text, maxQuestion), maxQuestion, n)
	}
	return text
}

// risk is how much harm a call can do, as far as its kind says.
func (c *call) risk() aaep.Risk {
	for _, part := range c.content {
		if part.Type == "diff" {
			return aaep.RiskHigh
		}
	}
	switch c.kind {
	case "read", "search", "think":
		return aaep.RiskLow
	case "fetch", "other", "switch_mode":
		return aaep.RiskMedium
	case "execute", "delete", "move", "edit":
	}
	return aaep.RiskHigh // also where the agent has not said what it is
}

// verbs begin what is said of a call, by its kind.
var verbs = map[string]string{"delete": "Delete", "move": "Move", "edit": "Edit", "read": "Read", "search": "Search", "fetch": "Fetch"}

// action says what a call does.
func (c *call) action() string {
	title := cmp.Or(line(c.title), line(c.name), "something that the agent does not name")
	verb := verbs[c.kind]
	switch {
	case c.kind == "execute": // with marks, so that a full stop is not taken for a part of it
		return "Run the command \"" + title + "\"."
	case verb == "" || strings.Contains(title, " "): // it says itself what is done
		return words.Sentence(title)
	}
	return words.Sentence(verb + " " + title)
}

// consequence says what the agent gives to decide by: the files and how much changes in them, the command, the agent's own remarks.
func (c *call) consequence(cfg Config) string {
	var says []string
	changed := false
	for _, part := range c.content {
		switch part.Type {
		case "diff":
			added, removed := changes(part)
			what := fmt.Sprintf("%s added, %d removed", words.Count(added, "line"), removed)
			if part.OldText == nil {
				what = "a new file, " + words.Count(added, "line")
			}
			says = append(says, fmt.Sprintf("In %s: %s.", cfg.place(part.Path), what))
			changed = true
		case "content":
			if text := line(part.Content.words()); text != "" {
				says = append(says, words.Sentence(text))
			}
		case "terminal":
		default:
			says = append(says, "The agent adds something of a kind that is not known here.")
		}
	}
	if command := commandIn(c.input); command != "" && !strings.Contains(line(c.title), command) {
		says = append(says, "The command is: "+words.Sentence(command))
	}
	if !changed {
		for _, at := range c.locations {
			says = append(says, "It is about "+words.Sentence(strings.TrimSuffix(cfg.place(at.Path), ",")))
		}
	}
	text := strings.Join(says, " ")
	if c.kind == "execute" && !strings.Contains(text, exact(cfg.Folder)) {
		text = strings.TrimSpace(text + " In the folder " + words.Sentence(exact(cfg.Folder)))
	}
	return cmp.Or(text, "The agent says no more about it.")
}

// commandIn is the command in the input of a tool, in one line, or "".
func commandIn(input jsontext.Value) string { return line(rawCommand(input)) }

// tool is a call as AAEP tells it.
func (c *call) tool() producer.Tool {
	return producer.Tool{Name: cmp.Or(clip(label(c.name), 100), clip(label(c.kind), 100), "tool"), Title: clip(cmp.Or(line(c.title), label(c.kind), "tool"), 100),
		Risk: c.risk(), Action: aaep.Say(words.Fit(c.action(), mostTold))}
}

// changes are how many lines a change adds and removes.
func changes(part toolContent) (added, removed int) {
	for _, c := range diff(part) {
		switch c.sign {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// A diffLine is a line of a change: added (+), removed (-), or the same on both sides (a space).
type diffLine struct {
	sign rune
	text string
}

// maxCells bounds the work of comparing two texts line by line.
const maxCells = 4 << 20

// diff compares the lines of the two texts of a change. Where they are too many to compare, what lies between the lines that are
// the same at both ends counts as removed and added.
func diff(part toolContent) (lines []diffLine) {
	var before []string
	if part.OldText != nil {
		before = splitLines(*part.OldText)
	}
	after := splitLines(part.NewText)
	head := 0
	for head < len(before) && head < len(after) && before[head] == after[head] {
		head++
	}
	tail := 0
	for tail < len(before)-head && tail < len(after)-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	add := func(sign rune, texts []string) {
		for _, text := range texts {
			lines = append(lines, diffLine{sign, text})
		}
	}
	add(' ', before[:head])
	a, b := before[head:len(before)-tail], after[head:len(after)-tail]
	if len(a)*len(b) > maxCells {
		add('-', a)
		add('+', b)
	} else {
		lines = append(lines, compare(a, b)...)
	}
	add(' ', before[len(before)-tail:])
	return lines
}

// compare finds the longest common subsequence of two lists of lines.
func compare(a, b []string) (lines []diffLine) {
	width := len(b) + 1
	longest := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && longest[(i+1)*width+j] >= longest[i*width+j+1]:
			lines = append(lines, diffLine{'-', a[i]})
			i++
		default:
			lines = append(lines, diffLine{'+', b[j]})
			j++
		}
	}
	return lines
}

func splitLines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// Details are all that is known of what the agent asks, or of the newest of its calls: the command, the lines that change,
// and what it says about it. Each is a line that is safe to show.
func (c *Conversation) Details() (lines []string) {
	p := c.asks()
	c.mu.Lock()
	t, about := c.turn, c.newest
	c.mu.Unlock()
	if p != nil {
		about = &p.about
	}
	if about == nil {
		return nil
	}
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
	}
	safe := func(prefix, text string) { lines = append(lines, prefix+words.OneLine(aaep.SafeText(text))) }
	for _, text := range splitLines(cmp.Or(about.title, about.name)) {
		safe("", text)
	}
	for _, part := range about.content {
		switch part.Type {
		case "diff":
			safe("", "File: "+part.Path)
			lines = append(lines, changedLines(part)...)
		case "content":
			for _, text := range splitLines(part.Content.words()) {
				safe("", text)
			}
		}
	}
	if about.input != nil {
		if plain, err := aboutInput(about.input); err == nil {
			for _, text := range plain {
				safe("", text)
			}
		}
	}
	for _, at := range about.locations {
		safe("", "About: "+at.Path)
	}
	return lines
}

// changedLines are the lines of a change as they are told, each side with its numbers.
func changedLines(part toolContent) (lines []string) {
	before, after := 0, 0
	for _, l := range diff(part) {
		text := words.OneLine(aaep.SafeText(l.text))
		switch l.sign {
		case ' ':
			before, after = before+1, after+1
		case '-':
			before++
			lines = append(lines, fmt.Sprintf("Line %d removed: %s", before, text))
		default:
			after++
			lines = append(lines, fmt.Sprintf("Line %d added: %s", after, text))
		}
	}
	return lines
}

// aboutInput is the input of a tool, a member a line.
func aboutInput(input jsontext.Value) (lines []string, err error) {
	if input.Kind() != '{' {
		return []string{"Input: " + string(input)}, nil
	}
	d := jsontext.NewDecoder(strings.NewReader(string(input)), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		text := string(value)
		if value.Kind() == '"' {
			read(value, &text)
		}
		for i, part := range splitLines(text) {
			if i == 0 {
				part = key + ": " + part
			}
			lines = append(lines, part)
		}
	}
	return lines, nil
}
