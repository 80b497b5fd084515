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
	maxAnswers   = 64               // answers to pings and bad lines that wait to be written
	maxRequests  = 64               // requests that wait for an answer
	maxBad       = 1000             // lines in a row that are no messages; one more ends the link (INV-35)
)

var (
	errGarbage = fmt.Errorf("stdio: %d lines in a row were no messages", maxBad)
	errNoJSON  = errors.New("stdio: a message is one JSON object")
)

// A conn is the link of either end. It refuses a message that cannot be put into a line before it
// reaches frames, where it would break the link.
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

// Send sends one message. A message that is not one JSON object is refused, and costs nothing else.
func (c conn) Send(ctx context.Context, msg []byte) error {
	if v := jsontext.Value(msg); v.Kind() != '{' || !v.IsValid(jsonOptions) {
		return errNoJSON
	}
	return c.Conn.Send(ctx, msg)
}

// frames is one pair of streams. Reading and writing are done by goroutines of their own: a
// standard stream that waits cannot always be interrupted, and Close must not wait for it.
type frames struct {
	producer   bool          // this is the producer's end
	in         io.ReadCloser // read by the goroutine readLines
	out        io.WriteCloser
	process    *process // the child at the other end; nil at the producer's end
	logger     *slog.Logger
	violations violation.Reporter
	lines      chan incomingLine // from readLines to Read
	messages   chan outgoingLine // from Write to writeLines
	answers    chan []byte       // whole lines, from Read to writeLines
	done       chan struct{}     // closed by Close
	written    chan struct{}     // closed when writeLines has ended
	badLines   int               // in a row; used by Read alone
	blankBytes int               // of empty lines in a row; used by Read alone

	mu         sync.Mutex
	requests   []pendingRequest // without an answer yet, oldest first: the peer's, or of this end
	lastID     uint64           // the newest id that this end gave to a request
	subscribed bool             // at the producer's end: aaep.subscribe has come
	// substitute is the newest refusal that was written in place of an error of JSON-RPC; nil where
	// there was none.
	substitute []byte
}

// An incomingLine is what readLine returned.
type incomingLine struct {
	line    []byte
	tooLong bool
	err     error
}

// An outgoingLine is a line that Write waits for.
type outgoingLine struct {
	line   []byte
	result chan error // the error of writing it; holds one
}

// A pendingRequest is a request of JSON-RPC without an answer yet.
type pendingRequest struct {
	id     string // as JSON
	method string
}

// newConn completes f, starts its two goroutines, and returns the link. principal names the peer;
// "" at the subscriber's end.
func newConn(f *frames, principal string) conn {
	f.logger = shield.Logger(f.logger)
	f.lines, f.messages, f.answers = make(chan incomingLine), make(chan outgoingLine), make(chan []byte, maxAnswers)
	f.done, f.written = make(chan struct{}), make(chan struct{})
	go f.readLines()
	go f.writeLines()
	return conn{duplex.New(f, principal), f}
}

// readLines is the goroutine that reads lines until the stream ends, and hands them to Read. After
// Close it drops them and reads on: a child that still prints must not be kept from ending.
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

// writeLines writes messages and answers, each as one line, until the link is closed, and then the
// answers that are due. It is a goroutine of its own, the only one that writes to f.out; f.written
// is closed when it ends.
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
			for { // the answers that are due are still written
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

// Read returns the next message. A line that is none is answered and skipped; only too many in a
// row break the link (INV-35). The error is errGarbage for those, transports.ErrClosed,
// transports.ErrTooLarge for blank lines without end, or why the streams ended. duplex calls it on
// one goroutine at a time.
func (f *frames) Read() ([]byte, error) {
	for {
		var next incomingLine
		select {
		case next = <-f.lines:
		case <-f.done:
			return nil, transports.ErrClosed
		}
		switch {
		case next.err != nil:
			return nil, f.endError(next.err)
		case next.tooLong:
			if f.refuseLine(&lineFault{jsonrpc2.CodeParseError, nullID, "longer than a message may be"}) {
				return nil, errGarbage
			}
			continue
		case len(bytes.Trim(next.line, whiteSpace)) == 0: // an empty line is skipped
			if f.blankBytes += len(next.line) + 1; f.blankBytes > maxLine {
				return nil, transports.ErrTooLarge
			}
			continue
		}
		f.blankBytes = 0
		o, fault := parseLine(next.line, !f.producer)
		var msg []byte
		if fault == nil {
			msg, fault = f.takeMessage(o)
		}
		if fault != nil {
			if f.refuseLine(fault) {
				return nil, errGarbage
			}
			continue
		}
		if f.badLines = 0; msg != nil {
			return msg, nil
		}
	}
}

// refuseLine answers a bad line with an error of JSON-RPC, where an answer is due, and logs and
// reports it. It reports whether there were too many bad lines in a row, so that the link ends.
func (f *frames) refuseLine(fault *lineFault) bool {
	f.logger.Warn("stdio: a line was no message", "problem", fault.text)
	requirement := map[int64]string{jsonrpc2.CodeParseError: "STDIO-010", jsonrpc2.CodeInvalidRequest: "STDIO-001",
		jsonrpc2.CodeInvalidParams: "STDIO-002"}[fault.code]
	switch {
	case f.producer && fault.code == jsonrpc2.CodeParseError:
		requirement = "STDIO-001"
	case f.producer && fault.code == jsonrpc2.CodeInvalidParams:
		requirement = "" // takeMessage has reported it with its method
	}
	if requirement != "" {
		f.violations.Report(requirement, "a line is no message: "+fault.text)
	}
	// A subscriber is no server: what a program prints is not answered.
	if fault.id != nil && (f.producer || string(fault.id) != "null") {
		if rpcErr, err := jsonv2.Marshal(&jsonrpc2.Error{Code: fault.code, Message: fault.text}); err == nil {
			f.queueAnswer(slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), fault.id, []byte(`,"error":`), rpcErr,
				[]byte("}\n")))
		}
	}
	if fault.code == jsonrpc2.CodeMethodNotFound { // it may be a method of a newer version
		f.badLines = 0
		return false
	}
	f.badLines++
	return f.badLines > maxBad
}

// queueAnswer has writeLines write a whole line. It is called by Read and waits while maxAnswers
// wait: nothing more is read from a peer that does not read its answers.
func (f *frames) queueAnswer(line []byte) {
	select {
	case f.answers <- line:
	case <-f.done:
	}
}

// Write has writeLines write one message in one line, and waits at most writeTimeout until it has;
// after that the error is errPeerStuck. It is transports.ErrClosed after Close.
func (f *frames) Write(msg []byte) error {
	m := outgoingLine{f.wrapMessage(msg), make(chan error, 1)}
	timeout := time.NewTimer(writeTimeout)
	defer timeout.Stop()
	select {
	case f.messages <- m:
	case <-f.done:
		return transports.ErrClosed
	case <-timeout.C:
		return errPeerStuck
	}
	select {
	case err := <-m.result:
		return err
	case <-f.done:
		return transports.ErrClosed
	case <-timeout.C:
		return errPeerStuck
	}
}

var errPeerStuck = fmt.Errorf("stdio: the peer has taken nothing for %v", writeTimeout)

// endError returns the error of Read for err, with which the stream ended: how the child at the
// other end failed, if it did, else err.
func (f *frames) endError(err error) error {
	if f.process != nil && (err == io.EOF || err == io.ErrUnexpectedEOF) {
		if exitErr := f.process.exitError(f.done); exitErr != nil {
			return exitErr
		}
	}
	return err
}

// Close ends the link; what was written before arrives. It closes the output, waits for the child
// to end, if there is one, and returns how that failed.
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
