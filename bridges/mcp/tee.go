package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/bridge/toolcall"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// The methods that are looked at.
const (
	callTool   = "tools/call"
	listTools  = "tools/list"
	initialize = "initialize"
	cancelled  = "notifications/cancelled"
	progress   = "notifications/progress"
	logging    = "notifications/message"
)

// The codes of JSON-RPC with which a message that is not passed on is answered.
const (
	codeParse   = -32700
	codeInvalid = -32600
)

const (
	maxLine = 64 << 20 // bytes of a message that is read; a longer one of the client's is not passed on
	maxNews = 1024     // what may wait to be told
	maxOpen = 4096     // requests that wait for an answer and are known
)

// request is one of the client's that has no answer yet.
type request struct {
	method string
	id     jsontext.Value
	page   bool   // of tools/list: not the first page
	name   string // of tools/call: what the tool is called to a person
	token  string // of tools/call: the progress token as it is written; "" is none
	task   bool   // of tools/call: the client wants a task
	held   bool
	call   *toolcall.Call[heldRecord, *message] // of a held call
	sent   bool                                 // a held call that the server has, or may have
}

// admitClient reports whether a line of the client is passed on to the server. A call that must be
// asked about is held and not passed on; what could be read in more than one way, or is too long
// (whole is false), is refused. A panic in it passes nothing on.
func (t *tee) admitClient(line []byte, whole bool) (passes bool) {
	defer func() {
		if r := recover(); r != nil {
			t.cfg.Logger.Error("mcp: a line of the client is not passed on", "error", r)
			passes = false
		}
	}()
	if !whole {
		t.refuseLine(nil, codeInvalid, fmt.Sprintf("a message of more than %d MiB is not passed on", maxLine>>20))
		return false
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return true
	}
	messages, batch, err := readClient(line)
	if err != nil {
		t.refuseLine(nil, codeParse, "the message is not passed on, for it can be read in more than one way: "+
			toolcall.Line(err.Error()))
		return false
	}
	if !batch {
		return t.admitMessage(&messages[0], line)
	}
	if !slices.ContainsFunc(messages, func(m message) bool { return t.mustBeAlone(&m) }) {
		for i := range messages {
			t.admitMessage(&messages[i], nil)
		}
		return true
	}
	for i := range messages {
		switch m := &messages[i]; {
		case m.Method == "" || m.ID == nil:
		case m.Method == callTool:
			t.sendAnswer(m.ID, notDone("it came in a batch, in which the user cannot be asked; call it by itself"))
		default:
			t.refuseLine(m.ID, codeInvalid, "a batch with a call that the user must be asked about is not passed on")
		}
	}
	return false
}

// mustBeAlone reports whether a message is refused in a batch: a call that is held until the user
// answers, or a message about one.
func (t *tee) mustBeAlone(m *message) bool {
	if m.Method == callTool {
		_, held, _ := t.describeCall(m)
		return held
	}
	return t.concernsHeld(m)
}

// concernsHeld reports whether a message reuses the id of a call that is held, or cancels it.
func (t *tee) concernsHeld(m *message) bool {
	id := m.ID
	if m.Method == cancelled {
		id = cancelledID(m)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return m.Method != "" && t.open[keyOf(id)].isWaiting()
}

// isWaiting reports whether a request is a call that is held, and was not sent to the server; nil
// is none.
func (r *request) isWaiting() bool { return r != nil && r.held && !r.sent }

// keyOf returns what an id is known by; "" is none.
func keyOf(id jsontext.Value) string {
	key, _ := bridge.CanonicalRPCID(id)
	return key
}

// cancelledID returns the id of the request that a notification takes back, or nil where it names
// none.
func cancelledID(m *message) jsontext.Value {
	var params struct {
		RequestID jsontext.Value `json:"requestId"`
	}
	if bridge.Decode(m.Params, &params) != nil {
		return nil
	}
	return params.RequestID
}

// admitMessage records a message of the client, holds it where the user is to be asked, and reports
// whether it is sent on now. line is what the server gets; it is nil for a part of a batch, in
// which nothing is held.
func (t *tee) admitMessage(m *message, line []byte) bool {
	switch {
	case m.Method == cancelled:
		return t.admitCancel(cancelledID(m))
	case m.Method == "": // the answer to a request of the server's
		return true
	case m.ID != nil && t.concernsHeld(m):
		t.cfg.Logger.Warn("mcp: a request with the id of a call that is held goes nowhere",
			"method", toolwords.Label(m.Method))
		return false
	case m.Method == callTool:
		return t.admitCall(m, line)
	case m.Method == listTools, m.Method == initialize:
		var params struct {
			Cursor jsontext.Value `json:"cursor"`
		}
		if m.Params != nil && bridge.Decode(m.Params, &params) != nil {
			params.Cursor = nil
		}
		t.noteRequest(&request{method: m.Method, id: m.ID, page: params.Cursor.Kind() == '"'})
	}
	return true
}

// noteRequest adds a request of the client to the open ones until the server answers it.
func (t *tee) noteRequest(r *request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if key := keyOf(r.id); key != "" && (len(t.open) < maxOpen || t.open[key] != nil) {
		t.open[key] = r
	}
}

// admitCancel handles a cancellation: it withdraws a held call, of which the server does not know,
// and reports false; any other it announces, and reports that it is sent on.
func (t *tee) admitCancel(id jsontext.Value) bool {
	key := keyOf(id)
	t.mu.Lock()
	r := t.open[key]
	withdrawn := r.isWaiting()
	if r != nil {
		delete(t.open, key) // the client wants no answer any more
	}
	t.mu.Unlock()
	if r == nil || r.method != callTool {
		return true
	}
	if r.call != nil {
		r.call.Cancel(toolcall.ErrCancelled)
	}
	if !withdrawn {
		t.queueForConversation(func(c *toolcall.Conversation) {
			if c.EndCall(key, toolcall.ErrCancelled) || r.held {
				c.AnnounceNotice("The agent took the call of " + r.name + " back.")
			}
		})
	}
	return !withdrawn
}

// withdrawAll withdraws all held calls that were not sent, because the client has hung up. It takes
// t.mu.
func (t *tee) withdrawAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.open {
		if r.call != nil && !r.sent {
			r.call.Cancel(toolcall.ErrCancelled)
		}
	}
}

// describeCall returns a tool call as it is announced or asked about, and whether it is held until
// the user answers. The error says why a held call cannot be asked about.
func (t *tee) describeCall(m *message) (about producer.Tool, held bool, err error) {
	var params callParams
	if bridge.Decode(m.Params, &params) != nil || params.Name == "" {
		return producer.Tool{Name: "unknown", Title: toolcall.ToolName("")}, true,
			errors.New("its arguments cannot be read")
	}
	t.mu.Lock()
	known := t.tools[params.Name]
	t.mu.Unlock()
	about = producer.Tool{Name: params.Name, Title: toolcall.ToolName(params.Name), Risk: aaep.RiskMedium,
		Timeout: cmp.Or(t.cfg.AnswerTime, answerTime)}
	if !known.isHeld(t.cfg.AskAll) {
		if known.Annotations.ReadOnly {
			about.Risk = aaep.RiskLow
		}
		return about, false, nil
	}
	description := ""
	if known != nil {
		description = cmp.Or(known.Description, known.Title, known.Annotations.Title)
	}
	arguments := params.Arguments
	if arguments == nil {
		arguments = jsontext.Value("{}")
	}
	about.Irreversible = known == nil || known.Annotations.Destructive == nil || *known.Annotations.Destructive
	about, err = toolcall.Question(about, description, arguments)
	return about, true, err
}

// answerTime is how long the user has to answer where Config does not say.
const answerTime = 5 * time.Minute

// admitCall announces a call of the agent that needs no question, and returns true, so that line is
// sent on. Any other call it holds until the user answers, or refuses where they cannot be asked,
// and returns false.
func (t *tee) admitCall(m *message, line []byte) bool {
	tool, held, unaskable := t.describeCall(m)
	var params callParams
	bridge.Decode(m.Params, &params) // what cannot be read is held, and cannot be asked about
	r := &request{method: callTool, id: m.ID, name: tool.Title, token: string(params.Meta.ProgressToken),
		task: params.Task != nil, held: held}
	key := keyOf(m.ID)
	if !held {
		if m.ID != nil {
			t.noteRequest(r)
			t.queueForConversation(func(c *toolcall.Conversation) { c.BeginCall(key, tool) })
		}
		return true
	}
	t.mu.Lock()
	same := t.open[key] != nil
	full := len(t.open) >= maxOpen
	t.mu.Unlock()
	switch {
	case key == "" || !bridge.ValidRPCID(m.ID):
		unaskable = errors.New("nobody waits for its answer")
	case same: // whose answer has this id
		t.cfg.Logger.Warn("mcp: a call with the id of another goes nowhere", "tool", tool.Title)
		return false
	case full:
		unaskable = errors.New("too many calls wait for an answer")
	}
	if unaskable != nil {
		t.refuseUnasked(r, tool, unaskable)
		return false
	}
	t.holdCall(key, r, tool, line)
	return false
}

// refuseUnasked announces that a call was not done, and answers it with why the user could not be
// asked about it. A call without an id gets no answer.
func (t *tee) refuseUnasked(r *request, tool producer.Tool, why error) {
	t.queueForConversation(func(c *toolcall.Conversation) {
		c.AnnounceNotice("The agent wanted to use " + tool.Title + ", but " + why.Error() + ". It was not done.")
	})
	if r.id != nil {
		t.sendAnswer(r.id, r.refusalAnswer(why.Error()+", so the user could not be asked; the action was not done"))
	}
}

// holdCall holds a call, and has the user asked about it, on a goroutine. key is the call's id, and
// line is what the server gets after a yes. Where it cannot be remembered or asked about, the
// client gets a refusal.
func (t *tee) holdCall(key string, r *request, tool producer.Tool, line []byte) {
	ctx, cancel := context.WithCancelCause(t.ctx)
	t.mu.Lock()
	t.calls++
	record := heldRecord{ID: t.run + strconv.Itoa(t.calls), Tool: tool.Name}
	t.mu.Unlock()
	call, _, err := t.held.Hold(record, cancel)
	if err != nil {
		cancel(nil)
		t.cfg.Logger.Error("mcp: a call cannot be held", "error", err)
		t.refuseUnasked(r, tool, errors.New("it cannot be remembered that it waits"))
		return
	}
	r.call = call
	t.mu.Lock()
	t.open[key] = r
	t.mu.Unlock()
	withdraw := func(why string) {
		cancel(nil)
		t.held.Settle(call)
		t.refuse(key, r, why)
	}
	if !t.queueForConversation(func(c *toolcall.Conversation) {
		s := c.Session()
		if s == nil {
			withdraw("the user could not be asked; the action was not done")
			return
		}
		t.work.Go(func() {
			defer cancel(nil)
			t.askHeld(ctx, s, tool, key, r, line)
		})
	}) {
		withdraw("too much waits to be asked; the action was not done")
	}
}

// askHeld puts a held call to the user, sends it on after a yes, and waits for its result; after
// anything else it refuses it. It runs in a goroutine of its own.
func (t *tee) askHeld(ctx context.Context, s *producer.Session, tool producer.Tool, key string, r *request,
	line []byte) {
	waiting, answered := context.WithCancel(ctx)
	defer answered()
	if r.token != "" {
		t.work.Go(func() { t.reportWaiting(waiting, jsontext.Value(r.token)) })
	}
	sent, err := t.held.Ask(ctx, s, tool, r.call,
		func(context.Context) error {
			answered()
			return t.sendHeld(key, r, line)
		},
		func(m *message) (string, error) {
			text, failure := m.outcome()
			t.queueForConversation(func(c *toolcall.Conversation) { c.Result(text, failure) })
			return text, failure
		})
	switch {
	case err == nil:
	case !sent || errors.Is(err, errNotSent):
		t.refuse(key, r, toolcall.Refusal(err))
	case errors.Is(err, errServerGone):
		t.refuse(key, r, "the server did not take the call, or not whole; the action may not have been done")
	}
}

// Why an allowed call did not come to its result.
var (
	errNotSent    = fmt.Errorf("mcp: %w: %w", toolcall.ErrNotMade, toolcall.ErrCancelled)
	errServerGone = errors.New("mcp: the server does not read any more")
)

// sendHeld sends a held call to the server, after a yes: errNotSent if the client withdrew it,
// errServerGone if writing fails. It takes t.mu.
func (t *tee) sendHeld(key string, r *request, line []byte) error {
	t.mu.Lock()
	if t.open[key] != r {
		t.mu.Unlock()
		return errNotSent
	}
	r.sent = true
	t.mu.Unlock()
	if line[len(line)-1] != '\n' { // the client ended in the middle of it
		line = append(line, '\n')
	}
	if err := t.toServer.writeLine(line); err != nil {
		return errServerGone
	}
	return nil
}

const (
	// waitingPause is how often a client that wants progress is told that a call waits.
	waitingPause = 10 * time.Second
	// waitingStep is by how much that progresses each time, as little as can be: the server's own
	// must be more.
	waitingStep = 1e-6
)

// reportWaiting sends progress to the client while a call waits for the user, so that the client
// does not take it for dead. It is a goroutine of its own.
func (t *tee) reportWaiting(ctx context.Context, token jsontext.Value) {
	tick := time.NewTicker(waitingPause)
	defer tick.Stop()
	for n := 1; ctx.Err() == nil; n++ {
		line, err := jsonv2.Marshal(rpcNotification{"2.0", progress,
			progressParams{token, float64(n) * waitingStep, 0, "Waiting for the user's answer."}})
		if err == nil {
			err = t.toClient.writeLine(append(line, '\n'))
		}
		if err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// rpcNotification is a notification of ours.
type rpcNotification struct {
	JSONRPC string         `json:"jsonrpc"`
	Method  string         `json:"method"`
	Params  progressParams `json:"params"`
}

// progressParams are those of a notification of progress.
type progressParams struct {
	Token    jsontext.Value `json:"progressToken"`
	Progress float64        `json:"progress"`
	Total    float64        `json:"total,omitzero"`
	Message  string         `json:"message,omitzero"`
}

// rpcAnswer is an answer of ours.
type rpcAnswer struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Result  any            `json:"result,omitzero"`
	Error   *rpcError      `json:"error,omitzero"`
}

// rpcError is why a request has no result.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// refusedCall is the result of a call that was not made.
type refusedCall struct {
	Content []refusedText `json:"content"`
	IsError bool          `json:"isError"`
}

// refusedText is what the model reads of it.
type refusedText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// notDone returns the answer to a call that was not made.
func notDone(why string) rpcAnswer {
	return rpcAnswer{Result: refusedCall{[]refusedText{{"text", "Error: " + why}}, true}}
}

// refusalAnswer returns the answer to a call that was not made. Of one that was to be a task it is
// an error, for a result would have to be that task.
func (r *request) refusalAnswer(why string) rpcAnswer {
	if r.task {
		return rpcAnswer{Error: &rpcError{codeInvalid, why}}
	}
	return notDone(why)
}

// sendAnswer sends the client a response, to the request with an id or to none, in the server's
// place. Where that fails it is logged.
func (t *tee) sendAnswer(id jsontext.Value, a rpcAnswer) {
	a.JSONRPC, a.ID = "2.0", id
	if id == nil {
		a.ID = jsontext.Value("null")
	}
	line, err := jsonv2.Marshal(a)
	if err == nil {
		err = t.toClient.writeLine(append(line, '\n'))
	}
	if err != nil {
		t.cfg.Logger.Error("mcp: the client was not told that a message was not passed on", "error", err)
	}
}

// refuseLine answers what is not passed on and is no call.
func (t *tee) refuseLine(id jsontext.Value, code int, why string) {
	t.sendAnswer(id, rpcAnswer{Error: &rpcError{code, why}})
}

// refuse sends the client a refusal of a held call, unless the client withdrew it. why is for the
// model.
func (t *tee) refuse(key string, r *request, why string) {
	t.mu.Lock()
	isOpen := t.open[key] == r
	if isOpen {
		delete(t.open, key)
	}
	t.mu.Unlock()
	if isOpen {
		t.sendAnswer(r.id, r.refusalAnswer(why))
	}
}

// admitServer announces a line of the server, and reports whether it is sent on: all are but an
// answer to a held call, which the server was not sent. A panic in it sends the line on.
func (t *tee) admitServer(line []byte, whole bool) (passes bool) {
	defer func() {
		if r := recover(); r != nil {
			t.cfg.Logger.Error("mcp: a line of the server is not told", "error", r)
			passes = true
		}
	}()
	if !whole {
		return true
	}
	messages, _, err := readLine(line)
	if err != nil {
		return !t.holdsAny()
	}
	for i := range messages {
		if m := &messages[i]; m.Method == "" && t.answersHeld(m) {
			t.cfg.Logger.Warn("mcp: an answer of the server to a call that is held goes nowhere")
			return false
		}
	}
	for i := range messages {
		switch m := &messages[i]; m.Method {
		case "":
			t.noteAnswer(m)
		case progress:
			t.announceProgress(m)
		case logging:
			t.announceLog(m)
		}
	}
	return true
}

// holdsAny reports whether any call is held that was not sent. While one is, admitServer passes on
// no line of the server that cannot be read, for it could be an answer to it. It takes t.mu.
func (t *tee) holdsAny() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.open {
		if r.isWaiting() {
			return true
		}
	}
	return false
}

// answersHeld reports whether a message of the server answers a call that it was not sent yet.
func (t *tee) answersHeld(m *message) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[keyOf(m.ID)].isWaiting()
}

// noteAnswer takes in the server's answer to a request of the client's: what it lists, its name, or
// how a call ended, which is announced, or given to the goroutine that asked. An answer to no
// request changes nothing. It takes t.mu.
func (t *tee) noteAnswer(m *message) {
	key := keyOf(m.ID)
	t.mu.Lock()
	r := t.open[key]
	delete(t.open, key)
	t.mu.Unlock()
	switch {
	case r == nil:
	case r.method == listTools && m.Result != nil:
		t.learnTools(m.Result, r.page)
	case r.method == initialize:
		t.learnServer(m.Result)
	case r.call != nil:
		m.Result, m.Error = bytes.Clone(m.Result), bytes.Clone(m.Error)
		r.call.Result <- m // which has room, for a request is answered once
	case r.method == callTool:
		text, failure := m.outcome()
		t.queueForConversation(func(c *toolcall.Conversation) {
			if c.EndCall(key, failure) {
				c.Result(text, failure)
			}
		})
	}
}

// learnTools stores a page of the server's list of tools; more says that it continues the list
// before. Where the list cannot be read, or has a name twice, the calls concerned are held.
func (t *tee) learnTools(result jsontext.Value, more bool) {
	var list struct {
		Tools []*tool `json:"tools"`
	}
	if err := bridge.Decode(result, &list); err != nil {
		t.cfg.Logger.Warn("mcp: the list of tools cannot be read; all calls ask first", "error", err)
		more, list.Tools = false, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !more || t.tools == nil {
		t.tools = map[string]*tool{}
	}
	for _, listed := range list.Tools {
		if listed == nil {
			continue
		}
		if t.tools[listed.Name] != nil {
			listed.Annotations.ReadOnly, listed.Annotations.Destructive = false, nil
		}
		t.tools[listed.Name] = listed
	}
}

// learnServer puts the server's name, from its answer to initialize, into the title of the session.
// An answer without one changes nothing.
func (t *tee) learnServer(result jsontext.Value) {
	var server struct {
		ServerInfo struct {
			Name  string `json:"name"`
			Title string `json:"title"`
		} `json:"serverInfo"`
	}
	if bridge.Decode(result, &server) != nil {
		return
	}
	if name := toolwords.Label(cmp.Or(server.ServerInfo.Title, server.ServerInfo.Name)); name != "" {
		t.queueForConversation(func(c *toolcall.Conversation) { c.Rename("Following an agent's tools of " + words.Sentence(name)) })
	}
}

// announceProgress announces the progress of a call that the server reports, by the token of the
// call. One of no open call is left out.
func (t *tee) announceProgress(m *message) {
	var p progressParams
	if bridge.Decode(m.Params, &p) != nil || p.Token == nil {
		return
	}
	name := ""
	t.mu.Lock()
	for _, r := range t.open {
		if r.method == callTool && r.token == string(p.Token) {
			name = r.name
		}
	}
	t.mu.Unlock()
	if name == "" {
		return
	}
	progress := aaep.Progress{}
	if p.Total > 0 && p.Progress >= 0 && p.Progress <= p.Total {
		progress.Percent = new(100 * p.Progress / p.Total)
	}
	if text := toolcall.Line(p.Message); text != "" {
		progress.Description = name + ": " + words.Sentence(text)
	}
	t.queueForConversation(func(c *toolcall.Conversation) {
		if s := c.Session(); s != nil && (progress.Percent != nil || progress.Description != "") {
			c.Note(s.Progress(aaep.Text{}, progress, 0))
		}
	})
}

// announceLog announces log messages of the server, from warnings on, while there is a session. The
// rest of a log is for programs.
func (t *tee) announceLog(m *message) {
	var entry struct {
		Level string         `json:"level"`
		Data  jsontext.Value `json:"data"`
	}
	if bridge.Decode(m.Params, &entry) != nil ||
		!slices.Contains([]string{"warning", "error", "critical", "alert", "emergency"}, entry.Level) {
		return
	}
	text := toolcall.Line(bridge.Describe(entry.Data))
	t.queueForConversation(func(c *toolcall.Conversation) {
		if c.Begun() && text != "" {
			c.AnnounceNotice(words.Sentence("The tools report: " + text))
		}
	})
}

// queueForConversation queues do for the goroutine of the session, which runs it after what was
// queued before. It reports false, and drops do, where the queue is full; it never waits.
func (t *tee) queueForConversation(do func(*toolcall.Conversation)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	select {
	case t.news <- do:
		return true
	default:
		t.cfg.Logger.Warn("mcp: too much happens at once; some of it is not told")
		return false
	}
}

// closeQueue waits until the held calls have ended, and ends the goroutine of the session. Tee
// alone calls it.
func (t *tee) closeQueue() {
	flushed := make(chan struct{})
	t.news <- func(*toolcall.Conversation) { close(flushed) }
	<-flushed // what was to be asked is a part of work now
	t.work.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	close(t.news)
}
