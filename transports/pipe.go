package transports

import (
	"context"
	"io"
	"slices"
	"sync"
)

// pipeRoom is how many messages a direction of a Pipe holds.
const pipeRoom = 16

// Pipe returns the two ends of a link within this process. Each direction holds a few messages, so
// two ends that both write first do not wait for each other; then Send waits for the reader. Send
// to an end that was closed returns io.ErrClosedPipe.
func Pipe() (a, b Conn) {
	ab, ba := newLane(), newLane()
	return &pipe{in: ba, out: ab}, &pipe{in: ab, out: ba}
}

// A lane carries the messages of one direction: one end sends, the other receives.
type lane struct {
	msgs   chan []byte
	room   chan struct{} // holds one token for each message in msgs, put there before the message
	mu     sync.Mutex    // never held while waiting
	closed chan struct{} // closed, under mu, by the sender's Close; nothing is sent after it
}

// newLane returns an open lane without messages.
func newLane() *lane {
	return &lane{msgs: make(chan []byte, pipeRoom), room: make(chan struct{}, pipeRoom), closed: make(chan struct{})}
}

// A pipe is one of the two ends that Pipe returns. It is closed when the lane it sends on is.
type pipe struct {
	in, out *lane
	once    sync.Once // closes out
}

// Receive returns the next message of the peer; io.EOF once the peer has closed and all that it
// sent before was received; ErrClosed once this end is closed.
func (p *pipe) Receive(ctx context.Context) ([]byte, error) {
	select {
	case <-p.out.closed:
		return nil, ErrClosed
	default:
	}
	select { // a message that waits is returned even if ctx is done
	case msg := <-p.in.msgs:
		return p.in.releaseRoom(msg), nil
	default:
	}
	select {
	case msg := <-p.in.msgs:
		return p.in.releaseRoom(msg), nil
	case <-p.out.closed:
		return nil, ErrClosed
	case <-p.in.closed:
		select { // what was sent before the peer closed still arrives
		case msg := <-p.in.msgs:
			return p.in.releaseRoom(msg), nil
		default:
			return nil, io.EOF
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// releaseRoom takes back the token of msg, which has just been received, so that the sender may
// send another. It returns msg, for the caller to return.
func (l *lane) releaseRoom(msg []byte) []byte {
	<-l.room
	return msg
}

// Send copies msg into the lane. It waits for room until ctx is done or either end is closed. The
// error is ErrTooLarge, ErrClosed, that of ctx, or peerClosedError's.
func (p *pipe) Send(ctx context.Context, msg []byte) error {
	if len(msg) > MaxMessage {
		return ErrTooLarge
	}
	select {
	case <-p.out.closed:
		return ErrClosed
	case <-p.in.closed:
		return p.peerClosedError()
	default:
	}
	select {
	case p.out.room <- struct{}{}:
	case <-p.out.closed:
		return ErrClosed
	case <-p.in.closed:
		return p.peerClosedError()
	case <-ctx.Done():
		return ctx.Err()
	}
	p.out.mu.Lock()
	defer p.out.mu.Unlock()
	select {
	case <-p.out.closed: // closed since; the peer may have read io.EOF already
		<-p.out.room
		return ErrClosed
	default:
		p.out.msgs <- slices.Clone(msg) // never waits: the token stands for its place
		return nil
	}
}

// peerClosedError returns the error of a Send after the peer closed: io.ErrClosedPipe, or ErrClosed
// if this end is closed too.
func (p *pipe) peerClosedError() error {
	select {
	case <-p.out.closed:
		return ErrClosed
	default:
		return io.ErrClosedPipe
	}
}

// Close closes the lane that this end sends on. Both ends' calls return.
func (p *pipe) Close() error {
	p.once.Do(func() {
		p.out.mu.Lock()
		defer p.out.mu.Unlock()
		close(p.out.closed)
	})
	return nil
}
