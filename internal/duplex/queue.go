package duplex

import (
	"context"
	"sync"
	"time"

	"github.com/aaep-go/aaep/transports"
)

// AcceptTimeout is how long a Conn waits to be accepted.
const AcceptTimeout = 10 * time.Second

// Queue is where a server's handlers leave the Conns that its Accept hands out.
type Queue struct {
	conns chan *Conn
	done  chan struct{}
	once  sync.Once
}

// NewQueue returns an open Queue.
func NewQueue() *Queue { return &Queue{conns: make(chan *Conn), done: make(chan struct{})} }

// Accept is that of a transports.Listener: it returns the next Conn that was offered,
// transports.ErrClosed after Close, or the error of ctx.
func (q *Queue) Accept(ctx context.Context) (transports.Conn, error) {
	select {
	case <-q.done:
		return nil, transports.ErrClosed
	default:
	}
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
		return nil, transports.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Offer waits until c is accepted, and reports whether it was. It was not if Accept was not called
// within AcceptTimeout, the Queue was closed, ctx has ended, or peerGone was closed. The caller of
// Accept closes c if it was; the caller of Offer if not.
func (q *Queue) Offer(ctx context.Context, c *Conn, peerGone <-chan struct{}) bool {
	t := time.NewTimer(AcceptTimeout)
	defer t.Stop()
	select {
	case q.conns <- c:
		return true
	case <-q.done:
	case <-t.C:
	case <-ctx.Done():
	case <-peerGone:
	}
	return false
}

// Close lets nothing more through. Accepted Conns live on. A second Close does nothing.
func (q *Queue) Close() { q.once.Do(func() { close(q.done) }) }
