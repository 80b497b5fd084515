// Package acp is the person's side of "aaep acp": what they type becomes prompts and commands of a
// conversation with an agent. How they hear the agent, and answer it, is the business of "aaep
// listen".
//
// Run sends the prompts one after the other, on its own goroutine. The other methods are called as
// lines are typed and never wait for the agent.
package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	bridge "github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// commandTimeout is for an answer of the agent to a command, such as a new conversation.
const commandTimeout = 30 * time.Second

// Console is a conversation as the person at the keyboard has it.
type Console struct {
	Agent    *bridge.Agent
	Producer *producer.Producer
	Say      func(sentences ...string) // says something about the conversation

	mu      sync.Mutex
	talk    *bridge.Conversation
	past    []bridge.Past // as they were listed last
	waiting []string      // prompts to send
	kept    string        // a prompt that got no answer, or was typed before a question was put
	over    bool          // nothing more is typed
	moved   chan struct{} // holds one where waiting or over has changed
}

// New makes a Console with a conversation of its own.
func New(ctx context.Context, agent *bridge.Agent, p *producer.Producer, say func(...string)) (*Console, error) {
	c := &Console{Agent: agent, Producer: p, Say: say, moved: make(chan struct{}, 1)}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	var err error
	c.talk, err = agent.NewConversation(ctx, p)
	return c, err
}

// Run sends what was typed, until ctx or the agent ends, or nothing more is typed and all was
// answered. The error is that of the agent's end.
func (c *Console) Run(ctx context.Context) error {
	for {
		c.mu.Lock()
		var next string
		talk, over := c.talk, c.over
		more := len(c.waiting) > 0
		if more {
			next, c.waiting = c.waiting[0], c.waiting[1:]
		}
		c.mu.Unlock()
		switch {
		case more:
			if err := talk.Prompt(ctx, next); err != nil && ctx.Err() == nil && !c.hasAgentEnded() {
				c.keepLine(next)
				if errors.Is(err, bridge.ErrBusy) {
					c.Say("The agent is still at work.")
				}
				c.Say("Your message is kept: /retry sends it again.")
			}
			continue
		case over:
			return nil
		}
		select {
		case <-c.moved:
		case <-ctx.Done():
			return nil
		case <-c.Agent.Done():
			return c.Agent.Close()
		}
	}
}

// hasAgentEnded reports whether the agent has ended, so that nothing can be sent to it again.
func (c *Console) hasAgentEnded() bool {
	select {
	case <-c.Agent.Done():
		return true
	default:
		return false
	}
}

// wakeRun makes Run look again at what waits.
func (c *Console) wakeRun() {
	select {
	case c.moved <- struct{}{}:
	default:
	}
}

// keepLine keeps a line for /retry, in place of the one before.
func (c *Console) keepLine(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = line
}

// Prompt sends a line to the agent, after those before it.
func (c *Console) Prompt(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	c.mu.Lock()
	busy := c.talk.Busy() || len(c.waiting) > 0
	c.waiting = append(c.waiting, line)
	c.mu.Unlock()
	if busy {
		c.Say("The agent is at work. Your message is sent when it has finished.")
	}
	c.wakeRun()
}

// Keep keeps a line that may have been meant as an answer. It is sent only with /retry.
func (c *Console) Keep(line string) {
	c.keepLine(line)
	c.Say("Your line was not sent to the agent. If it is meant as a message: /retry sends it.")
}

// End says that nothing more is typed.
func (c *Console) End() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.wakeRun()
}

// Help are the commands there are, each with what it does.
const Help = `/stop stops what the agent does.
/details tells all of what is asked, or was done last: the command, the lines that change.
/option lists the answers that the agent offers; /option 2 chooses one by its number.
/commands lists the agent's own commands, which are typed as /name.
/mode lists how the agent can work; /mode plan changes that.
/model lists the models there are; /model NAME changes to another.
/new begins a new conversation.
/sessions lists earlier ones; /resume 2 goes on with one by its number.
/retry sends your last message again.
A word such as @main.go attaches a file.`

// Command obeys a command, and reports whether it is one of these.
func (c *Console) Command(ctx context.Context, name, word string) bool {
	c.mu.Lock()
	talk := c.talk
	c.mu.Unlock()
	switch name {
	case "stop":
		c.stopAgent(talk)
	case "details":
		lines := talk.Details()
		if len(lines) == 0 {
			lines = []string{"There are no details."}
		}
		c.Say(strings.Join(lines, "\n"))
	case "option", "options":
		c.listOrChooseOption(talk, word)
	case "commands":
		c.listCommands(talk)
	case "mode", "modes":
		go c.listOrChangeMode(ctx, word, "mode", talk.Modes, talk.SetMode)
	case "model", "models":
		go c.listOrChangeMode(ctx, word, "model", talk.Models, talk.SetModel)
	case "sessions":
		go c.listSessions(ctx)
	case "resume":
		go c.resumeConversation(ctx, talk, word)
	case "new":
		go c.beginConversation(ctx, talk)
	case "retry":
		c.mu.Lock()
		line := c.kept
		c.kept = ""
		c.mu.Unlock()
		if line == "" {
			c.Say("No message is kept.")
			return true
		}
		c.Prompt(line)
	case "help", "?":
		c.Say(Help)
		return false // the other commands follow
	default:
		return false
	}
	return true
}

// Own sends a line that begins with a slash, where that is a command of the agent's, and reports
// whether it is.
func (c *Console) Own(line string) bool {
	c.mu.Lock()
	talk := c.talk
	c.mu.Unlock()
	typed := strings.TrimPrefix(line, "/")
	for _, command := range talk.Commands() {
		if rest, ok := strings.CutPrefix(typed, command.Name); ok && command.Name != "" &&
			(rest == "" || rest[0] == ' ') {
			c.Prompt(line)
			return true
		}
	}
	return false
}

// stopAgent obeys /stop: it drops the prompts that wait, and stops the turn.
func (c *Console) stopAgent(talk *bridge.Conversation) {
	c.mu.Lock()
	dropped := len(c.waiting)
	c.waiting = nil
	c.mu.Unlock()
	stopped := talk.Stop()
	switch {
	case dropped > 0:
		c.Say(words.Count(dropped, "message") + " that waited will not be sent.")
	case !stopped:
		c.Say("The agent is not at work.")
	}
}

// listOrChooseOption obeys /option: it chooses the option whose number is word, or lists them all.
func (c *Console) listOrChooseOption(talk *bridge.Conversation, word string) {
	options := talk.Options()
	if len(options) == 0 {
		c.Say("The agent asks for no permission.")
		return
	}
	n, err := strconv.Atoi(word)
	if err == nil && n >= 1 && n <= len(options) {
		if err := talk.Choose(n - 1); err != nil {
			c.Say(errorSentence(err))
		}
		return
	}
	var lines []string
	for i, o := range options {
		means := "it is not allowed"
		switch {
		case o.Allows && o.Always:
			means = "it is allowed, and not asked again"
		case o.Allows:
			means = "it is allowed this once"
		case o.Always:
			means = "it is not allowed, and not asked again"
		}
		lines = append(lines, fmt.Sprintf("%d: %s. With that %s.", i+1, o.Name, means))
	}
	lines = append(lines, "Choose one with its number, such as: /option 1")
	c.Say(strings.Join(lines, "\n"))
}

// agentWordsIntro stands before a list of what the agent has named.
const agentWordsIntro = "In the agent's words:"

// listCommands obeys /commands.
func (c *Console) listCommands(talk *bridge.Conversation) {
	var lines []string
	for _, command := range talk.Commands() {
		lines = append(lines, fmt.Sprintf("/%s: %s", command.Name, words.Sentence(command.Description)))
	}
	if len(lines) == 0 {
		lines = []string{"The agent has no commands of its own."}
	} else {
		lines = append([]string{agentWordsIntro}, lines...)
	}
	c.Say(strings.Join(lines, "\n"))
}

// listOrChangeMode obeys /mode and /model: it lists what the agent offers of a thing, or changes to
// the one whose name is word.
func (c *Console) listOrChangeMode(ctx context.Context, word, thing string, offers func() (string, []bridge.Mode),
	set func(context.Context, string) error) {
	current, all := offers()
	if len(all) == 0 {
		c.Say("The agent offers no choice of a " + thing + ".")
		return
	}
	var lines []string
	for _, m := range all {
		if word != "" && (strings.EqualFold(word, m.ID) || strings.EqualFold(word, m.Name)) {
			ctx, cancel := context.WithTimeout(ctx, commandTimeout)
			defer cancel()
			if err := set(ctx, m.ID); err != nil {
				c.Say("The " + thing + " was not changed: " + errorSentence(err))
				return
			}
			c.Say("From now on the " + thing + " is what the agent calls " + words.Sentence(describeMode(m)))
			return
		}
		text := words.Sentence(describeMode(m))
		if m.ID == current {
			text += " That is the " + thing + " now."
		}
		lines = append(lines, text)
	}
	lines = append([]string{agentWordsIntro}, lines...)
	if word != "" {
		lines = append([]string{"There is no such " + thing + "."}, lines...)
	}
	c.Say(strings.Join(lines, "\n"))
}

// errorSentence returns an error of the bridge as a sentence.
func errorSentence(err error) string { return words.Sentence(strings.TrimPrefix(err.Error(), "acp: ")) }

// listSessions obeys /sessions, and keeps the list for the numbers of /resume.
func (c *Console) listSessions(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	past, err := c.Agent.Past(ctx)
	switch {
	case errors.Is(err, bridge.ErrNotOffered):
		c.Say("The agent does not list earlier conversations.")
		return
	case err != nil:
		c.Say("The earlier conversations are not known: " + errorSentence(err))
		return
	case len(past) == 0:
		c.Say("There are no earlier conversations in this folder.")
		return
	}
	c.mu.Lock()
	c.past = past
	c.mu.Unlock()
	var lines []string
	for i, p := range past {
		lines = append(lines, fmt.Sprintf("%d: %s", i+1, words.Sentence(cmp.Or(p.Title, "Without a title"))))
	}
	c.Say(strings.Join(lines, "\n"))
}

// resumeConversation obeys /resume: it goes on with the conversation that /sessions listed under
// the number word.
func (c *Console) resumeConversation(ctx context.Context, talk *bridge.Conversation, word string) {
	c.mu.Lock()
	past := c.past
	c.mu.Unlock()
	n, err := strconv.Atoi(word)
	switch {
	case talk.Busy():
		c.Say("The agent is at work; /stop stops it.")
		return
	case err != nil || n < 1 || n > len(past):
		c.Say("List the earlier conversations with /sessions, and choose one with its number, such as: /resume 1")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	old, err := c.Agent.Resume(ctx, c.Producer, past[n-1].ID)
	if err != nil {
		c.Say("The conversation cannot go on: " + errorSentence(err))
		return
	}
	c.mu.Lock()
	c.talk = old
	c.mu.Unlock()
	c.Say("This conversation goes on: " + words.Sentence(cmp.Or(past[n-1].Title, "Without a title")))
}

// describeMode returns the name of a mode, with its description if it has one.
func describeMode(m bridge.Mode) string {
	if m.Description == "" {
		return m.Name
	}
	return m.Name + ": " + m.Description
}

// beginConversation obeys /new.
func (c *Console) beginConversation(ctx context.Context, talk *bridge.Conversation) {
	if talk.Busy() {
		c.Say("The agent is at work; /stop stops it.")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	fresh, err := c.Agent.NewConversation(ctx, c.Producer)
	if err != nil {
		c.Say("There is no new conversation: " + errorSentence(err))
		return
	}
	c.mu.Lock()
	c.talk = fresh
	c.mu.Unlock()
	c.Say("A new conversation begins.")
}
