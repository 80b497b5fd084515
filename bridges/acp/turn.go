package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// A turn is what the agent does upon one prompt, as a session of AAEP.
type turn struct {
	c       *Conversation
	s       *producer.Session
	stopped chan struct{} // closed by stop
	asking  context.Context
	cancel  context.CancelFunc // withdraws what is asked

	mu     sync.Mutex
	out    *producer.Output // that is being written; nil where there is none
	of     string           // what it is: its kind of chunk, and the id of its message
	calls  map[string]*call
	plan   []planEntry
	asks   []*permission // open, oldest first
	grants []grantedAction
	halted bool // nothing is allowed any more
	over   bool
}

const (
	maxCalls = 4096 // of a turn; what more there are is not told
	// settleTime is how long a call that could do harm is not told as running: many agents announce it and then ask for permission.
	settleTime = 500 * time.Millisecond
)

func newTurn(c *Conversation, s *producer.Session) *turn {
	t := &turn{c: c, s: s, stopped: make(chan struct{}), calls: map[string]*call{}}
	t.asking, t.cancel = context.WithCancel(context.Background())
	return t
}

// stop tells the agent to stop, and ends the commands that run for it. The agent is told before any question is answered as cancelled.
func (t *turn) stop() {
	defer t.c.killCommands()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.halted || t.over {
		return
	}
	t.halted = true
	if !t.c.agent.beside {
		t.c.agent.peer.notify("session/cancel", cancelNotification{SessionID: t.c.id})
	}
	t.cancel()
	close(t.stopped)
}

// update applies an update of a kind. An error says that it cannot be read.
func (t *turn) update(kind string, update jsontext.Value) error {
	switch kind {
	case "agent_message_chunk", "agent_thought_chunk":
		var u contentChunk
		if err := read(update, &u); err != nil {
			return err
		}
		if kind == "agent_message_chunk" || t.c.agent.cfg.Thoughts {
			t.text(kind, u)
		}
	case "tool_call", "tool_call_update":
		var u toolCall
		if err := read(update, &u); err != nil {
			return err
		}
		t.called(u)
	case "plan":
		var u plan
		if err := read(update, &u); err != nil {
			return err
		}
		t.planned(u.Entries)
	case "notice":
		var u notice
		if err := read(update, &u); err != nil {
			return err
		}
		t.tell(words.Sentence(toolwords.Label(u.Title)) + " " + toolwords.Label(u.Description))
	case "user_message_chunk", "session_info_update", "usage_update": // of these nothing is told
	default:
		t.unknown(kind)
	}
	return nil
}

// unknown tells once that there are updates of a kind that is not known.
func (t *turn) unknown(kind string) {
	if t.c.agent.first(kind) {
		t.tell("The agent sent news of a kind that is not known here, " + cmp.Or(toolwords.Label(kind), "without a name") + ".")
	}
}

// tell tells something beside the answer.
func (t *turn) tell(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.say(text)
}

// say is tell, with t.mu held.
func (t *turn) say(text string) {
	text = strings.TrimSpace(text)
	t.s.Progress(ours(text), aaep.Progress{Description: text}, 0)
}

// text writes a chunk of the answer.
func (t *turn) text(kind string, u contentChunk) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	of := kind + " " + u.MessageID
	if t.out != nil && t.of != of {
		t.endText()
	}
	text := u.Content.words()
	if text == "" {
		return
	}
	if t.out == nil {
		t.out, t.of = t.s.Output(), of
		t.out.SetContentType("text/markdown")
		if kind == "agent_thought_chunk" {
			text = "Thinking: " + text
		}
	}
	t.out.WriteString(text)
}

// endText ends the text that is being written, with t.mu held: what comes next is not about it.
func (t *turn) endText() {
	if t.out != nil {
		t.out.Close()
		t.out = nil
	}
}

// words are what a block of content says. What is no text is named.
func (b contentBlock) words() string {
	switch b.Type {
	case "text":
		return b.Text
	case "resource_link":
		return " (A link to " + toolwords.Label(cmp.Or(b.Title, b.Name, b.URI)) + ".) "
	case "resource":
		if b.Resource != nil && b.Resource.Text != "" {
			return b.Resource.Text
		}
	}
	return " (" + upperFirst(article(b.Type)) + " that cannot be told here.) "
}

func article(kind string) string {
	switch kind {
	case "image", "audio":
		return "an " + kind
	case "resource":
		return "a file"
	}
	return "a part of a kind that is not known,"
}

func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// planned tells what has changed of the agent's plan.
func (t *turn) planned(entries []planEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := map[string]string{}
	for _, e := range t.plan {
		was[e.Content] = e.Status
	}
	fresh := len(t.plan) != len(entries)
	t.plan = entries
	done, at := 0, -1
	for i, e := range entries {
		status, known := was[e.Content]
		fresh = fresh || !known
		if e.Status == "completed" {
			done++
		}
		if e.Status == "in_progress" && status != e.Status {
			at = i
		}
	}
	switch {
	case len(entries) == 0:
	case at >= 0:
		text := fmt.Sprintf("Step %d of %d: %s", at+1, len(entries), words.Sentence(toolwords.Label(entries[at].Content)))
		t.s.Progress(aaep.Say(text), aaep.Progress{Step: int64(at + 1), TotalSteps: int64(len(entries)), Description: text}, 0)
	case fresh:
		t.say(fmt.Sprintf("A plan of %s. The first: %s", words.Count(len(entries), "step"), words.Sentence(toolwords.Label(entries[0].Content))))
	case done == len(entries):
		t.say(fmt.Sprintf("All %d steps are done.", done))
	}
}

// A call is one of the agent's tools, as far as it is known.
type call struct {
	id, title, name, kind, status string
	content                       []toolContent
	locations                     []location
	input                         jsontext.Value

	done   func(error) // tells its end; nil where its beginning was not told
	asked  bool        // for permission, now or before
	denied bool        // and was not allowed
	ended  bool
	soon   *time.Timer // tells its beginning
}

// merge takes over what is new of a call.
func (c *call) merge(u toolCall) {
	for _, f := range []struct {
		to   *string
		from *string
	}{{&c.title, u.Title}, {&c.name, u.Name}, {&c.kind, u.Kind}, {&c.status, u.Status}} {
		if f.from != nil && *f.from != "" {
			*f.to = *f.from
		}
	}
	if u.Content != nil {
		c.content = u.Content
	}
	if u.Locations != nil {
		c.locations = u.Locations
	}
	if u.Input != nil {
		c.input = u.Input
	}
}

// known returns the call with what is new of it, with t.mu held; nil if there are too many.
func (t *turn) known(u toolCall) *call {
	c := t.calls[u.ID]
	if c == nil {
		if len(t.calls) >= maxCalls {
			return nil
		}
		c = &call{id: u.ID}
		t.calls[u.ID] = c
		t.endText()
	}
	c.merge(u)
	return c
}

// called applies what the agent reports of a call.
func (t *turn) called(u toolCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	c := t.known(u)
	if c == nil || c.ended {
		return
	}
	t.newest(c)
	switch c.status {
	case "completed", "failed":
		t.ended(c)
	case "in_progress":
		if !c.asked && c.risk() != aaep.RiskHigh {
			t.invoked(c)
			return
		}
		fallthrough
	default:
		if c.soon == nil && c.done == nil && !c.asked {
			c.soon = time.AfterFunc(settleTime, func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				if !c.asked && !c.ended && !t.over {
					t.invoked(c)
				}
			})
		}
	}
}

// newest makes c what Details tells, if there is something to it, with t.mu held.
func (t *turn) newest(c *call) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if len(c.content) > 0 || c.input != nil || t.c.newest == nil {
		t.c.newest = c
	}
}

// invoked tells that a call runs that no user was asked about, with t.mu held. It cannot be told as of high risk, since such a
// call would have been asked about.
func (t *turn) invoked(c *call) {
	if c.done != nil {
		return
	}
	tool := c.tool()
	if tool.Risk == aaep.RiskHigh {
		tool.Risk = aaep.RiskMedium
	}
	done, err := t.s.Invoked(tool)
	if err != nil {
		t.c.agent.report("a call that cannot be told: " + err.Error())
		done = func(error) {}
	}
	c.done = done
}

var errFailed = errors.New("the agent reports that it failed")

// ended tells how a call ended, with t.mu held.
func (t *turn) ended(c *call) {
	c.ended = true
	if c.soon != nil {
		c.soon.Stop()
	}
	failed := c.status == "failed"
	switch {
	case c.denied && failed: // that it was not done was told
		return
	case c.denied:
		t.say("Although that was not allowed, the agent reports that it was done: " + words.Sentence(toolwords.Line(c.title)))
		return
	}
	t.invoked(c)
	if !failed {
		c.done(nil)
		return
	}
	for _, part := range c.content {
		if text := toolwords.FirstSentence(part.Content.Text); text != "" {
			t.say(text)
			break
		}
	}
	c.done(errFailed)
}

// end ends the turn, and returns err.
func (t *turn) end(reason string, err error) error {
	t.cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endText()
	t.over = true
	var open error
	if reason != "end_turn" {
		open = context.Canceled
	}
	for _, c := range t.calls {
		if c.soon != nil {
			c.soon.Stop()
		}
		if c.done != nil && !c.ended {
			c.done(open)
		}
	}
	t.c.mu.Lock()
	t.c.turn = nil
	t.c.mu.Unlock()
	switch {
	case t.halted && (err == nil || reason == "cancelled"):
		t.s.Cancel(aaep.CancelledByUser, ours("It was stopped."))
	case err != nil:
		t.s.Fail(err, ours(words.Sentence(upperFirst(strings.TrimPrefix(err.Error(), "acp: ")))))
	case reason == "end_turn":
		t.s.Complete(aaep.Text{})
	case reason == "cancelled":
		t.s.Cancel(aaep.CancelledByProducer, ours("The agent stopped."))
	default:
		t.s.Fail(errFailed, ours(stopWords(reason)))
	}
	return err
}

// stopWords say why a turn ended before its aim.
func stopWords(reason string) string {
	switch reason {
	case "refusal":
		return "The agent refuses to go on with this."
	case "max_tokens":
		return "The agent stopped, because its answer became too long. Ask it to go on."
	case "max_turn_requests":
		return "The agent stopped, because it had asked its model too often. Ask it to go on."
	}
	return "The agent stopped for a reason that is not known here, " + cmp.Or(toolwords.Label(reason), "without a name") + "."
}
