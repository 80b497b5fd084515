package websocket

import (
	"bufio"
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	gorilla "github.com/gorilla/websocket"

	"github.com/aaep-go/aaep/internal/duplex"
	"github.com/aaep-go/aaep/internal/writer"
)

// servedFrames are the frames at the producer's end. Messages are written without gorilla, many in
// one write: a server does not mask its frames, so that one is a short head and the message. The
// control frames that gorilla writes by itself take turns with them at the Writer.
type servedFrames struct {
	*frames
	out       *writer.Writer
	in        *bufio.Reader // which gorilla reads too
	hasRested bool          // Rest has begun the idle time since the last Read
	onClosed  func()        // called after Close
}

// Close closes the link and calls onClosed.
func (f *servedFrames) Close() error {
	defer f.onClosed()
	return f.frames.Close()
}

// NetConn is the connection below gorilla and the Writer. It is of duplex.Idler, as are the methods
// that follow.
func (f *servedFrames) NetConn() net.Conn { return f.ws.NetConn().(*turnConn).Conn }

var _ duplex.Idler = (*servedFrames)(nil)

// Out is the Writer that all writes to the connection take turns at.
func (f *servedFrames) Out() *writer.Writer { return f.out }

// Framing names the framing, which is the same for every WebSocket.
func (*servedFrames) Framing() string { return "frames" }

// AppendFrame appends msg to b as one unmasked text frame, as a server sends it; msg is about to be
// sent. The error is always nil.
func (f *servedFrames) AppendFrame(b, msg []byte) ([]byte, error) {
	f.noteLastWords(msg)
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

// Rest begins the idle time while no goroutine waits in Read; wake has Read called. It reports
// false if bytes are read already, so that Read has to go on.
func (f *servedFrames) Rest(wake func()) bool {
	if f.in.Buffered() > 0 {
		return false
	}
	f.wake.CompareAndSwap(nil, &wake)
	f.markAlive()
	f.hasRested = true
	return true
}

// Read returns the next message, or nil where only pings and pongs have come, so that the goroutine
// can go: gorilla would wait for a message, and most subscribers send none for hours.
func (f *servedFrames) Read() ([]byte, error) {
	if !f.hasRested {
		f.markAlive()
	}
	f.hasRested = false
	for {
		switch found, err := f.handleControl(); {
		case err != nil:
			return f.noteRead(nil, readError(err))
		case !found:
			return f.noteRead(f.readFrame())
		case f.in.Buffered() == 0:
			return nil, nil
		}
	}
}

// handleControl reads and handles one ping or pong, if that comes next, and reports whether it did.
// Anything else, and every error of the read, is left unread for gorilla. err is that of the
// handler, which answers a ping.
func (f *servedFrames) handleControl() (found bool, err error) {
	const final, masked, maxPayload = 0x80, 0x80, 125
	head, err := f.in.Peek(2)
	if err != nil || head[1] < masked || head[1] > masked+maxPayload {
		return false, nil
	}
	handle := f.ws.PingHandler()
	switch head[0] {
	case final | gorilla.PingMessage:
	case final | gorilla.PongMessage:
		handle = f.ws.PongHandler()
	default:
		return false, nil
	}
	frame, err := f.in.Peek(6 + int(head[1]-masked)) // the head, the mask and the payload
	if err != nil {
		return false, nil
	}
	mask, payload := frame[2:6], slices.Clone(frame[6:])
	for i := range payload {
		payload[i] ^= mask[i%4]
	}
	f.in.Discard(len(frame))
	return true, handle(string(payload))
}

// An upgradeResponse is a response whose connection gorilla reads through in, and writes to by
// turns.
type upgradeResponse struct {
	http.ResponseWriter
	in  *bufio.Reader
	out *writer.Writer
}

// Hijack is called by gorilla when it upgrades the request. It sets u.out, and returns the
// connection with the Writer in front of it.
func (u *upgradeResponse) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	if rw.Reader.Buffered() == 0 { // gorilla refuses a peer that sent more than its request
		rw.Reader = u.in
	}
	u.out = writer.New(conn, writeTimeout)
	u.out.LeaveTurn()
	return &turnConn{Conn: conn, out: u.out}, rw, nil
}

// A turnConn is a connection that gorilla writes whole frames to, each when it has the Writer's
// turn.
type turnConn struct {
	net.Conn
	out      *writer.Writer
	deadline time.Time // of the next write
}

// SetDeadline sets the deadline of reads and of the next Write.
func (t *turnConn) SetDeadline(deadline time.Time) error {
	t.deadline = deadline
	return t.Conn.SetReadDeadline(deadline)
}

// SetWriteDeadline sets the deadline of the next Write, which includes its wait for the turn.
func (t *turnConn) SetWriteDeadline(deadline time.Time) error {
	t.deadline = deadline
	return nil
}

// Write waits for the turn and writes b, which is whole frames of gorilla's own, such as pings,
// within the deadline that was set, or else writeTimeout.
func (t *turnConn) Write(b []byte) (int, error) {
	deadline := t.deadline
	if deadline.IsZero() {
		deadline = time.Now().Add(writeTimeout)
	}
	if !t.out.TryTakeTurn() {
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		defer cancel()
		if !t.out.TakeTurn(ctx, nil) {
			return 0, os.ErrDeadlineExceeded
		}
	}
	defer t.out.LeaveTurn()
	if err := t.out.WriteBy(deadline, b); err != nil {
		return 0, err
	}
	return len(b), nil
}
