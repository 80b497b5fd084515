package websocket

import (
	"bufio"
	"encoding/binary"
	"net"
	"net/http"
	"slices"

	gorilla "github.com/gorilla/websocket"
)

// served are the frames of a producer. Its events go past gorilla, many in one write: what we send is not masked, so there
// is nothing to a frame, and each write is whole frames on its own, as are gorilla's.
type served struct {
	*frames
	in     *bufio.Reader // which gorilla reads too
	rested bool
	left   func() // called after Close
}

func (f *served) Close() error {
	defer f.left()
	return f.frames.Close()
}

func (f *served) NetConn() net.Conn { return f.ws.NetConn() }

func (*served) AppendFrame(b, msg []byte) ([]byte, error) {
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

// Read returns the next message, or nil after pings and pongs with nothing behind them: gorilla would wait there for the message,
// and most listeners say nothing for hours.
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

// control has one ping or pong handled, if that is what comes next; whatever else comes, and any error, is for gorilla to find.
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

// upgrading is a response whose connection gorilla reads through in.
type upgrading struct {
	http.ResponseWriter
	in *bufio.Reader
}

func (u *upgrading) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err == nil && rw.Reader.Buffered() == 0 { // or gorilla refuses
		rw.Reader = u.in
	}
	return conn, rw, err
}
