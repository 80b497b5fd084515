// Package duplex makes a transports.Conn of anything that reads and writes whole messages: a WebSocket, a socket with
// a framing. It keeps the promises of Conn that are the same for all of them: cancelling Receive loses nothing, many
// may send at once, a slow peer makes Send wait and never takes memory.
package duplex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/aaep-go/aaep/transports"
)

// Frames carries whole messages over one link. Read is called by one goroutine and Write by another; Close may be
// called during both, and ends them.
type Frames interface {
	// Read returns the next message, io.EOF after the peer's clean end, and any other error where the link broke.
	Read() ([]byte, error)
	// Write sends one message. It must give up on a peer that takes nothing for long.
	Write(msg []byte) error
	// Close ends the link; a peer that reads sees a clean end after what was written.
	Close() error
}

// Conn is a link. It implements transports.Conn and transports.Identified.
type Conn struct {
	frames    Frames
	principal string
	in        chan []byte
	out       chan write
	used      chan write // holds one that has been written and whose result was taken, to be used again
	closed    chan struct{}
	ended     chan struct{} // nothing more comes in; why is set
	broken    chan struct{} // nothing more goes out; failed is set
	why       error
	failed    error
	once      sync.Once
	running   sync.WaitGroup
	cause     error // of Close
}

type write struct {
	msg    []byte
	result chan error // holds one
}

// maxUsed is the largest message whose memory an idle Conn keeps.
const maxUsed = 4 << 10

// New returns the Conn over frames of a peer that principal names, or "". Close ends its goroutines.
func New(frames Frames, principal string) *Conn {
	c := &Conn{frames: frames, principal: principal, in: make(chan []byte), out: make(chan write), used: make(chan write, 1),
		closed: make(chan struct{}), ended: make(chan struct{}), broken: make(chan struct{})}
	c.running.Go(c.read)
	c.running.Go(c.write)
	return c
}

// Principal names the peer.
func (c *Conn) Principal() string { return c.principal }

func (c *Conn) read() {
	defer close(c.ended)
	for {
		msg, err := c.frames.Read()
		if err != nil {
			if c.why = err; err != io.EOF {
				c.why = fmt.Errorf("the link broke: %w", err)
			}
			return
		}
		select {
		case c.in <- msg:
		case <-c.closed: // nobody wants it, but the peer's goodbye is behind it
		}
	}
}

func (c *Conn) write() {
	for {
		select {
		case w := <-c.out:
			err := c.frames.Write(w.msg)
			if err != nil { // of a message that may be half on its way nothing can follow
				c.failed = err
				close(c.broken)
			}
			w.result <- err
			if err != nil {
				return
			}
		case <-c.closed:
			return
		}
	}
}

// Closed returns a channel that is closed by Close.
func (c *Conn) Closed() <-chan struct{} { return c.closed }

// Receive returns the next message; see transports.Conn.
func (c *Conn) Receive(ctx context.Context) ([]byte, error) {
	if c.isClosed() {
		return nil, transports.ErrClosed
	}
	select { // what is there comes before what ctx says
	case msg := <-c.in:
		return msg, nil
	default:
	}
	select {
	case msg := <-c.in:
		return msg, nil
	case <-c.closed:
		return nil, transports.ErrClosed
	case <-c.ended:
		if c.isClosed() {
			return nil, transports.ErrClosed
		}
		return nil, c.why
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Send hands one message to the link; see transports.Conn. One that was cancelled may still arrive.
func (c *Conn) Send(ctx context.Context, msg []byte) error {
	if len(msg) > transports.MaxMessage {
		return transports.ErrTooLarge
	}
	if c.isClosed() {
		return transports.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var w write
	select {
	case w = <-c.used:
	default:
		w.result = make(chan error, 1)
	}
	w.msg = append(w.msg[:0], msg...) // a cancelled Send must not go on reading msg
	select {
	case c.out <- w:
	case <-c.closed:
		return transports.ErrClosed
	case <-c.broken:
		return c.gone(c.failed)
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-w.result:
		if cap(w.msg) <= maxUsed {
			select {
			case c.used <- w:
			default:
			}
		}
		return c.gone(err)
	case <-ctx.Done():
		select {
		case err := <-w.result:
			return c.gone(err)
		default:
			return ctx.Err()
		}
	}
}

// gone is the error of a write: whoever closed this end knows why.
func (c *Conn) gone(err error) error {
	switch {
	case err == nil:
		return nil
	case c.isClosed():
		return transports.ErrClosed
	case errors.Is(err, io.ErrClosedPipe):
		return err
	}
	return fmt.Errorf("%w: %w", io.ErrClosedPipe, err)
}

func (c *Conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// Close ends the link and waits for its goroutines. A second Close does nothing.
func (c *Conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.running.Go(func() { c.cause = c.frames.Close() }) // which takes a while: whoever closes meanwhile waits below
	})
	c.running.Wait()
	return c.cause
}
