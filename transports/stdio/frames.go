package stdio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/aaep-go/aaep/internal/duplex"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
)

const (
	writeTimeout = 10 * time.Second // of one line
	closeTimeout = time.Second      // for what is being written when the link is closed
	maxAnswers   = 64               // to pings and bad lines, that wait to be written
	maxRequests  = 64               // that wait for an answer
	maxBad       = 1000             // lines in a row that say nothing; after that the link ends (INV-35)
)

var (
	errGarbage = fmt.Errorf("stdio: %d lines in a row were no messages", maxBad)
	errNoJSON  = errors.New("stdio: a message is one JSON object")
)

// conn refuses what cannot be put into a line before it can do harm to the link.
type conn struct {
	*duplex.Conn
	frames *frames
}

// Substituted reports whether the Conn wrote a message that Receive returned: the
// subscription.rejected in place of an error of JSON-RPC. No judgement of the producer may rest on
// such a message.
func (c conn) Substituted(msg []byte) bool {
	c.frames.mu.Lock()
	defer c.frames.mu.Unlock()
	return c.frames.substitute != nil && bytes.Equal(msg, c.frames.substitute)
}

func (c conn) Send(ctx context.Context, msg []byte) error {
	if v := jsontext.Value(msg); v.Kind() != '{' || !v.IsValid(jsonOptions) {
		return errNoJSON
	}
	return c.Conn.Send(ctx, msg)
}

// frames is one pair of streams. Reading and writing are done by goroutines of their own: a
// standard stream that waits cannot always be interrupted, and Close must not wait for it.
type frames struct {
	producer   bool
	in         io.ReadCloser
	out        io.WriteCloser
	process    *process // at the other end; nil where that is none of ours
	logger     *slog.Logger
	violations violation.Reporter
	lines      chan incomingLine
	messages   chan outgoingLine
	answers    chan []byte
	done       chan struct{}
	written    chan struct{} // closed when nothing more is written
	badLines   int           // in a row; used by Read alone
	blankBytes int           // of empty lines in a row; used by Read alone

	mu         sync.Mutex
	requests   []pendingRequest // that have no answer yet, oldest first
	lastID     uint64           // the newest id that was given to a request
	subscribed bool             // aaep.subscribe has come
	// substitute is the newest refusal that was written in place of an error of JSON-RPC; nil where
	// there was none.
	substitute []byte
}

type incomingLine struct {
	line    []byte
	tooLong bool
	err     error
}

type outgoingLine struct {
	line   []byte
	result chan error // holds one
}

type pendingRequest struct {
	id     string // as JSON
	method string
}

// newConn starts the goroutines of f and returns the link.
func newConn(f *frames, principal string) conn {
	f.logger = shield.Logger(f.logger)
	f.lines, f.messages, f.answers = make(chan incomingLine), make(chan outgoingLine), make(chan []byte, maxAnswers)
	f.done, f.written = make(chan struct{}), make(chan struct{})
	go f.readLines()
	go f.writeLines()
	return conn{duplex.New(f, principal), f}
}

// readLines reads to the end, also where nothing is wanted any more: a child that has more to say
// must not be kept from ending. It is one of the two goroutines of frames.
func (f *frames) readLines() {
	r := bufio.NewReaderSize(f.in, 16<<10)
	for {
		line, tooLong, err := readLine(r)
		select {
		case f.lines <- incomingLine{line, tooLong, err}:
		case <-f.done:
		}
		if err != nil {
			return
		}
	}
}

// writeLines writes messages and answers until the link is closed. It is the other goroutine.
func (f *frames) writeLines() {
	defer close(f.written)
	for {
		select {
		case m := <-f.messages:
			_, err := f.out.Write(m.line)
			m.result <- err
		case answer := <-f.answers:
			f.out.Write(answer) // if it fails, so does the next message
		case <-f.done:
			for { // who asks and hangs up is answered
				select {
				case answer := <-f.answers:
					f.out.Write(answer)
				default:
					return
				}
			}
		}
	}
}

// Read returns the next message. What is none costs nothing else (INV-35).
func (f *frames) Read() ([]byte, error) {
	for {
		var in incomingLine
		select {
		case in = <-f.lines:
		case <-f.done:
			return nil, transports.ErrClosed
		}
		switch {
		case in.err != nil:
			return nil, f.endError(in.err)
		case in.tooLong:
			if f.refuseLine(&lineFault{jsonrpc2.CodeParseError, nullID, "longer than a message may be"}) {
				return nil, errGarbage
			}
			continue
		case len(bytes.Trim(in.line, whiteSpace)) == 0: // it says nothing
			if f.blankBytes += len(in.line) + 1; f.blankBytes > maxLine {
				return nil, transports.ErrTooLarge
			}
			continue
		}
		f.blankBytes = 0
		o, wrong := parseLine(in.line, !f.producer)
		var msg []byte
		if wrong == nil {
			msg, wrong = f.takeMessage(o)
		}
		if wrong != nil {
			if f.refuseLine(wrong) {
				return nil, errGarbage
			}
			continue
		}
		if f.badLines = 0; msg != nil {
			return msg, nil
		}
	}
}

// refuseLine answers a bad line, where an answer is due, and reports whether it was one too many.
func (f *frames) refuseLine(wrong *lineFault) bool {
	f.logger.Warn("stdio: a line was no message", "problem", wrong.text)
	broken := map[int64]string{jsonrpc2.CodeParseError: "STDIO-010", jsonrpc2.CodeInvalidRequest: "STDIO-001",
		jsonrpc2.CodeInvalidParams: "STDIO-002"}[wrong.code]
	switch {
	case f.producer && wrong.code == jsonrpc2.CodeParseError:
		broken = "STDIO-001"
	case f.producer && wrong.code == jsonrpc2.CodeInvalidParams:
		broken = "" // it was told with its method
	}
	if broken != "" {
		f.violations.Report(broken, "a line is no message: "+wrong.text)
	}
	// A subscriber is no server: what a program prints is not answered.
	if wrong.id != nil && (f.producer || string(wrong.id) != "null") {
		if about, err := jsonv2.Marshal(&jsonrpc2.Error{Code: wrong.code, Message: wrong.text}); err == nil {
			f.queueAnswer(slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), wrong.id, []byte(`,"error":`), about,
				[]byte("}\n")))
		}
	}
	if wrong.code == jsonrpc2.CodeMethodNotFound { // a newer peer may have more to say
		f.badLines = 0
		return false
	}
	f.badLines++
	return f.badLines > maxBad
}

// queueAnswer has a line written when its turn comes. A peer that takes no answers is not read
// from.
func (f *frames) queueAnswer(line []byte) {
	select {
	case f.answers <- line:
	case <-f.done:
	}
}

// Write sends one message in one line.
func (f *frames) Write(msg []byte) error {
	m := outgoingLine{f.wrapMessage(msg), make(chan error, 1)}
	late := time.NewTimer(writeTimeout)
	defer late.Stop()
	select {
	case f.messages <- m:
	case <-f.done:
		return transports.ErrClosed
	case <-late.C:
		return errPeerStuck
	}
	select {
	case err := <-m.result:
		return err
	case <-f.done:
		return transports.ErrClosed
	case <-late.C:
		return errPeerStuck
	}
}

var errPeerStuck = fmt.Errorf("stdio: the peer has taken nothing for %v", writeTimeout)

// endError returns how the link ended: as the process at the other end did, if it failed.
func (f *frames) endError(err error) error {
	if f.process != nil && (err == io.EOF || err == io.ErrUnexpectedEOF) {
		if failed := f.process.exitError(f.done); failed != nil {
			return failed
		}
	}
	return err
}

// Close ends the link; what was written before arrives.
func (f *frames) Close() error {
	close(f.done)
	t := time.NewTimer(closeTimeout)
	defer t.Stop()
	select {
	case <-f.written:
	case <-t.C: // the peer takes nothing
	}
	f.out.Close()
	var err error
	if f.process != nil {
		err = f.process.endProcess()
	}
	f.in.Close()
	return err
}
