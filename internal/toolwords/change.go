package toolwords

import (
	"fmt"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
)

// A Change replaces a text by another. Without an old text it makes a file.
type Change struct {
	Old *string
	New string
}

// Summary says how much of a file changes; place is the file as a person is told it.
func (c Change) Summary(place string) string {
	added, removed := c.countLines()
	what := fmt.Sprintf("%s added, %d removed", words.Count(added, "line"), removed)
	if c.Old == nil {
		what = "a new file, " + words.Count(added, "line")
	}
	return fmt.Sprintf("In %s: %s.", place, what)
}

// countLines returns how many lines are added and removed.
func (c Change) countLines() (added, removed int) {
	for _, l := range c.diffLines() {
		switch l.sign {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// Lines returns the lines that change as they are told, each with its number on its side.
func (c Change) Lines() (lines []string) {
	before, after := 0, 0
	for _, l := range c.diffLines() {
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

// A diffLine is a line of a change: added (+), removed (-), or the same on both sides (a space).
type diffLine struct {
	sign rune
	text string
}

// maxCells bounds the work of comparing two texts line by line.
const maxCells = 4 << 20

// diffLines compares the lines of the two texts. Where they are too many to compare, what lies
// between the lines that are the same at both ends counts as removed and added.
func (c Change) diffLines() (lines []diffLine) {
	var before []string
	if c.Old != nil {
		before = SplitLines(*c.Old)
	}
	after := SplitLines(c.New)
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
		lines = append(lines, compareLines(a, b)...)
	}
	add(' ', before[len(before)-tail:])
	return lines
}

// compareLines returns two lists of lines as one, by their longest common subsequence.
func compareLines(a, b []string) (lines []diffLine) {
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

// SplitLines returns the lines of a text. A newline at its end begins no further line.
func SplitLines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
