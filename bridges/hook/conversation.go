package hook

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// settleTime is how long a call that could do harm is not told as running: agents report it and
// then ask for permission.
const settleTime = 500 * time.Millisecond

// A conversation is one of a user with an agent, as the agent's hooks report it.
type conversation struct {
	b      *Bridge
	d      *dialect
	used   time.Time   // guarded by Bridge.mu
	folder string      // guarded by Bridge.mu
	busy   atomic.Bool // there is a turn

	mu   sync.Mutex
	turn *turn // nil where the agent has nothing to do
}

// A turn is what the agent does upon one prompt, as a session of AAEP. The lock of its conversation
// guards it.
type turn struct {
	s        *producer.Session
	asking   context.Context
	cancel   context.CancelFunc // withdraws what is asked
	open     int                // questions
	calls    []*call            // that have not ended
	out      *producer.Output   // that is being written; nil where there is none
	answered bool               // the answer was told in pieces
	over     bool
}

// A call is one of the agent's tools that was reported and has not ended.
type call struct {
	key, id string // see input.call; the agent's own id, where it gives one
	tool    producer.Tool
	soon    *time.Timer // tells its beginning
	done    func(error) // tells its end; nil where its beginning was not told
	asked   bool
	denied  bool
}

// title names the agent and its folder: "Claude Code in plans".
func (c *conversation) title() string {
	c.b.mu.Lock()
	folder := c.folder
	c.b.mu.Unlock()
	if base := toolwords.Label(filepath.Base(folder)); folder != "" && base != "" {
		return c.d.name + " in " + base
	}
	return c.d.name
}

// prefix names the agent where more than one is at work.
func (c *conversation) prefix() string {
	if !c.b.several() {
		return ""
	}
	return c.title() + ": "
}

// handle applies an input.
func (c *conversation) handle(ctx context.Context, in *input, r reply) {
	quiet := c.b.cfg.QuietUntilDone
	switch c.d.events[in.event()] {
	case began:
		if in.Source != "clear" && in.Source != "compact" && !quiet {
			c.news("It has begun.")
		}
	case prompted:
		c.end("")
		c.begin(in.Prompt)
	case calling:
		c.calling(ctx, in, r)
	case permission:
		c.permission(ctx, in, c.reported(in), r)
	case called, failed:
		c.called(in)
	case chunk:
		c.chunk(in)
	case answered:
		c.answered(in)
	case broken:
		c.broken(in)
	case notice:
		c.notice(in)
	case helperBegan:
		c.helper(in, "A helper begins")
	case helperEnded:
		c.helper(in, "A helper has ended")
	case elicitation:
		c.elicit(ctx, in, r.answer)
	case over:
		if !c.end("The agent was closed.") && !quiet {
			c.news("It has ended.")
		}
	}
}

// begin begins a turn, if there is none, and returns it; nil where it cannot.
func (c *conversation) begin(prompt string) *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.beginLocked(prompt)
}

// beginLocked is begin with c.mu held.
func (c *conversation) beginLocked(prompt string) *turn {
	if c.turn != nil {
		return c.turn
	}
	title := c.title()
	about := words.Sentence(title)
	if prompt = toolwords.Label(prompt); prompt != "" {
		about = title + ": " + prompt
	}
	s, err := c.b.p.StartSession(context.Background(), aaep.Say(about))
	if err != nil { // such as for a secret in the prompt
		if s, err = c.b.p.StartSession(context.Background(), aaep.Say(words.Sentence(title))); err != nil {
			return nil
		}
	}
	t := &turn{s: s}
	t.asking, t.cancel = context.WithCancel(context.Background())
	s.State(aaep.StateThinking, aaep.Text{})
	c.turn = t
	c.busy.Store(true)
	return t
}

// end ends the turn, if there is one, and reports that. Without a reason it is complete.
func (c *conversation) end(reason string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.close()
	switch {
	case t == nil:
		return false
	case reason == "":
		t.s.Complete(aaep.Text{})
	default:
		t.s.Cancel(aaep.CancelledByUser, ours(reason))
	}
	t.s.Close()
	return true
}

// close takes the turn out, with c.mu held, and ends what is open in it. Its session is still to be
// ended.
func (c *conversation) close() *turn {
	t := c.turn
	if t == nil {
		return nil
	}
	c.turn = nil
	c.busy.Store(false)
	t.over = true
	t.cancel()
	t.endText()
	for _, call := range t.calls {
		if call.soon != nil {
			call.soon.Stop()
		}
	} // the end of the session tells that it is not known how those ended that are told as running
	t.calls = nil
	return t
}

func (t *turn) endText() {
	if t.out != nil {
		t.out.Close()
		t.out = nil
	}
}

// ours is a sentence of this package, which is in English whatever the agent speaks.
func ours(text string) aaep.Text { return aaep.Text{}.In("en", aaep.Say(text)) }

// tell tells something beside the answer: in the turn, or in a session of its own.
func (c *conversation) tell(text string) {
	prefix := c.prefix()
	c.mu.Lock()
	t := c.turn
	if t != nil {
		t.endText()
		text = prefix + text
		t.s.Progress(ours(text), aaep.Progress{Description: text}, 0)
	}
	c.mu.Unlock()
	if t == nil {
		c.news(text)
	}
}

// news tells something in a session of its own.
func (c *conversation) news(text string) {
	if s, err := c.b.p.StartSession(context.Background(), aaep.Say(words.Sentence(c.title()))); err == nil {
		s.Complete(ours(text))
		s.Close()
	}
}

// calling tells that a tool is about to run, or asks about it where the agent has no other event
// for that.
func (c *conversation) calling(ctx context.Context, in *input, r reply) {
	tool := c.describe(in)
	risky := tool.Risk == aaep.RiskHigh
	found := c.reported(in)
	switch {
	case found == nil:
	case c.d.asksAtCall && risky:
		c.permission(ctx, in, found, r)
	case c.b.cfg.QuietUntilDone:
	case risky:
		c.mu.Lock()
		defer c.mu.Unlock()
		found.soon = time.AfterFunc(settleTime, func() {
			prefix := c.prefix()
			c.mu.Lock()
			defer c.mu.Unlock()
			if t := c.turn; t != nil && !found.asked && slices.Contains(t.calls, found) {
				t.invoked(found, prefix)
			}
		})
	default:
		prefix := c.prefix()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.turn != nil {
			c.turn.invoked(found, prefix)
		}
	}
}

const maxCalls = 4096 // of a turn; what more there are is not told

// reported returns the call of an input; nil where there can be none.
func (c *conversation) reported(in *input) *call {
	tool := c.describe(in)
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.beginLocked("")
	if t == nil {
		return nil
	}
	t.endText()
	if c.d.events[in.event()] == permission {
		if found := t.awaits(in); found != nil {
			return found
		}
	}
	if len(t.calls) >= maxCalls {
		return nil
	}
	found := &call{key: in.call(), id: in.ToolUse, tool: tool}
	t.calls = append(t.calls, found)
	return found
}

// find returns the oldest call that an input is about, of those that fit.
func (t *turn) find(in *input, fits func(*call) bool) *call {
	key := in.call()
	for _, c := range t.calls {
		if fits(c) && (in.ToolUse != "" && c.id == in.ToolUse || (in.ToolUse == "" || c.id == "") && c.key == key) {
			return c
		}
	}
	return nil
}

// awaits returns the call that an input asks permission for. Some agents word it otherwise then; it
// is the newest of the same tool.
func (t *turn) awaits(in *input) *call {
	if found := t.find(in, func(c *call) bool { return !c.asked }); found != nil {
		return found
	}
	for _, c := range slices.Backward(t.calls) {
		if !c.asked && c.done == nil && c.tool.Name == toolwords.Clip(toolwords.Label(in.Tool), 100) {
			return c
		}
	}
	return nil
}

// invoked tells that a call runs that no user was asked about. It cannot be told as of high risk,
// since such a call would have been asked about. What is refused, as for a secret in it, is told
// without its words.
func (t *turn) invoked(c *call, prefix string) {
	if c.done != nil {
		return
	}
	tool := c.tool
	if tool.Risk == aaep.RiskHigh {
		tool.Risk = aaep.RiskMedium
	}
	tool.Action = aaep.Say(prefix + actionOf(c.tool))
	var err error
	if c.done, err = t.s.Invoked(tool); err == nil {
		return
	}
	plain := producer.Tool{Name: "tool", Title: "a tool", Risk: tool.Risk,
		Action: aaep.Say(prefix + "It does something that is not told, since there is a secret in it.")}
	if c.done, err = t.s.Invoked(plain); err != nil {
		c.done = func(error) {}
	}
}

var errFailed = errors.New("the agent reports that it failed")

// called tells how a call ended.
func (c *conversation) called(in *input) {
	prefix := c.prefix()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.turn
	if t == nil {
		return
	}
	ended := t.find(in, func(*call) bool { return true })
	if ended == nil {
		return
	}
	t.calls = slices.DeleteFunc(t.calls, func(c *call) bool { return c == ended })
	if ended.soon != nil {
		ended.soon.Stop()
	}
	fault := in.fault()
	if ended.denied {
		if fault == "" && c.d.events[in.event()] != failed {
			t.progress(prefix + "Although that was not allowed, the agent reports that it was done: " + actionOf(ended.tool))
		}
		return
	}
	failed := fault != "" || c.d.events[in.event()] == failed
	if c.b.cfg.QuietUntilDone && ended.done == nil && !failed {
		return
	}
	t.invoked(ended, prefix)
	if !failed {
		ended.done(nil)
		return
	}
	if text := toolwords.FirstSentence(fault); text != "" {
		t.progress(prefix + text)
	}
	ended.done(errFailed)
}

func (t *turn) progress(text string) {
	t.s.Progress(ours(text), aaep.Progress{Description: text}, 0)
}

// chunk tells a piece of the answer.
func (c *conversation) chunk(in *input) {
	text, last := in.piece()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.turn
	if t == nil || text == "" && !last {
		return
	}
	if text != "" {
		t.answered = true
		t.write(text)
	}
	if last {
		t.endText()
	}
}

// write writes a piece of the answer.
func (t *turn) write(text string) {
	if t.out == nil {
		t.out = t.s.Output()
		t.out.SetContentType("text/markdown")
	}
	t.out.WriteString(text)
}

// answered tells the answer, if it was not told in pieces, and ends the turn.
func (c *conversation) answered(in *input) {
	text := in.Last
	if text == nil {
		text = in.Answer
	}
	c.mu.Lock()
	if text != nil && strings.TrimSpace(*text) != "" {
		if t := c.beginLocked(""); t != nil && !t.answered {
			t.endText()
			t.write(*text)
		}
	}
	c.mu.Unlock()
	c.end("")
}

// broken ends the turn, and says why.
func (c *conversation) broken(in *input) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.close()
	if t == nil {
		return
	}
	text := "The agent stopped, because something went wrong."
	if why := toolwords.FirstSentence(in.fault()); why != "" {
		text += " It reports: " + why
	}
	t.s.Fail(errFailed, ours(text))
	t.s.Close()
}

// notice tells what the agent wants its user to know. That it waits for what is asked here is
// known.
func (c *conversation) notice(in *input) {
	c.mu.Lock()
	asked := c.turn != nil && c.turn.open > 0
	c.mu.Unlock()
	waits := in.Kind == "permission_prompt" || in.Kind == "ToolPermission" || in.Kind == "elicitation_dialog"
	text := toolwords.Line(in.Message)
	if text == "" || asked && waits {
		return
	}
	if in.Kind == "idle_prompt" && !asked { // of a turn that the user has interrupted there is no end reported
		c.end("It was stopped.")
	}
	if waits {
		text = "It waits for you in its own window: " + text
	}
	c.tell(words.Sentence(words.Fit(text, mostTold)))
}

// helper tells of a subagent. Those without a name are the agent's own.
func (c *conversation) helper(in *input, what string) {
	name := toolwords.Label(in.Helper)
	if name == "" {
		name = toolwords.Label(in.HelperAs)
	}
	if name == "" || c.b.cfg.QuietUntilDone {
		return
	}
	text := what + ", " + words.Sentence(name)
	if in.Last != nil {
		text += " " + toolwords.FirstSentence(*in.Last)
	}
	c.tell(strings.TrimSpace(text))
}
