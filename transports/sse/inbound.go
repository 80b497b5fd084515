package sse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/errkind"
	"github.com/aaep-go/aaep/transports"
)

// An inbound is one event stream being read. Its goroutine owns the fields below left until it
// closes done.
type inbound struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	events chan numberedEvent // from the goroutine to Receive
	done   chan struct{}      // closed when the goroutine has ended; err is set then
	// Closed when Receive has taken all events but the producer's subscription.close. lastID does
	// not change any more then.
	left chan struct{}

	err    error  // why the stream ended
	lastID string // the id of the last event that Receive took, of those that have one
	ended  bool   // the producer closed the subscription

	taken string // lastID as Receive knows it while the stream runs; guarded by conn.mu
}

// A numberedEvent is an event's data, and the id of the last event up to then that had one.
type numberedEvent struct {
	data   []byte
	lastID string
}

// newInbound returns an inbound that is not read yet and continues after the event lastID.
func (c *conn) newInbound(lastID string) *inbound {
	in := &inbound{events: make(chan numberedEvent), done: make(chan struct{}), left: make(chan struct{}),
		lastID: lastID,
		taken:  lastID}
	in.ctx, in.cancel = context.WithCancelCause(c.ctx)
	return in
}

// Reopen opens the stream again after the last event that Receive returned. A stream that still
// runs is given up. While it runs, Receive waits. Another Reopen waits for this one. The error is
// ErrInterrupted where trying again may help, or transports.ErrClosed; any other is final.
func (c *conn) Reopen(ctx context.Context) error {
	select {
	case c.reopening <- struct{}{}:
		defer func() { <-c.reopening }()
	case <-ctx.Done():
		return interruptedError("reopen", ctx.Err())
	case <-c.ctx.Done():
		return transports.ErrClosed
	}
	c.mu.Lock()
	old, ph := c.inbound, c.phase
	c.mu.Unlock()
	if old == nil {
		return errors.New("sse: there is no stream to open again; Send a subscription.request first")
	}
	old.cancel(transports.ErrInterrupted)
	<-old.done // from here on its fields may be read
	if ph == leaving || old.ended {
		return errors.New("sse: the subscription was closed")
	}
	in := c.newInbound(old.lastID)
	c.setStream(nil)
	body, err := c.openStream(ctx, in)
	if !c.startStream(in, func() error {
		if err != nil {
			return err
		}
		return c.readEvents(in, body)
	}) {
		if err == nil {
			body.Close()
		}
		return transports.ErrClosed
	}
	if err != nil {
		<-in.done // so that LastEventID is right once Reopen has returned
	}
	return err
}

// Cut breaks the stream without a word, as a network does. Package conformance looks at what comes
// once it is opened again.
func (c *conn) Cut() {
	c.mu.Lock()
	in := c.inbound
	c.mu.Unlock()
	if in != nil {
		in.cancel(transports.ErrInterrupted)
		<-in.done
	}
}

// LastEventID returns the id of the last event that Receive took, of those that have one, or "".
// Beside a Receive that is about to return an event it may be that event's already. Any goroutine
// may call it; package subscriber does, to resume there.
func (c *conn) LastEventID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := c.inbound
	if in == nil {
		return ""
	}
	select {
	case <-in.done:
		return in.lastID
	case <-in.left:
		return in.lastID
	default:
		return in.taken
	}
}

// startStream makes in the current stream and runs its goroutine. It reports false, and starts
// nothing, if the conn is closed.
func (c *conn) startStream(in *inbound, run func() error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.running.Go(func() {
		in.err = run()
		in.cancel(nil)
		close(in.done)
	})
	c.setStreamLocked(in)
	if c.unnegotiated && c.phase == leaving { // nothing else ends it
		in.cancel(transports.ErrInterrupted)
	}
	return true
}

// interruption returns the error of operation on the stream in, whose context has ended:
// transports.ErrClosed if that is because the conn was closed, else an ErrInterrupted with the
// cause.
func (c *conn) interruption(in *inbound, operation string) error {
	if c.ctx.Err() != nil {
		return transports.ErrClosed
	}
	return interruptedError(operation, context.Cause(in.ctx))
}

// interruptedError returns the error that ended operation. It is ErrInterrupted, which says that
// the stream may be opened again.
func interruptedError(operation string, cause error) error {
	return fmt.Errorf("sse: %s: %w: %w", operation, transports.ErrInterrupted, cause)
}

// openStream opens the stream in after the event in.lastID, and returns its body (B.1.6). The body
// can be read as long as in.ctx lives; ctx bounds only the opening. After an error that is not
// ErrInterrupted, trying again is of no use.
func (c *conn) openStream(ctx context.Context, in *inbound) (io.ReadCloser, error) {
	c.mu.Lock()
	events, guessed := c.events, c.streamGuessed
	c.mu.Unlock()
	req, err := http.NewRequestWithContext(in.ctx, http.MethodGet, events.String(), nil)
	if err != nil {
		return nil, err
	}
	c.setStreamHeaders(req, in.lastID)
	stop := context.AfterFunc(ctx, func() { in.cancel(ctx.Err()) })
	timeout := time.AfterFunc(postTime, func() {
		in.cancel(fmt.Errorf("no response headers within %v", postTime))
	})
	resp, err := c.doWithCredentials(req)
	timeout.Stop()
	stop()
	switch {
	case in.ctx.Err() != nil:
		if err == nil {
			resp.Body.Close()
		}
		return nil, c.interruption(in, "GET events")
	case errors.Is(err, errRedirect):
		return nil, fmt.Errorf("sse: GET events: %w; use that address in Dialer.URL if it is right", errRedirect)
	case err != nil:
		return nil, interruptedError("GET events", err)
	}
	if resp.StatusCode == http.StatusOK {
		c.reportStreamHead(resp.Header)
	}
	if err := checkStream(resp, guessed); err != nil {
		resp.Body.Close()
		if guessed && !errors.Is(err, transports.ErrInterrupted) {
			err = fmt.Errorf(
				"%w: the answer to subscription.request has no Location, which says where the stream is, and it is "+
					"not at %s", err, events.Redacted())
		}
		return nil, err
	}
	c.mu.Lock()
	c.streamGuessed = false
	c.mu.Unlock()
	return resp.Body, nil
}

// setStreamHeaders sets the headers of a GET of the stream that continues after the event lastID.
// An id that no header can carry is left out: the stream then begins where the producer chooses.
func (c *conn) setStreamHeaders(req *http.Request, lastID string) {
	req.Header = c.header.Clone()
	req.Header.Set("Accept", streamType)
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("Cache-Control", "no-cache")
	req.Header.Del(lastEventID)
	if lastID != "" && strings.IndexFunc(lastID, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0 {
		req.Header.Set(lastEventID, lastID)
	}
}

// checkStream returns why a response is not an event stream, or nil. guessed says that the URL was
// a guess, so that a 404 does not mean that the subscription has ended.
func checkStream(resp *http.Response, guessed bool) error {
	status := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
		typ, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if err != nil || typ != streamType {
			return fmt.Errorf("sse: GET events: Content-Type is %q, want text/event-stream",
				shortenText(resp.Header.Get("Content-Type"), 100))
		}
		return nil
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooManyRequests:
		return interruptedError("GET events", errkind.MarkStatus(code, errors.New("status "+status)))
	case (code == http.StatusNotFound || code == http.StatusGone) && !guessed:
		return fmt.Errorf("sse: GET events: status %s: the subscription has ended; make a new one", status)
	}
	return fmt.Errorf("sse: GET events: status %s, want 200", status)
}

// readEvents hands the stream's events to Receive until the stream ends. The error is io.EOF after
// the producer's subscription.close, and ErrInterrupted otherwise. It runs in the inbound's
// goroutine.
func (c *conn) readEvents(in *inbound, body io.ReadCloser) error {
	defer body.Close()
	silent := time.AfterFunc(c.silence, func() {
		in.cancel(fmt.Errorf("nothing arrived for %v, not even a heartbeat", c.silence))
	})
	defer silent.Stop()
	p := newParser(&silenceReader{body, silent, c.silence}, transports.MaxMessage, in.lastID)
	for {
		ev, err := p.nextEvent()
		if err != nil {
			in.lastID = p.lastID
			if c.ctx.Err() != nil || in.ctx.Err() != nil {
				return c.interruption(in, "event stream")
			}
			return interruptedError("event stream", err)
		}
		beginsObject := bytes.HasPrefix(bytes.TrimLeft(ev.data, " \t\n"), []byte("{"))
		switch {
		case ev.tooLarge:
			c.log.Warn("sse: event dropped", "cause", transports.ErrTooLarge)
		case !beginsObject:
			if ev.name == eventName {
				c.violations.Report("SSE-006", "the data of an "+eventName+" does not begin a JSON object")
			}
			c.log.Debug("sse: event ignored, its data is not a JSON object")
		default:
			c.reportEventFields(ev, p.lastID)
			if err := c.handOver(in, numberedEvent{ev.data, p.lastID}); err != nil {
				return err
			}
		}
		in.lastID = p.lastID
	}
}

// handOver hands an event to Receive. The error is io.EOF if the event is a subscription.close, and
// says why the stream ends if it does before Receive takes the event.
func (c *conn) handOver(in *inbound, ev numberedEvent) error {
	closing := isClose(ev.data)
	if closing {
		close(in.left)
	}
	select {
	case in.events <- ev:
	case <-in.ctx.Done():
		return c.interruption(in, "event stream")
	}
	if closing {
		in.ended = true
		return io.EOF
	}
	return nil
}

// isClose reports whether msg is the producer's subscription.close. It decodes only a message that
// has these words in it.
func isClose(msg []byte) bool {
	if !bytes.Contains(msg, []byte("subscription.close")) {
		return false
	}
	m, err := aaep.Decode(msg)
	_, ok := m.(*aaep.SubscriptionClose)
	return err == nil && ok
}

// A silenceReader runs its timer while it waits for bytes, and only then: a slow consumer is not a
// silent producer.
type silenceReader struct {
	r     io.Reader
	timer *time.Timer // cancels the stream when it fires
	limit time.Duration
}

// Read reads from r with the timer running.
func (s *silenceReader) Read(p []byte) (int, error) {
	s.timer.Reset(s.limit)
	n, err := s.r.Read(p)
	s.timer.Stop()
	return n, err
}
