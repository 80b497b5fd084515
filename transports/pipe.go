package transports

import (
	"context"
	"io"
	"slices"
	"sync"
)

// Pipe returns the two ends of a link within this process. Each direction holds a few messages, so
// two ends that both write first do not wait for each other; then Send waits for the reader.
func Pipe() (a, b Conn) {
	ab, ba := make(chan []byte, 16), make(chan []byte, 16)
	ac, bc := make(chan struct{}), make(chan struct{})
	return &pipe{in: ba, out: ab, closed: ac, peer: bc}, &pipe{in: ab, out: ba, closed: bc, peer: ac}
}

type pipe struct {
	in, out      chan []byte
	closed, peer chan struct{}
	once         sync.Once
}

func (p *pipe) Receive(ctx context.Context) ([]byte, error) {
	select {
	case <-p.closed:
		return nil, ErrClosed
	case msg := <-p.in:
		return msg, nil
	default:
	}
	select {
	case msg := <-p.in:
		return msg, nil
	case <-p.closed:
		return nil, ErrClosed
	case <-p.peer:
		select { // what was sent before the peer closed still arrives
		case msg := <-p.in:
			return msg, nil
		default:
			return nil, io.EOF
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipe) Send(ctx context.Context, msg []byte) error {
	if len(msg) > MaxMessage {
		return ErrTooLarge
	}
	select {
	case <-p.closed:
		return ErrClosed
	case <-p.peer:
		return io.ErrClosedPipe
	default:
	}
	select {
	case p.out <- slices.Clone(msg):
		return nil
	case <-p.closed:
		return ErrClosed
	case <-p.peer:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}
