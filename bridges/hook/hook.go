// Package hook connects coding agents that call hooks, such as Claude Code, Codex, Gemini CLI,
// Copilot CLI and Crush, to AAEP. Such an agent runs a command for each thing that happens and
// gives it a JSON object; Handle takes that object and answers it:
//
//	b := hook.New(p, hook.Config{})
//	err := b.Handle(ctx, "claude", input, func(output []byte) error { _, err := os.Stdout.Write(output); return err }, nil)
//
// What one agent's hooks are like stands in dialect.go; another agent also needs a place in
// internal/cli/hook/install.go, and in call.Agents.
//
// Each prompt of the user, with all the agent does upon it, is a session of the producer.Producer,
// named by the agent and its folder.
//
// The package never widens what an agent may do. An output that allows anything is written in one
// place, after a confirmation of exactly that call was accepted, and it allows that call once. An
// explicit no is an output that says so. Everything else, such as silence, no subscriber to ask, or
// an input that cannot be told whole, is no output, and leaves the agent to its own rules and its
// own question. (Gemini CLI has no question after its hooks: there, a question that was put and not
// answered is a no, however it ended, and so is a call that cannot be put to a user who is there.)
//
// All text of the agents is untrusted, and is told with what could deceive made visible. Handle may
// be called by many goroutines at once; Bridge.mu guards the list of conversations, and each
// conversation has a lock of its own. Begin reading at Bridge.Handle, and at consent.go for
// permissions.
//
// What is told of a session is in conversation.go, the words for a call in words.go, and the
// agents' objects are read in input.go.
package hook

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aaep-go/aaep/producer"
)

// Config says how agents are told of.
type Config struct {
	// AnswerTime is how long a question of an agent is open. Zero is five minutes.
	AnswerTime time.Duration
	// QuietUntilDone tells only what is asked, what the agent waits for, its answers, and its ends.
	QuietUntilDone bool
}

// ErrUnknownAgent is returned by Handle for an agent whose hooks are not known.
var ErrUnknownAgent = errors.New("hook: the hooks of this agent are not known")

const (
	answerTime        = 5 * time.Minute
	mostConversations = 256 // that are kept; of more, the one that was silent longest ends
)

// A Bridge makes sessions of what the hooks of agents report. All its methods may be called at
// once.
type Bridge struct {
	p   *producer.Producer
	cfg Config

	mu    sync.Mutex
	talks map[string]*conversation
}

// New makes a Bridge to the subscribers of p.
func New(p *producer.Producer, cfg Config) *Bridge {
	if cfg.AnswerTime == 0 {
		cfg.AnswerTime = answerTime
	}
	return &Bridge{p: p, cfg: cfg, talks: map[string]*conversation{}}
}

// Handle takes the input of a hook of an agent, such as "claude", and returns when it was
// announced, or answered. Where there is something to answer it calls answer, once, with a JSON
// object; an error of that says that the agent did not get it. When ctx ends, as where the hook is
// killed, the question is withdrawn. An error says that the input is none of that agent. Handle
// calls unanswered, if it is not nil, before it puts a question for an agent that has no question
// of its own: with the output that forbids the action, which the agent must get if this program
// ends before Handle returns.
func (b *Bridge) Handle(ctx context.Context, agent string, input []byte, answer func(output []byte) error,
	unanswered func(output []byte) error) error {
	d := dialects[agent]
	if d == nil {
		return ErrUnknownAgent
	}
	in, err := readInput(input, d)
	if err != nil {
		return fmt.Errorf("hook: the input of %s cannot be read: %w", d.name, err)
	}
	c := b.conversationOf(d, in)
	c.handleInput(ctx, in, reply{answer, unanswered})
	if d.events[in.eventName()] == over {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.talks, in.conversationKey(d))
	}
	return nil
}

// A reply is how the agent gets what comes of an input; see Handle.
type reply struct {
	answer     func(output []byte) error
	unanswered func(output []byte) error // may be nil
}

// conversationOf returns the conversation that an input belongs to, a new one where it is unknown;
// beyond mostConversations the one that was silent the longest is ended.
func (b *Bridge) conversationOf(d *dialect, in *input) *conversation {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := in.conversationKey(d)
	c := b.talks[key]
	if c == nil {
		if len(b.talks) >= mostConversations {
			b.forgetOldest()
		}
		c = &conversation{b: b, d: d}
		b.talks[key] = c
	}
	c.used = time.Now()
	c.folder = in.Folder
	return c
}

// forgetOldest ends the conversation that was silent the longest, on a goroutine of its own. There
// is at least one. The caller holds b.mu.
func (b *Bridge) forgetOldest() {
	var key string
	for k, c := range b.talks {
		if key == "" || c.used.Before(b.talks[key].used) {
			key = k
		}
	}
	go b.talks[key].endTurn("")
	delete(b.talks, key)
}

// hasSeveral reports whether more than one agent is at work, so that each has to be named.
func (b *Bridge) hasSeveral() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, c := range b.talks {
		if c.busy.Load() {
			n++
		}
	}
	return n > 1
}
