package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Settings are edited as text: what is added or taken out is cut at its ends, and every other byte
// stays.

// A node is a value in a text, and where it stands there.
type node struct {
	start, end int
	kind       jsontext.Kind
	text       string   // of a string
	names      []string // of an object's members
	parts      []*node  // their values, or the elements of an array
	begins     []int    // where each part begins, with its name
}

// parseSettings parses JSON into a tree of nodes with their offsets in data. The error names the
// line; comments are one.
func parseSettings(data []byte) (*node, error) {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	root, err := parseValue(d)
	if err == nil {
		if _, err = d.ReadToken(); errors.Is(err, io.EOF) {
			return root, nil
		}
		err = errors.New("more follows its end")
	}
	var wrong *jsontext.SyntacticError
	if errors.As(err, &wrong) {
		line := 1 + bytes.Count(data[:min(int(wrong.ByteOffset), len(data))], []byte("\n"))
		return nil, fmt.Errorf("it is not valid JSON, or has comments: line %d: %v", line, wrong.Err)
	}
	return nil, fmt.Errorf("it is not valid JSON, or has comments: %v", err) // which is no fault of a link
}

// parseValue reads the next value of d, with all its parts, as a node; offsets are those in d's
// input. The error is that of d.
func parseValue(d *jsontext.Decoder) (*node, error) {
	n := &node{kind: d.PeekKind()}
	if n.kind != '{' && n.kind != '[' {
		raw, err := d.ReadValue()
		n.end = int(d.InputOffset())
		n.start = n.end - len(raw)
		if err == nil && n.kind == '"' {
			var text []byte
			text, err = jsontext.AppendUnquote(nil, raw)
			n.text = string(text)
		}
		return n, err
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	n.start = int(d.InputOffset()) - 1
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		begin := -1
		if n.kind == '{' {
			name, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			n.names, begin = append(n.names, name.text), name.start
		}
		value, err := parseValue(d)
		if err != nil {
			return nil, err
		}
		if begin < 0 {
			begin = value.start
		}
		n.parts, n.begins = append(n.parts, value), append(n.begins, begin)
	}
	_, err := d.ReadToken()
	n.end = int(d.InputOffset())
	return n, err
}

// findMember returns a member of an object; nil where there is none, or n is nil or no object.
func (n *node) findMember(name string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	if i := slices.Index(n.names, name); i >= 0 {
		return n.parts[i]
	}
	return nil
}

// addEntry adds an entry to the list of an event in an agent's settings, behind those that are
// there, and returns the settings, otherwise as they were to the byte. Settings whose hooks have
// another form are an error.
func addEntry(data []byte, event string, entry []byte) ([]byte, error) {
	root, err := parseSettings(data)
	if err != nil {
		return nil, err
	}
	hooks := root.findMember("hooks")
	list := hooks.findMember(event)
	name := `"` + event + `": `
	switch {
	case root.kind != '{' || hooks != nil && hooks.kind != '{' || list != nil && list.kind != '[':
		return nil, errors.New("its hooks are not as they should be")
	case hooks == nil:
		return insertValue(data, root, root, `"hooks": `,
			slices.Concat([]byte(`{"`+event+`":[`), entry, []byte("]}"))), nil
	case list == nil:
		return insertValue(data, root, hooks, name, slices.Concat([]byte("["), entry, []byte("]"))), nil
	}
	return insertValue(data, root, list, "", entry), nil
}

// insertValue returns data with a value, and its name and colon in an object, behind the parts of a
// container, indented as they are, with the line ends of the first line. root says how far the file
// indents.
func insertValue(data []byte, root, object *node, name string, value []byte) []byte {
	unit := "  "
	if len(root.parts) > 0 {
		if indent, hasIndent := indentAt(data, root.begins[0]); hasIndent && indent != "" {
			unit = indent
		}
	}
	indent, _ := indentAt(data, object.start)
	inner := indent + unit
	start, end := object.start+1, object.end-1 // all between the brackets of an empty container
	before, after := "\n"+inner, "\n"+indent
	if n := len(object.parts); n > 0 {
		start, end = object.parts[n-1].end, object.parts[n-1].end
		partIndent, ownLine := indentAt(data, object.begins[n-1])
		if !ownLine {
			return slices.Concat(data[:start], []byte(", "+name), value, data[end:])
		}
		inner, before, after = partIndent, ",\n"+partIndent, ""
	}
	var pretty bytes.Buffer
	json.Indent(&pretty, value, inner, unit)
	added := slices.Concat([]byte(before+name), pretty.Bytes(), []byte(after))
	if first := bytes.IndexByte(data, '\n'); first > 0 && data[first-1] == '\r' {
		added = bytes.ReplaceAll(added, []byte("\n"), []byte("\r\n"))
	}
	return slices.Concat(data[:start], added, data[end:])
}

// indentAt returns the white space that begins the line of a place, and whether nothing else stands
// before the place there.
func indentAt(data []byte, pos int) (indent string, own bool) {
	line := data[bytes.LastIndexByte(data[:pos], '\n')+1 : pos]
	rest := bytes.TrimLeft(line, " \t")
	return string(line[:len(line)-len(rest)]), len(rest) == 0 && len(line) < pos
}

// cutPart returns data without part i of a container, its name and its comma.
func cutPart(data []byte, list *node, i int) []byte {
	start, end := list.start+1, list.end-1 // of the only part: all between the brackets
	switch {
	case i > 0: // with the comma before it
		start, end = list.parts[i-1].end, list.parts[i].end
	case len(list.parts) > 1: // with the comma behind it
		start, end = list.begins[0], list.begins[1]
	}
	return slices.Concat(data[:start], data[end:])
}

// isOurs reports whether a command line is one of ours for an agent: it runs the command for that
// agent, wherever it is installed, and does nothing else, such as what a user puts before it.
func isOurs(line, agent string) bool {
	word, ok := strings.CutSuffix(line, marker+agent)
	if !ok {
		return false
	}
	if expected, err := commandLine(agent); err == nil && line == expected {
		return true
	}
	program, single := wordOfShell(word)
	switch filepath.Base(program) {
	case "aaep", "aaep.exe":
		return single
	}
	return false
}

// wordOfShell returns what a shell takes a word for, as shellWord writes it or a person does in
// double quotes; single reports whether it is one such word and nothing else.
func wordOfShell(word string) (text string, single bool) {
	if inner, ok := strings.CutPrefix(word, `"`); ok {
		inner, ok = strings.CutSuffix(inner, `"`)
		return inner, ok && !strings.ContainsAny(inner, "\"`$\\")
	}
	text = word
	if inner, ok := strings.CutPrefix(word, "'"); ok {
		text = strings.ReplaceAll(strings.TrimSuffix(inner, "'"), `'\''`, "'")
	}
	return text, shellWord(text) == word
}

// ourLine returns the command line of an entry that runs this command for the agent; "" for an
// entry that is another's.
func (n *node) ourLine(agent string) string {
	for _, name := range []string{"command", "bash"} {
		if line := n.findMember(name); line != nil && line.kind == '"' && isOurs(line.text, agent) {
			return line.text
		}
	}
	return ""
}

// ownEntry is where an entry of ours stands in the settings, and its command line.
type ownEntry struct {
	list *node
	i    int // among the list's parts
	line string
}

// findOurs returns the entries of ours in the settings, in their order. A group that holds nothing
// but one command of ours is the entry. Groups without "hooks" and other forms are passed over.
func (n *node) findOurs(agent string) (ours []ownEntry) {
	hooks := n.findMember("hooks")
	if hooks == nil || hooks.kind != '{' {
		return nil
	}
	for _, list := range hooks.parts {
		if list.kind != '[' {
			continue
		}
		for i, entry := range list.parts {
			if line := entry.ourLine(agent); line != "" {
				ours = append(ours, ownEntry{list, i, line})
			}
			group := entry.findMember("hooks")
			if group == nil || group.kind != '[' {
				continue
			}
			for j, command := range group.parts {
				line := command.ourLine(agent)
				switch {
				case line == "":
				case len(group.parts) == 1:
					ours = append(ours, ownEntry{list, i, line})
				default:
					ours = append(ours, ownEntry{group, j, line})
				}
			}
		}
	}
	return ours
}

// ourLines returns the command lines of ours in an agent's settings, in their order. Settings that
// are no JSON are an error.
func ourLines(settings []byte, agent string) (lines []string, err error) {
	root, err := parseSettings(settings)
	if err != nil {
		return nil, err
	}
	for _, own := range root.findOurs(agent) {
		lines = append(lines, own.line)
	}
	return lines, nil
}

// removeEntries returns an agent's settings without our entries, and without the lists and the
// member hooks that hold nothing else. All else stays to the byte. The settings are parsed again
// after each entry, since it moves what follows.
func removeEntries(settings []byte, agent string) ([]byte, error) {
	for {
		root, err := parseSettings(settings)
		if err != nil {
			return nil, err
		}
		ours := root.findOurs(agent)
		if len(ours) == 0 {
			return settings, nil
		}
		list, i := ours[0].list, ours[0].i
		hooks := root.findMember("hooks")
		if index := slices.Index(hooks.parts, list); index >= 0 && len(list.parts) == 1 {
			list, i = hooks, index
			if len(hooks.parts) == 1 {
				list, i = root, slices.Index(root.names, "hooks")
			}
		}
		settings = cutPart(settings, list, i)
	}
}
