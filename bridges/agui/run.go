package agui

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

const (
	maxOpen     = 64        // outputs, calls and activities of one run that are followed
	maxArgs     = 256 << 10 // bytes of the arguments of a call that are kept
	maxActivity = 1 << 20   // bytes of an activity
	callDelay   = time.Second
	// Agents announce a call before they interrupt to ask about it. A call that no interrupt
	// follows within callDelay runs.
)

// A run is one of the agent's, with those that resume it, and a session.
type run struct {
	transport *transport
	request   *http.Request // that started it
	input     *input
	ctx       context.Context
	session   *producer.Session
	history   *history
	appTools  []string // which the web app runs

	mu         sync.Mutex
	outputs    map[string]*producer.Output // open, by the id of their message
	newest     string                      // the id of the message of the newest chunk
	calls      map[string]*call            // by id
	newestCall string                      // the id of the newest chunk's
	activities map[string]any
}

// A call is one of a tool.
type call struct {
	name   string
	args   []byte
	isCut  bool // there were more arguments than are kept
	isApps bool // the web app runs it
	timer  *time.Timer
	done   func(error) // completes it; nil until it was told that it runs
	// An interrupt asks about it, so that it does not run.
	isAsked bool
}

// newRun begins the session of a run that a request starts; nil where none can begin, so that the
// run is only passed on.
func newRun(r *http.Request, t *transport, in *input) *run {
	s, err := t.producer.StartSession(context.WithoutCancel(r.Context()), bridge.Ours("The agent works on a request."))
	if err != nil {
		return nil
	}
	x := &run{transport: t, request: r, input: in, ctx: r.Context(), session: s, history: newHistory(in),
		outputs: map[string]*producer.Output{}, calls: map[string]*call{}, activities: map[string]any{}}
	for _, tool := range in.Tools {
		x.appTools = append(x.appTools, tool.Name)
	}
	return x
}

// announceEvent announces an event of a run, other than its end, in the run's session; one of a
// type that is not known here, or of a message that was not begun, is left out, and so is what the
// agent thinks, without Config.Reasoning. It takes x.mu.
func (x *run) announceEvent(e *event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch e.Type {
	case "TEXT_MESSAGE_START":
		x.announceCalls()
		x.openOutput(e.MessageID, e.Role)
	case "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT":
		if out := x.outputs[e.MessageID]; out != nil {
			out.WriteString(e.contentText())
		}
	case "TEXT_MESSAGE_CHUNK":
		x.writeChunk(e)
	case "TEXT_MESSAGE_END", "REASONING_MESSAGE_END":
		x.closeOutput(e.MessageID)
	case "TOOL_CALL_START":
		x.beginCall(e)
	case "TOOL_CALL_CHUNK":
		x.addCallChunk(e)
	case "TOOL_CALL_ARGS":
		x.addArgs(e.ToolCallID, e.contentText())
	case "TOOL_CALL_RESULT":
		x.endCall(e.ToolCallID, nil)
	case "STEP_STARTED":
		x.reportProgress("Step: " + words.Sentence(toolwords.Label(e.StepName)))
	case "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA":
		x.announceActivity(e)
	case "REASONING_MESSAGE_START":
		if x.transport.cfg.Reasoning {
			x.openOutput(e.MessageID, "")
		}
	}
}

// addCallChunk adds a chunk of a call that comes without a start of its own: one with a new id
// begins that call, and one without an id goes on with the newest. The caller holds x.mu.
func (x *run) addCallChunk(e *event) {
	if e.ToolCallID != "" {
		x.newestCall = e.ToolCallID
		if x.calls[e.ToolCallID] == nil {
			x.beginCall(e)
		}
	}
	x.addArgs(x.newestCall, e.contentText())
}

// openOutput begins the text of a message; that of another role than the agent's, one that is open,
// and one beyond maxOpen are left out. The caller holds x.mu.
func (x *run) openOutput(id, role string) {
	isAgents := role == "" || role == "assistant"
	if isAgents && x.outputs[id] == nil && len(x.outputs) < maxOpen {
		x.outputs[id] = x.session.Output()
	}
}

// closeOutput ends the text of a message, if it is open.
func (x *run) closeOutput(id string) {
	if out := x.outputs[id]; out != nil {
		out.Close()
		delete(x.outputs, id)
	}
}

// writeChunk writes a chunk of text that comes without a start and an end of its own: one with a
// new id ends the message before and begins another, and one without an id goes on with the newest.
// The caller holds x.mu.
func (x *run) writeChunk(e *event) {
	if e.MessageID != "" && e.MessageID != x.newest {
		x.closeOutput(x.newest)
		x.newest = e.MessageID
		x.openOutput(e.MessageID, e.Role)
	}
	if out := x.outputs[x.newest]; out != nil {
		out.WriteString(e.contentText())
	}
}

// beginCall records a call by its name, and announces it after callDelay, unless an interrupt asks
// about it first. A call without an id, a known one, and one beyond maxOpen are left out. The
// caller holds x.mu.
func (x *run) beginCall(e *event) {
	x.closeAll()
	if x.calls[e.ToolCallID] != nil || len(x.calls) >= maxOpen || e.ToolCallID == "" {
		return
	}
	c := &call{name: e.ToolName, isApps: slices.Contains(x.appTools, e.ToolName)}
	x.calls[e.ToolCallID] = c
	c.timer = time.AfterFunc(callDelay, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.announceCall(c)
	})
}

// addArgs adds a piece of the arguments of the call id. Arguments of more than maxArgs bytes are
// marked as cut, and grow no more. An unknown call does nothing.
func (x *run) addArgs(id, args string) {
	c := x.calls[id]
	if c == nil {
		return
	}
	if c.isCut = c.isCut || len(c.args)+len(args) > maxArgs; !c.isCut {
		c.args = append(c.args, args...)
	}
}

// announceCall announces that a call runs, once, unless it is being asked about. A tool of the web
// app's own is announced as such.
func (x *run) announceCall(c *call) {
	if c.timer.Stop(); c.done != nil || c.isAsked {
		return
	}
	c.done = func(error) {}
	title := toolwords.Label(c.name)
	if c.isApps {
		bridge.AnnounceNotice(x.session, "The app is to run its tool "+words.Sentence(title))
		return
	}
	if done, err := x.session.Invoked(producer.Tool{Name: cmp.Or(c.name, "tool"), Risk: aaep.RiskMedium}); err == nil {
		c.done = done
	}
}

// announceCalls announces all calls that wait, since no interrupt about them follows.
func (x *run) announceCalls() {
	for _, c := range x.calls {
		x.announceCall(c)
	}
}

// endCall announces how a call ended, and first that it ran where that was not announced yet.
func (x *run) endCall(id string, err error) {
	c := x.calls[id]
	if c == nil {
		return
	}
	if x.announceCall(c); c.done != nil {
		c.done(err)
	}
	delete(x.calls, id)
}

// announceActivity announces what an activity is about or, of a known one, what changed in it. One
// that is too long, or beyond maxOpen, is left out. The caller holds x.mu.
func (x *run) announceActivity(e *event) {
	before, known := x.activities[e.MessageID]
	after := before
	if e.Type == "ACTIVITY_SNAPSHOT" {
		isOneMore := !known && len(x.activities) >= maxOpen
		if isOneMore || len(e.Content) > maxActivity || bridge.Decode(e.Content, &after) != nil {
			return
		}
	} else {
		var err error
		if after, err = bridge.ApplyPatch(before, e.Patch); err != nil {
			return
		}
	}
	x.activities[e.MessageID] = after
	description := bridge.DescribeValue(after)
	if known {
		description = bridge.List(bridge.Changes(before, after))
	}
	if description != "" {
		x.reportProgress(toolwords.Label(e.Activity) + ": " + words.Sentence(toolwords.Label(description)))
	}
}

// reportProgress reports a sentence of this package as progress, which later progress may replace.
func (x *run) reportProgress(text string) {
	x.session.Progress(bridge.Ours(text), aaep.Progress{Description: text}, 0)
}

// closeAll ends the open texts, because something else follows.
func (x *run) closeAll() {
	for id := range x.outputs {
		x.closeOutput(id)
	}
}

// errAgent is why a session failed whose agent says so.
var errAgent = errors.New("agui: the agent reports an error")

// endRun ends the run's session: as cancelled where the app is gone, as failed for err, and as
// completed for nil; text is said last, or "". Calls without a result are closed.
func (x *run) endRun(err error, text string) {
	x.mu.Lock()
	x.closeAll()
	for id, c := range x.calls {
		if c.timer.Stop(); c.done == nil && err == nil {
			x.announceCall(c)
		}
		delete(x.calls, id)
	} // the end of the session tells that it is not known how those ended that have no result
	x.mu.Unlock()
	var sentence aaep.Text
	if text != "" {
		sentence = bridge.Ours(text)
	}
	switch {
	case x.ctx.Err() != nil || errors.Is(err, errGone):
		x.session.Cancel(aaep.CancelledByProducer, aaep.Text{})
	case err != nil:
		x.session.Fail(err, sentence)
	default:
		x.session.Complete(sentence)
	}
}
