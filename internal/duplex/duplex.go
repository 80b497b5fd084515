// Package duplex makes a transports.Conn of anything that reads and writes whole messages: a
// WebSocket, a socket with a framing. It keeps the promises of Conn that are the same for all of
// them: cancelling Receive loses nothing, many may send at once, a slow peer makes Send wait and
// never takes memory.
package duplex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aaep-go/aaep/internal/idle"
	"github.com/aaep-go/aaep/internal/writer"
	"github.com/aaep-go/aaep/transports"
)

// Frames carries whole messages over one link. Read is called by one goroutine and Write by
// another; Close may be called during both, and ends them.
type Frames interface {
	// Read returns the next message, io.EOF after the peer's clean end, and any other error where
	// the link broke.
	Read() ([]byte, error)
	// Write sends one message. It must give up on a peer that takes nothing for long.
	Write(msg []byte) error
	// Close ends the link; a peer that reads sees a clean end after what was written.
	Close() error
}

// Raw are Frames of a net.Conn to which several messages can be written in one call, without Write.
type Raw interface {
	Frames
	// AppendFrame appends a message as the wire has it.
	AppendFrame(b, msg []byte) ([]byte, error)
	// Framing names the way it does that, or is "" where that is not certain yet.
	Framing() string
	// Out is what the frames are written to, by the goroutine that has the turn.
	Out() *writer.Writer
}

// Idler are Frames of a net.Conn on which so little comes that no goroutine waits in Read for it.
// Their Read may return nil without an error, for what was no message.
type Idler interface {
	Frames
	// Rest lets go of what only Read needs until it is called again, which is when there is more to
	// read, or wake is called. It reports false where Read has something to do already.
	Rest(wake func()) bool
	// NetConn is what is read from, until Close has closed it.
	NetConn() net.Conn
}

// Conn is a link. It implements transports.Conn, Sharer, Notifier and Identified.
type Conn struct {
	frames     Frames
	principal  string
	peer       string
	out        *writer.Writer
	incoming   chan []byte            // from readLoop to Receive; holds one message
	onChange   atomic.Pointer[func()] // set by Notify
	closed     chan struct{}          // closed by CloseFor
	closeCause error                  // what Receive returns once closed is closed
	ended      chan struct{}          // closed by readLoop when nothing more comes in
	endCause   error                  // what Receive returns then
	sendFailed error                  // why nothing more goes out; guarded by the turn
	once       sync.Once              // of CloseFor
	reading    sync.WaitGroup         // counts one until readLoop has come to the end
	idle       *idle.Wait             // waits for something to read; nil where a goroutine does
	closeErr   error                  // what Close returns
}

// New returns the Conn over frames of a peer that principal names, or "" for one that is not known.
// It begins to read at once, and reads until Close, which the caller has to call.
func New(frames Frames, principal string) *Conn {
	c := &Conn{frames: frames, principal: principal, incoming: make(chan []byte, 1), closed: make(chan struct{}),
		ended: make(chan struct{})}
	if raw, ok := frames.(Raw); ok {
		c.out = raw.Out()
	} else { // frames write by themselves; this Writer only gives the turns
		c.out = writer.New(nil, 0)
		c.out.LeaveTurn()
	}
	if idler, ok := frames.(Idler); ok {
		c.idle = idle.New(idler.NetConn(), c.readLoop)
	}
	c.reading.Add(1)
	if !c.restUntilReadable() {
		go c.readLoop()
	}
	return c
}

// Principal names the peer.
func (c *Conn) Principal() string { return c.principal }

// RemoteAddr is where the peer is, if SetPeer said so.
func (c *Conn) RemoteAddr() string { return c.peer }

// SetPeer says where the peer is, before the Conn is shared.
func (c *Conn) SetPeer(address string) { c.peer = address }

// readLoop reads messages until the end of the link, or until there is nothing to read and package
// idle will call it again. It is the Conn's goroutine, or runs in one that package idle starts;
// never twice at once.
func (c *Conn) readLoop() {
	for {
		msg, err := c.frames.Read()
		if err != nil {
			if c.endCause = err; err != io.EOF {
				c.endCause = fmt.Errorf("the link broke: %w", err)
			}
			close(c.ended)
			c.notifyOwner()
			c.reading.Done()
			return
		}
		if msg != nil {
			c.deliverMessage(msg)
		}
		if c.restUntilReadable() {
			return
		}
	}
}

// deliverMessage hands a message to Receive, and waits until there is room for it. After Close it
// drops the message: readLoop still has to read up to the peer's end.
func (c *Conn) deliverMessage(msg []byte) {
	select {
	case c.incoming <- msg:
		c.notifyOwner()
	case <-c.closed:
	}
}

// restUntilReadable reports whether package idle will call readLoop when there is something to
// read, so that the goroutine may end. It reports false once the connection is closed.
func (c *Conn) restUntilReadable() bool {
	return c.idle != nil && c.frames.(Idler).Rest(c.idle.CallNow) && c.idle.Begin()
}

// Closed returns a channel that is closed by Close.
func (c *Conn) Closed() <-chan struct{} { return c.closed }

// Receive returns the next message; see transports.Conn.
func (c *Conn) Receive(ctx context.Context) ([]byte, error) {
	if c.isClosed() {
		return nil, c.closeCause
	}
	ended := false // looked at before incoming, so that a message that came before the end is returned
	select {
	case <-c.ended:
		ended = true
	default:
	}
	select { // a message that waits is returned even if ctx is done
	case msg := <-c.incoming:
		return msg, nil
	default:
	}
	if ended && c.isClosed() {
		return nil, c.closeCause
	}
	if ended {
		return nil, c.endCause
	}
	select {
	case msg := <-c.incoming:
		return msg, nil
	case <-c.closed:
		return nil, c.closeCause
	case <-c.ended:
		return c.Receive(ctx) // a message may have come just before
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Notify has f called when there is something to receive; see transports.Notifier.
func (c *Conn) Notify(f func()) {
	c.onChange.Store(&f)
	f()
}

// notifyOwner calls the function that Notify was given.
func (c *Conn) notifyOwner() {
	if f := c.onChange.Load(); f != nil {
		(*f)()
	}
}

// Send hands one message to the link; see transports.Conn. One that was cancelled may still arrive.
// After a failure every later Send fails.
func (c *Conn) Send(ctx context.Context, msg []byte) error {
	if len(msg) > transports.MaxMessage {
		return transports.ErrTooLarge
	}
	if err := c.takeTurn(ctx); err != nil {
		return err
	}
	msg = slices.Clone(msg) // a cancelled Send must not go on reading msg
	result := make(chan error, 1)
	go func() {
		defer c.out.LeaveTurn() // which Close waits for
		err := c.writeMessage(msg)
		c.sendFailed = err // half of the message may be out, so nothing can follow it
		result <- c.sendError(err)
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		select {
		case err := <-result:
			return err
		default:
			return ctx.Err()
		}
	}
}

// writeMessage writes one message to the link, as the bytes of one frame where the frames can make
// those, else through them. It waits until all is out; the caller has the turn.
func (c *Conn) writeMessage(msg []byte) error {
	raw, ok := c.frames.(Raw)
	if !ok {
		return c.frames.Write(msg)
	}
	frame, err := raw.AppendFrame(make([]byte, 0, len(msg)+maxFrameHead), msg)
	if err != nil {
		return err
	}
	return c.out.Write(context.Background(), c.closed, frame)
}

// SendEvents hands events to the link, in one write where it can; see transports.EventSender.
func (c *Conn) SendEvents(ctx context.Context, events []transports.Event) error {
	raw, ok := c.frames.(Raw)
	if !ok {
		for _, ev := range events {
			if err := c.Send(ctx, ev.Message); err != nil {
				return err
			}
		}
		return nil
	}
	size := 0
	for _, ev := range events {
		size += len(ev.Message) + maxFrameHead
	}
	if err := c.takeTurn(ctx); err != nil {
		return err
	}
	defer c.out.LeaveTurn()
	if len(events) == 0 && !c.out.HasRest() {
		return nil
	}
	buf := writer.TakeBuffer(size)
	defer writer.FreeBuffer(buf)
	b, err := appendEvents(raw, *buf, events)
	if err != nil {
		return err
	}
	*buf = b
	c.sendFailed = c.out.Write(ctx, c.closed, b)
	if c.sendFailed != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return c.sendError(c.sendFailed)
}

// appendEvents appends events to b in the frames of raw. If one is too large, the error is
// transports.ErrTooLarge.
func appendEvents(raw Raw, b []byte, events []transports.Event) ([]byte, error) {
	var err error
	for _, ev := range events {
		if len(ev.Message) > transports.MaxMessage {
			return b, transports.ErrTooLarge
		}
		if b, err = raw.AppendFrame(b, ev.Message); err != nil {
			return b, err
		}
	}
	return b, nil
}

// Framing names how the link has messages, so that links of one framing can share bytes
// (transports.Sharer); "" where this link cannot share now.
func (c *Conn) Framing() string {
	if raw, ok := c.frames.(Raw); ok && c.out.CanTry() {
		return raw.Framing()
	}
	return ""
}

// AppendEvents appends events as the link has them.
func (c *Conn) AppendEvents(b []byte, events []transports.Event) ([]byte, error) {
	return appendEvents(c.frames.(Raw), b, events)
}

// TrySend writes what the link takes at once, and returns how many bytes that was: 0 for one that
// is closed, has failed or is written to; see transports.Sharer.
func (c *Conn) TrySend(frames []byte) int {
	if c.isClosed() || !c.out.TryTakeTurn() {
		return 0
	}
	defer c.out.LeaveTurn()
	if c.sendFailed != nil {
		return 0
	}
	return c.out.TryWrite(frames)
}

// maxFrameHead is about how many bytes a frame has besides its message.
const maxFrameHead = 16

// takeTurn waits for the turn to write, which the caller gives back by c.out.LeaveTurn. After an
// error the caller does not have it: nothing can be sent any more, or ctx is done.
func (c *Conn) takeTurn(ctx context.Context) error {
	switch {
	case c.out.TakeTurn(ctx, c.closed):
		if c.sendFailed == nil {
			return nil
		}
		defer c.out.LeaveTurn()
		return c.sendError(c.sendFailed)
	case c.isClosed():
		return transports.ErrClosed
	}
	return ctx.Err()
}

// sendError returns the error that Send returns for err of a write: transports.ErrClosed if this
// end was closed, else io.ErrClosedPipe with err.
func (c *Conn) sendError(err error) error {
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

// isClosed reports whether Close or CloseFor was called.
func (c *Conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// Close ends the link and waits for its goroutines. A second Close does nothing.
func (c *Conn) Close() error { return c.CloseFor(transports.ErrClosed) }

// CloseFor closes as Close does, with a cause, which Receive returns from then on instead of
// ErrClosed. It waits until no goroutine reads. Only the first call counts.
func (c *Conn) CloseFor(cause error) error {
	c.once.Do(func() {
		c.closeCause = cause
		close(c.closed)
		c.closeErr = c.frames.Close()
		if c.idle != nil { // readLoop then finds the error that reading is awaited for
			c.idle.CallNow()
		}
		c.out.End()
		c.reading.Wait()
	})
	return c.closeErr
}
