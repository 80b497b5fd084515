// Package toolwords says what a coding agent does with its tools: which command, which file, how
// many lines, how much harm it can do. What agents write is untrusted; all that is returned for a
// person is safe to show, in one line.
//
// Shell commands, and the harm they can do, are read in command.go, changes of files in change.go,
// calls by their arguments in call.go, and the short texts are made in toolwords.go.
package toolwords

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/safetext"
	"github.com/aaep-go/aaep/internal/words"
)

// Most is how many characters of an agent's words are told at once, as in a question.
const Most = 4000

// Line returns an agent's text in one line, safe to show. It says where the line was broken, for
// without that a command would mean something else.
func Line(text string) string {
	text = oneLine(text)
	if n := len([]rune(text)); n > Most {
		return fmt.Sprintf("%s (these are the first %d of %d characters; the details have all)", Clip(text, Most),
			Most, n)
	}
	return text
}

// oneLine is Line for a text of any length.
func oneLine(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), "\n", " <new line> ")
	return words.OneLine(aaep.SafeText(text))
}

// Code is Line for a command, a path or another text of which each character counts: it shows what
// cannot be seen, what looks like a plain space and is none, and several spaces within a line.
func Code(text string) string { return Line(showSpaces(text)) }

// IsWhole reports whether Code has all of a text, and does not shorten it.
func IsWhole(text string) bool { return utf8.RuneCountInString(oneLine(showSpaces(text))) <= Most }

// showSpaces returns a text in which all can be seen but its line breaks and indents.
func showSpaces(text string) string {
	return spaces.ReplaceAllStringFunc(safetext.Exact(text), func(match string) string {
		n := strings.Count(match, " ")
		return fmt.Sprintf("%s <%d spaces> ", strings.TrimRight(match, " "), n)
	})
}

// spaces are several within a line, and what is before them. At its beginning they only indent it.
var spaces = regexp.MustCompile(`\S  +`)

// Label returns an agent's text in one line, safe to show, and no longer than a person would listen
// to.
func Label(text string) string { return Clip(words.OneLine(aaep.SafeText(text)), 200) }

// Clip shortens a text to a number of characters, and ends it with an ellipsis if it was longer.
func Clip(text string, limit int) string {
	n := 0
	for i := range text {
		if n++; n > limit {
			return strings.TrimSpace(text[:i]) + "…"
		}
	}
	return text
}

// Exact returns a text that can be told whole and as it is. One with letters that deceive, or with
// spaces that cannot be heard, is written in ASCII.
func Exact(text string) string {
	if words.OneLine(aaep.SafeText(text)) == text {
		return text
	}
	text = strconv.QuoteToASCII(text)
	return strings.ReplaceAll(text, "  ", ` \x20`)
}

// FirstSentence returns the first line of a text as a label, with a full stop; "" where there is
// none.
func FirstSentence(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if first = Label(strings.Trim(first, "`")); first == "" {
		return ""
	}
	return words.Sentence(first)
}

// Place returns a path as a person is told it: within the folder by what follows that, else whole
// with the words that it is not in the folder. A path that is not absolute is one within the
// folder.
func Place(folder, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	if relative, err := filepath.Rel(folder, filepath.Clean(path)); err == nil && filepath.IsLocal(relative) {
		return Code(relative)
	}
	return Code(path) + ", which is not in the folder,"
}

// The kinds of tools, as the Agent Client Protocol calls them. What is of none of them may do
// anything.
const (
	Execute = "execute"
	Edit    = "edit"
	Delete  = "delete"
	Move    = "move"
	Read    = "read"
	Search  = "search"
	Fetch   = "fetch"
	Think   = "think"
	Other   = "other"
)

// Risk returns how much harm a tool of a kind can do: high for every kind that is not known to be
// less.
func Risk(kind string) aaep.Risk {
	switch kind {
	case Read, Search, Think:
		return aaep.RiskLow
	case Fetch, Other, "switch_mode":
		return aaep.RiskMedium
	}
	return aaep.RiskHigh // also where the agent has not said what it is
}

// verbOf begins what is said of a tool, by its kind.
var verbOf = map[string]string{Delete: "Delete", Move: "Move", Edit: "Edit", Read: "Read", Search: "Search",
	Fetch: "Fetch"}

// Action returns a sentence that says what a tool of a kind does, whose title the agent has given:
// a title of several words as it is, else what the kind does and the title; of a command line what
// matters in it, and the title in quotation marks. command is that line, or "" where the title is.
func Action(kind, title, command string) string {
	command = cmp.Or(command, title)
	title = cmp.Or(Code(title), "something that the agent does not name")
	verb := verbOf[kind]
	switch {
	case kind == Execute: // with marks, so that a full stop is not taken for a part of it
		return describeCommand(command) + "\"" + title + "\"."
	case verb == "" || strings.Contains(title, " "): // it says itself what is done
		return words.Sentence(title)
	}
	return words.Sentence(verb + " " + title)
}

// Command returns the command in the input of a tool as it is written, or its arguments with blanks
// between; "" where there is none.
func Command(input jsontext.Value) string {
	var in struct {
		Command jsontext.Value `json:"command"`
	}
	if input == nil || Decode(input, &in) != nil {
		return ""
	}
	var text string
	var args []string
	switch {
	case in.Command.Kind() == '"' && Decode(in.Command, &text) == nil:
		return text
	case in.Command.Kind() == '[' && Decode(in.Command, &args) == nil:
		return strings.Join(args, " ")
	}
	return ""
}

// Decode reads JSON in which a text may hold half a surrogate, as programs send that cut texts at a
// length; U+FFFD stands for it. Everything else is read so strictly that there is only one way to
// read it.
func Decode(data []byte, target any) error {
	return jsonv2.Unmarshal(data, target, jsontext.AllowInvalidUTF8(true))
}

// Members returns the members of a tool's input, a line of text each. They are not made safe to
// show yet.
func Members(input jsontext.Value) (lines []string, err error) {
	arguments, err := Arguments(input)
	for _, argument := range arguments {
		lines = append(lines, SplitLines(argument)...)
	}
	return lines, err
}

// Arguments returns the members of a tool's input, each whole and with its name, line breaks
// included. One that holds nothing is there too, for to a tool that may mean everything. They are
// not made safe to show yet.
func Arguments(input jsontext.Value) (arguments []string, err error) {
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
			Decode(value, &text)
		}
		if strings.TrimSpace(text) == "" {
			text = strconv.Quote(text) + ", which is empty"
		}
		arguments = append(arguments, key+": "+text)
	}
	return arguments, nil
}
