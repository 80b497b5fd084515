package hook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// arguments are those of the agents' own tools, as far as they are told in words of their own;
// others holds what else there is.
type arguments struct {
	Command     string          `json:"command"`
	Description string          `json:"description"`
	File        string          `json:"file_path"`
	Path        string          `json:"path"`
	Absolute    string          `json:"absolute_path"`
	Notebook    string          `json:"notebook_path"`
	Old         *string         `json:"old_string"`
	New         *string         `json:"new_string"`
	OldStr      *string         `json:"old_str"`
	NewStr      *string         `json:"new_str"`
	Content     *string         `json:"content"`
	FileText    *string         `json:"file_text"`
	Edits       []arguments     `json:"edits"`
	URL         string          `json:"url"`
	Query       string          `json:"query"`
	Pattern     string          `json:"pattern"`
	Questions   []askedQuestion `json:"questions"`
	Timeout     jsontext.Value  `json:"timeout"` // which is not told
	Others      jsontext.Value  `json:",embed"`
}

type askedQuestion struct {
	Question string `json:"question"`
}

// readArguments returns the arguments of a call. readable is false where they have another form
// than is known; then a has only the command, if one is found.
func (in *input) readArguments() (a arguments, readable bool) {
	if in.Input.Kind() != '{' || toolwords.Decode(in.Input, &a) != nil {
		return arguments{Command: toolwords.Command(in.Input)}, false
	}
	return a, true
}

// member is a text among the arguments, by its name.
type member struct{ name, text string }

// namedTexts returns those of the arguments that one kind of tool is told by and another is not.
func (a arguments) namedTexts() []member {
	return []member{{"command", a.Command}, {"file_path", a.File}, {"path", a.Path}, {"absolute_path", a.Absolute},
		{"notebook_path", a.Notebook}, {"url", a.URL}, {"query", a.Query}, {"pattern", a.Pattern}}
}

// subjectOf returns the argument that names what a tool call acts on, by the kind of tool: the
// command, the file, the address or what is searched. It is the zero member where there is none.
func (a arguments) subjectOf(kind string) member {
	order := map[string][]string{toolwords.Execute: {"command"},
		toolwords.Search: {"url", "query", "pattern", "command"},
		toolwords.Fetch:  {"url", "query", "pattern", "command"}}[kind]
	if kind == toolwords.Edit || kind == toolwords.Read {
		order = []string{"file_path", "path", "absolute_path", "notebook_path"}
		if files, _ := patchedFiles(a.Command); len(files) > 0 {
			order = []string{"command"}
		}
	}
	texts := a.namedTexts()
	for _, name := range order {
		if i := slices.IndexFunc(texts, func(m member) bool { return m.name == name && m.text != "" }); i >= 0 {
			return texts[i]
		}
	}
	return member{}
}

// otherTexts returns all arguments but the subject as "name: text", also those that no tool of the
// kind should have, since it is not known what the tool does with them.
func (a arguments) otherTexts(kind string) (all []string) {
	subject := a.subjectOf(kind)
	for _, m := range a.namedTexts() {
		if m.text != "" && m.name != subject.name {
			all = append(all, m.name+": "+m.text)
		}
	}
	for _, edit := range a.Edits {
		all = append(all, edit.otherTexts("")...)
		if more, err := toolwords.Arguments(edit.Others); edit.Others != nil && err == nil {
			all = append(all, more...)
		}
	}
	return all
}

// filePath returns the path of the file that a tool is about, under whichever name it stands; or
// "".
func (a arguments) filePath() string { return cmp.Or(a.File, a.Path, a.Absolute, a.Notebook) }

// fileChanges returns the changes that a tool call makes to its file, by its old and new text, or
// by a list of edits that each have these. Text in place of none is added to the file; without a
// new text nothing changes.
func (a arguments) fileChanges() (all []toolwords.Change) {
	switch old, text := cmp.Or(a.Old, a.OldStr), cmp.Or(a.New, a.NewStr); {
	case text != nil && old != nil && *old != "":
		all = append(all, toolwords.Change{Old: old, New: *text})
	case text != nil:
		all = append(all, toolwords.Change{Old: new(string), New: *text})
	}
	for _, edit := range a.Edits {
		all = append(all, edit.fileChanges()...)
	}
	return all
}

// describeCall returns the tool call of an input as a producer.Tool, with the risk and the action
// as they are announced and asked about. A tool that the dialect has no kind for is of high risk.
func (c *conversation) describeCall(in *input) producer.Tool {
	kind, known := c.d.tools[in.Tool]
	name := toolwords.Clip(toolwords.Label(in.Tool), 100)
	tool := producer.Tool{Name: cmp.Or(name, "tool"), Title: cmp.Or(name, "tool"), Risk: aaep.RiskHigh}
	if known {
		tool.Risk = toolwords.Risk(kind)
	}
	a, _ := in.readArguments()
	verb, title := "", ""
	switch kind {
	case toolwords.Execute:
		title = a.Command
	case toolwords.Edit, toolwords.Read:
		verb = map[string]string{toolwords.Edit: "Edit ", toolwords.Read: "Read "}[kind]
		patch, _ := patchedFiles(a.Command)
		switch len(patch) {
		case 0:
			title = strings.TrimSuffix(toolwords.Place(in.Folder, cmp.Or(a.filePath(), "a file without a name")), ",")
		case 1:
			title = patch[0].path
		default:
			title = fmt.Sprintf("%d files, the first %s", len(patch), patch[0].path)
		}
	case toolwords.Search, toolwords.Fetch:
		verb = map[string]string{toolwords.Search: "Search ", toolwords.Fetch: "Fetch "}[kind]
		if title = a.subjectOf(kind).text; strings.ContainsFunc(title, unicode.IsSpace) {
			// Unquoted, it could pass for a sentence that says what is done.
			title = "\"" + title + "\""
		}
	}
	if title != "" {
		title = verb + title
	} else {
		kind, title = "", "Use the tool "+cmp.Or(toolName(in.Tool), "that the agent does not name")
	}
	tool.Title = toolwords.Clip(toolwords.Code(title), 100)
	if kind == toolwords.Execute {
		tool.Title = "the command \"" + tool.Title + "\""
	}
	tool.Action = aaep.Say(words.Fit(toolwords.Action(kind, title, ""), mostTold))
	return tool
}

// toolName returns a tool's name as it is said, safe and short. A server's, which comes as
// mcp__server__tool, becomes "tool of server".
func toolName(name string) string {
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		if server, tool, ok := strings.Cut(rest, "__"); ok {
			return fmt.Sprintf("%s of %s", toolwords.Label(tool), toolwords.Label(server))
		}
	}
	return toolwords.Label(name)
}

// actionOf is what a tool does, as it was described.
func actionOf(t producer.Tool) string { return t.Action.Normal }

const (
	fewLines   = 6   // of a change, that are told in a question
	shortLines = 600 // characters of those
)

// consequenceText returns the consequence of a question: what the agent says about the call, how
// many lines of which files change, with the lines where they are few, and the arguments that none
// of this says; all of them for a tool that is not known. It is "" where there is nothing to say.
func (c *conversation) consequenceText(in *input) string {
	var sentences []string
	a, readable := in.readArguments()
	if description := toolwords.Line(a.Description); description != "" {
		sentences = append(sentences, words.Sentence(description))
	}
	place := toolwords.Place(in.Folder, cmp.Or(a.filePath(), "a file without a name"))
	for _, change := range a.fileChanges() {
		sentences = append(sentences, change.Summary(place))
		if lines := change.Lines(); len(lines) <= fewLines {
			if text := strings.Join(lines, ". "); len(text) <= shortLines && text != "" {
				sentences = append(sentences, words.Sentence(text))
			}
		}
	}
	if text := cmp.Or(a.Content, a.FileText); text != nil {
		sentences = append(sentences, fmt.Sprintf("All of %s is written: %s.", place,
			words.Count(len(toolwords.SplitLines(*text)), "line")))
	}
	files, _ := patchedFiles(a.Command)
	for _, file := range files {
		sentences = append(sentences, file.summaryText(in.Folder))
	}
	rest, others := a.Others, []string(nil)
	if kind := c.d.tools[in.Tool]; kind == "" || kind == toolwords.Other || !readable {
		rest = in.Input
	} else {
		others = a.otherTexts(kind)
	}
	if rest != nil {
		more, err := toolwords.Arguments(rest)
		if err != nil {
			more = []string{"What else it is given cannot be read"}
		}
		others = append(others, more...)
	}
	for _, text := range others {
		sentences = append(sentences, words.Sentence(toolwords.Code(text)))
	}
	return strings.TrimSpace(strings.Join(sentences, " "))
}

// canBeTold reports whether everything that matters of a call can be said whole in a question: its
// command or file, and what the agent says about it. Otherwise the user cannot be asked here.
func (c *conversation) canBeTold(in *input, tool producer.Tool) bool {
	a, readable := in.readArguments()
	kind := c.d.tools[in.Tool]
	files, whole := patchedFiles(a.Command)
	switch {
	case !readable && kind != "":
		return false // it could mean something else than what is told
	case kind == toolwords.Execute && strings.TrimSpace(a.Command) == "",
		kind == toolwords.Edit && a.filePath() == "" && len(files) == 0,
		kind == toolwords.Edit && !whole:
		return false
	}
	if kind == toolwords.Edit {
		a.Command = "" // a patch
	}
	for _, text := range []string{a.Command, a.Description, a.filePath(), a.URL, a.Query, a.Pattern,
		c.consequenceText(in)} {
		if !toolwords.IsWhole(text) {
			return false
		}
	}
	return len(actionOf(tool)) < mostTold && len(c.consequenceText(in)) < mostTold-2000 && len(in.Folder) < 1000
}

// questionIn returns the questions that the agent asks its user with a tool of its own, or the name
// of the tool where they cannot be read.
func questionIn(in *input) string {
	var texts []string
	a, _ := in.readArguments()
	for _, q := range a.Questions {
		texts = append(texts, q.Question)
	}
	if len(texts) == 0 {
		return "Use the tool " + toolName(in.Tool) + "."
	}
	return strings.Join(texts, " ")
}

// A patchedFile is a file that a patch changes, and how many lines of it.
type patchedFile struct {
	path           string
	what           string // Update, Add or Delete
	moved          string // where it is moved to; empty: it stays
	added, removed int
}

// isTextLine reports whether a line is one of the file's text, and none that begins something else.
func (f *patchedFile) isTextLine(line string) bool {
	switch f.what {
	case "Update":
		return line != "" && strings.Contains(" +-@", line[:1])
	case "Add":
		return strings.HasPrefix(line, "+")
	}
	return false
}

// patchedFiles returns the files of a patch as Codex writes it, which may have blanks around the
// lines that begin something; none where the text is no patch. whole says that all of it was
// understood.
func patchedFiles(text string) (files []*patchedFile, whole bool) {
	if !strings.Contains(text, "*** Begin Patch") {
		return nil, true
	}
	whole = true
	file := &patchedFile{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if file.isTextLine(line) {
			switch line[0] {
			case '+':
				file.added++
			case '-':
				file.removed++
			}
			continue
		}
		marker, isMarker := strings.CutPrefix(strings.TrimSpace(line), "*** ")
		if !isMarker {
			isBlank := strings.TrimSpace(line) == ""
			whole = whole && isBlank
			continue
		}
		operation, path, namesFile := strings.Cut(marker, " File: ")
		moved, moves := strings.CutPrefix(marker, "Move to: ")
		switch {
		case namesFile && (operation == "Update" || operation == "Add" || operation == "Delete"):
			file = &patchedFile{path: path, what: operation}
			files = append(files, file)
		case moves && file.what == "Update" && file.moved == "":
			file.moved = moved
		case marker == "Begin Patch", marker == "End Patch", marker == "End of File":
		default:
			whole = false
		}
	}
	return files, whole
}

// summaryText returns a sentence that says what a patch does to its file; the file's path is said
// relative to folder.
func (f *patchedFile) summaryText(folder string) string {
	place := toolwords.Place(folder, f.path)
	switch f.what {
	case "Add":
		return fmt.Sprintf("In %s: a new file, %s.", place, words.Count(f.added, "line"))
	case "Delete":
		return fmt.Sprintf("The file %s is deleted.", strings.TrimSuffix(place, ","))
	}
	text := fmt.Sprintf("In %s: %s added, %d removed.", place, words.Count(f.added, "line"), f.removed)
	if f.moved != "" {
		text += " It is moved to " + words.Sentence(strings.TrimSuffix(toolwords.Place(folder, f.moved), ","))
	}
	return text
}
