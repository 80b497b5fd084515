// Package writer writes to a link from whatever goroutine has something to send, one at a time.
// Nothing is handed over, so that an idle link has no goroutine for it and a busy one does not
// switch between two.
//
// Turns and writing are in writer.go, writing what a link takes at once is in the files try_*.go,
// and the bound on what is unsent is in unsent_linux.go.
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
	writing atomic.Bool   // a write is under way, which interruptWrite may end

	// The goroutine that has the turn uses these; interruptWrite uses conn too.
	conn    Conn
	raw     syscall.RawConn // of conn; nil where TryWrite takes nothing
	began   time.Time       // when the newest write began
	rest    []byte          // the end of a frame that was written in part, which has to go first
	ctx     *Context        // whose end interrupts a write; nil where it is
	watched <-chan struct{} // the end of any other context
	unwatch func()          // has that context interrupt nothing any more; nil where there is none
}

// New returns a Writer to conn, whose turn the caller has, that gives up on a peer that does not
// take what is written within timeout.
func New(conn Conn, timeout time.Duration) *Writer {
	w := &Writer{timeout: timeout, turn: make(chan struct{}, 1)}
	w.SetConn(conn)
	w.turn <- struct{}{}
	return w
}

// TakeTurn waits for the turn, and reports whether it came before the end of ctx and before done
// was closed; then it is given back by LeaveTurn. A nil done is never closed.
func (w *Writer) TakeTurn(ctx context.Context, done <-chan struct{}) bool {
	select { // first, for a select takes any of the cases that are ready
	case <-done:
		return false
	default:
	}
	if ctx.Err() != nil {
		return false
	}
	if w.TryTakeTurn() { // so that most turns cost no wait
		return true
	}
	select {
	case w.turn <- struct{}{}:
		return true
	case <-done:
	case <-ctx.Done():
	}
	return false
}

// TryTakeTurn takes the turn if it is free, and reports whether it did.
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

// watchContext has the end of ctx, and of no other context, interrupt writes from now on. It does
// nothing if ctx is the one of the write before, as on most links. The caller has the turn.
func (w *Writer) watchContext(ctx context.Context) {
	c, _ := ctx.(*Context)
	var done <-chan struct{}
	if c == nil {
		done = ctx.Done()
	}
	if c == w.ctx && done == w.watched {
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
			if !stop() { // it has begun: wait, so that it cannot interrupt a later write
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

// TryWrite writes as much of b as the Conn takes at once, and returns how much that is; the caller
// has the turn. If it takes a part of b, the rest is kept, and the next Write writes it first. It
// returns 0 if the Conn cannot be asked, or if a rest is still kept.
func (w *Writer) TryWrite(b []byte) int {
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

// WriteBy writes b, whole frames, by a deadline; the caller has the turn. If a part of b is out by
// then, the rest is kept, and the next write writes it first.
func (w *Writer) WriteBy(deadline time.Time, b []byte) error {
	if err := w.conn.SetWriteDeadline(deadline); err != nil {
		return err
	}
	w.writing.Store(true)
	defer w.writing.Store(false)
	return w.writeAll(b)
}

// writeAll writes the rest that was kept of an earlier message, and then b. After an error it keeps
// what is left of the rest or, if a part of b is out, of b, so that the next write goes on there; b
// of which nothing is out is the caller's to send again.
func (w *Writer) writeAll(b []byte) error {
	restSize := len(w.rest)
	if restSize > 0 {
		b, w.rest = append(w.rest, b...), nil
	}
	n, err := w.conn.Write(b)
	switch {
	case err == nil:
	case n < restSize: // nothing of the caller's b is out
		w.rest = b[n:restSize]
	case n > restSize:
		w.rest = slices.Clone(b[n:])
	}
	return err
}

// CanTry reports whether TryWrite can write anything.
func (w *Writer) CanTry() bool { return w.raw != nil }

// HasRest reports whether a rest is kept that the next Write writes first; the caller has the turn.
func (w *Writer) HasRest() bool { return len(w.rest) > 0 }

// Write writes b within the Writer's timeout; the caller has the turn. The end of ctx interrupts
// it, and so does End. done says that the link is over, which is ErrOver; it must be closed before
// End is called. After an error nothing more should be written, since half of b may be out.
func (w *Writer) Write(ctx context.Context, done <-chan struct{}, b []byte) error {
	w.watchContext(ctx)
	w.began = time.Now()
	if err := w.conn.SetWriteDeadline(w.began.Add(w.timeout)); err != nil {
		return err
	}
	// From here on an interruption sets the deadline. What interrupted before that is looked at
	// next.
	w.writing.Store(true)
	defer w.writing.Store(false)
	select {
	case <-done:
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

// TakeBuffer returns memory for at least size bytes; give it back with FreeBuffer.
func TakeBuffer(size int) *[]byte {
	b, _ := buffers.Get().(*[]byte)
	if b == nil || cap(*b) < size {
		b = new(make([]byte, 0, size))
	}
	*b = (*b)[:0]
	return b
}

// FreeBuffer takes the memory of TakeBuffer back, which the caller uses no more.
func FreeBuffer(b *[]byte) {
	if cap(*b) <= maxKept {
		buffers.Put(b)
	}
}

var buffers sync.Pool

// maxKept is the capacity, in bytes, of the largest buffer that is used again.
const maxKept = 64 << 10
