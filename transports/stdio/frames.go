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
	"github.com/aaep-go/aaep/transports"
)

const (
	writeTimeout = 10 * time.Second // of one line
	goodbye      = time.Second      // for what is being written when the link is closed
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

// Substituted reports whether the Conn wrote a message that Receive returned: the subscription.rejected in place of an error of
// JSON-RPC. No judgement of the producer may rest on such a message.
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
	producer bool
	in       io.ReadCloser
	out      io.WriteCloser
	process  *process // at the other end; nil where that is none of ours
	logger   *slog.Logger
	witness  transports.Witness
	lines    chan incoming
	messages chan outgoing
	answers  chan []byte
	done     chan struct{}
	written  chan struct{} // closed when nothing more is written
	bad      int           // lines in a row; used by Read alone
	blanks   int           // bytes of lines in a row that are empty or white space; used by Read alone

	mu       sync.Mutex
	requests []request // that have no answer yet, oldest first
	asked    uint64    // ids given
	opened   bool      // aaep.subscribe has come
	// substitute is the newest refusal that was written in place of an error of JSON-RPC; nil where there was none.
	substitute []byte
}

type incoming struct {
	line    []byte
	tooLong bool
	err     error
}

type outgoing struct {
	line   []byte
	result chan error // holds one
}

type request struct {
	id     string // as JSON
	method string
}

func newConn(f *frames, principal string) conn {
	if f.logger == nil {
		f.logger = slog.New(slog.DiscardHandler)
	}
	f.lines, f.messages, f.answers = make(chan incoming), make(chan outgoing), make(chan []byte, maxAnswers)
	f.done, f.written = make(chan struct{}), make(chan struct{})
	go f.readLines()
	go f.writeLines()
	return conn{duplex.New(f, principal), f}
}

// readLines reads to the end, even where nobody wants it any more: a child that has more to say
// must not be kept from ending.
func (f *frames) readLines() {
	r := bufio.NewReaderSize(f.in, 16<<10)
	for {
		line, tooLong, err := readLine(r)
		select {
		case f.lines <- incoming{line, tooLong, err}:
		case <-f.done:
		}
		if err != nil {
			return
		}
	}
}

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
		var in incoming
		select {
		case in = <-f.lines:
		case <-f.done:
			return nil, transports.ErrClosed
		}
		switch {
		case in.err != nil:
			return nil, f.endOf(in.err)
		case in.tooLong:
			if f.refuse(&fault{jsonrpc2.CodeParseError, null, "longer than a message may be"}) {
				return nil, errGarbage
			}
			continue
		case len(bytes.Trim(in.line, space)) == 0: // it says nothing
			if f.blanks += len(in.line) + 1; f.blanks > maxLine {
				return nil, transports.ErrTooLarge
			}
			continue
		}
		f.blanks = 0
		o, wrong := parse(in.line, !f.producer)
		var msg []byte
		if wrong == nil {
			msg, wrong = f.take(o)
		}
		if wrong != nil {
			if f.refuse(wrong) {
				return nil, errGarbage
			}
			continue
		}
		if f.bad = 0; msg != nil {
			return msg, nil
		}
	}
}

// refuse answers a bad line, if there is somebody to answer to, and reports whether it was one too
// many.
func (f *frames) refuse(wrong *fault) bool {
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
		f.witness.Tell(broken, "a line is no message: "+wrong.text)
	}
	// A subscriber is no server: what a program prints is not answered.
	if wrong.id != nil && (f.producer || string(wrong.id) != "null") {
		if about, err := jsonv2.Marshal(&jsonrpc2.Error{Code: wrong.code, Message: wrong.text}); err == nil {
			f.answer(slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), wrong.id, []byte(`,"error":`), about,
				[]byte("}\n")))
		}
	}
	if wrong.code == jsonrpc2.CodeMethodNotFound { // a newer peer may have more to say
		f.bad = 0
		return false
	}
	f.bad++
	return f.bad > maxBad
}

// answer writes a line when its turn comes. Who takes no answers is not read from.
func (f *frames) answer(line []byte) {
	select {
	case f.answers <- line:
	case <-f.done:
	}
}

// Write sends one message in one line.
func (f *frames) Write(msg []byte) error {
	m := outgoing{f.wrap(msg), make(chan error, 1)}
	late := time.NewTimer(writeTimeout)
	defer late.Stop()
	select {
	case f.messages <- m:
	case <-f.done:
		return transports.ErrClosed
	case <-late.C:
		return errStuck
	}
	select {
	case err := <-m.result:
		return err
	case <-f.done:
		return transports.ErrClosed
	case <-late.C:
		return errStuck
	}
}

var errStuck = fmt.Errorf("stdio: the peer has taken nothing for %v", writeTimeout)

// endOf says how the link ended: as the process at the other end did, if it did.
func (f *frames) endOf(err error) error {
	if f.process != nil && (err == io.EOF || err == io.ErrUnexpectedEOF) {
		if failed := f.process.failure(f.done); failed != nil {
			return failed
		}
	}
	return err
}

// Close ends the link; what was written before arrives.
func (f *frames) Close() error {
	close(f.done)
	t := time.NewTimer(goodbye)
	defer t.Stop()
	select {
	case <-f.written:
	case <-t.C: // the peer takes nothing
	}
	f.out.Close()
	var err error
	if f.process != nil {
		err = f.process.end()
	}
	f.in.Close()
	return err
}
