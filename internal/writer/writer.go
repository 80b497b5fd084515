// Package writer writes to a link from whatever goroutine has something to send, one at a time.
// Nothing is handed over, so that an idle link has no goroutine for it and a busy one does not
// switch between two.
package writer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Conn is what is written to, such as a net.Conn.
type Conn interface {
	Write([]byte) (int, error)
	SetWriteDeadline(time.Time) error
}

// Writer lets one write at a time. It may be used from any goroutine.
type Writer struct {
	timeout time.Duration // of a write
	turn    chan struct{} // holds one value while a goroutine has the turn
	writing atomic.Bool

	// Only who has the turn uses these, and interrupt the conn that is being written to.
	conn    Conn
	raw     syscall.RawConn // of that; nil where Try takes nothing
	began   time.Time       // when the newest write began
	rest    []byte          // what is left of a frame that was begun, which has to go first
	ctx     *Context        // that interrupts a write, or
	watched <-chan struct{} // the end of the context that does
	unwatch func()          // after which that interrupts nothing any more
}

// New returns a Writer to conn, whose turn the caller has, that gives up on a peer that does not
// take what is written within timeout.
func New(conn Conn, timeout time.Duration) *Writer {
	w := &Writer{timeout: timeout, turn: make(chan struct{}, 1)}
	w.SetConn(conn)
	w.turn <- struct{}{}
	return w
}

// TakeTurn waits for the turn, and reports whether it came before the end of ctx, or over. Leave
// gives it back.
func (w *Writer) TakeTurn(ctx context.Context, over <-chan struct{}) bool {
	select {
	case <-over:
		return false
	default:
	}
	if ctx.Err() != nil {
		return false
	}
	select {
	case w.turn <- struct{}{}:
		return true
	default:
	}
	select {
	case w.turn <- struct{}{}:
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}

// TryTakeTurn takes the turn if it is free.
func (w *Writer) TryTakeTurn() bool {
	select {
	case w.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

// SetConn has the Writer write to another Conn; the caller has the turn.
func (w *Writer) SetConn(conn Conn) {
	w.conn, w.raw = conn, rawOf(conn)
	limitUnsent(conn)
}

// LeaveTurn gives the turn back.
func (w *Writer) LeaveTurn() { <-w.turn }

// End interrupts the write that is under way, if there is one, and takes the turn for good.
func (w *Writer) End() {
	w.interruptWrite()
	w.turn <- struct{}{}
	w.watchContext(context.Background())
}

// watchContext has the end of ctx, and of no other context, interrupt what is written from now on.
func (w *Writer) watchContext(ctx context.Context) {
	c, _ := ctx.(*Context)
	var done <-chan struct{}
	if c == nil {
		done = ctx.Done()
	}
	if c == w.ctx && done == w.watched { // one context sends many times
		return
	}
	if w.ctx != nil {
		w.ctx.setWriter(nil)
	}
	if w.unwatch != nil {
		w.unwatch()
	}
	w.ctx, w.watched, w.unwatch = c, done, nil
	if c != nil {
		c.setWriter(w)
	}
	if done != nil {
		interrupted := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(interrupted)
			w.interruptWrite()
		})
		w.unwatch = func() {
			if !stop() {
				<-interrupted
			}
		}
	}
}

// interruptWrite ends the write that is under way, if there is one.
func (w *Writer) interruptWrite() {
	if w.writing.Load() {
		_ = w.conn.SetWriteDeadline(time.Now())
	}
}

// SinceWrite returns how long ago the newest write began; the caller has the turn.
func (w *Writer) SinceWrite() time.Duration { return time.Since(w.began) }

// Try writes as much of b as is taken at once, and returns how much that is; the caller has the
// turn. Of what is taken in part the next Write writes the rest. It takes nothing where the Conn
// cannot be asked, or has not taken yet what came before.
func (w *Writer) Try(b []byte) int {
	if len(w.rest) > 0 || w.raw == nil {
		return 0
	}
	w.began = time.Now()
	n := tryWrite(w.raw, b)
	if n > 0 && n < len(b) {
		w.rest = append(w.rest, b[n:]...)
	}
	return n
}

// WriteBy writes b until a time; the caller has the turn. What was begun and does not leave by then
// leaves before whatever is written next.
func (w *Writer) WriteBy(deadline time.Time, b []byte) error {
	if err := w.conn.SetWriteDeadline(deadline); err != nil {
		return err
	}
	w.writing.Store(true)
	defer w.writing.Store(false)
	return w.writeAll(b)
}

// writeAll writes what is left of before, and b. After an error it keeps the rest of what was
// begun.
func (w *Writer) writeAll(b []byte) error {
	before := len(w.rest)
	if before > 0 {
		b, w.rest = append(w.rest, b...), nil
	}
	n, err := w.conn.Write(b)
	switch {
	case err == nil:
	case n < before: // of b nothing has left
		w.rest = b[n:before]
	case n > before:
		w.rest = slices.Clone(b[n:])
	}
	return err
}

// CanTry reports whether Try can write anything.
func (w *Writer) CanTry() bool { return w.raw != nil }

// HasRest reports whether the next Write has something to write before; the caller has the turn.
func (w *Writer) HasRest() bool { return len(w.rest) > 0 }

// Write writes b; the caller has the turn. The end of ctx interrupts it, and so does interrupt, by
// End: over must then be closed already. After an error nothing more should be written, since half
// of b may be out.
func (w *Writer) Write(ctx context.Context, over <-chan struct{}, b []byte) error {
	w.watchContext(ctx)
	w.began = time.Now()
	if err := w.conn.SetWriteDeadline(w.began.Add(w.timeout)); err != nil {
		return err
	}
	w.writing.Store(true) // before the look at what might interrupt it, and after the deadline
	defer w.writing.Store(false)
	select {
	case <-over:
		return ErrOver
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := w.writeAll(b)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// ErrOver is returned by Write where there was nothing to write to any more.
var ErrOver = errors.New("writer: the link is over")

// Buffer returns memory for at least size bytes; give it back with Free.
func Buffer(size int) *[]byte {
	b, _ := buffers.Get().(*[]byte)
	if b == nil || cap(*b) < size {
		b = new(make([]byte, 0, size))
	}
	*b = (*b)[:0]
	return b
}

// Free takes memory back.
func Free(b *[]byte) {
	if cap(*b) <= maxKept {
		buffers.Put(b)
	}
}

var buffers sync.Pool

const maxKept = 64 << 10
