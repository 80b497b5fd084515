// Package acp is the person's side of "aaep acp": what they type becomes prompts and commands of a
// conversation with an agent. How they hear the agent, and answer it, is the business of "aaep
// listen".
//
// Run sends the prompts one after the other, on its own goroutine. The other methods are called as
// lines are typed and never wait for the agent.
package acp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	bridge "github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// commandTimeout is for an answer of the agent to a command, such as a new conversation.
const commandTimeout = 30 * time.Second

// Console is a conversation as the person at the keyboard has it.
type Console struct {
	Agent    *bridge.Agent
	Producer *producer.Producer
	Say      func(text string)              // says something about the conversation
	Phrase   func(phrase.ID, string) string // is a sentence in the language of the person
	Sends    func(text string)              // is called with what was typed when that is sent; nil is not

	mu      sync.Mutex
	talk    *bridge.Conversation
	past    []bridge.Past // as they were listed last
	waiting []string      // prompts to send
	kept    string        // a prompt that got no answer, or was typed before a question was put
	over    bool          // nothing more is typed
	moved   chan struct{} // holds one where waiting or over has changed
}

// New makes a Console with a new conversation of the agent, which ctx bounds to commandTimeout. say
// tells the person a sentence; in returns a phrase in their language. On an error the Console has
// no conversation and is of no use.
func New(ctx context.Context, agent *bridge.Agent, p *producer.Producer, say func(string),
	in func(phrase.ID, string) string) (*Console, error) {
	c := &Console{Agent: agent, Producer: p, Say: say, Phrase: in, moved: make(chan struct{}, 1)}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	var err error
	c.talk, err = agent.NewConversation(ctx, p)
	return c, err
}

// say says a sentence in the language of the person.
func (c *Console) say(id phrase.ID, arg string) { c.Say(c.Phrase(id, arg)) }

// sayList says a sentence, and a list that it introduces.
func (c *Console) sayList(intro phrase.ID, lines []string) {
	c.Say(strings.Join(append([]string{c.Phrase(intro, "")}, lines...), "\n"))
}

// titleOf returns the title of an earlier conversation as a sentence, or the phrase for one without
// a title.
func (c *Console) titleOf(p bridge.Past) string {
	if p.Title == "" {
		return c.Phrase(phrase.WithoutTitle, "")
	}
	return words.Sentence(p.Title)
}

// Run sends what was typed, until ctx or the agent ends, or nothing more is typed and all was
// answered. A message that could not be sent is kept for the person, and that is said. The error is
// that of the agent's end.
func (c *Console) Run(ctx context.Context) error {
	for {
		c.mu.Lock()
		var next string
		talk, ended := c.talk, c.over
		hasWaiting := len(c.waiting) > 0
		if hasWaiting {
			next, c.waiting = c.waiting[0], c.waiting[1:]
		}
		c.mu.Unlock()
		switch {
		case hasWaiting:
			if c.Sends != nil {
				c.Sends(next)
			}
			if err := talk.Prompt(ctx, next); err != nil && ctx.Err() == nil && !c.hasAgentEnded() {
				c.keepLine(next)
				if errors.Is(err, bridge.ErrBusy) {
					c.say(phrase.AgentStillWorks, "")
				}
				c.say(phrase.MessageKept, "")
			}
			continue
		case ended:
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

// Prompt sends a line to the agent, after those before it; where it has to wait for them, it says
// so. A blank line is dropped. It returns at once.
func (c *Console) Prompt(line string) {
	if strings.TrimSpace(line) == "" {
		return
	}
	c.mu.Lock()
	busy := c.talk.Busy() || len(c.waiting) > 0
	c.waiting = append(c.waiting, line)
	c.mu.Unlock()
	if busy {
		c.say(phrase.MessageWaits, "")
	}
	c.wakeRun()
}

// Keep keeps a line that may have been meant as an answer. It is sent only with /retry.
func (c *Console) Keep(line string) {
	c.keepLine(line)
	c.say(phrase.LineNotSent, "")
}

// End says that nothing more is typed.
func (c *Console) End() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.wakeRun()
}

// Command obeys a command, such as /stop, and reports whether it is one of these. What has to wait
// for the agent runs on a goroutine of its own, and says what came of it. For /help it returns
// false, so that the listener's own help follows.
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
			c.say(phrase.NoDetails, "")
			return true
		}
		c.sayList(phrase.AgentsWords, lines)
	case "option", "options":
		c.listOrChooseOption(talk, word)
	case "commands":
		c.listCommands(talk)
	case "mode", "modes":
		go c.listOrChange(ctx, word, modeWords, talk.Modes, talk.SetMode)
	case "model", "models":
		go c.listOrChange(ctx, word, modelWords, talk.Models, talk.SetModel)
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
			c.say(phrase.NoMessageKept, "")
			return true
		}
		c.Prompt(line)
	case "help", "?":
		c.say(phrase.ConversationHelp, "")
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

// stopAgent obeys /stop: it drops the prompts that wait, and stops the turn. It says how many were
// dropped, or that the agent was not at work.
func (c *Console) stopAgent(talk *bridge.Conversation) {
	c.mu.Lock()
	dropped := len(c.waiting)
	c.waiting = nil
	c.mu.Unlock()
	stopped := talk.Stop()
	switch {
	case dropped > 0:
		c.say(phrase.MessagesDropped, strconv.Itoa(dropped))
	case !stopped:
		c.say(phrase.AgentNotAtWork, "")
	}
}

// listOrChooseOption obeys /option: it chooses the option of the open permission whose number is
// word, or lists them all, each with what it means. Where no permission is asked it says so.
func (c *Console) listOrChooseOption(talk *bridge.Conversation, word string) {
	options := talk.Options()
	if len(options) == 0 {
		c.say(phrase.AsksNoPermission, "")
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
		means := phrase.OptionNo // which stands before the name, so that no name can pass for it
		switch {
		case o.Allows && o.Always:
			means = phrase.OptionAlways
		case o.Allows:
			means = phrase.OptionOnce
		case o.Always:
			means = phrase.OptionNever
		}
		lines = append(lines, fmt.Sprintf("%d: %s", i+1, c.Phrase(means, o.Name)))
	}
	c.Say(strings.Join(append(lines, c.Phrase(phrase.ChooseOption, "")), "\n"))
}

// listCommands handles /commands: it says the agent's own commands.
func (c *Console) listCommands(talk *bridge.Conversation) {
	var lines []string
	for _, command := range talk.Commands() {
		lines = append(lines, fmt.Sprintf("/%s: %s", command.Name, words.Sentence(command.Description)))
	}
	if len(lines) == 0 {
		c.say(phrase.NoOwnCommands, "")
		return
	}
	c.sayList(phrase.AgentsWords, lines)
}

// choiceWords are the sentences about a thing that the agent offers a choice of.
type choiceWords struct{ none, notChanged, fromNowOn, noSuch phrase.ID }

var (
	modeWords  = choiceWords{phrase.NoModes, phrase.ModeNotChanged, phrase.ModeFromNowOn, phrase.NoSuchMode}
	modelWords = choiceWords{phrase.NoModels, phrase.ModelNotChanged, phrase.ModelFromNowOn, phrase.NoSuchModel}
)

// listOrChange obeys /mode and /model: it lists what the agent offers of a thing, or changes to the
// one whose name or id is word. kinds are the sentences about such a thing. It waits for the agent,
// for at most commandTimeout.
func (c *Console) listOrChange(ctx context.Context, word string, kinds choiceWords,
	offers func() (string, []bridge.Mode), set func(context.Context, string) error) {
	current, choices := offers()
	if len(choices) == 0 {
		c.say(kinds.none, "")
		return
	}
	var lines []string
	for _, m := range choices {
		if word != "" && (strings.EqualFold(word, m.ID) || strings.EqualFold(word, m.Name)) {
			ctx, cancel := context.WithTimeout(ctx, commandTimeout)
			defer cancel()
			if err := set(ctx, m.ID); err != nil {
				c.say(kinds.notChanged, errorSentence(err))
				return
			}
			c.say(kinds.fromNowOn, words.Sentence(describeMode(m)))
			return
		}
		text := words.Sentence(describeMode(m))
		if m.ID == current {
			text += " " + c.Phrase(phrase.InForceNow, "")
		}
		lines = append(lines, text)
	}
	if word != "" {
		c.say(kinds.noSuch, "")
	}
	c.sayList(phrase.AgentsWords, lines)
}

// errorSentence returns an error of the bridge as a sentence.
func errorSentence(err error) string { return words.Sentence(strings.TrimPrefix(err.Error(), "acp: ")) }

// listSessions obeys /sessions, and keeps the list for the numbers of /resume. It waits for the
// agent, for at most commandTimeout.
func (c *Console) listSessions(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	sessions, err := c.Agent.Past(ctx)
	switch {
	case errors.Is(err, bridge.ErrNotOffered):
		c.say(phrase.PastNotListed, "")
		return
	case err != nil:
		c.say(phrase.PastUnknown, errorSentence(err))
		return
	case len(sessions) == 0:
		c.say(phrase.NoPast, "")
		return
	}
	c.mu.Lock()
	c.past = sessions
	c.mu.Unlock()
	var lines []string
	for i, p := range sessions {
		lines = append(lines, fmt.Sprintf("%d: %s", i+1, c.titleOf(p)))
	}
	c.Say(strings.Join(lines, "\n"))
}

// resumeConversation obeys /resume: it goes on with the conversation that /sessions listed under
// the number word. While the agent is at work it does not. It waits for the agent, for at most
// commandTimeout.
func (c *Console) resumeConversation(ctx context.Context, talk *bridge.Conversation, word string) {
	c.mu.Lock()
	sessions := c.past
	c.mu.Unlock()
	n, err := strconv.Atoi(word)
	switch {
	case talk.Busy():
		c.say(phrase.StopFirst, "")
		return
	case err != nil || n < 1 || n > len(sessions):
		c.say(phrase.ChoosePast, "")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	resumed, err := c.Agent.Resume(ctx, c.Producer, sessions[n-1].ID)
	if err != nil {
		c.say(phrase.CannotGoOn, errorSentence(err))
		return
	}
	c.mu.Lock()
	c.talk = resumed
	c.mu.Unlock()
	c.say(phrase.ConversationGoesOn, c.titleOf(sessions[n-1]))
}

// describeMode returns the name of a mode, with its description if it has one.
func describeMode(m bridge.Mode) string {
	if m.Description == "" {
		return m.Name
	}
	return m.Name + ": " + m.Description
}

// beginConversation obeys /new: it begins a new conversation with the agent, unless it is at work
// in the old one. It waits for the agent, for at most commandTimeout.
func (c *Console) beginConversation(ctx context.Context, talk *bridge.Conversation) {
	if talk.Busy() {
		c.say(phrase.StopFirst, "")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	fresh, err := c.Agent.NewConversation(ctx, c.Producer)
	if err != nil {
		c.say(phrase.NoNewConversation, errorSentence(err))
		return
	}
	c.mu.Lock()
	c.talk = fresh
	c.mu.Unlock()
	c.say(phrase.NewConversation, "")
}
