// Package websocket carries AAEP over WebSocket (appendix B.2): one message in each text frame,
// events, replies and everything else on one connection, whose end is the subscription's end.
//
// A producer mounts a Server beside others on an http.Server; a subscriber uses a Dialer.
// Compression is off: a frame of a few kilobytes could hold megabytes. Begin with frames.go, which
// has the connection, its pings and its deadlines; server.go and dialer.go make one.
package websocket

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
	"unicode/utf8"

	gorilla "github.com/gorilla/websocket"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
)

// Subprotocol is what both sides must agree on (B.2.1).
const Subprotocol = "aaep.v1"

// DefaultPath is where a producer is found (B.2.1).
const DefaultPath = "/aaep/v1/ws"

// The codes with which a connection ends (B.2.6, D-67).
const (
	closeClean            = 4000
	closeRejected         = 4001
	closeNotAuthenticated = 4002
	closeNotAuthorized    = 4003
	closeViolation        = 4004 // ended by the producer
	closeBySubscriber     = 4005 // ended by the subscriber, for cause
)

const (
	pingEvery    = 15 * time.Second // of silence
	idleTimeout  = 45 * time.Second // without anything from the peer, pongs included
	readTimeout  = 30 * time.Second // of one message from its first fragment on, however many pongs come between
	writeTimeout = 10 * time.Second // of one message
	closeTimeout = time.Second      // for the peer's close frame
)

var errNotText = errors.New("websocket: the peer sent a message that is not UTF-8")

// frames is one WebSocket.
type frames struct {
	ws             *gorilla.Conn
	producer       bool
	readMessage    func(io.Reader) ([]byte, error) // reads one message whole
	closeCode      atomic.Int64                    // what Close says; chosen by the last message sent
	readingMessage atomic.Bool                     // a message is half read: pongs move no deadline
	created        time.Time
	lastHeard      atomic.Int64           // when anything came last, in nanoseconds since created
	wake           atomic.Pointer[func()] // has Read called where no goroutine waits in it
	pings          *time.Timer
	violations     violation.Reporter
	lastReceived   lastWords     // the peer's last message, where violations are reported
	done           chan struct{} // closed by Close
	peerGone       chan struct{} // closed when the peer's close frame has come, or the link has broken
}

// newFrames makes frames over ws and starts its pings. producer says which side this is. all reads
// one message from a frame.
func newFrames(ws *gorilla.Conn, producer bool, all func(io.Reader) ([]byte, error)) *frames {
	f := &frames{ws: ws, producer: producer, readMessage: all, created: time.Now(), done: make(chan struct{}),
		peerGone: make(chan struct{})}
	f.closeCode.Store(closeClean)
	ws.SetReadLimit(transports.MaxMessage)
	f.markAlive()
	ws.SetPongHandler(func(string) error { f.markAlive(); return nil })
	ping := ws.PingHandler()
	ws.SetPingHandler(func(data string) error { f.markAlive(); return ping(data) })
	ws.SetCloseHandler(func(int, string) error { return nil }) // Close answers
	f.pings = time.AfterFunc(time.Hour, f.sendPing)
	f.pings.Reset(pingEvery) // and not before f.pings is there
	return f
}

// markAlive moves the idle deadline, but not that of a message which is being read (INV-54).
func (f *frames) markAlive() {
	if !f.readingMessage.Load() {
		now := time.Now()
		f.lastHeard.Store(int64(now.Sub(f.created)))
		f.ws.SetReadDeadline(now.Add(idleTimeout))
	}
}

// sendPing pings the peer, and wakes Read where the link is dead. It runs by its timer.
func (f *frames) sendPing() {
	left := time.Until(f.created.Add(time.Duration(f.lastHeard.Load()) + idleTimeout))
	err := f.ws.WriteControl(gorilla.PingMessage, nil, time.Now().Add(writeTimeout))
	if wake := f.wake.Load(); wake != nil && (left <= 0 || err != nil) {
		(*wake)() // Read finds that the deadline is over, or the link
	}
	select {
	case <-f.done:
	case <-f.peerGone:
	default:
		f.pings.Reset(min(pingEvery, max(left, time.Second)))
	}
}

// Read returns the next message: a text frame, or a binary one with text in it (D-67).
func (f *frames) Read() ([]byte, error) {
	f.markAlive()
	return f.noteRead(f.readFrame())
}

// noteRead notes what a read came to: the end of the link, or a message.
func (f *frames) noteRead(msg []byte, err error) ([]byte, error) {
	if err != nil {
		close(f.peerGone)
		f.pings.Stop()
	} else if f.violations != nil {
		f.lastReceived, _ = lastWordsIn(msg)
	}
	return msg, err
}

// readFrame reads one message through gorilla.
func (f *frames) readFrame() ([]byte, error) {
	kind, r, err := f.ws.NextReader()
	if err != nil {
		f.reportCloseCode(err)
		return nil, readError(err)
	}
	if kind == gorilla.BinaryMessage {
		f.violations.Report("WS-004", "a message is a binary frame, not one of text")
	}
	f.readingMessage.Store(true)
	f.ws.SetReadDeadline(time.Now().Add(readTimeout))
	msg, err := f.readMessage(r)
	f.readingMessage.Store(false)
	switch {
	case err == gorilla.ErrReadLimit:
		return nil, transports.ErrTooLarge // gorilla has told the peer
	case err != nil:
		return nil, readError(err)
	case !utf8.Valid(msg):
		f.ws.WriteControl(gorilla.CloseMessage,
			gorilla.FormatCloseMessage(gorilla.CloseInvalidFramePayloadData, "not UTF-8"), time.Now().Add(closeTimeout))
		return nil, errNotText
	}
	return msg, nil
}

// readError returns io.EOF for a clean end, and the error for a broken link.
func readError(err error) error {
	if gorilla.IsCloseError(err, gorilla.CloseNormalClosure, gorilla.CloseGoingAway, closeClean, closeRejected,
		closeNotAuthenticated, closeNotAuthorized, closeViolation, closeBySubscriber) {
		return io.EOF
	}
	if err == gorilla.ErrReadLimit {
		return transports.ErrTooLarge
	}
	return err
}

// Write sends one message in one text frame.
func (f *frames) Write(msg []byte) error {
	f.noteLastWords(msg)
	f.ws.SetWriteDeadline(time.Now().Add(writeTimeout))
	return f.ws.WriteMessage(gorilla.TextMessage, msg)
}

// lastWords say how a link ends.
type lastWords struct {
	Type   string          `json:"type"`
	Reason aaep.ReasonCode `json:"reason_code"`
}

func lastWordsIn(msg []byte) (last lastWords, err error) {
	return last, json.Unmarshal(msg, &last)
}

// reportCloseCode reports a peer that ended the link with another code than its last message
// demands.
func (f *frames) reportCloseCode(err error) {
	var end *gorilla.CloseError
	if !errors.As(err, &end) {
		return
	}
	select {
	case <-f.done: // it answers us
		return
	default:
	}
	violation := closeViolation
	if f.producer {
		violation = closeBySubscriber
	}
	switch code := end.Code; {
	case f.lastReceived.Type == "subscription.rejected" && (code < closeRejected || code > closeNotAuthorized):
		f.violations.Report("WS-009",
			fmt.Sprintf("after a subscription.rejected the link ends with the code %d, not with 4001, 4002 or 4003",
				code))
	case f.lastReceived.Type == "subscription.close" && code != closeClean && code != violation &&
		code != gorilla.CloseGoingAway:
		f.violations.Report("WS-009",
			fmt.Sprintf("after a subscription.close the link ends with the code %d, not with 4000 or %d", code,
				violation))
	}
}

// noteLastWords chooses the code to close with by a message that may be the last one sent.
func (f *frames) noteLastWords(msg []byte) {
	if !bytes.HasPrefix(msg, []byte(`{"type":"subscription.`)) { // as aaep.Encode writes it
		return
	}
	last, err := lastWordsIn(msg)
	if err != nil {
		return
	}
	switch last.Type {
	case "subscription.rejected":
		f.closeCode.Store(closeRejected)
		switch last.Reason {
		case aaep.AuthenticationRequired:
			f.closeCode.Store(closeNotAuthenticated)
		case aaep.AuthorizationDenied:
			f.closeCode.Store(closeNotAuthorized)
		}
	case "subscription.close":
		switch last.Reason {
		case aaep.PolicyViolation, aaep.SlowSubscriber, "manifest_verification_failed":
			if f.closeCode.Store(closeBySubscriber); f.producer {
				f.closeCode.Store(closeViolation)
			}
		}
	}
}

// Close says goodbye, waits a moment for the peer's, and ends the connection.
func (f *frames) Close() error {
	close(f.done)
	f.pings.Stop()
	defer f.ws.Close()
	if f.ws.WriteControl(gorilla.CloseMessage, gorilla.FormatCloseMessage(int(f.closeCode.Load()), ""),
		time.Now().Add(closeTimeout)) != nil {
		return nil // it is gone already
	}
	t := time.NewTimer(closeTimeout)
	defer t.Stop()
	select {
	case <-f.peerGone:
	case <-t.C:
	}
	return nil
}
