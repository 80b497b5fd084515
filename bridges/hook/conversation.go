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
	"github.com/aaep-go/aaep/internal/bridge"
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

// titleText returns the name of the agent and its folder: "Claude Code in plans", or the name alone
// without a folder. It takes b.mu.
func (c *conversation) titleText() string {
	c.b.mu.Lock()
	folder := c.folder
	c.b.mu.Unlock()
	if base := toolwords.Label(filepath.Base(folder)); folder != "" && base != "" {
		return c.d.name + " in " + base
	}
	return c.d.name
}

// agentPrefix names the agent where more than one is at work.
func (c *conversation) agentPrefix() string {
	if !c.b.hasSeveral() {
		return ""
	}
	return c.titleText() + ": "
}

// handleInput announces the event that a hook of the agent reports, or asks the user, and answers
// the hook with r where there is something to answer. It returns when the hook can end. An event
// that is not known is left out.
func (c *conversation) handleInput(ctx context.Context, in *input, r reply) {
	quiet := c.b.cfg.QuietUntilDone
	switch c.d.events[in.eventName()] {
	case began:
		if in.Source != "clear" && in.Source != "compact" && !quiet {
			c.announceInOwnSession("It has begun.")
		}
	case prompted:
		c.endTurn("")
		c.beginTurn(in.Prompt)
	case calling:
		c.handleCall(ctx, in, r)
	case permission:
		c.decidePermission(ctx, in, c.reportedCall(in), r)
	case called, failed:
		c.handleResult(in)
	case chunk:
		c.handlePiece(in)
	case answered:
		c.handleAnswer(in)
	case broken:
		c.handleFailure(in)
	case notice:
		c.handleNotification(in)
	case helperBegan:
		c.handleSubagent(in, "A helper begins")
	case helperEnded:
		c.handleSubagent(in, "A helper has ended")
	case elicitation:
		c.fillForm(ctx, in, r.answer)
	case over:
		if !c.endTurn("The agent was closed.") && !quiet {
			c.announceInOwnSession("It has ended.")
		}
	}
}

// beginTurn begins a turn, if there is none, and returns it; nil where it cannot.
func (c *conversation) beginTurn(prompt string) *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.beginLocked(prompt)
}

// beginLocked returns the open turn, or begins one with its session; nil where no session can
// begin. The caller holds c.mu.
func (c *conversation) beginLocked(prompt string) *turn {
	if c.turn != nil {
		return c.turn
	}
	title := c.titleText()
	summary := words.Sentence(title)
	if prompt = toolwords.Label(prompt); prompt != "" {
		summary = title + ": " + prompt
	}
	s, err := c.b.p.StartSession(context.Background(), aaep.Say(summary))
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

// endTurn ends the turn, if there is one, and reports whether there was. Without a reason it is
// complete, else it was cancelled by the user. It takes c.mu.
func (c *conversation) endTurn(reason string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.detachTurn()
	switch {
	case t == nil:
		return false
	case reason == "":
		t.s.Complete(aaep.Text{})
	default:
		t.s.Cancel(aaep.CancelledByUser, englishText(reason))
	}
	t.s.Close()
	return true
}

// detachTurn takes the open turn out of the conversation and closes its text and timers. It returns
// nil where none is open. The caller holds c.mu and ends the turn's session.
func (c *conversation) detachTurn() *turn {
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

// endText closes the output of the answer, if one is open. The caller holds the conversation's mu.
func (t *turn) endText() {
	if t.out != nil {
		t.out.Close()
		t.out = nil
	}
}

// englishText is a sentence of this package, which is in English whatever the agent speaks.
func englishText(text string) aaep.Text { return aaep.Text{}.In("en", aaep.Say(text)) }

// announceText announces a sentence that is no part of the answer, with the agent's name where
// several are at work: in the open turn, or in a session of its own. It takes c.mu.
func (c *conversation) announceText(text string) {
	prefix := c.agentPrefix()
	c.mu.Lock()
	t := c.turn
	if t != nil {
		t.endText()
		bridge.AnnounceNotice(t.s, prefix+text)
	}
	c.mu.Unlock()
	if t == nil {
		c.announceInOwnSession(text)
	}
}

// announceInOwnSession announces a sentence as a session of its own.
func (c *conversation) announceInOwnSession(text string) {
	if s, err := c.b.p.StartSession(context.Background(), aaep.Say(words.Sentence(c.titleText()))); err == nil {
		s.Complete(englishText(text))
		s.Close()
	}
}

// handleCall announces that a tool is about to run or, for an agent without another event for that,
// asks whether it may. A call of high risk is announced after settleTime, unless the agent asks
// about it by then.
func (c *conversation) handleCall(ctx context.Context, in *input, r reply) {
	tool := c.describeCall(in)
	risky := tool.Risk == aaep.RiskHigh
	found := c.reportedCall(in)
	switch {
	case found == nil:
	case c.d.asksAtCall && risky:
		c.decidePermission(ctx, in, found, r)
	case c.b.cfg.QuietUntilDone:
	case risky:
		c.mu.Lock()
		defer c.mu.Unlock()
		found.soon = time.AfterFunc(settleTime, func() {
			prefix := c.agentPrefix()
			c.mu.Lock()
			defer c.mu.Unlock()
			if t := c.turn; t != nil && !found.asked && slices.Contains(t.calls, found) {
				t.announceInvoked(found, prefix)
			}
		})
	default:
		prefix := c.agentPrefix()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.turn != nil {
			c.turn.announceInvoked(found, prefix)
		}
	}
}

const maxCalls = 4096 // of a turn; what more there are is not told

// reportedCall returns the call that an input is about, as the turn knows it, or a new one; nil
// where no turn can begin or the turn has maxCalls calls already. It takes c.mu.
func (c *conversation) reportedCall(in *input) *call {
	tool := c.describeCall(in)
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.beginLocked("")
	if t == nil {
		return nil
	}
	t.endText()
	if c.d.events[in.eventName()] == permission {
		if found := t.awaitedCall(in); found != nil {
			return found
		}
	}
	if len(t.calls) >= maxCalls {
		return nil
	}
	found := &call{key: in.callKey(), id: in.ToolUse, tool: tool}
	t.calls = append(t.calls, found)
	return found
}

// findCall returns the oldest call of the turn for which fits holds and that an input is about: by
// the id of the tool use, or, where one of the two has none, by its tool and arguments. nil where
// there is none. The caller holds c.mu.
func (t *turn) findCall(in *input, fits func(*call) bool) *call {
	key := in.callKey()
	for _, c := range t.calls {
		isSame := c.id == in.ToolUse
		if lacksID := in.ToolUse == "" || c.id == ""; lacksID {
			isSame = c.key == key
		}
		if isSame && fits(c) {
			return c
		}
	}
	return nil
}

// awaitedCall returns the call that an input asks permission for, which has not been asked about
// yet: the one that findCall finds or, as some agents word the question otherwise, the newest of
// the same tool. nil where there is none. The caller holds c.mu.
func (t *turn) awaitedCall(in *input) *call {
	if found := t.findCall(in, func(c *call) bool { return !c.asked }); found != nil {
		return found
	}
	for _, c := range slices.Backward(t.calls) {
		if !c.asked && c.done == nil && c.tool.Name == toolwords.Clip(toolwords.Label(in.Tool), 100) {
			return c
		}
	}
	return nil
}

// announceInvoked announces a call that runs without having been asked about; its risk is announced
// as medium at most, since one of high risk would have been asked about. Where its words hold a
// secret, it is announced without them.
func (t *turn) announceInvoked(c *call, prefix string) {
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

// handleResult announces how a call ended, with the reason if it failed, also where it was done
// although the user did not allow it. A call that is not known is left out. It takes c.mu.
func (c *conversation) handleResult(in *input) {
	prefix := c.agentPrefix()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.turn
	if t == nil {
		return
	}
	ended := t.findCall(in, func(*call) bool { return true })
	if ended == nil {
		return
	}
	t.calls = slices.DeleteFunc(t.calls, func(c *call) bool { return c == ended })
	if ended.soon != nil {
		ended.soon.Stop()
	}
	fault := in.faultText()
	if ended.denied {
		if fault == "" && c.d.events[in.eventName()] != failed {
			t.announceProgress(prefix + "Although that was not allowed, the agent reports that it was done: " +
				actionOf(ended.tool))
		}
		return
	}
	failed := fault != "" || c.d.events[in.eventName()] == failed
	if c.b.cfg.QuietUntilDone && ended.done == nil && !failed {
		return
	}
	t.announceInvoked(ended, prefix)
	if !failed {
		ended.done(nil)
		return
	}
	if text := toolwords.FirstSentence(fault); text != "" {
		t.announceProgress(prefix + text)
	}
	ended.done(errFailed)
}

// announceProgress announces a sentence of this package as progress of the session.
func (t *turn) announceProgress(text string) {
	t.s.Progress(englishText(text), aaep.Progress{Description: text}, 0)
}

// handlePiece announces a piece of the answer of the turn, and ends that text where the piece is
// the last, which may be empty. Without a turn it does nothing. It takes c.mu.
func (c *conversation) handlePiece(in *input) {
	text, last := in.answerPiece()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.turn
	if t == nil || text == "" && !last {
		return
	}
	if text != "" {
		t.answered = true
		t.writeAnswer(text)
	}
	if last {
		t.endText()
	}
}

// writeAnswer writes a piece of the answer, in Markdown, to the turn's open output, or to a new
// one. The caller holds c.mu.
func (t *turn) writeAnswer(text string) {
	if t.out == nil {
		t.out = t.s.Output()
		t.out.SetContentType("text/markdown")
	}
	t.out.WriteString(text)
}

// handleAnswer announces the whole answer, unless it was announced in pieces, and ends the turn. It
// takes c.mu.
func (c *conversation) handleAnswer(in *input) {
	text := in.Last
	if text == nil {
		text = in.Answer
	}
	c.mu.Lock()
	if text != nil && strings.TrimSpace(*text) != "" {
		if t := c.beginLocked(""); t != nil && !t.answered {
			t.endText()
			t.writeAnswer(*text)
		}
	}
	c.mu.Unlock()
	c.endTurn("")
}

// handleFailure ends the turn, if there is one, as failed, with the reason that the agent reports.
// It takes c.mu.
func (c *conversation) handleFailure(in *input) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.detachTurn()
	if t == nil {
		return
	}
	text := "The agent stopped, because something went wrong."
	if why := toolwords.FirstSentence(in.faultText()); why != "" {
		text += " It reports: " + why
	}
	t.s.Fail(errFailed, englishText(text))
	t.s.Close()
}

// handleNotification announces what the agent wants its user to know, except that it waits for a
// question that is asked here. A notice that the agent idles ends a turn that the user has
// interrupted.
func (c *conversation) handleNotification(in *input) {
	c.mu.Lock()
	asked := c.turn != nil && c.turn.open > 0
	c.mu.Unlock()
	waits := in.Kind == "permission_prompt" || in.Kind == "ToolPermission" || in.Kind == "elicitation_dialog"
	text := toolwords.Line(in.Message)
	if text == "" || asked && waits {
		return
	}
	if in.Kind == "idle_prompt" && !asked { // of a turn that the user has interrupted there is no end reported
		c.endTurn("It was stopped.")
	}
	if waits {
		text = "It waits for you in its own window: " + text
	}
	c.announceText(words.Sentence(words.Fit(text, mostTold)))
}

// handleSubagent announces that a subagent begins or has ended; occurrence is the words for it. The
// agent's internal ones, without a name, are not announced.
func (c *conversation) handleSubagent(in *input, occurrence string) {
	name := toolwords.Label(in.Helper)
	if name == "" {
		name = toolwords.Label(in.HelperAs)
	}
	if name == "" || c.b.cfg.QuietUntilDone {
		return
	}
	text := occurrence + ", " + words.Sentence(name)
	if in.Last != nil {
		text += " " + toolwords.FirstSentence(*in.Last)
	}
	c.announceText(strings.TrimSpace(text))
}
