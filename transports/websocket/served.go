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

// served are the frames of a producer. Its messages go past gorilla, many in one write: what we
// send is not masked, so there is nothing to a frame. What gorilla writes by itself waits for its
// turn.
type served struct {
	*frames
	out    *writer.Writer
	in     *bufio.Reader // which gorilla reads too
	rested bool
	left   func() // called after Close
}

func (f *served) Close() error {
	defer f.left()
	return f.frames.Close()
}

// NetConn is what turns writes to.
func (f *served) NetConn() net.Conn { return f.ws.NetConn().(*turns).Conn }

var _ duplex.Idler = (*served)(nil)

func (f *served) Out() *writer.Writer { return f.out }

func (*served) Framing() string { return "frames" }

func (f *served) AppendFrame(b, msg []byte) ([]byte, error) {
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

// Rest begins the time in which something has to come.
func (f *served) Rest(wake func()) bool {
	if f.in.Buffered() > 0 {
		return false
	}
	f.wake.CompareAndSwap(nil, &wake)
	f.alive()
	f.rested = true
	return true
}

// Read returns the next message, or nil after pings and pongs with nothing behind them: gorilla
// would wait there for the message, and most listeners say nothing for hours.
func (f *served) Read() ([]byte, error) {
	if !f.rested {
		f.alive()
	}
	f.rested = false
	for {
		switch found, err := f.control(); {
		case err != nil:
			return f.ended(nil, endOf(err))
		case !found:
			return f.ended(f.read())
		case f.in.Buffered() == 0:
			return nil, nil
		}
	}
}

// control has one ping or pong handled, if that is what comes next; whatever else comes, and any
// error, is for gorilla to find.
func (f *served) control() (found bool, err error) {
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

// upgrading is a response whose connection gorilla reads through in, and writes to by turns.
type upgrading struct {
	http.ResponseWriter
	in  *bufio.Reader
	out *writer.Writer
}

func (u *upgrading) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	if rw.Reader.Buffered() == 0 { // or gorilla refuses
		rw.Reader = u.in
	}
	u.out = writer.New(conn, writeTimeout)
	u.out.Leave()
	return &turns{Conn: conn, out: u.out}, rw, nil
}

// turns is a connection to which whole frames are written, each by whoever has the turn. It is
// written to by one at a time.
type turns struct {
	net.Conn
	out      *writer.Writer
	deadline time.Time // of the next write
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
