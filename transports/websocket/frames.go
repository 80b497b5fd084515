// Package websocket carries AAEP over WebSocket (appendix B.2): one message in each text frame,
// events, replies and everything else on one connection, whose end is the subscription's end.
//
// A producer mounts a Server beside others on an http.Server; a subscriber uses a Dialer.
// Compression is off: a frame of a few kilobytes could hold megabytes. Begin with frames.go, which
// has the connection, its pings and its deadlines; server.go and dialer.go make one. What the
// producer's end does otherwise, such as many messages in one write, is in served.go.
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
	pingEvery    = 15 * time.Second // between pings
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
	wake           atomic.Pointer[func()] // has Read called while no goroutine waits in it; nil until then
	pings          *time.Timer            // calls sendPing
	violations     violation.Reporter
	lastReceived   lastWords     // of the peer's last message, if violations are reported
	done           chan struct{} // closed by Close
	peerGone       chan struct{} // closed when the peer's close frame has come, or the link has broken
}

// newFrames makes frames over ws and starts its pings. producer says that this is the producer's
// end. readMessage reads one message whole from its fragments.
func newFrames(ws *gorilla.Conn, producer bool, readMessage func(io.Reader) ([]byte, error)) *frames {
	f := &frames{ws: ws, producer: producer, readMessage: readMessage, created: time.Now(), done: make(chan struct{}),
		peerGone: make(chan struct{})}
	f.closeCode.Store(closeClean)
	ws.SetReadLimit(transports.MaxMessage)
	f.markAlive()
	ws.SetPongHandler(func(string) error { f.markAlive(); return nil })
	ping := ws.PingHandler()
	ws.SetPingHandler(func(data string) error { f.markAlive(); return ping(data) })
	ws.SetCloseHandler(func(int, string) error { return nil }) // Close answers
	f.pings = time.AfterFunc(time.Hour, f.sendPing)
	f.pings.Reset(pingEvery) // only now, since sendPing uses f.pings
	return f
}

// markAlive moves the idle deadline, because something came from the peer. While a message is being
// read it does nothing: pings must not stretch the time for a message (INV-54).
func (f *frames) markAlive() {
	if !f.readingMessage.Load() {
		now := time.Now()
		f.lastHeard.Store(int64(now.Sub(f.created)))
		f.ws.SetReadDeadline(now.Add(idleTimeout))
	}
}

// sendPing runs in the goroutine of its timer. It pings the peer, wakes Read if the peer has been
// silent for idleTimeout or the link is broken, and sets the timer again while the link lives.
func (f *frames) sendPing() {
	untilIdle := time.Until(f.created.Add(time.Duration(f.lastHeard.Load()) + idleTimeout))
	err := f.ws.WriteControl(gorilla.PingMessage, nil, time.Now().Add(writeTimeout))
	if wake := f.wake.Load(); wake != nil && (untilIdle <= 0 || err != nil) {
		(*wake)() // Read then returns the error
	}
	select {
	case <-f.done:
	case <-f.peerGone:
	default:
		f.pings.Reset(min(pingEvery, max(untilIdle, time.Second)))
	}
}

// Read returns the next message: a text frame, or a binary one with text in it (D-67).
func (f *frames) Read() ([]byte, error) {
	f.markAlive()
	return f.noteRead(f.readFrame())
}

// noteRead handles the result of a read and returns it: an error is the end of the link, which
// stops the pings; a message may be the peer's last, whose type decides the right close code.
func (f *frames) noteRead(msg []byte, err error) ([]byte, error) {
	if err != nil {
		close(f.peerGone)
		f.pings.Stop()
	} else if f.violations != nil {
		f.lastReceived, _ = lastWordsIn(msg)
	}
	return msg, err
}

// readFrame reads one message through gorilla, within readTimeout from its first fragment on. After
// an error the link is of no use. The error is transports.ErrTooLarge, errNotText, or as readError
// has it. Read calls it on one goroutine at a time.
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

// readError returns io.EOF if err of gorilla is the peer's close frame with a code of a clean end,
// else the error of a broken link.
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

// lastWords is what the close code depends on in the last message of a link.
type lastWords struct {
	Type   string          `json:"type"`
	Reason aaep.ReasonCode `json:"reason_code"`
}

// lastWordsIn reads the lastWords of any message.
func lastWordsIn(msg []byte) (last lastWords, err error) {
	return last, json.Unmarshal(msg, &last)
}

// reportCloseCode reports a peer that ended the link with another code than its last message
// demands. err is the error of the read that ended the link. readFrame calls it. It is for a proof
// of the peer alone.
func (f *frames) reportCloseCode(err error) {
	var closeFrame *gorilla.CloseError
	if !errors.As(err, &closeFrame) {
		return
	}
	select {
	case <-f.done: // the peer's close frame answers the one of this end
		return
	default:
	}
	forCause := closeViolation
	if f.producer {
		forCause = closeBySubscriber
	}
	switch code := closeFrame.Code; {
	case f.lastReceived.Type == "subscription.rejected" && (code < closeRejected || code > closeNotAuthorized):
		f.violations.Report("WS-009",
			fmt.Sprintf("after a subscription.rejected the link ends with the code %d, not with 4001, 4002 or 4003",
				code))
	case f.lastReceived.Type == "subscription.close" && code != closeClean && code != forCause &&
		code != gorilla.CloseGoingAway:
		f.violations.Report("WS-009",
			fmt.Sprintf("after a subscription.close the link ends with the code %d, not with 4000 or %d", code,
				forCause))
	}
}

// noteLastWords sets the code that Close will end the link with, if msg, which is about to be sent,
// is one that ends a subscription: a rejection or a close. Any other message changes nothing.
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

// Close sends the close frame, waits at most closeTimeout for the peer's, and closes the
// connection. It returns nil always. duplex calls it once.
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
