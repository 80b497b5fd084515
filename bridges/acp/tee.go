package acp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// Tee stands between an editor and an agent, both of which speak ACP, until the agent has ended; it
// closes the agent's link when the editor has hung up. What they say to each other passes byte for
// byte, line by line, and the subscribers of p receive it as with a Conversation.
//
// What the agent asks permission for is asked in both places, and the first answer counts: where a
// listener of p accepts or rejects first, the agent gets that answer, and the editor a
// $/cancel_request, and the editor's own answer is dropped. Silence, or no subscriber to ask,
// answers nothing here: the editor does. If this part fails, what passes goes on to pass, and
// nothing is answered here any more.
func Tee(p *producer.Producer, cfg Config, editor io.ReadWriter, agent io.ReadWriteCloser) error {
	cfg.Logger = shield.Logger(cfg.Logger)
	if cfg.AnswerTime == 0 {
		cfg.AnswerTime = answerTime
	}
	cfg.Version2 = false // what passes is followed in version 1 alone
	t := &tee{
		agent: &Agent{cfg: cfg, besideEditor: true, conversations: map[string]*Conversation{},
			reported: map[string]bool{}},
		p: p, toAgent: agent, toEditor: editor, open: map[string]*pendingPermission{}, prompts: map[string]*turn{},
		more: make(chan struct{}, 1), over: make(chan struct{}),
	}
	observed := make(chan struct{})
	go func() { defer close(observed); t.observeLines() }()
	go func() {
		t.copyLines(editor, true)
		agent.Close()
	}()
	err := t.copyLines(agent, false)
	close(t.over)
	<-observed
	if err == io.EOF {
		return nil
	}
	return err
}

// A tee is what Tee keeps. Three goroutines use it: one for each direction, and the observer.
type tee struct {
	agent    *Agent
	p        *producer.Producer
	toAgent  io.Writer
	toEditor io.Writer
	writing  struct{ agent, editor sync.Mutex } // held while a line is written, and while it is settled who answers

	mu     sync.Mutex // a leaf
	open   map[string]*pendingPermission
	queue  []observedLine
	bytes  int  // in queue
	broken bool // nothing is observed or answered any more

	more    chan struct{} // holds one where something was queued
	over    chan struct{} // closed when nothing more passes
	prompts map[string]*turn
	hello   string // the id of the editor's first request
}

// A pendingPermission is one that was asked for and that the editor has not answered yet.
type pendingPermission struct {
	request *request
	session string
	settled bool // by a listener of ours: the editor's answer is dropped
	stopped bool // the prompt or the question is withdrawn, or may be: only the editor answers
	again   bool // and the agent has asked with the same id since, which only the editor answers
}

// An observedLine is one that has passed and that the observer has yet to see.
type observedLine struct {
	line       []byte
	fromEditor bool               // it came from there
	tooLong    bool               // it is only the beginning of a line
	permission *pendingPermission // the permission that it asks for, or answers
}

// maxObservedBytes is how many bytes may wait to be observed; with more, nothing is observed any
// more.
const maxObservedBytes = 64 << 20

// copyLines copies one direction until that end is closed. A line longer than a message may be is
// copied as it comes, and of it no more is observed than that it passed.
func (t *tee) copyLines(from io.Reader, editor bool) error {
	to, lock := t.toEditor, &t.writing.editor
	if editor {
		to, lock = t.toAgent, &t.writing.agent
	}
	return bridge.CopyLines(to, from, lock, maxLine,
		func(line []byte, whole bool) bool { return t.admitLine(line, whole, editor) })
}

// admitLine queues a line for the observer, and reports whether it is copied to the other side: all
// are but the editor's answer to a permission that a listener answered first. whole is false for
// the beginning of a line that is too long. The caller holds the lock of the line's direction; a
// panic stops observing, not copying.
func (t *tee) admitLine(line []byte, whole, editor bool) (passes bool) {
	passes = true
	defer func() {
		if r := recover(); r != nil {
			t.stopObserving(fmt.Sprint(r))
		}
	}()
	p := observedLine{line: line, fromEditor: editor, tooLong: !whole}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken && len(t.open) == 0 {
		return true
	}
	switch {
	case !whole:
		p.line = nil
		if editor { // it could be an answer to any of them
			t.withdrawAll()
		}
	case !editor && bytes.Contains(line, []byte("request_permission")):
		p.permission = t.notePermission(line)
	case !editor && len(t.open) > 0 && bytes.Contains(line, []byte("cancel_request")):
		t.withdrawCancelled(line)
	case editor && len(t.open) > 0:
		p.permission, passes = t.matchAnswer(line)
	}
	line = p.line
	if t.broken || t.bytes+len(line) > maxObservedBytes {
		t.broken = true
		t.queue = nil
	} else {
		t.queue, t.bytes = append(t.queue, p), t.bytes+len(line)
	}
	select {
	case t.more <- struct{}{}:
	default:
	}
	return passes
}

const (
	maxPending       = 64   // permissions that a listener can answer at once; the editor alone answers more
	maxSettled       = 4096 // permissions that a listener has answered and the editor has not
	maxConversations = 256  // that are followed
)

// notePermission registers the request for permission that a line of the agent is, so that a
// listener may answer it too. It returns nil for any other line, and where only the editor may
// answer: too many are open, or two have one id. The caller holds t.mu.
func (t *tee) notePermission(line []byte) *pendingPermission {
	var m message
	if jsonv2.Unmarshal(line, &m) != nil || m.Method == nil || *m.Method != "session/request_permission" ||
		m.ID == nil || t.broken {
		return nil
	}
	key, exact := bridge.CanonicalRPCID(m.ID)
	if same := t.open[key]; same != nil { // no answer could say which of the two it is for
		same.again = true
		same.request.cancel()
		return nil
	}
	var params cancelNotification
	waiting := 0
	for _, other := range t.open {
		if !other.settled {
			waiting++
		}
	}
	if !exact || waiting >= maxPending || len(t.open) >= maxSettled || decodeParams(m.Params, &params) != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	pending := &pendingPermission{session: params.SessionID,
		request: &request{reply: t.replyForListener, id: m.ID, method: *m.Method, params: m.Params, ctx: ctx,
			cancel: cancel}}
	t.open[key] = pending
	return pending
}

// withdraw leaves a permission to the editor. It is called with t.mu held.
func (p *pendingPermission) withdraw() {
	p.stopped = true
	p.request.cancel()
}

// withdrawAll withdraws every open permission from the listeners; the editor alone can answer it
// then. The caller holds t.mu.
func (t *tee) withdrawAll() {
	for _, pending := range t.open {
		pending.withdraw()
	}
}

// withdrawCancelled withdraws from the listeners the permission that line names, if it is a
// $/cancel_request of the agent; other lines change nothing. The caller holds t.mu.
func (t *tee) withdrawCancelled(line []byte) {
	var m message
	var params cancelRequest
	if jsonv2.Unmarshal(line, &m) != nil || m.Method == nil || *m.Method != "$/cancel_request" ||
		decodeParams(m.Params, &params) != nil {
		return
	}
	key, _ := bridge.CanonicalRPCID(params.RequestID)
	if pending := t.open[key]; pending != nil {
		pending.withdraw()
	}
}

// matchAnswer returns the permission that a line of the editor answers, or nil, and reports whether
// the line is copied. A line that cannot be read, or cancels a request, withdraws all permissions
// from the listeners. The caller holds t.mu.
func (t *tee) matchAnswer(line []byte) (*pendingPermission, bool) {
	var m message
	if jsonv2.Unmarshal(line, &m) != nil {
		if len(bytes.TrimSpace(line)) > 0 { // the agent may read it, and an answer in it
			t.withdrawAll()
		}
		return nil, true
	}
	var params cancelNotification
	switch {
	case m.Method == nil:
	case *m.Method == "$/cancel_request":
		t.withdrawAll()
	case *m.Method == "session/cancel" && decodeParams(m.Params, &params) == nil:
		for _, pending := range t.open {
			pending.stopped = pending.stopped || pending.session == params.SessionID
		}
	}
	if m.Method != nil || m.ID == nil {
		return nil, true
	}
	key, _ := bridge.CanonicalRPCID(m.ID)
	pending := t.open[key]
	if pending == nil {
		return nil, true
	}
	delete(t.open, key)
	pending.request.cancel()
	return pending, !pending.settled
}

// replyForListener sends a listener's answer to the agent and reports true, unless the editor was
// first. It never sends an error. The observer's goroutines call it.
func (t *tee) replyForListener(r *request, m message) bool {
	var answer permissionResponse
	if m.Result == nil || decodeParams(m.Result, &answer) != nil {
		return false
	}
	m.JSONRPC = "2.0"
	line, err := jsonv2.Marshal(m)
	if err != nil {
		return false
	}
	t.writing.agent.Lock()
	defer t.writing.agent.Unlock()
	t.mu.Lock()
	key, _ := bridge.CanonicalRPCID(r.id)
	pending := t.open[key]
	isFirst := pending != nil && pending.request == r && !pending.settled && !pending.stopped &&
		!pending.again && !t.broken
	if isFirst {
		pending.settled, r.params = true, nil
	}
	t.mu.Unlock()
	if !isFirst {
		return false
	}
	if _, err := t.toAgent.Write(append(line, '\n')); err != nil {
		return false
	}
	go t.withdrawFromEditor(r.id)
	return true
}

// withdrawFromEditor sends the editor a $/cancel_request for the permission with an id that a
// listener has answered, so that the editor's window closes. It is a goroutine of its own.
func (t *tee) withdrawFromEditor(id jsontext.Value) {
	method := "$/cancel_request"
	params, err := jsonv2.Marshal(cancelRequest{RequestID: id})
	var line []byte
	if err == nil {
		line, err = jsonv2.Marshal(message{JSONRPC: "2.0", Method: &method, Params: params})
	}
	if err != nil {
		return
	}
	t.writing.editor.Lock()
	defer t.writing.editor.Unlock()
	t.toEditor.Write(append(line, '\n'))
}

// stopObserving ends the observing after a fault, which why says, and withdraws the open questions.
// What passes between editor and agent goes on to pass. It takes t.mu.
func (t *tee) stopObserving(why string) {
	t.agent.cfg.Logger.Error("acp: what passes between the editor and the agent is not followed any more", "error", why)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken, t.queue = true, nil
	for _, pending := range t.open {
		pending.request.cancel()
	}
}

// errUnobserved ends the turns that were open when the observing stopped.
var errUnobserved = errors.New("acp: what the editor and the agent say is not followed any more; they go on")

// observeLines turns what passes into sessions, until the queue is empty and nothing more passes,
// or following has broken. A panic in it stops following, and not what passes. It is the observer's
// goroutine.
func (t *tee) observeLines() {
	defer func() {
		if r := recover(); r != nil {
			t.stopObserving(fmt.Sprint(r))
		}
		err := errEnded
		t.mu.Lock()
		if t.broken {
			err = errUnobserved
		}
		for _, pending := range t.open {
			pending.request.cancel()
		}
		t.mu.Unlock()
		for _, turn := range t.prompts {
			turn.endTurn("", err)
		}
	}()
	for ended := false; ; {
		t.mu.Lock()
		queue, broken := t.queue, t.broken
		t.queue, t.bytes = nil, 0
		t.mu.Unlock()
		for _, p := range queue {
			t.observeLine(p)
		}
		switch {
		case broken, ended && len(queue) == 0:
			return
		case ended:
			continue
		}
		select {
		case <-t.more:
		case <-t.over:
			ended = true
		}
	}
}

// observeLine applies one line that has passed: a prompt, an update, a permission, an answer. It
// runs on the observer's goroutine. A line that cannot be read is left out.
func (t *tee) observeLine(p observedLine) {
	if p.tooLong {
		t.agent.reportLost(fmt.Sprintf("a message of more than %d MiB", maxLine>>20))
		return
	}
	var m message
	if toolwords.Decode(p.line, &m) != nil {
		return
	}
	method := ""
	if m.Method != nil {
		method = *m.Method
	}
	var params conversationParams
	var c *Conversation
	switch method {
	case "session/prompt", "session/cancel", "session/update", "session/request_permission":
		decodeParams(m.Params, &params)
		if c = t.findConversation(params.SessionID); c == nil {
			return
		}
	}
	if !p.fromEditor {
		t.observeAgent(c, method, m, p.permission)
		return
	}
	switch {
	case method == "initialize":
		t.hello = string(m.ID)
	case method == "session/prompt" && m.ID != nil:
		t.beginPrompt(c, string(m.ID), params.Prompt)
	case method == "session/cancel":
		c.Stop()
	case m.Method == nil && p.permission != nil && !p.permission.settled:
		t.reportEditorAnswer(p.permission, m)
	}
}

// conversationParams are the parameters that tell which conversation a message is about, and the
// text of a prompt.
type conversationParams struct {
	SessionID string         `json:"sessionId"`
	Prompt    []contentBlock `json:"prompt"`
}

// observeAgent applies a message of the agent for observeLine: the answer to the editor's first
// message, an update, a request for permission, or the answer that ends a prompt. c is the
// conversation that it names, or nil.
func (t *tee) observeAgent(c *Conversation, method string, m message, asked *pendingPermission) {
	isAnswer := m.Method == nil
	switch {
	case isAnswer && t.hello != "" && string(m.ID) == t.hello:
		t.hello = ""
		t.checkVersion(m)
	case method == "session/update":
		c.applyUpdate(m.Params)
	case asked != nil:
		go t.answerPermission(c, asked)
	case isAnswer:
		t.endPrompt(m)
	}
}

// checkVersion stops observing if the agent's answer to initialize names a version of the protocol
// that cannot be followed.
func (t *tee) checkVersion(answer message) {
	var hello initializeResponse
	if decodeAnswer(answer, true, &hello) == nil && hello.ProtocolVersion != protocolVersion {
		t.stopObserving(fmt.Sprintf("the two speak version %d of the protocol, and only %d can be followed",
			hello.ProtocolVersion, protocolVersion))
	}
}

// answerPermission puts the question of a permission to listeners. It runs in a goroutine of its
// own; if it panics, the editor and the agent go on without being observed.
func (t *tee) answerPermission(c *Conversation, asked *pendingPermission) {
	defer func() {
		if r := recover(); r != nil {
			t.stopObserving(fmt.Sprint(r))
		}
	}()
	c.answerPermission(asked.request)
}

// beginPrompt begins a turn of c with the text of the editor's prompt, which has the id.
func (t *tee) beginPrompt(c *Conversation, id string, prompt []contentBlock) {
	text := ""
	for _, block := range prompt {
		if block.Type == "text" {
			text += block.Text + " "
		}
	}
	if turn, err := c.beginTurn(context.Background(), text); err == nil {
		t.prompts[id] = turn
	}
}

// endPrompt ends the turn of the prompt that m, an answer of the agent, is about, if it is about
// one.
func (t *tee) endPrompt(m message) {
	turn := t.prompts[string(m.ID)]
	if turn == nil {
		return
	}
	delete(t.prompts, string(m.ID))
	var answer promptResponse
	err := decodeAnswer(m, true, &answer)
	turn.endTurn(answer.StopReason, err)
}

// findConversation returns the conversation with an id, made if it is new; nil where too many are
// followed.
func (t *tee) findConversation(id string) *Conversation {
	c := t.agent.conversations[id]
	if c == nil && len(t.agent.conversations) < maxConversations {
		c = t.agent.addConversation(t.p, id)
	}
	return c
}

// reportEditorAnswer announces to the listeners what the editor's user has answered to a
// permission: the option by its name, or that it was not allowed.
func (t *tee) reportEditorAnswer(pending *pendingPermission, m message) {
	var ask permissionRequest
	if decodeParams(pending.request.params, &ask) != nil {
		return
	}
	text := "It was answered in the editor: not allowed."
	var answer permissionResponse
	if m.Result != nil && decodeParams(m.Result, &answer) == nil && answer.Outcome.Outcome == "selected" {
		for _, o := range ask.Options {
			if o.ID == answer.Outcome.OptionID {
				text = "It was answered in the editor: " + words.Sentence(optionName(o))
			}
		}
	}
	if c := t.findConversation(ask.SessionID); c != nil {
		c.reportNews(text)
	}
}
