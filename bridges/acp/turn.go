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
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// A turn is what the agent does upon one prompt, as a session of AAEP. Its mu is taken before that
// of the conversation.
type turn struct {
	c       *Conversation
	s       *producer.Session
	stopped chan struct{} // closed by stop
	asking  context.Context
	cancel  context.CancelFunc // withdraws what is asked

	unprompted bool // the agent asked of its own accord
	requests   int  // of the agent that are being answered, guarded by the conversation's mu

	mu              sync.Mutex
	out             *producer.Output // that is being written; nil where there is none
	outKind         string           // what it is: its kind of chunk, and the id of its message
	calls           map[string]*call
	plan            []planEntry
	openPermissions []*permission // open, oldest first
	grants          []grantedAction
	halted          bool // nothing is allowed any more
	ended           bool

	// Of an agent of version 2.
	idle    chan string     // holds the reason for which the turn is over
	running bool            // the agent has said that it has begun
	written map[string]bool // messages of which chunks were written
}

const (
	maxCalls = 4096 // of a turn; what more there are is not told
	// settleTime is how long a call that could do harm is not told as running: many agents announce
	// it and then ask for permission.
	settleTime = 500 * time.Millisecond
)

// newTurn makes the turn of a session that has just started.
func newTurn(c *Conversation, s *producer.Session) *turn {
	t := &turn{c: c, s: s, stopped: make(chan struct{}), calls: map[string]*call{}, idle: make(chan string, 1),
		written: map[string]bool{}}
	t.asking, t.cancel = context.WithCancel(context.Background())
	return t
}

// stopAgent sends session/cancel, before any question is answered as cancelled, and kills the
// commands that run for the agent. Later calls do nothing.
func (t *turn) stopAgent() {
	defer t.c.killCommands()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.halted || t.ended {
		return
	}
	t.halted = true
	if !t.c.agent.besideEditor {
		t.c.agent.peer.sendNotification("session/cancel", cancelNotification{SessionID: t.c.id})
	}
	t.cancel()
	close(t.stopped)
}

// applyUpdate applies an update of a kind: text, a call, a plan or a notice. A kind that is not
// known is reported once. The error says that it cannot be read. It runs on the goroutine that
// reads.
func (t *turn) applyUpdate(kind string, update jsontext.Value) error {
	switch kind {
	case "agent_message_chunk", "agent_thought_chunk":
		var u contentChunk
		if err := decodeParams(update, &u); err != nil {
			return err
		}
		if kind == "agent_message_chunk" || t.c.agent.cfg.Thoughts {
			t.writeChunk(kind, u)
		}
	case "tool_call", "tool_call_update":
		var u toolCall
		if err := decodeParams(update, &u); err != nil {
			return err
		}
		t.reportCall(u)
	case "plan":
		var u plan
		if err := decodeParams(update, &u); err != nil {
			return err
		}
		t.reportPlan(u.Entries)
	case "notice":
		var u notice
		if err := decodeParams(update, &u); err != nil {
			return err
		}
		t.reportNotice(words.Sentence(toolwords.Label(u.Title)) + " " + toolwords.Label(u.Description))
	case "user_message_chunk", "session_info_update", "usage_update": // of these nothing is told
	default:
		if t.c.agent.cfg.Version2 {
			return t.applyUpdate2(kind, update)
		}
		t.reportUnknownKind(kind)
	}
	return nil
}

// reportUnknownKind announces, once for each kind of update, that the agent sent one that is not
// known here.
func (t *turn) reportUnknownKind(kind string) {
	if t.c.agent.noteFirst(kind) {
		t.reportNotice("The agent sent news of a kind that is not known here, " + cmp.Or(toolwords.Label(kind),
			"without a name") + ".")
	}
}

// reportNotice tells the user a sentence beside the answer.
func (t *turn) reportNotice(text string) { bridge.AnnounceNotice(t.s, text) }

// reportProgress tells the user how far the turn is, which newer progress makes void. It is called
// with t.mu held.
func (t *turn) reportProgress(text string) {
	text = strings.TrimSpace(text)
	t.s.Progress(englishText(text), aaep.Progress{Description: text}, 0)
}

// writeChunk writes a chunk of the answer, or of the thoughts before it. A chunk of another message
// begins another text. kind says which of the two it is. It takes t.mu.
func (t *turn) writeChunk(kind string, u contentChunk) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	of := kind + " " + u.MessageID
	if t.out != nil && t.outKind != of {
		t.endText()
	}
	text := u.Content.spokenText()
	if text == "" {
		return
	}
	if t.c.agent.cfg.Version2 && len(t.written) < maxCalls {
		t.written[of] = true
	}
	if t.out == nil {
		t.out, t.outKind = t.s.Output(), of
		t.out.SetContentType("text/markdown")
		if kind == "agent_thought_chunk" {
			text = "Thinking: " + text
		}
	}
	t.out.WriteString(text)
}

// endText closes the output of the answer that is being written, because what comes next is not
// part of it. The caller holds t.mu.
func (t *turn) endText() {
	if t.out != nil {
		t.out.Close()
		t.out = nil
	}
}

// spokenText returns the text of a block of content; what is no text is named in brackets.
func (b contentBlock) spokenText() string {
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
	return " (" + upperFirst(nameWithArticle(b.Type)) + " that cannot be told here.) "
}

// nameWithArticle returns the words for a content block of this kind that cannot be sent, such as
// "an image", for the notice that it was left out.
func nameWithArticle(kind string) string {
	switch kind {
	case "image", "audio":
		return "an " + kind
	case "resource":
		return "a file"
	}
	return "a part of a kind that is not known,"
}

// upperFirst capitalises a text that begins with an ASCII letter.
func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// reportPlan announces what changed in the agent's plan: the step that begins, a plan that is new,
// or that all steps are done. It takes t.mu.
func (t *turn) reportPlan(entries []planEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	previous := map[string]string{}
	for _, e := range t.plan {
		previous[e.Content] = e.Status
	}
	fresh := len(t.plan) != len(entries)
	t.plan = entries
	done, current := 0, -1
	for i, e := range entries {
		status, known := previous[e.Content]
		fresh = fresh || !known
		if e.Status == "completed" {
			done++
		}
		if e.Status == "in_progress" && status != e.Status {
			current = i
		}
	}
	switch {
	case len(entries) == 0:
	case current >= 0:
		text := fmt.Sprintf("Step %d of %d: %s", current+1, len(entries),
			words.Sentence(toolwords.Label(entries[current].Content)))
		t.s.Progress(aaep.Say(text), aaep.Progress{Step: int64(current + 1), TotalSteps: int64(len(entries)),
			Description: text}, 0)
	case fresh:
		t.reportProgress(fmt.Sprintf("A plan of %s. The first: %s", words.Count(len(entries), "step"),
			words.Sentence(toolwords.Label(entries[0].Content))))
	case done == len(entries):
		t.reportProgress(fmt.Sprintf("All %d steps are done.", done))
	}
}

// A call is one of the agent's tools, as far as it is known.
type call struct {
	id, title, name, kind, status string
	folder                        string // where a command runs; empty is Config.Folder
	content                       []toolContent
	locations                     []location
	input                         jsontext.Value

	done        func(error) // tells its end; nil where its beginning was not told
	asked       bool        // for permission, now or before
	denied      bool        // and was not allowed
	ended       bool
	reportTimer *time.Timer // tells its beginning
}

// mergeUpdate takes over the fields of a call that an update sets; those that it leaves out stay.
func (c *call) mergeUpdate(u toolCall) {
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
	c.folder = cmp.Or(u.folder, c.folder)
}

// mergeCall merges an update into the call with its id, a new one where it is unknown, and returns
// the call; nil where there are too many. The caller holds t.mu.
func (t *turn) mergeCall(u toolCall) *call {
	c := t.calls[u.ID]
	if c == nil {
		if len(t.calls) >= maxCalls {
			return nil
		}
		c = &call{id: u.ID}
		t.calls[u.ID] = c
		t.endText()
	}
	c.mergeUpdate(u)
	return c
}

// reportCall merges an update of a call and announces that the call runs, or how it ended. One that
// may still be asked about is announced after settleTime. It takes t.mu.
func (t *turn) reportCall(u toolCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	c := t.mergeCall(u)
	if c == nil || c.ended {
		return
	}
	t.setNewest(c)
	switch c.status {
	case "completed", "failed", "cancelled":
		t.reportEnded(c)
	case "in_progress":
		if !c.asked && c.assessRisk() != aaep.RiskHigh {
			t.reportInvoked(c)
			return
		}
		fallthrough
	default:
		if c.reportTimer == nil && c.done == nil && !c.asked {
			c.reportTimer = time.AfterFunc(settleTime, func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				if !c.asked && !c.ended && !t.ended {
					t.reportInvoked(c)
				}
			})
		}
	}
}

// setNewest makes c the call that Details describes, where it has content or input. The caller
// holds t.mu.
func (t *turn) setNewest(c *call) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if len(c.content) > 0 || c.input != nil || t.c.newest == nil {
		t.c.newest = c
	}
}

// reportInvoked announces a call that runs without having been asked about; its risk is announced
// as medium at most, since one of high risk would have been asked about. The caller holds t.mu.
func (t *turn) reportInvoked(c *call) {
	if c.done != nil {
		return
	}
	tool := c.asTool()
	if tool.Risk == aaep.RiskHigh {
		tool.Risk = aaep.RiskMedium
	}
	done, err := t.s.Invoked(tool)
	if err != nil {
		t.c.agent.logOnce("a call that cannot be told: " + err.Error())
		done = func(error) {}
	}
	c.done = done
}

// errFailed ends a call, or a session, that the agent reports as failed.
var errFailed = errors.New("the agent reports that it failed")

// reportEnded announces how a call ended, also where it was done although the user did not allow
// it. The caller holds t.mu.
func (t *turn) reportEnded(c *call) {
	c.ended = true
	if c.reportTimer != nil {
		c.reportTimer.Stop()
	}
	failed := c.status != "completed"
	switch {
	case c.denied && failed: // that it was not done was told
		return
	case c.denied:
		t.reportNotice("Although that was not allowed, the agent reports that it was done: " +
			words.Sentence(toolwords.Line(c.title)))
		return
	}
	t.reportInvoked(c)
	if !failed {
		c.done(nil)
		return
	}
	for _, part := range c.content {
		if text := toolwords.FirstSentence(part.Content.Text); text != "" {
			t.reportProgress(text)
			break
		}
	}
	c.done(errFailed)
}

// endTurn ends the calls and the session of the turn by the agent's stop reason or by err, and
// returns err.
func (t *turn) endTurn(reason string, err error) error {
	t.cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endText()
	t.ended = true
	for _, c := range t.calls {
		if c.reportTimer != nil {
			c.reportTimer.Stop()
		}
	} // the end of the session tells that it is not known how those ended that have not been reported
	t.c.mu.Lock()
	if t.c.turn == t {
		t.c.turn = nil
	}
	t.c.mu.Unlock()
	switch {
	case t.halted && (err == nil || reason == "cancelled"):
		t.s.Cancel(aaep.CancelledByUser, englishText("It was stopped."))
	case err != nil:
		t.s.Fail(err, englishText(words.Sentence(upperFirst(strings.TrimPrefix(err.Error(), "acp: ")))))
	case reason == "end_turn":
		t.s.Complete(aaep.Text{})
	case reason == "cancelled":
		t.s.Cancel(aaep.CancelledByProducer, englishText("The agent stopped."))
	default:
		t.s.Fail(errFailed, englishText(stopWords(reason)))
	}
	return err
}

// stopWords returns the sentence that says why a turn ended early, by its stop reason; a reason
// that is not known is named.
func stopWords(reason string) string {
	switch reason {
	case "refusal":
		return "The agent refuses to go on with this."
	case "max_tokens":
		return "The agent stopped, because its answer became too long. Ask it to go on."
	case "max_turn_requests":
		return "The agent stopped, because it had asked its model too often. Ask it to go on."
	}
	return "The agent stopped for a reason that is not known here, " + cmp.Or(toolwords.Label(reason),
		"without a name") + "."
}
