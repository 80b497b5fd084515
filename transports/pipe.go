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

// A lane is one direction.
type lane struct {
	msgs   chan []byte
	room   chan struct{} // one token for each message in msgs, taken before it is sent
	mu     sync.Mutex    // never held while waiting
	closed chan struct{} // closed, under mu, by the sender's Close; nothing is sent after it
}

func newLane() *lane {
	return &lane{msgs: make(chan []byte, pipeRoom), room: make(chan struct{}, pipeRoom), closed: make(chan struct{})}
}

// An end is closed when the lane it sends on is.
type pipe struct {
	in, out *lane
	once    sync.Once
}

func (p *pipe) Receive(ctx context.Context) ([]byte, error) {
	select {
	case <-p.out.closed:
		return nil, ErrClosed
	default:
	}
	select { // what is there comes before what ctx says
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

// releaseRoom makes room for another message and returns msg.
func (l *lane) releaseRoom(msg []byte) []byte {
	<-l.room
	return msg
}

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
	case <-p.out.closed: // meanwhile; the peer may have seen the end
		<-p.out.room
		return ErrClosed
	default:
		p.out.msgs <- slices.Clone(msg) // there is room
		return nil
	}
}

// peerClosedError returns the error of a Send to a peer that closed; if this end is closed too,
// that is what counts.
func (p *pipe) peerClosedError() error {
	select {
	case <-p.out.closed:
		return ErrClosed
	default:
		return io.ErrClosedPipe
	}
}

func (p *pipe) Close() error {
	p.once.Do(func() {
		p.out.mu.Lock()
		defer p.out.mu.Unlock()
		close(p.out.closed)
	})
	return nil
}
