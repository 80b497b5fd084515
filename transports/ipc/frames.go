//go:build unix || windows

package ipc

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep/internal/duplex"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/internal/writer"
	"github.com/aaep-go/aaep/transports"
)

const (
	readTimeout  = 30 * time.Second // of one message from its first byte on
	writeTimeout = 10 * time.Second // of one message
	closeTimeout = time.Second      // for the peer to end its half
)

// The framings (B.4.4). A length begins with a zero byte, since a message has at most a mebibyte;
// JSON never does.
const (
	framingUnknown int32 = iota
	framingLengths
	framingLines
)

// A stream is a connection, each half of which can end by itself.
type stream interface {
	net.Conn
	CloseWrite() error
}

// frames carries messages over one stream. One goroutine calls Read, any one at a time writes.
type frames struct {
	conn       stream
	out        *writer.Writer
	reader     *bufio.Reader // nil while nothing is read
	served     bool          // a subscriber's link, on which little comes
	framing    atomic.Int32  // what the peer uses, and so do we
	violations violation.Reporter
	ended      chan struct{} // closed when the peer's half has ended
}

var _ duplex.Idler = (*frames)(nil)

// newFrames makes frames over conn. framing is framingUnknown at the producer's end, where the
// subscriber's first byte tells it.
func newFrames(conn stream, framing int32) *frames {
	f := &frames{conn: conn, out: writer.New(conn, writeTimeout), served: framing == framingUnknown,
		ended: make(chan struct{})}
	if !f.served {
		f.reader = bufio.NewReaderSize(conn, 4<<10)
	}
	f.framing.Store(framing)
	f.out.LeaveTurn()
	return f
}

// readerPool holds small readers for the links of subscribers, which are idle most of the time.
var readerPool = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 512) }}

// Rest gives the reader back while nothing is read. It reports false if bytes are read already. It
// is of duplex.Idler, and called by the goroutine that calls Read.
func (f *frames) Rest(func()) bool {
	if f.reader == nil {
		return true
	}
	if !f.served || f.reader.Buffered() > 0 {
		return false
	}
	f.reader.Reset(nil)
	readerPool.Put(f.reader)
	f.reader = nil
	return true
}

// Read returns the next message. The first error is the end of the link.
func (f *frames) Read() ([]byte, error) {
	msg, err := f.readFrame()
	if err != nil {
		close(f.ended)
	}
	return msg, err
}

// readFrame reads one message, in the framing that the peer's first byte on the link tells; a peer
// that changes it later breaks the link. Empty lines are skipped. The error is io.EOF for a clean
// end, transports.ErrTooLarge, or why the link broke.
func (f *frames) readFrame() ([]byte, error) {
	if f.reader == nil {
		f.reader = readerPool.Get().(*bufio.Reader)
		f.reader.Reset(f.conn)
	}
	for blanks := 0; ; {
		f.conn.SetReadDeadline(time.Time{})
		b, err := f.reader.ReadByte()
		if err != nil {
			return nil, err // io.EOF between two messages is a clean end
		}
		f.conn.SetReadDeadline(time.Now().Add(readTimeout)) // a message that was begun must end in time
		framing := framingLines
		if b == 0 {
			framing = framingLengths
		}
		if err := f.noteFraming(framing, b); err != nil {
			return nil, err
		}
		if framing == framingLengths {
			return f.readLength()
		}
		f.reader.UnreadByte()
		msg, err := f.readLine()
		if err != nil || len(bytes.Trim(msg, " \t\r")) > 0 {
			return msg, err
		}
		if blanks += len(msg) + 1; blanks > transports.MaxMessage {
			return nil, transports.ErrTooLarge // empty lines in a row are bounded as a message is
		}
	}
}

// noteFraming takes the framing that begin, the first byte of a message, stands for as the link's
// framing if it is the first message, and returns an error if it is another than before.
func (f *frames) noteFraming(framing int32, begin byte) error {
	previous := f.framing.Load()
	switch {
	case previous == framing:
		return nil
	case previous != framingUnknown:
		f.violations.Report("IPC-009",
			fmt.Sprintf("messages are framed with %s, and one begins with %#02x",
				map[int32]string{framingLengths: "lengths", framingLines: "line ends"}[previous], begin))
		return fmt.Errorf("ipc: the peer changed its framing; a message begins with %#02x", begin)
	case framing == framingLines && !strings.ContainsRune("{ \t\r\n", rune(begin)):
		// It is no JSON, and the end of such a line might never come (D-69).
		f.violations.Report("IPC-009",
			fmt.Sprintf("the first byte is %#02x; a length begins with 0x00, a line of JSON with {", begin))
		return fmt.Errorf("ipc: the peer's first byte is %#02x; a length begins with 0x00, a line of JSON with {",
			begin)
	}
	f.framing.Store(framing)
	return nil
}

// readLength reads the rest of a length of four bytes, whose first byte is read and is 0, and its
// message, of at most transports.MaxMessage bytes. Memory grows with what has arrived, not with the
// length that the peer claims. readFrame calls it.
func (f *frames) readLength() ([]byte, error) {
	head, err := f.reader.Peek(3)
	if err != nil {
		return nil, tornError(err)
	}
	n := uint32(head[0])<<16 | uint32(binary.BigEndian.Uint16(head[1:]))
	f.reader.Discard(len(head))
	if n > transports.MaxMessage {
		return nil, transports.ErrTooLarge
	}
	msg := make([]byte, 0, min(n, 16<<10))
	for len(msg) < int(n) {
		if len(msg) == cap(msg) {
			msg = append(msg, 0)[:len(msg)]
		}
		added, err := f.reader.Read(msg[len(msg):min(cap(msg), int(n))])
		msg = msg[:len(msg)+added]
		if err != nil {
			return nil, tornError(err)
		}
	}
	return msg, nil
}

// readLine reads one line and returns it without its end, which is \n or \r\n. A line longer than a
// message is transports.ErrTooLarge; one without its end is torn, which is an error too.
func (f *frames) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := f.reader.ReadSlice('\n')
		if len(line)+len(part) > transports.MaxMessage+2 {
			return nil, transports.ErrTooLarge
		}
		line = append(line, part...)
		switch {
		case err == bufio.ErrBufferFull:
		case err != nil:
			return nil, tornError(err)
		default:
			line = line[:len(line)-1]
			if n := len(line); n > 0 && line[n-1] == '\r' {
				line = line[:n-1]
			}
			return line, nil
		}
	}
}

// tornError turns io.EOF, err of a read inside a message, into io.ErrUnexpectedEOF, for the link
// ended in the middle; other errors come back as they are.
func tornError(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

var errNewline = errors.New("ipc: the peer uses lines, and this message has a line end in it")

// Write sends one message in the peer's framing, within writeTimeout. A message with a line end in
// it fails where messages are lines.
func (f *frames) Write(msg []byte) error {
	f.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	frame, err := f.AppendFrame(make([]byte, 0, 4+len(msg)), msg)
	if err == nil {
		_, err = f.conn.Write(frame) // one write, since in a pipe of messages one write is one message
	}
	return err
}

// NetConn is the connection that is read and written; of duplex.Idler, as are the next three.
func (f *frames) NetConn() net.Conn { return f.conn }

// Out is the Writer that all writes to the connection take turns at.
func (f *frames) Out() *writer.Writer { return f.out }

// Framing names the peer's framing, or is "" before the peer's first byte.
func (f *frames) Framing() string {
	return [...]string{framingUnknown: "", framingLengths: "lengths", framingLines: "lines"}[f.framing.Load()]
}

// AppendFrame appends msg to b in the peer's framing: a line, or the bytes behind their length. A
// message with a line end in it cannot be a line, and is errNewline.
func (f *frames) AppendFrame(b, msg []byte) ([]byte, error) {
	if f.framing.Load() == framingLines {
		if bytes.IndexByte(msg, '\n') >= 0 {
			return nil, errNewline
		}
		return append(append(b, msg...), '\n'), nil
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(msg))), msg...), nil
}

// Close ends this half, waits at most closeTimeout for the other, and closes the connection. Closed
// at once with bytes unread, the system would reset it, and the peer would lose the last messages.
func (f *frames) Close() error {
	if f.conn.CloseWrite() == nil {
		t := time.NewTimer(closeTimeout)
		defer t.Stop()
		select {
		case <-f.ended:
		case <-t.C:
		}
	}
	f.conn.Close()
	return nil
}
