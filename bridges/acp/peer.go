package acp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
)

const (
	maxLine     = 16 << 20 // bytes of one message; what is longer is skipped and reported
	maxRequests = 64       // of the agent that wait for an answer
	maxQueued   = 64       // lines that wait to be written

	codeCancelled    = -32800 // a request that its sender withdrew
	codeAuthRequired = -32000
)

// errEnded is returned once the agent's link has ended.
var errEnded = errors.New("acp: the agent has ended")

// A peer is one end of a link that carries JSON-RPC 2.0, one message a line. The connection of
// package jsonrpc2 is not used: it ends at the first id that is null, and changes the bytes of
// parameters and the sign of ids.
type peer struct {
	in         *bufio.Reader
	out        io.Writer
	handle     func(*request)       // gets requests and notifications in their order, on the goroutine that reads
	report     func(problem string) // gets what was wrong with a message
	lost       func(problem string) // gets what a line was that cannot be read
	end        func()               // ends the link; called once where the agent reads nothing
	queue      chan []byte
	done       chan struct{} // closed when nothing more is read
	writeEnded chan struct{} // closed when nothing more is written

	mu    sync.Mutex
	asked int64
	calls map[int64]chan<- message // our requests
	open  map[string]*request      // the agent's, by what bridge.CanonicalRPCID makes of their ids
	ended bool
}

// A message is one line of JSON-RPC.
type message struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id,omitzero"`
	Method  *string        `json:"method,omitzero"`
	Params  jsontext.Value `json:"params,omitzero"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   jsontext.Value `json:"error,omitzero"`
}

// A request is one of the agent's; without an id it is a notification. Its context ends when the
// agent withdraws it, or with the link.
type request struct {
	reply  func(*request, message) bool // answers it, unless it is answered
	id     jsontext.Value
	method string
	params jsontext.Value
	ctx    context.Context
	cancel context.CancelFunc
	place  chan struct{} // in the queue of questions; nil for a request that waits for no other
}

// newPeer makes a peer, whose fields say what its arguments are. Nothing is read before
// readUntilEnd.
func newPeer(in io.Reader, out io.Writer, handle func(*request), report, lost func(string), end func()) *peer {
	return &peer{in: bufio.NewReaderSize(in, 64<<10), out: out, handle: handle, report: report, lost: lost, end: end,
		writeEnded: make(chan struct{}), queue: make(chan []byte, maxQueued),
		done: make(chan struct{}), calls: map[int64]chan<- message{}, open: map[string]*request{}}
}

// readUntilEnd writes and reads lines until the link ends, and returns why; io.EOF is a plain end.
// Calls that wait then fail with errEnded, and the contexts of open requests end. It runs on one
// goroutine and starts the writer's.
func (p *peer) readUntilEnd() error {
	go p.writeLines()
	err := p.readLines()
	p.mu.Lock()
	p.ended = true
	for _, wait := range p.calls {
		close(wait)
	}
	p.calls = nil
	for _, r := range p.open {
		r.cancel()
	}
	p.mu.Unlock()
	close(p.done)
	return err
}

// readLines handles each line of the agent as it comes, and returns the error that ended the
// reading. A line longer than maxLine is reported and dropped. It is a goroutine of its own.
func (p *peer) readLines() error {
	for {
		line, tooLong, err := readLine(p.in)
		if err != nil {
			if len(bytes.TrimSpace(line)) > 0 || tooLong {
				p.report("half a message")
			}
			return err
		}
		switch {
		case tooLong:
			p.lost(fmt.Sprintf("a message of more than %d MiB", maxLine>>20))
		case len(bytes.TrimSpace(line)) > 0:
			p.handleLine(line)
		}
	}
}

// readLine returns the next line with its end. One of more than maxLine bytes is read to its end
// and not kept, and tooLong says so. The error comes with what was read before it.
func readLine(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			line, tooLong = nil, true
		}
		if !tooLong {
			line = append(line, part...)
		}
		if err != bufio.ErrBufferFull {
			return line, tooLong, err
		}
	}
}

// handleLine decodes a message, so strictly that there is only one way to read it, and passes it on
// as an answer, a notification or a request.
func (p *peer) handleLine(line []byte) {
	var m message
	if err := toolwords.Decode(line, &m); err != nil {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
			p.lost("a message that cannot be read")
		} else { // what a program prints beside the protocol
			p.report("a line that is no message")
		}
		return
	}
	isRequest := m.Method != nil && m.Result == nil && m.Error == nil
	isAnswer := m.Method == nil && (m.Result == nil) != (m.Error == nil)
	switch {
	case m.JSONRPC != "2.0", !isRequest && !isAnswer:
		p.lost("a message that is neither a request nor an answer")
	case isAnswer:
		p.handleAnswer(m)
	case m.ID == nil:
		p.handle(&request{reply: p.replyOnce, method: *m.Method, params: m.Params, ctx: context.Background(),
			cancel: func() {}})
	default:
		p.handleRequest(m)
	}
}

// handleAnswer gives the answer to a request of ours to the caller who waits for it. An answer that
// no caller waits for is reported. The reading goroutine calls it.
func (p *peer) handleAnswer(m message) {
	id, err := strconv.ParseInt(string(m.ID), 10, 64)
	p.mu.Lock()
	wait := p.calls[id]
	if err == nil {
		delete(p.calls, id)
	}
	p.mu.Unlock()
	if err != nil || wait == nil {
		p.report("an answer to nothing that was asked")
		return
	}
	wait <- m
}

// handleRequest registers a request of the agent and hands it on. One whose id is that of another
// open request is refused, and so is the other: no answer could say which of the two it is for.
func (p *peer) handleRequest(m message) {
	if !bridge.ValidRPCID(m.ID) {
		p.report("a request whose id is neither text nor a whole number")
		p.queueMessage(message{ID: jsontext.Value("null"),
			Error: encodeRPCError(jsonrpc2.CodeInvalidRequest, "the id is neither text nor a whole number")})
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &request{reply: p.replyOnce, id: m.ID, method: *m.Method, params: m.Params, ctx: ctx, cancel: cancel}
	key, _ := bridge.CanonicalRPCID(m.ID)
	p.mu.Lock()
	same, full := p.open[key], len(p.open) >= maxRequests
	if same == nil && !full {
		p.open[key] = r
	}
	p.mu.Unlock()
	switch {
	case same != nil:
		p.report("two open requests with the same id")
		same.refuse(jsonrpc2.CodeInvalidRequest, "another request has the same id")
		same.cancel()
	case full:
		cancel()
		p.queueMessage(message{ID: m.ID, Error: encodeRPCError(jsonrpc2.CodeInternalError,
			"too many requests wait for an answer")})
	default:
		p.handle(r)
	}
}

// isNotification reports whether the request has no id, so that nothing is to be answered.
func (r *request) isNotification() bool { return r.id == nil }

// sendResult sends a result, and reports whether it is the first answer to the request: later ones
// are dropped. A result that cannot be encoded is sent as an internal error.
func (r *request) sendResult(result any) bool {
	value, err := jsonv2.Marshal(result)
	if err != nil {
		return r.refuse(jsonrpc2.CodeInternalError, "the answer cannot be written")
	}
	return r.sendReply(message{ID: r.id, Result: value})
}

// refuse answers a request with an error, and reports the same as answer.
func (r *request) refuse(code int64, text string) bool {
	return r.sendReply(message{ID: r.id, Error: encodeRPCError(code, text)})
}

// sendReply answers with m and ends the request's context. It reports false for a notification, and
// where the request was answered before.
func (r *request) sendReply(m message) bool {
	if r.id == nil || !r.reply(r, m) {
		return false
	}
	r.cancel()
	return true
}

// replyOnce queues the answer to a request of the agent if the request is open, closes it, and
// reports whether it was open. Every answer goes through it, so that each request gets one. It
// takes p.mu.
func (p *peer) replyOnce(r *request, m message) bool {
	key, _ := bridge.CanonicalRPCID(r.id)
	p.mu.Lock()
	isOpen := p.open[key] == r
	if isOpen {
		delete(p.open, key)
	}
	p.mu.Unlock()
	if isOpen {
		p.queueMessage(m)
	}
	return isOpen
}

// cancelRequest answers the open request with an id as cancelled, for the agent wants its answer no
// more; an id of no open request does nothing.
func (p *peer) cancelRequest(id jsontext.Value) {
	key, _ := bridge.CanonicalRPCID(id)
	p.mu.Lock()
	r := p.open[key]
	p.mu.Unlock()
	if r != nil {
		r.refuse(codeCancelled, "the request was cancelled")
	}
}

// encodeRPCError returns the error member of an answer of JSON-RPC, with one of its codes and a
// text for the agent.
func encodeRPCError(code int64, text string) jsontext.Value {
	value, err := jsonv2.Marshal(&jsonrpc2.Error{Code: code, Message: text})
	if err != nil {
		panic(err) // it is of our own making
	}
	return value
}

// callMethod makes a request and waits for the answer, which it reads into result; nil drops it.
// The error is errEnded, that of ctx, or the agent's *jsonrpc2.Error.
func (p *peer) callMethod(ctx context.Context, method string, params, result any) error {
	wait, cancel, err := p.startCall(method, params)
	if err != nil {
		return err
	}
	defer cancel()
	select {
	case m, ok := <-wait:
		return decodeAnswer(m, ok, result)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// startCall sends a request. The channel gets its answer, or is closed with the link; the function
// makes the peer forget the request, and has to be called. The error is errEnded after the link's
// end.
func (p *peer) startCall(method string, params any) (<-chan message, func(), error) {
	value, err := jsonv2.Marshal(params)
	if err != nil {
		return nil, nil, fmt.Errorf("acp: %s: %w", method, err)
	}
	wait := make(chan message, 1)
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return nil, nil, errEnded
	}
	id := p.asked
	p.asked++
	p.calls[id] = wait
	p.mu.Unlock()
	p.queueMessage(message{ID: jsontext.Value(strconv.FormatInt(id, 10)), Method: &method, Params: value})
	return wait, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.calls, id)
	}, nil
}

// decodeAnswer decodes the answer to a call into result, which may be nil. ok is false where the
// link ended without an answer.
func decodeAnswer(m message, ok bool, result any) error {
	switch {
	case !ok:
		return errEnded
	case m.Error != nil:
		e := &jsonrpc2.Error{}
		if toolwords.Decode(m.Error, e) != nil {
			e.Message = "an error that cannot be read"
		}
		return e
	case result == nil:
		return nil
	}
	if err := toolwords.Decode(m.Result, result); err != nil {
		return fmt.Errorf("acp: the agent's answer cannot be read: %w", err)
	}
	return nil
}

// sendNotification sends a notification, which is never answered.
func (p *peer) sendNotification(method string, params any) {
	if value, err := jsonv2.Marshal(params); err == nil {
		p.queueMessage(message{Method: &method, Params: value})
	}
}

// queueMessage queues a message for writeLines. While the agent reads nothing it waits, for
// writeTimeout at most; once the link has ended the message is dropped.
func (p *peer) queueMessage(m message) {
	m.JSONRPC = "2.0"
	line, err := jsonv2.Marshal(m)
	if err != nil {
		return
	}
	select {
	case p.queue <- append(line, '\n'):
	case <-p.done:
	case <-p.writeEnded:
	}
}

const (
	writeTimeout = 5 * time.Second // for the agent to read a piece
	writePiece   = 32 << 10        // bytes that are written at once
)

// writeLines writes what is queued. A piece that the agent does not read within writeTimeout ends
// the link. It is a goroutine of its own; p.writeEnded is closed when it ends.
func (p *peer) writeLines() {
	stop := sync.OnceFunc(func() { close(p.writeEnded) })
	defer stop()
	for {
		select {
		case line := <-p.queue:
			for piece := range slices.Chunk(line, writePiece) {
				endTimer := time.AfterFunc(writeTimeout, func() { stop(); p.end() })
				_, err := p.out.Write(piece)
				endTimer.Stop()
				if err != nil {
					return
				}
			}
		case <-p.done:
			return
		case <-p.writeEnded:
			return
		}
	}
}
