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

// servedFrames are the frames of a producer. Its messages go past gorilla, many in one write: what
// we send is not masked, so there is nothing to a frame. What gorilla writes by itself waits for
// its turn.
type servedFrames struct {
	*frames
	out       *writer.Writer
	in        *bufio.Reader // which gorilla reads too
	hasRested bool
	onClosed  func() // called after Close
}

func (f *servedFrames) Close() error {
	defer f.onClosed()
	return f.frames.Close()
}

// NetConn is what turns writes to.
func (f *servedFrames) NetConn() net.Conn { return f.ws.NetConn().(*turnConn).Conn }

var _ duplex.Idler = (*servedFrames)(nil)

func (f *servedFrames) Out() *writer.Writer { return f.out }

func (*servedFrames) Framing() string { return "frames" }

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

// Rest begins the time in which something has to come.
func (f *servedFrames) Rest(wake func()) bool {
	if f.in.Buffered() > 0 {
		return false
	}
	f.wake.CompareAndSwap(nil, &wake)
	f.markAlive()
	f.hasRested = true
	return true
}

// Read returns the next message, or nil after pings and pongs with nothing behind them: gorilla
// would wait there for the message, and most listeners say nothing for hours.
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

// handleControl handles one ping or pong, if that is what comes next. It leaves anything else, and
// every error, for gorilla to find.
func (f *servedFrames) handleControl() (found bool, err error) {
	const final, masked, most = 0x80, 0x80, 125
	head, err := f.in.Peek(2)
	if err != nil || head[1] < masked || head[1] > masked+most {
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
	frame, err := f.in.Peek(6 + int(head[1]-masked))
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

func (u *upgradeResponse) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	if rw.Reader.Buffered() == 0 { // or gorilla refuses
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

func (t *turnConn) SetDeadline(at time.Time) error {
	t.deadline = at
	return t.Conn.SetReadDeadline(at)
}

func (t *turnConn) SetWriteDeadline(at time.Time) error {
	t.deadline = at
	return nil
}

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
