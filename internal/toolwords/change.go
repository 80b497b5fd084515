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

// Summary returns a sentence that says how many lines of a file are added and removed; place is the
// file as Place returns it.
func (c Change) Summary(place string) string {
	added, removed := c.countLines()
	counts := fmt.Sprintf("%s added, %d removed", words.Count(added, "line"), removed)
	if c.Old == nil {
		counts = "a new file, " + words.Count(added, "line")
	}
	return fmt.Sprintf("In %s: %s.", place, counts)
}

// countLines returns how many lines are added and removed by the change.
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

// Lines returns a sentence for each line that changes: with its number in the old text where it is
// removed, and in the new one where it is added.
func (c Change) Lines() (lines []string) {
	oldNumber, newNumber := 0, 0
	for _, l := range c.diffLines() {
		text := words.OneLine(aaep.SafeText(l.text))
		switch l.sign {
		case ' ':
			oldNumber, newNumber = oldNumber+1, newNumber+1
		case '-':
			oldNumber++
			lines = append(lines, fmt.Sprintf("Line %d removed: %s", oldNumber, text))
		default:
			newNumber++
			lines = append(lines, fmt.Sprintf("Line %d added: %s", newNumber, text))
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

// diffLines compares the lines of the two texts, and returns all lines, each with the sign ' ', '+'
// or '-'. Where they are too many to compare, what lies between the lines that are the same at both
// ends counts as removed and added.
func (c Change) diffLines() (lines []diffLine) {
	var oldLines []string
	if c.Old != nil {
		oldLines = SplitLines(*c.Old)
	}
	newLines := SplitLines(c.New)

	// head and tail are how many lines are the same at both ends.
	head := 0
	for head < len(oldLines) && head < len(newLines) && oldLines[head] == newLines[head] {
		head++
	}
	tail := 0
	for tail < len(oldLines)-head && tail < len(newLines)-head &&
		oldLines[len(oldLines)-1-tail] == newLines[len(newLines)-1-tail] {
		tail++
	}

	add := func(sign rune, texts []string) {
		for _, text := range texts {
			lines = append(lines, diffLine{sign, text})
		}
	}
	add(' ', oldLines[:head])
	a, b := oldLines[head:len(oldLines)-tail], newLines[head:len(newLines)-tail]
	if len(a)*len(b) > maxCells {
		add('-', a)
		add('+', b)
	} else {
		lines = append(lines, compareLines(a, b)...)
	}
	add(' ', oldLines[len(oldLines)-tail:])
	return lines
}

// compareLines returns the lines a, which are removed, and b, which are added, as one list, in
// which those of their longest common subsequence stand once. The work is len(a) times len(b).
func compareLines(a, b []string) (lines []diffLine) {
	// longest[i*width+j] is the length of the longest common subsequence of a[i:] and b[j:].
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
