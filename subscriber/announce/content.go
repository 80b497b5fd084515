package announce

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/aaep-go/aaep/internal/phrase"
)

// Manner is how a person is told one kind of content of an answer. Empty is the usual one.
type Manner string

const (
	Read  Manner = "read"  // all of it: code line by line, a table row by row
	Count Manner = "count" // how much there is of it, as is usual of code and diffs
	Skip  Manner = "skip"  // nothing; it can be walked to
	// ByColumn tells a table column by column. Of anything else it is Read.
	ByColumn Manner = "columns"
)

// Indentation is how a person is told how far a line of code is indented. Empty is InWords.
type Indentation string

const (
	InWords Indentation = "words" // "Indent 4:", where it changes
	// InCells is for who reads: a space in front of the line for each level, and the sign of a line
	// of a diff as it is written.
	InCells  Indentation = "cells"
	Unspoken Indentation = "none"
)

// Content is how a person is told what an answer holds beside sentences.
type Content struct {
	Code, Diffs, Tables, Links Manner
	Indent                     Indentation
	// SpeakNames tells names of programs word by word, and of a path the file, the line and then
	// the folder. A screen reader has its user's own settings for these.
	SpeakNames bool
}

// ParseContent returns base with what a list of settings says, such as "code=read,tables=columns".
// Programs call it with the value of their flag. A setting that is unknown or empty, or has another
// value than it can have, is an error that says what would be right, and base is returned with the
// settings before it.
func ParseContent(list string, base Content) (Content, error) {
	manners := []Manner{Read, Count, Skip}
	kinds := map[string]*Manner{"code": &base.Code, "diffs": &base.Diffs, "tables": &base.Tables, "links": &base.Links}
	for setting := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(setting), "=")
		kind, allowed := kinds[name], manners
		switch name {
		case "tables":
			allowed = append(slices.Clone(manners), ByColumn)
		case "indent":
			allowed = []Manner{Manner(InWords), Manner(InCells), Manner(Unspoken)}
		case "names":
			allowed = []Manner{"words", "exact"}
		}
		switch {
		case kind == nil && name != "indent" && name != "names":
			return base, fmt.Errorf("announce: %.40q is none of code, diffs, tables, links, indent and names", name)
		case !slices.Contains(allowed, Manner(value)):
			return base, fmt.Errorf("announce: %s cannot be %.40q; it can be %s", name, value, joinManners(allowed))
		case name == "indent":
			base.Indent = Indentation(value)
		case name == "names":
			base.SpeakNames = value == "words"
		default:
			*kind = Manner(value)
		}
	}
	return base, nil
}

// joinManners joins the values that a setting can have, as "a, b or c", for an error.
func joinManners(manners []Manner) string {
	var b strings.Builder
	for i, m := range manners {
		switch {
		case i > 0 && i+1 == len(manners):
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(m))
	}
	return b.String()
}

// ofBlock returns the setting that applies to a block of code: Diffs for a diff, else Code.
func (c Content) ofBlock(b *block) Manner {
	if b.diff {
		return c.Diffs
	}
	return c.Code
}

var (
	// filePath is a path with a folder, or with a line, and the name of a file with its kind.
	filePath = regexp.MustCompile(`(^|[\s("'\[])((?:~?/|\.{1,2}/)?(?:[\pL\pN_.@+-]+/)*)([\pL\pN_.@+-]*[\pL\pN_]\.[\pL][\pL\pN]{0,9})(?::([0-9]{1,6})(?:[:-]([0-9]{1,6}))?)?($|[\s)"'\],;:!?]|\.(?:$|\s))`)
	// codeName is a name of a program: with capitals inside, or words joined by low lines.
	codeName = regexp.MustCompile(`[\pL_][\pL\pN_]*`)
)

// speakNames returns a text with paths and names so that they are understood when they are heard:
// the file first, then the line and the folder, and a name word by word.
func speakNames(text, language string) string {
	line, known := phrase.In(language, phrase.AtLine, "\x00")
	folder, _ := phrase.In(language, phrase.InFolder, "\x00")
	if known || isEnglish(language) {
		for range 2 { // of two beside each other, one takes the space between
			text = filePath.ReplaceAllStringFunc(text, func(s string) string { return speakPath(s, line, folder) })
		}
	}
	return codeName.ReplaceAllStringFunc(text, splitName)
}

// speakPath returns a match of filePath with its file, line and folder in the order of speech. line
// and folder are the phrases that name those two, with \x00 in the place of each. A name without a
// folder or line comes back as it is.
func speakPath(match, line, folder string) string {
	m := filePath.FindStringSubmatch(match)
	before, dir, spoken, firstLine, lastLine, after := m[1], m[2], m[3], m[4], m[5], m[6]
	if dir == "" && firstLine == "" {
		return match
	}
	if firstLine != "" {
		lines := firstLine
		if lastLine != "" {
			lines += ", " + lastLine
		}
		spoken += ", " + strings.Replace(line, "\x00", lines, 1)
	}
	if cleaned := path.Clean(dir); dir != "" && cleaned != "." && cleaned != ".." {
		if firstLine != "" {
			spoken += ","
		}
		spoken += " " + strings.Replace(folder, "\x00", cleaned, 1)
	}
	return before + spoken + after
}

// splitName returns a name of a program word by word, such as "parse HTTP request". A word as
// people write it, which has at most its first letter or all of them large, stays as it is.
func splitName(name string) string {
	if strings.Trim(name, "_") == "" {
		return name
	}
	runes := []rune(name)
	var b strings.Builder
	for i, r := range runes {
		if r == '_' {
			if i > 0 && i+1 < len(runes) && runes[i-1] != '_' {
				b.WriteByte(' ')
			}
			continue
		}
		if i > 0 && unicode.IsUpper(r) && startsWord(runes, i) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// startsWord reports whether a large letter begins a word of a name: after two small ones at least,
// or as the last of a row of large ones, as in HTTPRequest. So iPhone and McKay stay whole.
func startsWord(name []rune, i int) bool {
	smallBefore, smallAfter := 0, 0
	for j := i - 1; j >= 0 && unicode.IsLower(name[j]); j-- {
		smallBefore++
	}
	for j := i + 1; j < len(name) && unicode.IsLower(name[j]); j++ {
		smallAfter++
	}
	if smallBefore == 0 {
		return unicode.IsUpper(name[i-1]) && smallAfter > 1
	}
	return smallBefore > 1
}
