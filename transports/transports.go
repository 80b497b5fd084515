// Package transports says what a link between a producer and a subscriber must do, whatever it runs
// over: carry whole messages, unchanged and in order (§8.2). It knows nothing of what they mean.
//
// A binding (package sse and its neighbours) implements Listener for producers and Dialer for
// subscribers. Pipe is a link within one process, for tests and for agents that are their own
// reader.
package transports

import (
	"context"
	"errors"
)

// MaxMessage is the largest message every binding carries, in bytes (§8.3). Larger ones are
// refused.
const MaxMessage = 1 << 20

// Conn is one link. All its methods may be called at once, from any goroutine.
type Conn interface {
	// Receive returns the next message from the peer. It returns io.EOF after the peer closed
	// cleanly, ErrInterrupted where a Reopener's stream broke, and another error where the link is
	// gone. A cancelled ctx loses nothing: the next Receive gets the message. Calling Receive again
	// says that the message before has been dealt with; a binding that acknowledges messages does
	// so then.
	Receive(ctx context.Context) ([]byte, error)
	// Send hands one message to the link, waiting while the peer is slow. It does not keep msg.
	Send(ctx context.Context, msg []byte) error
	// Close ends the link; it unblocks Receive and Send on both sides. A second Close does nothing.
	Close() error
}

// Listener waits for peers.
type Listener interface {
	// Accept returns the next peer's Conn, whose first message is the peer's subscription.request.
	Accept(ctx context.Context) (Conn, error)
	// Close stops listening and unblocks Accept, which then returns ErrClosed. Accepted Conns live
	// on.
	Close() error
}

// Dialer reaches one producer. Dial may be called again after a Conn is gone.
type Dialer interface {
	Dial(ctx context.Context) (Conn, error)
}

// Identified is implemented by a Conn that knows who its peer is.
type Identified interface {
	// Principal names the authenticated peer; it is "" where no credentials were asked for
	// (§8.2.7).
	Principal() string
}

// Addressed is implemented by a Conn that knows where its peer is.
type Addressed interface {
	// RemoteAddr is the peer's address, as net/http has it; "" is not known. It is for the log, and
	// proves nothing.
	RemoteAddr() string
}

// Notifier is implemented by a Conn that says when there is something to receive, so that no
// goroutine has to wait for it.
type Notifier interface {
	// Notify has f called at once, and from then on whenever there may be something new: a message
	// for Receive, a stream for NextStream, or the end of a Stream. f is called from any goroutine,
	// and must not wait.
	Notify(f func())
}

// Resumable is implemented by a producer's Conn whose events go over streams that can break and be
// opened again while the subscription goes on, as in Server-Sent Events. Send and Receive then
// carry everything but events.
type Resumable interface {
	Conn
	Notifier
	// NextStream waits until the peer opens an event stream, which replaces the one before. It
	// returns an error when ctx is done or the Conn is closed.
	NextStream(ctx context.Context) (Stream, error)
}

// Event is an encoded event on its way to a subscriber.
type Event struct {
	Message []byte
	// ID names it to a peer that may ask to go on right after it. If "", the point to go on from
	// stays where it was.
	ID string
}

// EventSender is implemented by what sends several events for hardly more than the price of one:
// every Stream, and some Conns.
type EventSender interface {
	// SendEvents sends events in order, waiting while the peer is slow. It keeps nothing of them.
	// After an error some may have gone out and nothing more will: the Stream or Conn is lost, also
	// where ctx ended in the middle.
	SendEvents(ctx context.Context, events []Event) error
}

// Sharer is implemented by an EventSender that can be handed what several peers get alike, by a
// goroutine that waits for none of them.
type Sharer interface {
	EventSender
	// Framing names the way events are framed: where it is the same, so are the bytes. If "", this
	// link takes nothing shared.
	Framing() string
	// AppendEvents appends events to b as the link has them.
	AppendEvents(b []byte, events []Event) ([]byte, error)
	// TrySend sends what AppendEvents made, as far as it can be taken at once, and returns how many
	// bytes that are. Of what was taken in part the rest is kept, and leaves before whatever is
	// sent next; SendEvents without events sends it. It never waits.
	TrySend(frames []byte) (taken int)
}

// Stream is one event stream of a Resumable. It is used by one goroutine at a time.
type Stream interface {
	// LastEventID is the id of the last event the peer says it saw, or "".
	LastEventID() string
	EventSender
	// Done is closed when the stream is lost or replaced.
	Done() <-chan struct{}
}

// Reopener is implemented by a subscriber's Conn whose incoming stream can be opened again.
type Reopener interface {
	Conn
	// Reopen opens the stream again, right after the last event received. An error that is
	// ErrInterrupted may be tried again later; any other means that the subscription is gone.
	Reopen(ctx context.Context) error
}

// ErrClosed is returned by a Conn or Listener that was closed on this side.
var ErrClosed = errors.New("transports: closed")

// ErrInterrupted is returned where a stream broke that can be opened again.
var ErrInterrupted = errors.New("transports: stream interrupted")

// ErrTooLarge is returned for a message above MaxMessage.
var ErrTooLarge = errors.New("transports: message larger than 1 MiB")
