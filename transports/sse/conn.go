package sse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/internal/errkind"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
)

// A conn is the subscriber's Conn: POSTs go out, the answers and one event stream come in.
type conn struct {
	base, root *url.URL // base of the endpoints with a handshake, root of those without
	// Whether to listen without a handshake where the producer knows none; see RootLayout.
	mayListen    bool
	header       http.Header
	credentials  func(context.Context) (http.Header, error) // nil: header is all
	client       *http.Client
	ownTransport *http.Transport // nil if the client is the caller's
	silence      time.Duration   // after which a stream counts as broken
	log          *slog.Logger
	violations   violation.Reporter
	ctx          context.Context // done once the conn is closed
	cancel       context.CancelCauseFunc
	answers      chan []byte   // accepted and rejected messages that answered a POST
	reopening    chan struct{} // holds one value while Reopen runs
	running      sync.WaitGroup

	mu           sync.Mutex // never held while waiting
	phase        phase
	unnegotiated bool // the producer knows no handshake; nothing was negotiated
	// substitute is the acceptance that the Conn wrote itself; nil where the producer answered.
	substitute []byte
	events     *url.URL // the URL of the stream, once accepted
	// Whether events is a guess: no Location named it, and nothing has come from there.
	streamGuessed bool
	// Receive reads this stream; nil before the first and while one is opened again.
	inbound *inbound
	changed chan struct{} // closed and replaced with inbound and phase
}

// A phase is where a conn is in the life of its subscription.
type phase int

const (
	fresh    phase = iota // the next Send must be the request
	asking                // the request is under way
	open                  // accepted
	leaving               // this side's close was submitted
	rejected              // nothing more will come
)

// Receive returns the answers to what was POSTed and the data of the stream's events, exactly.
// After either side's subscription.close the end of the stream is io.EOF. A rejection is followed
// by io.EOF. Other errors are transports.ErrClosed, ErrInterrupted with why the stream broke, after
// which Reopen helps, and that of ctx.
func (c *conn) Receive(ctx context.Context) ([]byte, error) {
	for {
		if c.ctx.Err() != nil {
			return nil, transports.ErrClosed
		}
		select {
		case msg := <-c.answers:
			return msg, nil
		default:
		}
		c.mu.Lock()
		in, changed, ph := c.inbound, c.changed, c.phase
		c.mu.Unlock()
		if ph == rejected {
			select { // filled before the phase changed
			case msg := <-c.answers:
				return msg, nil
			default:
				return nil, io.EOF
			}
		}
		var events chan numberedEvent // both stay nil, which never receives, while there is no stream
		var streamDone chan struct{}
		if in != nil {
			events, streamDone = in.events, in.done
		}
		select {
		case msg := <-c.answers:
			return msg, nil
		case ev := <-events:
			c.mu.Lock()
			in.taken = ev.lastID
			c.mu.Unlock()
			return ev.data, nil
		case <-streamDone:
			if err, current := c.streamEnd(in); current {
				return nil, err
			}
		case <-changed:
		case <-c.ctx.Done():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// streamEnd returns the error that Receive returns for the end of the stream in, whose goroutine
// has ended. current is false if Receive must look again instead: another stream has replaced in,
// an answer is still to be read, or the conn is closed.
func (c *conn) streamEnd(in *inbound) (err error, current bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inbound != in || len(c.answers) > 0 || c.ctx.Err() != nil {
		return nil, false
	}
	if c.phase == leaving {
		return io.EOF, true
	}
	return in.err, true
}

// setStream makes in the current stream and wakes Receive; nil makes Receive wait for the next.
func (c *conn) setStream(in *inbound) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setStreamLocked(in)
}

// setStreamLocked is setStream with c.mu held.
func (c *conn) setStreamLocked(in *inbound) {
	c.inbound = in
	close(c.changed)
	c.changed = make(chan struct{})
}

// setPhase changes the phase and wakes Receive.
func (c *conn) setPhase(ph phase) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phase = ph
	c.setStreamLocked(c.inbound)
}

// Send POSTs one message: first the subscription.request, then replies, renegotiations and close. A
// nil error means that the producer has it; only events tell what came of a reply (D-36). Where the
// error says that it is unknown whether a reply arrived, sending the same bytes again is safe.
func (c *conn) Send(ctx context.Context, msg []byte) error {
	if len(msg) > transports.MaxMessage {
		return transports.ErrTooLarge
	}
	if c.ctx.Err() != nil {
		return transports.ErrClosed
	}
	m, err := aaep.Decode(msg)
	if err != nil {
		m = nil // it is sent all the same: the producer judges
	}
	msg = slices.Clone(msg) // net/http may read it a little longer than the POST takes
	req, isRequest := m.(*aaep.SubscriptionRequest)
	var invalid *aaep.InvalidError
	if errors.As(err, &invalid) && invalid.Message == new(aaep.SubscriptionRequest).MessageType() {
		req, isRequest = new(aaep.SubscriptionRequest), true // an invalid request is answered too (HS-043)
	}
	c.mu.Lock()
	ph, unnegotiated := c.phase, c.unnegotiated
	if ph == fresh && isRequest {
		c.phase = asking
	}
	c.mu.Unlock()
	switch {
	case ph == fresh && isRequest:
		return c.postRequest(ctx, req, msg)
	case ph == fresh:
		return errors.Join(errors.New("sse: the first message must be a subscription.request"), err)
	case ph == asking:
		return errors.New("sse: wait for the subscription.accepted before sending more")
	case ph == rejected:
		return errors.New("sse: the subscription was rejected; Dial again to make a new request")
	case unnegotiated:
		return c.sendUnnegotiated(ctx, m, msg)
	}
	_, closing := m.(*aaep.SubscriptionClose)
	if closing = closing && ph == open; closing {
		c.setPhase(leaving) // before the POST: the stream may end sooner than the answer comes
	}
	err = c.postReply(ctx, c.base.JoinPath("replies"), m, msg)
	if closing && err != nil {
		c.setPhase(open)
	}
	return err
}

// postReply POSTs a message of an open subscription to the endpoint to (B.1.4). msg is m encoded; m
// is nil where msg is not valid. The answer to a renegotiation goes to Receive; every other message
// is answered with a bare status.
func (c *conn) postReply(ctx context.Context, to *url.URL, m aaep.Message, msg []byte) error {
	a, err := c.postMessage(ctx, to, msg)
	if err != nil {
		return err
	}
	answered := isAnswer(a.body)
	_, renegotiation := m.(*aaep.SubscriptionRenegotiate)
	switch {
	case answered && (renegotiation || a.status == http.StatusOK):
		return c.deliverAnswer(ctx, a.body)
	case a.status/100 != 2:
		return fmt.Errorf("sse: not delivered: status %s, want 204%s", a.text, a.excerpt())
	case a.status != http.StatusNoContent && !renegotiation && to.Path == c.base.JoinPath("replies").Path:
		// The root layout's /messages answers 200, so that this is a violation of /replies only.
		c.violations.Report("SSE-010",
			fmt.Sprintf("what was posted is answered with the status %s, not with 204", a.text))
	case renegotiation && a.status == http.StatusOK:
		return fmt.Errorf("sse: status %s, but the answer is not a subscription.accepted or subscription.rejected%s",
			a.text, a.excerpt())
	}
	return nil
}

// isAnswer reports whether body is a valid subscription.accepted or subscription.rejected: the
// producer's answer to a request or a renegotiation.
func isAnswer(body []byte) bool {
	m, err := aaep.Decode(body)
	if err != nil {
		return false
	}
	switch m.(type) {
	case *aaep.SubscriptionAccepted, *aaep.SubscriptionRejected:
		return true
	}
	return false
}

// postRequest POSTs the subscription.request msg, hands the answer to Receive and, if it is an
// acceptance, starts the goroutine that opens and reads the stream (B.1.2). req is msg decoded. The
// phase is asking; after an error it is fresh again, so that the caller may send the request again.
func (c *conn) postRequest(ctx context.Context, req *aaep.SubscriptionRequest, msg []byte) error {
	endpoint := c.base.JoinPath("subscriptions")
	a, err := c.postMessage(ctx, endpoint, msg)
	if err != nil {
		c.setPhase(fresh)
		return err
	}
	unknownEndpoint := a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed
	if c.mayListen && unknownEndpoint && !isAnswer(a.body) {
		return c.listenUnnegotiated(ctx, req)
	}
	accepted, err := c.readAnswer(endpoint, a)
	if err != nil {
		c.setPhase(fresh)
		return err
	}
	c.answers <- a.body // there is room: nothing was answered before
	if !accepted {
		c.setPhase(rejected)
		return nil
	}
	c.setPhase(open)
	in := c.newInbound("")
	if !c.startStream(in, func() error {
		body, err := c.openStream(in.ctx, in)
		if err != nil {
			return err
		}
		return c.readEvents(in, body)
	}) {
		return transports.ErrClosed
	}
	return nil
}

// readAnswer judges the response to the subscription.request that was POSTed to endpoint. It
// reports whether the request was accepted, and has then set the URL of the stream; false without
// an error is a subscription.rejected. Whatever breaks B.1.2 is reported as a violation.
func (c *conn) readAnswer(endpoint *url.URL, a postResponse) (accepted bool, err error) {
	m, err := aaep.Decode(a.body)
	if err != nil || !isAnswer(a.body) {
		c.reportNoAcceptance(a.status, err)
		return false, a.refusalError(
			errkind.MarkStatus(a.status, fmt.Errorf(
				"sse: POST %s: status %s, want 201 with a subscription.accepted or a subscription.rejected%s",
				endpoint.Redacted(), a.text, a.excerpt())))
	}
	acceptance, accepted := m.(*aaep.SubscriptionAccepted)
	if !accepted {
		return false, nil
	}
	c.reportStatus(a.status, a.text)
	err = c.setStreamURL(endpoint, a.location, acceptance.SubscriptionID)
	if err != nil || a.location == "" {
		c.violations.Report("SSE-004",
			fmt.Sprintf("an acceptance has the Location %q, which names no stream on its origin",
				shortenText(a.location, 100)))
	}
	return err == nil, err
}

// refusalError returns the error of a response whose status refuses the request without a
// subscription.rejected, as a proxy or a peer that has only statuses sends it (D-56): an
// *aaep.Rejection where the status stands for a reason, err where it does not.
func (a postResponse) refusalError(err error) error {
	var refusal struct {
		Error string `json:"error"` // the text that a Server of this package sends
	}
	_ = json.Unmarshal(a.body, &refusal)
	code := credentials.Reason(a.status)
	if code == "" {
		return err
	}
	return &aaep.Rejection{Code: code, Remote: true, Message: shortenText(aaep.SafeText(refusal.Error), 300), Err: err,
		RetryAfter: a.retryAfter}
}

// setStreamURL keeps the URL of an accepted subscription's stream: what the Location of the
// response from endpoint says, on this origin only (D-66); without one, the usual path with the
// subscription's id.
func (c *conn) setStreamURL(endpoint *url.URL, location, id string) error {
	events := c.base.JoinPath("events")
	events.RawQuery = url.Values{"subscription_id": {id}}.Encode()
	if location != "" {
		u, err := endpoint.Parse(location)
		if err != nil {
			return errors.New("sse: the Location of the event stream is not a URL")
		}
		if !sameOrigin(u, c.base) {
			return fmt.Errorf(
				"sse: the Location of the event stream is on %s://%s, want %s://%s: credentials stay on one origin",
				u.Scheme, u.Host, c.base.Scheme, c.base.Host)
		}
		u.Fragment, u.RawFragment = "", ""
		events = u
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events, c.streamGuessed = events, location == ""
	return nil
}

// deliverAnswer hands the body of an answer to Receive. It waits for room until ctx is done or the
// conn is closed.
func (c *conn) deliverAnswer(ctx context.Context, msg []byte) error {
	select {
	case c.answers <- msg:
		return nil
	case <-c.ctx.Done():
		return transports.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the conn without a word to the producer, waits for its goroutine and unblocks all
// calls. Send a subscription.close first to leave properly.
func (c *conn) Close() error {
	c.mu.Lock()
	c.cancel(transports.ErrClosed) // under mu, so that no goroutine is started after it
	c.mu.Unlock()
	c.running.Wait()
	if c.ownTransport != nil {
		c.ownTransport.CloseIdleConnections()
	}
	return nil
}
