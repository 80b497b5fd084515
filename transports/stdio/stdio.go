// Package stdio carries AAEP over the standard streams of a child process (appendix B.6), as
// JSON-RPC 2.0, one object a line. The subscriber starts the producer with a Dialer; the producer
// calls Listen. The link's end is the subscription's end.
//
// Both ends see the bare AAEP messages, byte for byte; what JSON-RPC puts around them stays in
// here:
//
//	from the subscriber   subscription.request        request aaep.subscribe
//	                      subscription.renegotiate    request aaep.renegotiate
//	                      anything else               notification aaep.reply
//	from the producer     subscription.accepted       result of the oldest request, if there is one
//	                      subscription.rejected       the same
//	                      anything else               notification aaep.event
//	from either           subscription.close          notification aaep.close
//
// A request aaep.ping is answered with {}; neither end sends one, for the end of a process is
// always seen. A subscriber also takes lines that are bare messages, and a JSON-RPC error as
// subscription.rejected with the reason unknown.
//
// A line has at most transports.MaxMessage bytes and 1 KiB for what is around a message. One that
// is no message, or too long, costs nothing else; after 1000 such lines in a row, or 16 MiB without
// an end, the link breaks.
//
// The producer's Listener is in stdio.go and Listen, which takes the streams of the process, in
// take.go. The child process is in dialer.go, reading and writing in frames.go, one line of JSON in
// line.go, and what JSON-RPC makes of a message in rpc.go.
package stdio

import (
	"context"
	"io"
	"log/slog"
	"sync"

	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
)

// Principal is who the process that started a producer is for it: no other process can write to its
// input (B.6.4).
const Principal = "parent"

// Listener waits for the one peer there is. It implements transports.Listener.
type Listener struct {
	in     io.ReadCloser
	out    io.WriteCloser
	logger *slog.Logger

	mu       sync.Mutex
	accepted *conn
	closed   chan struct{}
	isClosed bool
}

// NewListener returns a Listener on streams that nothing else uses, and closes them. A producer
// that is a process of its own calls Listen instead. A nil logger discards.
func NewListener(in io.ReadCloser, out io.WriteCloser, logger *slog.Logger) *Listener {
	return &Listener{in: in, out: out, logger: logger, closed: make(chan struct{})}
}

// Accept returns the link, which knows its peer as Principal. The next Accept waits, and returns
// io.EOF once that link was closed at this end, as a producer does when its subscription is over:
// no other peer can come.
func (l *Listener) Accept(ctx context.Context) (transports.Conn, error) {
	link, isNew, err := l.openLink(ctx)
	if err != nil {
		return nil, err
	}
	if isNew {
		return *link, nil
	}
	select {
	case <-l.closed:
		return nil, transports.ErrClosed
	case <-link.Closed():
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// openLink returns the one link, and makes it at the first call, when isNew is true. The error is
// transports.ErrClosed, or that of ctx, and nothing is made then.
func (l *Listener) openLink(ctx context.Context) (link *conn, isNew bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isClosed {
		return nil, false, transports.ErrClosed
	}
	if l.accepted != nil {
		return l.accepted, false, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	l.accepted = new(newConn(&frames{producer: true, in: l.in, out: l.out, logger: l.logger,
		violations: violation.ReporterOf(ctx)}, Principal))
	return l.accepted, true, nil
}

// Close stops waiting for the link. The streams are closed too, unless Accept has returned the
// link, which lives on. A second Close does nothing.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isClosed {
		return nil
	}
	l.isClosed = true
	close(l.closed)
	if l.accepted == nil {
		l.out.Close()
		l.in.Close()
	}
	return nil
}
