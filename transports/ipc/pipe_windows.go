package ipc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
)

// pipe is one connection of a pipe of messages. One write is one message (B.3.4), unless the peer's
// first one says otherwise: from then on it is a stream like a socket.
type pipe struct {
	conn       net.Conn
	violations violation.Reporter
	stream     atomic.Pointer[frames] // set once the peer frames its messages as on a socket
	begun      bool                   // the peer's first message was read; of Read alone
	first      []byte                 // room for the first byte of a message; of Read alone
	mu         sync.Mutex             // guards handle
	handle     windows.Handle         // 0 once closed
}

// newPipe makes a pipe over conn, which package winio made.
func newPipe(conn net.Conn, reporter violation.Reporter) *pipe {
	return &pipe{conn: conn, violations: reporter, handle: pipeHandle(conn), first: make([]byte, 1)}
}

// Read returns the next message. The peer's first one decides how all are framed: where it begins
// with a length or as a line, frames read the pipe as a stream; otherwise each message is as the
// pipe cuts it, and a length in front of a later one is an error. The error is io.EOF for a clean
// end, or transports.ErrTooLarge.
func (p *pipe) Read() ([]byte, error) {
	if s := p.stream.Load(); s != nil {
		return s.Read()
	}
	msg, err := p.readMessage()
	if err != nil {
		return nil, err
	}
	framing := framingOf(msg)
	switch {
	case framing != framingUnknown && !p.begun:
		s := newFrames(pipeStream{p.conn, io.MultiReader(bytes.NewReader(msg), p.conn)}, framing)
		s.violations = p.violations
		p.stream.Store(s)
		return s.Read()
	case framing == framingLengths:
		p.violations.Report("IPC-009",
			fmt.Sprintf("messages are as the pipe cuts them, and one begins with %#02x, as a length does", msg[0]))
		return nil, fmt.Errorf("ipc: the peer changed its framing; a message begins with %#02x", msg[0])
	case len(msg) > transports.MaxMessage:
		return nil, transports.ErrTooLarge
	}
	p.begun = true
	return msg, nil
}

// framingOf returns the framing that a peer's first write shows, which is not empty: lengths if it
// begins with one; lines if its only line end is its last byte, as from a program that cannot see
// where a message in a pipe ends; else framingUnknown, which is one write for each message.
func framingOf(msg []byte) int32 {
	switch bytes.IndexByte(msg, '\n') {
	case len(msg) - 1:
		return framingLines
	default:
		if msg[0] == 0 {
			return framingLengths
		}
		return framingUnknown
	}
}

// readMessage returns one write of the peer, whole. It reads the first byte, asks the pipe how many
// more the message has, and reads those. In the mode that stops at a message's end package winio
// does not say whether it has stopped there, or only because the buffer was full.
func (p *pipe) readMessage() ([]byte, error) {
	if _, err := io.ReadFull(p.conn, p.first); err != nil {
		return nil, err // io.EOF is the end
	}
	rest, err := p.bytesLeft()
	if err != nil {
		return nil, err
	}
	if rest >= 4+transports.MaxMessage { // a length of 4 bytes may stand in front of the message
		return nil, transports.ErrTooLarge
	}
	msg := make([]byte, 1+rest)
	msg[0] = p.first[0]
	_, err = io.ReadFull(p.conn, msg[1:])
	return msg, tornError(err)
}

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// bytesLeft returns how many bytes of the message whose first byte was read are still unread. The
// error is os.ErrClosed after Close. It takes p.mu.
func (p *pipe) bytesLeft() (n uint32, err error) {
	p.mu.Lock() // so that Close does not free the handle, which the system could then give to another file
	defer p.mu.Unlock()
	if p.handle == 0 {
		return 0, os.ErrClosed
	}
	if ok, _, err := peekNamedPipe.Call(uintptr(p.handle), 0, 0, 0, 0, uintptr(unsafe.Pointer(&n))); ok == 0 {
		return 0, fmt.Errorf("ipc: %w", err)
	}
	return n, nil
}

// Write sends one message within writeTimeout: as one write to the pipe, or as the stream frames it
// once Read has found that the peer frames its own.
func (p *pipe) Write(msg []byte) error {
	if s := p.stream.Load(); s != nil {
		return s.Write(msg)
	}
	p.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := p.conn.Write(msg)
	return err
}

// Close closes the connection. Windows keeps what was written until the peer has read it.
func (p *pipe) Close() error {
	p.mu.Lock()
	p.handle = 0
	p.mu.Unlock()
	return p.conn.Close()
}

// pipeStream is a pipe as a stream, read through r, which may begin with what was read before.
type pipeStream struct {
	net.Conn
	r io.Reader
}

// Read reads through r.
func (s pipeStream) Read(b []byte) (int, error) { return s.r.Read(b) }

// CloseWrite is not for pipes: package winio would first wait, for as long as it takes, until all
// is read.
func (s pipeStream) CloseWrite() error { return errors.ErrUnsupported }
