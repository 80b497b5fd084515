package writer

import (
	"context"
	"sync"
)

// A Context is a context for what is sent over one link as long as that is there. A Writer that
// writes with it is interrupted by its end, as with any other, but an idle link keeps a fifth of
// what context.AfterFunc needs for that.
type Context struct {
	context.Context
	cancel context.CancelFunc

	mu sync.Mutex // never held while waiting
	w  *Writer    // the Writer that wrote with it last
}

// NewContext returns a Context that ends with End.
func NewContext() *Context {
	ctx, cancel := context.WithCancel(context.Background())
	return &Context{Context: ctx, cancel: cancel}
}

// End ends the Context, and the write that is under way with it.
func (c *Context) End() {
	c.cancel() // first: a Writer looks at that after it can be interrupted
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.w != nil {
		c.w.interruptWrite()
	}
}

// setWriter has the end of c interrupt w from now on, or no Writer if w is nil. When it returns, an
// interruption of the Writer before has ended. The caller has the turn of both Writers.
func (c *Context) setWriter(w *Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w = w
}
