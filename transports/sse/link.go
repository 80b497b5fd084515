package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// A link is the producer's Conn: one subscription, over as many requests and streams as it takes.
type link struct {
	srv          *Server
	principal    string
	peer         string              // where the request came from
	subscriberID string              // what the subscriber calls itself
	history      *sentHistory        // nil after a handshake
	in           chan *postedMessage // what the peer POSTed, for Receive; holds one
	streams      chan *stream        // the newest stream, if NextStream has not taken it
	done         chan struct{}       // closed by endLink
	hungUp       chan struct{}       // closed once the peer's subscription.close is in the queue
	closeHungUp  sync.Once

	posts sync.WaitGroup // POSTs that are being answered

	mu       sync.Mutex    // never held while waiting
	err      error         // why done is closed
	id       string        // the subscription, once accepted
	inHand   chan struct{} // the handled channel of the message that Receive returned last, or nil
	pending  *pendingPost  // the POST that the producer's next answer belongs to, or nil
	stream   *stream
	onChange func()   // set by Notify; may be nil
	tickets  []ticket // that may still open a stream
}

// A postedMessage is a message on its way to Receive. handled is closed when Receive is called
// again, which says that the message has been dealt with.
type postedMessage struct {
	msg     []byte
	handled chan struct{}
}

var (
	errBusy = errors.New("sse: the producer does not read its messages")
	errGone = errors.New("sse: the subscription has ended")
)

// newLink makes a link that has request, a subscription.request, ready for Receive. It also returns
// the POST of that request, which waits for the producer's answer. history is nil after a
// handshake.
func newLink(s *Server, principal string, request []byte, history *sentHistory) (*link, *pendingPost) {
	post := newPendingPost()
	post.first = true
	l := &link{
		srv: s, principal: principal, history: history, pending: post,
		in: make(chan *postedMessage, 1), streams: make(chan *stream, 1),
		done: make(chan struct{}), hungUp: make(chan struct{}),
	}
	l.in <- &postedMessage{request, make(chan struct{})}
	return l, post
}

// Principal is the authenticated sender of the subscription.request; "" without an authenticator.
func (l *link) Principal() string { return l.principal }

// RemoteAddr is the address that the subscription.request came from.
func (l *link) RemoteAddr() string { return l.peer }

// isAlive reports whether the link has not ended yet. Any goroutine may call it.
func (l *link) isAlive() bool {
	select {
	case <-l.done:
		return false
	default:
		return true
	}
}

// Receive returns the bodies of the peer's POSTs, unchanged, in the order they arrived. The POST of
// a reply is answered when Receive is called again: what was answered first has then counted first.
func (l *link) Receive(ctx context.Context) ([]byte, error) {
	l.setInHand(nil)
	for {
		// The end is looked at before the queue: whatever was queued before the end is then still
		// returned.
		var endErr error
		select {
		case <-l.hungUp:
			endErr = io.EOF
		default:
		}
		if !l.isAlive() {
			endErr = l.endCause()
		}
		if endErr == transports.ErrClosed {
			return nil, endErr
		}
		select {
		case p := <-l.in:
			return l.setInHand(p), nil
		default:
		}
		if endErr != nil {
			return nil, endErr
		}
		select {
		case p := <-l.in:
			return l.setInHand(p), nil
		case <-l.hungUp:
		case <-l.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Notify has f called when there is something to receive, a stream, or the end of one.
func (l *link) Notify(f func()) {
	l.mu.Lock()
	l.onChange = f
	l.mu.Unlock()
	f()
}

// notifyOwner calls the function that Notify was given, if any. Callers hold no lock: the function
// may call back into the link.
func (l *link) notifyOwner() {
	l.mu.Lock()
	f := l.onChange
	l.mu.Unlock()
	if f != nil {
		f()
	}
}

// setInHand marks next as the message that Receive hands out, and returns its bytes; nil where next
// is nil. It first closes the handled channel of the message before, whose POST is then answered.
// It takes l.mu.
func (l *link) setInHand(next *postedMessage) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inHand != nil {
		close(l.inHand)
		l.inHand = nil
	}
	if next == nil {
		return nil
	}
	l.inHand = next.handled
	return next.msg
}

// subscriptionID returns the id that the producer chose, or "" before it did.
func (l *link) subscriptionID() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id
}

// endCause returns why the link ended. The caller knows that done is closed.
func (l *link) endCause() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Send answers the waiting POST with an accepted or rejected message and puts everything else on
// the event stream, without an id (D-55). It returns once the message was written and flushed; an
// answer, once it was handed to the POST. A rejection of the first request ends the Conn.
func (l *link) Send(ctx context.Context, msg []byte) error {
	if len(msg) > transports.MaxMessage {
		return transports.ErrTooLarge
	}
	m, err := aaep.Decode(msg)
	if err != nil {
		m = nil // not for us to judge: it goes on the stream as it is
	}
	a := answer{}
	switch m := m.(type) {
	case *aaep.SubscriptionAccepted:
		a.accepted = m
	case *aaep.SubscriptionRejected:
		a.rejected = m
	}
	isAnswer := a.accepted != nil || a.rejected != nil
	if isAnswer {
		a.msg = slices.Clone(msg)
	}
	l.mu.Lock()
	post, endErr := l.pending, l.err
	first := post != nil && post.first
	onStream := true // for an answer whose POST is long gone the peer must still learn of it
	if endErr == nil && isAnswer && post != nil {
		onStream, err = l.settlePending(post, a)
	}
	l.mu.Unlock()
	switch {
	case endErr == io.EOF:
		return errGone
	case endErr != nil:
		return endErr
	case first && !isAnswer:
		return errors.Join(
			errors.New("sse: the first message must be a subscription.accepted or subscription.rejected"), err)
	case onStream:
		_, closing := m.(*aaep.SubscriptionClose)
		return l.pushMessage(ctx, msg, closing)
	case err == nil && first && a.rejected != nil:
		l.endLink(io.EOF)
	}
	return err
}

// pushMessage puts a message on the event stream. Without an open stream it fails with
// transports.ErrInterrupted, but for the producer's subscription.close, which closing says: a later
// GET then gets 404, which says the same. A client without a handshake is sent nothing.
func (l *link) pushMessage(ctx context.Context, msg []byte, closing bool) error {
	if l.history != nil {
		return nil // a client without a handshake knows none of these; the end of the stream says enough
	}
	l.mu.Lock()
	st := l.stream
	l.mu.Unlock()
	if st == nil && closing {
		return nil // a later GET gets 404, which says the same
	}
	if st == nil {
		return fmt.Errorf("sse: no event stream is open: %w", transports.ErrInterrupted)
	}
	return st.SendEvents(ctx, []transports.Event{{Message: msg}})
}

// Close ends the subscription. What Send returned for before was written; the stream then ends, and
// later requests find nothing. It waits a moment for the POSTs under way to be answered, so that
// their senders get an answer even if the process ends after Close.
func (l *link) Close() error {
	l.endLink(transports.ErrClosed)
	answered := make(chan struct{})
	go func() { l.posts.Wait(); close(answered) }()
	moment := time.NewTimer(time.Second)
	defer moment.Stop()
	select {
	case <-answered:
	case <-moment.C: // the goroutine above goes on waiting: each POST has its own bound
	}
	return nil
}

// beginPost counts a POST that is being answered, until the caller calls posts.Done. It returns
// false, and counts nothing, once the link has ended. It takes l.mu.
func (l *link) beginPost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return false
	}
	l.posts.Add(1)
	return true
}

// endLink ends the link for the reason err, which it keeps, removes it from the Server and ends its
// stream. Only the first call counts. Any goroutine may call it, holding neither l.mu nor the
// Server's.
func (l *link) endLink(err error) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.err = err
	st, id := l.stream, l.id
	l.mu.Unlock()
	l.srv.unregisterID(id, l)
	l.srv.removeLink(l)
	close(l.done)
	if st != nil {
		st.endStream()
	}
	l.notifyOwner()
}

// NextStream waits for the peer to open an event stream that still is the newest, and returns that.
// The error is that of ctx, or why the link ended.
func (l *link) NextStream(ctx context.Context) (transports.Stream, error) {
	for {
		if !l.isAlive() {
			return nil, l.endCause()
		}
		var st *stream
		select { // a stream that waits is returned even if ctx is done
		case st = <-l.streams:
		default:
			select {
			case st = <-l.streams:
			case <-l.done:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		select {
		case <-st.done: // lost before it was used
		default:
			return st, nil
		}
	}
}

// attachStream makes st the link's stream, ends the one before it, and wakes NextStream. It reports
// false, and changes nothing, if the link has ended or if onlyIdle is set and there is a stream
// already.
func (l *link) attachStream(st *stream, onlyIdle bool) bool {
	l.mu.Lock()
	if l.err != nil || onlyIdle && l.stream != nil {
		l.mu.Unlock()
		return false
	}
	old := l.stream
	l.stream = st
	select { // a stream that NextStream has not taken is dropped
	case <-l.streams:
	default:
	}
	l.streams <- st // never waits: only this function fills it, holding l.mu
	l.mu.Unlock()
	if old != nil {
		old.endStream()
	}
	l.notifyOwner()
	return true
}

// detachStream ends st, removes it if it still is the link's stream, and wakes the owner. The
// request that served st calls it.
func (l *link) detachStream(st *stream) {
	st.endStream()
	l.mu.Lock()
	if l.stream == st {
		l.stream = nil
	}
	l.mu.Unlock()
	l.notifyOwner()
}

// queuePosted queues a message for Receive, waiting until ctx is done for a slow producer. The
// channel is closed when the producer has dealt with the message.
func (l *link) queuePosted(ctx context.Context, msg []byte) (<-chan struct{}, error) {
	p := &postedMessage{msg, make(chan struct{})}
	select { // first, for below an end and room in the queue may both be there
	case <-l.done:
		return nil, errGone
	case <-l.hungUp:
		return nil, errGone
	default:
	}
	select {
	case l.in <- p:
		l.notifyOwner()
		return p.handled, nil
	case <-l.done:
		return nil, errGone
	case <-l.hungUp:
		return nil, errGone
	case <-ctx.Done():
		return nil, errBusy
	}
}
