// Package brailletest is a BRLTTY for tests: it speaks BrlAPI over connections in memory, remembers
// with its time all that was on the display, and presses keys.
//
//	s := brailletest.New(40)
//	d, err := braille.Open(ctx, braille.Options{Dial: s.Dial})
//	…
//	s.Press(brailletest.Forward)
//	s.States()
//
// It is as strict as BRLTTY, and works in a testing/synctest bubble.
package brailletest

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// A Key is a key code of BrlAPI.
type Key uint64

// The keys that a display uses, as BRLTTY calls them: FWINRT, FWINLT, LNDN, LNUP and HOME.
const (
	Forward  Key = 0x20000018
	Back     Key = 0x20000017
	Next     Key = 0x20000002
	Previous Key = 0x20000001
	Home     Key = 0x2000001d
)

// State is what the display showed from a time on.
type State struct {
	At time.Time
	// Line is the text. Cells that were sent as dots are Unicode braille patterns.
	Line string
	// Cursor is the cell with the cursor, from 1; 0 for none.
	Cursor int
	// Ours says that the program had the display; if not, Line is empty.
	Ours bool
}

// Server is a BRLTTY with a display. All methods are for any goroutine. It serves one connection at
// a time.
type Server struct {
	// Key, if it is not empty, is what a client has to know. Set it before the first connection.
	Key string
	// Lacks are characters that the table of the display does not have. Set it before the first
	// connection.
	Lacks string

	mu      sync.Mutex
	cells   int
	conn    net.Conn
	entered bool
	window  []rune
	cursor  int
	states  []State
	ranges  []keyRange

	out sync.Mutex // for one packet at a time
}

type keyRange struct {
	first, last Key
	in          bool
}

// New makes a server with a display of so many cells; 0 is none yet.
func New(cells int) *Server { return &Server{cells: cells} }

// Dial makes a connection. A connection from before ends.
func (s *Server) Dial(context.Context) (net.Conn, error) {
	client, conn := net.Pipe()
	go s.ServeConn(conn)
	return client, nil
}

// ServeConn serves a connection of a client until it ends; a display has one client, so that a
// connection from before is ended.
func (s *Server) ServeConn(conn net.Conn) {
	s.mu.Lock()
	old := s.conn
	s.conn = conn
	s.mu.Unlock()
	if old != nil {
		old.Close()
	}
	defer conn.Close()
	s.serveClient(conn)
	s.releaseDisplay()
}

// Cut ends the connection, as a BRLTTY that dies does; without one it does nothing.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.Close()
	}
}

// ResizeUnnoticed gives the display another number of cells, and tells the client nothing.
func (s *Server) ResizeUnnoticed(cells int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cells = cells
}

// Resize gives the display another number of cells, and tells the client so; 0 unplugs it.
func (s *Server) Resize(cells int) {
	s.ResizeUnnoticed(cells)
	s.mu.Lock()
	conn := s.conn
	s.mu.Unlock()
	if conn == nil {
		return
	}
	// BRLTTY 6 tells it in both byte orders.
	s.send(conn, 'P'<<8|'U', append(numbers(1, 6, 0, 0), binary.LittleEndian.AppendUint32(nil, uint32(cells))...))
	s.send(conn, 'P'<<8|'U', numbers(1, 6, 0, 0, uint32(cells), 1))
}

// Press presses keys, one after the other. The client gets those that it accepts while it has the
// display.
func (s *Server) Press(keys ...Key) {
	for _, k := range keys {
		s.mu.Lock()
		conn, accepted := s.conn, true
		for _, r := range s.ranges { // the newest that has the key decides
			if r.first <= k && k <= r.last {
				accepted = r.in
			}
		}
		accepted = accepted && s.entered
		s.mu.Unlock()
		if accepted {
			s.send(conn, 'k', numbers(uint32(k>>32), uint32(k)))
		}
	}
}

// States returns what the display showed so far.
func (s *Server) States() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]State(nil), s.states...)
}

// Now returns what the display shows; the zero State before anything was.
func (s *Server) Now() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.states) == 0 {
		return State{}
	}
	return s.states[len(s.states)-1]
}

// serveClient answers one client as BRLTTY does until its connection ends: the handshake, with the
// key if there is one, and then each packet.
func (s *Server) serveClient(conn net.Conn) {
	s.send(conn, 'v', numbers(8))
	if kind, body, err := receivePacket(conn); err != nil || kind != 'v' || len(body) != 4 || body[3] != 8 {
		s.send(conn, 'e', numbers(13))
		return
	}
	if s.Key == "" {
		s.send(conn, 'a', numbers('N'))
	} else {
		s.send(conn, 'a', numbers('K'))
		if kind, body, err := receivePacket(conn); err != nil || kind != 'a' || string(body) != "\x00\x00\x00K"+s.Key {
			s.send(conn, 'e', numbers(7))
			return
		}
		s.send(conn, 'A', nil)
	}
	for {
		kind, body, err := receivePacket(conn)
		if err != nil {
			return
		}
		if answer, body := s.answerPacket(kind, body); answer != 0 {
			s.send(conn, answer, body)
		}
	}
}

// answerPacket does what a packet of the client that has the display asks for, and returns the kind
// and the body of the answer; kind 0 is none. It takes s.mu.
func (s *Server) answerPacket(kind uint32, body []byte) (uint32, []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch kind {
	case 's':
		return kind, numbers(uint32(s.cells), uint32(min(s.cells, 1)))
	case 't':
		if s.entered {
			return 'e', numbers(3, kind)
		}
		s.entered, s.ranges, s.window, s.cursor = true, nil, nil, 1
		return 'A', nil
	case 'L':
		if !s.entered {
			return 'e', numbers(3, kind)
		}
		s.entered = false
		s.states = append(s.states, State{At: time.Now()})
		return 'A', nil
	case 'm', 'u':
		for ; len(body) >= 16; body = body[16:] {
			s.ranges = append(s.ranges, keyRange{Key(binary.BigEndian.Uint64(body)), Key(binary.BigEndian.Uint64(body[8:])), kind == 'u'})
		}
		return 'A', nil
	case 'P'<<8 | 'V':
		return 'A', nil
	case 'P'<<8 | 'R':
		return s.parameter(body)
	case 'w':
		if !s.entered {
			return 'e', numbers(3, kind)
		}
		if err := s.writeRegion(body); err != nil {
			return 'E', append(numbers(5, kind), body...)
		}
		return 0, nil
	}
	return 'E', append(numbers(6, kind), body...)
}

// parameter returns the answer to a request for a parameter of the display: the packet's kind, and
// its body. It knows the size of the display, whether there is one, and which braille cells it has;
// anything else is an error to the client.
func (s *Server) parameter(body []byte) (uint32, []byte) {
	if len(body) != 16 {
		return 'e', numbers(10)
	}
	value := append(numbers(1), body[4:]...)
	switch binary.BigEndian.Uint32(body[4:]) {
	case 6:
		value = append(value, numbers(uint32(s.cells), 1)...)
	case 9:
		value = append(value, byte(min(s.cells, 1)))
	case 27: // the cells of 256 characters, and which of them there are
		row := rune(binary.BigEndian.Uint32(body[12:]))
		value = append(value, make([]byte, 256)...)
		for i := range rune(32) {
			bits := byte(0xff)
			for j := range rune(8) {
				if strings.ContainsRune(s.Lacks, row<<8+8*i+j) {
					bits &^= 1 << j
				}
			}
			value = append(value, bits)
		}
	default:
		return 'e', numbers(10)
	}
	return 'P'<<8 | 'V', value
}

var errWrite = errors.New("brailletest: a write that BRLTTY refuses")

// writeRegion handles the packet that writes a region of text, with masks, cursor and charset, in
// that order. A packet that BRLTTY would refuse is errWrite. The caller holds s.mu.
func (s *Server) writeRegion(body []byte) error {
	next := func() uint32 {
		if len(body) < 4 {
			body = nil
			return 0
		}
		n := binary.BigEndian.Uint32(body)
		body = body[4:]
		return n
	}
	take := func(n uint32) []byte {
		n = min(n, uint32(len(body)))
		b := body[:n]
		body = body[n:]
		return b
	}
	flags, first, size := next(), next(), next()
	fitsDisplay := first >= 1 && size >= 1 && int(first+size)-1 <= s.cells
	if flags != 0x7e || !fitsDisplay {
		return errWrite
	}
	text := []rune(string(take(next())))
	and, or, cursor := take(size), take(size), next()
	charset := string(take(6))
	isWhole := len(text) == int(size) && len(or) == int(size) && len(body) == 0
	if !isWhole || int(cursor) > s.cells || charset != "\x05UTF-8" {
		return errWrite
	}
	for len(s.window) < s.cells {
		s.window = append(s.window, ' ')
	}
	s.window = s.window[:s.cells]
	for i, r := range text {
		if and[i] == 0 {
			r = 0x2800 + rune(or[i])
		}
		if r == utf8.RuneError {
			return errWrite
		}
		s.window[int(first)-1+i] = r
	}
	s.cursor = int(cursor)
	s.states = append(s.states, State{At: time.Now(), Line: string(s.window), Cursor: s.cursor, Ours: true})
	return nil
}

// releaseDisplay takes the display from a client that is gone, if it had it. It takes s.mu.
func (s *Server) releaseDisplay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entered {
		s.entered = false
		s.states = append(s.states, State{At: time.Now()})
	}
}

// send writes one packet: its length, its kind and its body.
func (s *Server) send(conn net.Conn, kind uint32, body []byte) {
	s.out.Lock()
	defer s.out.Unlock()
	conn.Write(append(numbers(uint32(len(body)), kind), body...))
}

// receivePacket reads one packet of a client. One that is longer than 4 KiB is an error.
func receivePacket(conn net.Conn) (kind uint32, body []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > 4096 {
		return 0, nil, errWrite
	}
	body = make([]byte, size)
	_, err = io.ReadFull(conn, body)
	return binary.BigEndian.Uint32(head[4:]), body, err
}

// numbers returns values as the protocol writes them, four bytes each, the highest first.
func numbers(values ...uint32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}
