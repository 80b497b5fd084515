package delivery

import (
	"context"
	"time"

	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/transports"
)

// sendTimeout is how long one event may take on a link that sets no deadline of its own.
const sendTimeout = 10 * time.Second

// Link is the connection to one subscriber, with what it can do besides carrying messages. Accept
// finds that out once: no other code asserts an interface of a connection. A Link never changes
// afterwards, and any goroutine may use it.
//
// A connection may be of another author. Its methods are called behind the shield: one that panics
// counts as broken. What a group offers it, with sharer, is the exception, for that is on the path
// of every event; see group.sendToMembers.
type Link struct {
	conn      transports.Conn
	shield    *shield.Shield
	Principal string // as the transport says; "" where it asked for no credentials
	Peer      string // its address; "" where the transport does not know it

	// The following are nil where the connection does not have that.
	notifier  transports.Notifier    // it says when there is something to receive
	resumable transports.Resumable   // events go over streams that can be opened again
	many      transports.EventSender // it takes several events in one call
	sharer    transports.Sharer      // it takes bytes that several subscribers get alike
}

// Accept returns the link of a connection that was accepted. The error says that the connection
// panicked, so that it is not known whose it is. The producer calls it for every connection.
func Accept(conn transports.Conn, shield *shield.Shield) (*Link, error) {
	l := &Link{conn: conn, shield: shield}
	l.notifier, _ = conn.(transports.Notifier)
	l.resumable, _ = conn.(transports.Resumable)
	l.many, _ = conn.(transports.EventSender)
	l.sharer, _ = conn.(transports.Sharer)
	err := shield.Call("Conn.Principal and Conn.RemoteAddr", func() error {
		if peer, ok := conn.(transports.Identified); ok {
			l.Principal = peer.Principal()
		}
		if peer, ok := conn.(transports.Addressed); ok {
			l.Peer = peer.RemoteAddr()
		}
		return nil
	})
	return l, err
}

// canResume reports whether the subscription goes on where a stream of the link breaks.
func (l *Link) canResume() bool { return l.resumable != nil }

// Receive receives a message. The error says so if the connection panics.
func (l *Link) Receive(ctx context.Context) (msg []byte, err error) {
	err = l.shield.Call("Conn.Receive", func() (err error) { msg, err = l.conn.Receive(ctx); return err })
	return msg, err
}

// Send sends a message. The error says so if the connection panics.
func (l *Link) Send(ctx context.Context, msg []byte) error {
	return l.shield.Call("Conn.Send", func() error { return l.conn.Send(ctx, msg) })
}

// Close closes the connection. A panic is logged, and an error ignored.
func (l *Link) Close() { _ = l.shield.Call("Conn.Close", l.conn.Close) }

// callOnNews has f called whenever there may be a message or a new stream. It is for a link with a
// notifier. The error says so if the connection panics.
func (l *Link) callOnNews(f func()) error {
	return l.shield.Call("Conn.Notify", func() error { l.notifier.Notify(f); return nil })
}

// newestStream returns the stream that the peer has opened since the last call, or an error if it
// has opened none. It does not wait, and is for a link that can be resumed.
func (l *Link) newestStream() (*eventStream, error) {
	s := &eventStream{shield: l.shield, resumable: true}
	err := l.shield.Call("Conn.NextStream", func() (err error) {
		if s.Stream, err = l.resumable.NextStream(atOnce); err == nil {
			s.lastEventID, s.done = s.Stream.LastEventID(), s.Stream.Done()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.sharer, _ = s.Stream.(transports.Sharer)
	return s, nil
}

// onlyStream returns a link that cannot be resumed as a stream: events go over the connection
// itself.
func (l *Link) onlyStream() *eventStream {
	return &eventStream{Stream: plainStream{l}, shield: l.shield, sharer: l.sharer}
}

// eventStream is the way on which events leave: one event stream of a link that can be resumed, or
// a link that cannot.
type eventStream struct {
	transports.Stream
	shield *shield.Shield
	// lastEventID and done are those of the Stream, which is asked for them once.
	lastEventID string
	done        <-chan struct{}
	sharer      transports.Sharer // takes bytes that several subscribers get alike; nil: it takes none
	resumable   bool              // the subscription goes on where it breaks
}

// LastEventID returns the id of the last event that the peer says it saw, or "".
func (s *eventStream) LastEventID() string { return s.lastEventID }

// Done returns a channel that is closed when the stream is lost or replaced, or nil where the end
// of the link is its end.
func (s *eventStream) Done() <-chan struct{} { return s.done }

// sendEvents sends events, in order. The error says so if the stream panics.
func (s *eventStream) sendEvents(ctx context.Context, events []transports.Event) error {
	return s.shield.Call("Stream.SendEvents", func() error { return s.SendEvents(ctx, events) })
}

// plainStream makes a Stream of a link that cannot be resumed. Its end is seen by the goroutine
// that receives, so Done is nil.
type plainStream struct{ *Link }

// LastEventID returns "", for a subscriber names no event on such a link.
func (plainStream) LastEventID() string { return "" }

// Done returns nil: the link ends with the subscription, not before.
func (plainStream) Done() <-chan struct{} { return nil }

// SendEvents sends the events in one call where the link can, and otherwise one by one within
// sendTimeout for all of them.
func (s plainStream) SendEvents(ctx context.Context, events []transports.Event) error {
	if s.many != nil {
		return s.many.SendEvents(ctx, events)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	for _, ev := range events {
		if err := s.conn.Send(ctx, ev.Message); err != nil {
			return err
		}
	}
	return nil
}
