package acp

import (
	"cmp"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// assessRisk returns how much harm a call can do, by its kind: a change of a file, and a kind that
// is unknown, are of high risk.
func (c *call) assessRisk() aaep.Risk {
	for _, part := range c.content {
		if part.Type == "diff" {
			return aaep.RiskHigh
		}
	}
	return toolwords.Risk(c.kind)
}

// describeAction returns what a call does, as a sentence.
func (c *call) describeAction() string {
	return toolwords.Action(c.kind, cmp.Or(strings.TrimSpace(c.title), c.name), toolwords.Command(c.input))
}

// describeConsequence returns, for a question, what the agent gives to decide by: the files and how
// much changes in them, the command and its folder, the agent's own remarks. It is never empty.
func (c *call) describeConsequence(cfg Config) string {
	var sentences []string
	changed := false
	for _, part := range c.content {
		if part.Type == "diff" && cfg.Version2 {
			sentences, changed = append(sentences, part.describeChanges(cfg)...), true
			continue
		}
		switch part.Type {
		case "diff":
			sentences = append(sentences, part.asChange().Summary(cfg.describePath(part.Path)))
			changed = true
		case "content":
			if text := toolwords.Line(part.Content.spokenText()); text != "" {
				sentences = append(sentences, words.Sentence(text))
			}
		case "terminal":
		default:
			sentences = append(sentences, "The agent adds something of a kind that is not known here.")
		}
	}
	if command := toolwords.Code(toolwords.Command(c.input)); command != "" &&
		!strings.Contains(toolwords.Code(c.title), command) {
		sentences = append(sentences, "The command is: "+words.Sentence(command))
	}
	if !changed {
		for _, location := range c.locations {
			sentences = append(sentences, "It is about "+
				words.Sentence(strings.TrimSuffix(cfg.describePath(location.Path), ",")))
		}
	}
	text := strings.Join(sentences, " ")
	if folder := toolwords.Exact(cmp.Or(c.folder, cfg.Folder)); c.kind == "execute" && !strings.Contains(text, folder) {
		text = strings.TrimSpace(text + " In the folder " + words.Sentence(folder))
	}
	return cmp.Or(text, "The agent says no more about it.")
}

// asTool returns a call as a Producer reports it: with a name, a title and an action that are safe
// and short enough to be said, whatever the agent left out, and its risk.
func (c *call) asTool() producer.Tool {
	title := toolwords.Clip(cmp.Or(toolwords.Line(c.title), toolwords.Label(c.kind), "tool"), 100)
	if c.kind == toolwords.Execute {
		title = "the command \"" + title + "\""
	}
	return producer.Tool{Name: cmp.Or(toolwords.Clip(toolwords.Label(c.name), 100),
		toolwords.Clip(toolwords.Label(c.kind), 100), "tool"),
		Title: title, Risk: c.assessRisk(), Action: aaep.Say(words.Fit(c.describeAction(), maxToldBytes))}
}

// Details returns all that is known of what the agent asks, or of the newest of its calls: the
// command, the lines that change, and what it says about it. Each is a line that is safe to show.
// Without a call it is nil.
func (c *Conversation) Details() (lines []string) {
	p := c.openPermission()
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
	add := func(texts ...string) {
		for _, text := range texts {
			lines = append(lines, words.OneLine(aaep.SafeText(text)))
		}
	}
	add(toolwords.SplitLines(cmp.Or(about.title, about.name))...)
	for _, part := range about.content {
		switch {
		case part.Type == "content":
			add(toolwords.SplitLines(part.Content.spokenText())...)
		case part.Type == "diff" && c.agent.cfg.Version2:
			add(part.describeChanges(c.agent.cfg)...)
			add(toolwords.SplitLines(part.Patch.Text)...)
		case part.Type == "diff":
			add("File: " + part.Path)
			lines = append(lines, part.asChange().Lines()...) // which are safe already
		}
	}
	if about.input != nil {
		if members, err := toolwords.Members(about.input); err == nil {
			add(members...)
		}
	}
	for _, location := range about.locations {
		add("About: " + location.Path)
	}
	return lines
}

// asChange returns a part of the kind diff as a change of a file.
func (c toolContent) asChange() toolwords.Change {
	return toolwords.Change{Old: c.OldText, New: c.NewText}
}
