// Package writer writes to a link from whatever goroutine has something to send, one at a time. Nothing is handed over, so
// that an idle link has no goroutine for it and a busy one does not switch between two.
package writer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
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
	turn    chan struct{} // holds one while somebody has the turn
	writing atomic.Bool

	// Only who has the turn uses these, and Interrupt the conn that is being written to.
	conn    Conn
	began   time.Time       // when the newest write began
	ctx     *Context        // that interrupts a write, or
	watched <-chan struct{} // the end of the context that does
	unwatch func()          // after which that interrupts nothing any more
}

// New returns a Writer to conn, whose turn the caller has, that gives up on a peer that does not take what is written within timeout.
func New(conn Conn, timeout time.Duration) *Writer {
	w := &Writer{conn: conn, timeout: timeout, turn: make(chan struct{}, 1)}
	w.turn <- struct{}{}
	return w
}

// Take waits for the turn, and reports whether it came before the end of ctx, or over. Leave gives it back.
func (w *Writer) Take(ctx context.Context, over <-chan struct{}) bool {
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

// Use has the Writer write to another Conn; the caller has the turn.
func (w *Writer) Use(conn Conn) { w.conn = conn }

// Leave gives the turn back.
func (w *Writer) Leave() { <-w.turn }

// End interrupts the write that is under way, if there is one, and takes the turn for good.
func (w *Writer) End() {
	w.Interrupt()
	w.turn <- struct{}{}
	w.watch(context.Background())
}

// watch has the end of ctx, and of no other context, interrupt what is written from now on.
func (w *Writer) watch(ctx context.Context) {
	c, _ := ctx.(*Context)
	var done <-chan struct{}
	if c == nil {
		done = ctx.Done()
	}
	if c == w.ctx && done == w.watched { // one context sends many times
		return
	}
	if w.ctx != nil {
		w.ctx.watch(nil)
	}
	if w.unwatch != nil {
		w.unwatch()
	}
	w.ctx, w.watched, w.unwatch = c, done, nil
	if c != nil {
		c.watch(w)
	}
	if done != nil {
		interrupted := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(interrupted)
			w.Interrupt()
		})
		w.unwatch = func() {
			if !stop() {
				<-interrupted
			}
		}
	}
}

// Interrupt ends the write that is under way, if there is one.
func (w *Writer) Interrupt() {
	if w.writing.Load() {
		_ = w.conn.SetWriteDeadline(time.Now())
	}
}

// Silent returns how long ago the newest write began; the caller has the turn.
func (w *Writer) Silent() time.Duration { return time.Since(w.began) }

// Write writes b; the caller has the turn. The end of ctx interrupts it, and so does Interrupt: over must then be closed
// already. After an error nothing more should be written, since half of b may be out.
func (w *Writer) Write(ctx context.Context, over <-chan struct{}, b []byte) error {
	w.watch(ctx)
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
	_, err := w.conn.Write(b)
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
