package lineio

import (
	"context"
	"io"
	"os"
	"sync"
	"time"
)

// mostUnread is how much of what a program prints waits for the reader of standard output. More of
// it waits within the program, as in any pipe, and listeners wait with it.
const mostUnread = 16 << 20

// An asyncWriter passes on what is written to it. Its writers do not wait for a reader who is not
// there, such as a pager that is not scrolled.
type asyncWriter struct {
	ctx  context.Context // once it has ended no writer waits for room
	out  io.Writer
	done chan struct{} // closed when nothing more is passed on

	mu    sync.Mutex
	turn  *sync.Cond // what is below has changed, or ctx has ended
	held  []byte
	ended bool
	err   error
}

// NewAsyncWriter returns a writer that passes on to out; once ctx has ended nothing waits for room.
func NewAsyncWriter(ctx context.Context, out io.Writer) *asyncWriter {
	o := &asyncWriter{ctx: ctx, out: out, done: make(chan struct{})}
	o.turn = sync.NewCond(&o.mu)
	context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.turn.Broadcast()
	})
	go o.passOn()
	return o
}

// Write hands p to the goroutine that writes. It waits while mostUnread are unwritten, and fails
// with os.ErrDeadlineExceeded where the context ends meanwhile, or with the error of an earlier
// write.
func (o *asyncWriter) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.held) >= mostUnread && o.err == nil {
		if o.ctx.Err() != nil {
			return 0, os.ErrDeadlineExceeded
		}
		o.turn.Wait()
	}
	if o.err != nil {
		return 0, o.err
	}
	o.held = append(o.held, p...)
	o.turn.Broadcast()
	return len(p), nil
}

// passOn writes what was taken to the reader, until writing fails or the writer is finished and all
// is written. It is a goroutine of its own, closes o.done at its end, and holds o.mu but while it
// writes.
func (o *asyncWriter) passOn() {
	defer close(o.done)
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil {
		for len(o.held) == 0 {
			if o.ended {
				return
			}
			o.turn.Wait()
		}
		text := o.held
		o.held = nil
		o.turn.Broadcast()
		o.mu.Unlock()
		_, err := o.out.Write(text)
		o.mu.Lock()
		o.err = err
	}
	o.turn.Broadcast()
}

// AwaitReader ends the writer, and waits until all was read, or for a second more once the context
// has ended. Where all was handed on, it sets *err to the error of writing, unless *err is set.
func (o *asyncWriter) AwaitReader(err *error) {
	o.mu.Lock()
	o.ended = true
	o.turn.Broadcast()
	o.mu.Unlock()
	select {
	case <-o.done:
	case <-o.ctx.Done():
		select {
		case <-o.done:
		case <-time.After(time.Second): // a reader that reads at all has had it
			return
		}
	}
	if *err == nil {
		*err = UnwrittenError(o.err)
	}
}
