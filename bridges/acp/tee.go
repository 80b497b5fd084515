package acp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// Tee stands between an editor and an agent, both of which speak ACP, until the agent has ended; it closes the agent's link when the
// editor has hung up. What they say to each other passes byte for byte, line by line, and the subscribers of p receive it as with a
// Conversation.
//
// What the agent asks permission for is asked in both places, and the first answer counts: where a listener of p accepts or rejects
// first, the agent gets that answer, and the editor a $/cancel_request, and the editor's own answer is dropped. Silence, or no subscriber to
// ask, answers nothing here: the editor does. If this part fails, what passes goes on to pass, and nothing is answered here any more.
func Tee(p *producer.Producer, cfg Config, editor io.ReadWriter, agent io.ReadWriteCloser) error {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.AnswerTime == 0 {
		cfg.AnswerTime = answerTime
	}
	t := &tee{
		agent: &Agent{cfg: cfg, beside: true, conversations: map[string]*Conversation{}, told: map[string]bool{}},
		p:     p, toAgent: agent, toEditor: editor, open: map[string]*passing{}, prompts: map[string]*turn{},
		more: make(chan struct{}, 1), over: make(chan struct{}),
	}
	observed := make(chan struct{})
	go func() { defer close(observed); t.observe() }()
	go func() {
		t.pass(editor, true)
		agent.Close()
	}()
	err := t.pass(agent, false)
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
	open   map[string]*passing
	queue  []passed
	bytes  int  // in queue
	broken bool // nothing is observed or answered any more

	more    chan struct{} // holds one where something was queued
	over    chan struct{} // closed when nothing more passes
	prompts map[string]*turn
}

// A passing permission is one that was asked and that the editor has not answered yet.
type passing struct {
	request *request
	session string
	settled bool // by a listener of ours: the editor's answer is dropped
	stopped bool // the editor has told the agent to stop: only the editor answers
	again   bool // and the agent has asked with the same id since, which only the editor answers
}

// A passed line is one that the observer has yet to see.
type passed struct {
	line   []byte
	editor bool     // it came from there
	asks   *passing // the permission that it asks for, or answers
}

// mostObserved is how many bytes wait to be observed; with more, nothing is observed any more.
const mostObserved = 64 << 20

// pass copies one direction, a line at a time. What is longer than a message may be is copied as it comes.
func (t *tee) pass(from io.Reader, editor bool) error {
	r := bufio.NewReaderSize(from, 64<<10)
	to, lock := t.toEditor, &t.writing.editor
	if editor {
		to, lock = t.toAgent, &t.writing.agent
	}
	var line []byte
	long := false // the lock is held, and the line is being written
	for {
		part, err := r.ReadSlice('\n')
		ends := err != bufio.ErrBufferFull
		if !long && (ends || len(line)+len(part) > maxLine) {
			lock.Lock()
		}
		var failed error
		switch {
		case long:
			_, failed = to.Write(part)
		case len(line)+len(part) > maxLine:
			long = true
			_, failed = to.Write(append(line, part...))
		default:
			line = append(line, part...)
			if ends && len(line) > 0 && t.passes(line, editor) {
				_, failed = to.Write(line)
			}
		}
		if ends || failed != nil {
			lock.Unlock()
			line, long = nil, false
		}
		switch {
		case failed != nil:
			return failed
		case err != nil && ends:
			return err
		}
	}
}

// passes reports whether a line is passed on, with the lock of its direction held, and has it observed. Only an answer of the editor to
// what a listener has answered already is not.
func (t *tee) passes(line []byte, editor bool) (passes bool) {
	passes = true
	defer func() {
		if r := recover(); r != nil {
			t.fail(fmt.Sprint(r))
		}
	}()
	p := passed{line: line, editor: editor}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken && len(t.open) == 0 {
		return true
	}
	switch {
	case !editor && bytes.Contains(line, []byte("session/request_permission")):
		p.asks = t.asks(line)
	case editor && len(t.open) > 0:
		p.asks, passes = t.answered(line)
	}
	if t.broken || t.bytes+len(line) > mostObserved {
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
	mostPassing       = 64   // permissions that a listener can answer at once; what more are asked for only the editor answers
	mostSettled       = 4096 // permissions that a listener has answered and the editor has not
	mostConversations = 256  // that are followed
)

// asks notes a permission that the agent asks for, with mu held.
func (t *tee) asks(line []byte) *passing {
	var m message
	if jsonv2.Unmarshal(line, &m) != nil || m.Method == nil || *m.Method != "session/request_permission" || m.ID == nil || t.broken {
		return nil
	}
	key, exact := canonical(m.ID)
	if same := t.open[key]; same != nil { // no answer could say which of the two it is for
		same.again = true
		same.request.cancel()
		return nil
	}
	var about cancelNotification
	waiting := 0
	for _, other := range t.open {
		if !other.settled {
			waiting++
		}
	}
	if !exact || waiting >= mostPassing || len(t.open) >= mostSettled || read(m.Params, &about) != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	asks := &passing{session: about.SessionID, request: &request{reply: t.reply, id: m.ID, method: *m.Method, params: m.Params, ctx: ctx, cancel: cancel}}
	t.open[key] = asks
	return asks
}

// canonical is what an id is known by, however it is written: an editor need not answer in the agent's way of writing. Exact is that
// it is written in the only way that every program writes it; nothing else is answered here.
func canonical(id jsontext.Value) (key string, exact bool) {
	var text string
	switch {
	case id.Kind() == '"' && jsonv2.Unmarshal(id, &text) == nil:
		return "\"" + text, len(id) <= maxID && !bytes.ContainsRune(id, '\\')
	case id.Kind() == '0':
		n, err := strconv.ParseFloat(string(id), 64)
		if err != nil {
			return "", false
		}
		key = strconv.FormatFloat(n+0, 'f', -1, 64) // of -0, 0
		return key, key == string(id) && validID(id)
	}
	return "", false
}

// answered takes a line of the editor, with mu held. It reports whether that is passed on, and what it answers.
func (t *tee) answered(line []byte) (*passing, bool) {
	var m message
	if jsonv2.Unmarshal(line, &m) != nil {
		return nil, true
	}
	var about cancelNotification
	if m.Method != nil && *m.Method == "session/cancel" && read(m.Params, &about) == nil {
		for _, asks := range t.open {
			asks.stopped = asks.stopped || asks.session == about.SessionID
		}
	}
	if m.Method != nil || m.ID == nil {
		return nil, true
	}
	key, _ := canonical(m.ID)
	asks := t.open[key]
	if asks == nil {
		return nil, true
	}
	delete(t.open, key)
	asks.request.cancel()
	return asks, !asks.settled
}

// reply answers a permission for a listener, unless the editor was first. Nothing but an outcome is answered here, never an error.
func (t *tee) reply(r *request, m message) bool {
	var answer permissionResponse
	if m.Result == nil || read(m.Result, &answer) != nil {
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
	key, _ := canonical(r.id)
	asks := t.open[key]
	mine := asks != nil && asks.request == r && !asks.settled && !asks.stopped && !asks.again && !t.broken
	if mine {
		asks.settled, r.params = true, nil
	}
	t.mu.Unlock()
	if !mine {
		return false
	}
	if _, err := t.toAgent.Write(append(line, '\n')); err != nil {
		return false
	}
	go t.withdraw(r.id)
	return true
}

// withdraw tells the editor that a permission is answered.
func (t *tee) withdraw(id jsontext.Value) {
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

// fail ends what is observed, and withdraws what is asked.
func (t *tee) fail(why string) {
	t.agent.cfg.Logger.Error("acp: what passes between the editor and the agent is not followed any more", "error", why)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.broken, t.queue = true, nil
	for _, asks := range t.open {
		asks.request.cancel()
	}
}

var errUnobserved = errors.New("acp: what the editor and the agent say is not followed any more; they go on")

// observe makes sessions of what passes, until nothing more does.
func (t *tee) observe() {
	defer func() {
		if r := recover(); r != nil {
			t.fail(fmt.Sprint(r))
		}
		err := errEnded
		t.mu.Lock()
		if t.broken {
			err = errUnobserved
		}
		for _, asks := range t.open {
			asks.request.cancel()
		}
		t.mu.Unlock()
		for _, turn := range t.prompts {
			turn.end("", err)
		}
	}()
	for over := false; ; {
		t.mu.Lock()
		queue, broken := t.queue, t.broken
		t.queue, t.bytes = nil, 0
		t.mu.Unlock()
		for _, p := range queue {
			t.see(p)
		}
		switch {
		case broken, over && len(queue) == 0:
			return
		case over:
			continue
		}
		select {
		case <-t.more:
		case <-t.over:
			over = true
		}
	}
}

// see takes over a line.
func (t *tee) see(p passed) {
	var m message
	if toolwords.Decode(p.line, &m) != nil {
		return
	}
	var about struct {
		SessionID string         `json:"sessionId"`
		Prompt    []contentBlock `json:"prompt"`
	}
	if m.Method != nil {
		read(m.Params, &about)
	}
	method := ""
	if m.Method != nil {
		method = *m.Method
	}
	var c *Conversation
	switch method {
	case "session/prompt", "session/cancel", "session/update", "session/request_permission":
		if c = t.conversation(about.SessionID); c == nil {
			return
		}
	}
	switch {
	case p.editor && method == "session/prompt" && m.ID != nil:
		text := ""
		for _, block := range about.Prompt {
			if block.Type == "text" {
				text += block.Text + " "
			}
		}
		if turn, err := c.begin(context.Background(), text); err == nil {
			t.prompts[string(m.ID)] = turn
		}
	case p.editor && method == "session/cancel":
		c.Stop()
	case p.editor && m.Method == nil && p.asks != nil && !p.asks.settled:
		t.told(p.asks, m)
	case !p.editor && method == "session/update":
		c.update(m.Params)
	case !p.editor && p.asks != nil:
		go func() {
			defer func() {
				if r := recover(); r != nil {
					t.fail(fmt.Sprint(r))
				}
			}()
			c.permission(p.asks.request)
		}()
	case !p.editor && m.Method == nil:
		if turn := t.prompts[string(m.ID)]; turn != nil {
			delete(t.prompts, string(m.ID))
			var answer promptResponse
			err := settle(m, true, &answer)
			turn.end(answer.StopReason, err)
		}
	}
}

// conversation is the one with an id; nil where too many are followed.
func (t *tee) conversation(id string) *Conversation {
	c := t.agent.conversations[id]
	if c == nil && len(t.agent.conversations) < mostConversations {
		c = t.agent.converse(t.p, id)
	}
	return c
}

// told tells what the editor's user has answered.
func (t *tee) told(asks *passing, m message) {
	var ask permissionRequest
	if read(asks.request.params, &ask) != nil {
		return
	}
	text := "It was answered in the editor: not allowed."
	var answer permissionResponse
	if m.Result != nil && read(m.Result, &answer) == nil && answer.Outcome.Outcome == "selected" {
		for _, o := range ask.Options {
			if o.ID == answer.Outcome.OptionID {
				text = "It was answered in the editor: " + words.Sentence(optionName(o))
			}
		}
	}
	if c := t.conversation(ask.SessionID); c != nil {
		c.tell(text)
	}
}
