// Package websocket carries AAEP over WebSocket (appendix B.2): one message in each text frame, events, replies and
// everything else on one connection, whose end is the subscription's end.
//
// A producer mounts a Server beside others on an http.Server; a subscriber uses a Dialer. Compression is off: a frame of a
// few kilobytes could hold megabytes.
package websocket

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
	"unicode/utf8"

	gorilla "github.com/gorilla/websocket"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/writer"
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
	goodbye      = time.Second      // for the peer's close frame
)

var errNotText = errors.New("websocket: the peer sent a message that is not UTF-8")

// frames is one WebSocket.
type frames struct {
	ws       *gorilla.Conn
	producer bool
	code     atomic.Int64 // to close with, by what was said last
	reading  atomic.Bool  // a message is half read: pongs move no deadline
	pings    *time.Timer
	done     chan struct{} // closed by Close
	peerGone chan struct{} // closed when the peer's close frame has come, or the link has broken
}

func newFrames(ws *gorilla.Conn, producer bool) *frames {
	f := &frames{ws: ws, producer: producer, done: make(chan struct{}), peerGone: make(chan struct{})}
	f.code.Store(closeClean)
	ws.SetReadLimit(transports.MaxMessage)
	ws.SetReadDeadline(time.Now().Add(idleTimeout))
	ws.SetPongHandler(func(string) error { f.alive(); return nil })
	ping := ws.PingHandler()
	ws.SetPingHandler(func(data string) error { f.alive(); return ping(data) })
	ws.SetCloseHandler(func(int, string) error { return nil }) // Close answers
	f.pings = time.AfterFunc(time.Hour, f.ping)
	f.pings.Reset(pingEvery) // and not before f.pings is there
	return f
}

// alive moves the idle deadline, but not that of a message which is being read (INV-54).
func (f *frames) alive() {
	if !f.reading.Load() {
		f.ws.SetReadDeadline(time.Now().Add(idleTimeout))
	}
}

func (f *frames) ping() {
	f.ws.WriteControl(gorilla.PingMessage, nil, time.Now().Add(writeTimeout))
	select {
	case <-f.done:
	case <-f.peerGone:
	default:
		f.pings.Reset(pingEvery)
	}
}

// Read returns the next message: a text frame, or a binary one with text in it (D-67).
func (f *frames) Read() ([]byte, error) {
	msg, err := f.read()
	if err != nil {
		close(f.peerGone)
		f.pings.Stop()
	}
	return msg, err
}

func (f *frames) read() ([]byte, error) {
	f.alive()
	_, r, err := f.ws.NextReader()
	if err != nil {
		return nil, endOf(err)
	}
	f.reading.Store(true)
	f.ws.SetReadDeadline(time.Now().Add(readTimeout))
	msg, err := io.ReadAll(r)
	f.reading.Store(false)
	switch {
	case err == gorilla.ErrReadLimit:
		return nil, transports.ErrTooLarge // gorilla has told the peer
	case err != nil:
		return nil, endOf(err)
	case !utf8.Valid(msg):
		f.ws.WriteControl(gorilla.CloseMessage, gorilla.FormatCloseMessage(gorilla.CloseInvalidFramePayloadData, "not UTF-8"), time.Now().Add(goodbye))
		return nil, errNotText
	}
	return msg, nil
}

// endOf tells a clean end from a broken link.
func endOf(err error) error {
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
	f.note(msg)
	f.ws.SetWriteDeadline(time.Now().Add(writeTimeout))
	return f.ws.WriteMessage(gorilla.TextMessage, msg)
}

// served are the frames of a producer. Its messages go past gorilla, many in one write: what we send is not masked, so there is
// nothing to a frame. What gorilla writes by itself waits for its turn.
type served struct {
	*frames
	out  *writer.Writer
	left func() // called after Close
}

// upgrading hands gorilla a connection that takes turns.
type upgrading struct {
	http.ResponseWriter
	out *writer.Writer
}

func (u *upgrading) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	u.out = writer.New(conn, writeTimeout)
	u.out.Leave()
	return &turns{Conn: conn, out: u.out}, buffered, nil
}

// turns is a connection to which whole frames are written, each by whoever has the turn. It is written to by one at a time.
type turns struct {
	net.Conn
	out      *writer.Writer
	deadline time.Time
}

func (t *turns) SetDeadline(at time.Time) error {
	t.deadline = at
	return t.Conn.SetReadDeadline(at)
}

func (t *turns) SetWriteDeadline(at time.Time) error {
	t.deadline = at
	return nil
}

func (t *turns) Write(b []byte) (int, error) {
	deadline := t.deadline
	if deadline.IsZero() {
		deadline = time.Now().Add(writeTimeout)
	}
	if !t.out.TryTake() {
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		if !t.out.Take(ctx, nil) {
			return 0, os.ErrDeadlineExceeded
		}
	}
	defer t.out.Leave()
	if err := t.out.WriteBy(deadline, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (f served) Close() error {
	defer f.left()
	return f.frames.Close()
}

func (f served) Out() *writer.Writer { return f.out }

func (served) Framing() string { return "frames" }

func (f served) AppendFrame(b, msg []byte) ([]byte, error) {
	f.note(msg)
	b = append(b, 0x80|gorilla.TextMessage) // the first and last fragment
	switch n := len(msg); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	return append(b, msg...), nil
}

// note chooses the code to close with by the last words.
func (f *frames) note(msg []byte) {
	var last struct {
		Type   string          `json:"type"`
		Reason aaep.ReasonCode `json:"reason_code"`
	}
	if !bytes.HasPrefix(msg, []byte(`{"type":"subscription.`)) || json.Unmarshal(msg, &last) != nil { // as aaep.Encode writes it
		return
	}
	switch last.Type {
	case "subscription.rejected":
		f.code.Store(closeRejected)
		switch last.Reason {
		case aaep.AuthenticationRequired:
			f.code.Store(closeNotAuthenticated)
		case aaep.AuthorizationDenied:
			f.code.Store(closeNotAuthorized)
		}
	case "subscription.close":
		switch last.Reason {
		case aaep.PolicyViolation, aaep.SlowSubscriber, "manifest_verification_failed":
			if f.code.Store(closeBySubscriber); f.producer {
				f.code.Store(closeViolation)
			}
		}
	}
}

// Close says goodbye, waits a moment for the peer's, and ends the connection.
func (f *frames) Close() error {
	close(f.done)
	f.pings.Stop()
	defer f.ws.Close()
	if f.ws.WriteControl(gorilla.CloseMessage, gorilla.FormatCloseMessage(int(f.code.Load()), ""), time.Now().Add(goodbye)) != nil {
		return nil // it is gone already
	}
	t := time.NewTimer(goodbye)
	defer t.Stop()
	select {
	case <-f.peerGone:
	case <-t.C:
	}
	return nil
}
