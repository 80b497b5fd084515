package cli

import (
	"context"
	"io"
	"os"
	"sync"
	"time"
)

// mostUnread is how much of what a program prints waits for whoever reads standard output. More of it waits within the program, as
// in any pipe, and listeners wait with it.
const mostUnread = 16 << 20

// An outlet passes on what is written to it. Its writers do not wait for a reader who is not there, such as a pager that nobody scrolls.
type outlet struct {
	ctx  context.Context // once it has ended nobody waits for room
	out  io.Writer
	done chan struct{} // closed when nothing more is passed on

	mu    sync.Mutex
	turn  *sync.Cond // what is below has changed, or ctx has ended
	held  []byte
	ended bool
	err   error
}

func newOutlet(ctx context.Context, out io.Writer) *outlet {
	o := &outlet{ctx: ctx, out: out, done: make(chan struct{})}
	o.turn = sync.NewCond(&o.mu)
	context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.turn.Broadcast()
	})
	go o.pass()
	return o
}

func (o *outlet) Write(p []byte) (int, error) {
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

func (o *outlet) pass() {
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

// finish waits until all was read, or somebody wants to be done, and sets an error that says that not all could be printed where
// there is no other.
func (o *outlet) finish(err *error) {
	o.mu.Lock()
	o.ended = true
	o.turn.Broadcast()
	o.mu.Unlock()
	select {
	case <-o.done:
	case <-o.ctx.Done():
		select {
		case <-o.done:
		case <-time.After(time.Second): // whoever reads at all has had it
			return
		}
	}
	if *err == nil {
		*err = unwrittenError(o.err)
	}
}
