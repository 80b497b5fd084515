package sse

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/transports"
)

// uneasy accepts connections whose every call may take a moment, before and after, and whose writes
// may go out in two pieces: whatever may come between two steps of a stream does, sooner or later.
type uneasy struct{ net.Listener }

// Accept returns a connection whose calls take a moment.
func (l uneasy) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &uneasyConn{c}, nil
}

type uneasyConn struct{ net.Conn }

// pauseAtRandom lets other goroutines run half of the time, and sleeps now and then.
func pauseAtRandom() {
	switch n := rand.IntN(8); {
	case n < 4:
		for range n * n {
			runtime.Gosched()
		}
	case n == 7:
		time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
	}
}

// Read reads, with a moment before and after.
func (c *uneasyConn) Read(b []byte) (int, error) {
	pauseAtRandom()
	defer pauseAtRandom()
	return c.Conn.Read(b)
}

// Write writes, with a moment before and after, and in two pieces half of the time.
func (c *uneasyConn) Write(b []byte) (n int, err error) {
	pauseAtRandom()
	defer pauseAtRandom()
	if len(b) > 1 && rand.IntN(2) == 0 {
		if n, err = c.Conn.Write(b[:rand.IntN(len(b))]); err != nil {
			return n, err
		}
		pauseAtRandom()
	}
	m, err := c.Conn.Write(b[n:])
	return n + m, err
}

// SetDeadline sets the deadline, with a moment before and after.
func (c *uneasyConn) SetDeadline(t time.Time) error {
	pauseAtRandom()
	defer pauseAtRandom()
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline sets the deadline, with a moment before and after.
func (c *uneasyConn) SetReadDeadline(t time.Time) error {
	pauseAtRandom()
	defer pauseAtRandom()
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline sets the deadline, with a moment before and after.
func (c *uneasyConn) SetWriteDeadline(t time.Time) error {
	pauseAtRandom()
	defer pauseAtRandom()
	return c.Conn.SetWriteDeadline(t)
}

// Close closes the connection after a moment.
func (c *uneasyConn) Close() error {
	pauseAtRandom()
	return c.Conn.Close()
}

// Streams on connections that were taken from the http.Server come and go at any moment: cut by
// their reader, replaced by the next before or while something is written, or ended by the
// producer. Each is chunks that are whole until it breaks, and goes on exactly where its reader
// was; what was sent before the producer's Close has arrived. INV-20, INV-21, TR-011
func TestTakenStreams(t *testing.T) {
	s := NewServer(ServerOptions{})
	s.heartbeat = time.Millisecond
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	requireNoError(t, err)
	allow, end := context.WithCancel(context.Background())
	srv := &http.Server{Handler: s, BaseContext: func(net.Listener) context.Context {
		return httpguard.AllowHijack(allow)
	}}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(uneasy{ln}) }()
	defer func() {
		_ = s.Close()
		end()
		_ = srv.Close()
		<-served
	}()
	url := "http://" + ln.Addr().String()
	for round := range 20 {
		id := fmt.Sprintf("sub_%d", round)
		sub := dialConn(t, Dialer{URL: url})
		p := openSubscription(t, s, sub, id)
		_ = sub.Close() // its place is taken by readers that see each byte
		var sent atomic.Int64
		produced := make(chan struct{})
		go func() {
			defer close(produced)
			sendNumbered(p, &sent)
		}()
		last := 0
		var readers sync.WaitGroup
		for range 10 {
			r := openReader(t, ln.Addr().String(), id, last)
			if last = r.read(rand.IntN(8)); t.Failed() {
				break
			}
			switch rand.IntN(3) {
			case 0:
				_ = r.conn.(*net.TCPConn).SetLinger(0) // a reset
				_ = r.conn.Close()
			case 1:
				_ = r.conn.(*net.TCPConn).CloseWrite()
				fallthrough
			default: // until it ends because it was replaced, or its reader is taken for gone
				readers.Go(func() { r.read(-1); _ = r.conn.Close() })
			}
		}
		r := openReader(t, ln.Addr().String(), id, last)
		last = r.read(1 + rand.IntN(5))
		readers.Go(func() { last = r.read(-1); _ = r.conn.Close() })
		requireNoError(t, p.(*prompt).Close())
		<-produced
		readers.Wait()
		if n := int(sent.Load()); last < n {
			t.Fatalf("round %d: %d was sent before Close, and %d was the last that arrived", round, n, last)
		}
		if l := linkOf(p); l.stream != nil {
			t.Errorf("round %d: a stream is left", round)
		}
	}
}

// sendNumbered sends numbered events, on the newest stream from where its reader was.
func sendNumbered(p transports.Resumable, sent *atomic.Int64) {
	for {
		st, err := p.NextStream(context.Background())
		if err != nil {
			return
		}
		n, _ := strconv.Atoi(st.LastEventID())
		sent.Store(int64(n)) // what an older stream sent in vain goes out again on this one
		for err == nil {
			var batch []transports.Event
			for range 1 + rand.IntN(3) {
				n++
				batch = append(batch,
					transports.Event{ID: strconv.Itoa(n),
						Message: fmt.Appendf(nil, `{"n":%d,"x":%q}`, n, strings.Repeat("x", rand.IntN(3000)))})
			}
			if err = st.SendEvents(context.Background(), batch); err == nil {
				sent.Store(int64(n))
			}
			pauseAtRandom()
		}
	}
}

// reader is the other end of a stream.
type reader struct {
	t    *testing.T
	conn net.Conn
	body *bufio.Reader
	last int
}

// openReader opens the stream of the subscription id after the event last, and checks that its
// connection was taken from the http.Server.
func openReader(t *testing.T, addr, id string, last int) *reader {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	requireNoError(t, err)
	_, err = fmt.Fprintf(conn,
		"GET /aaep/v1/events?subscription_id=%s HTTP/1.1\r\nHost: %s\r\nLast-Event-ID: %d\r\n\r\n", id, addr, last)
	requireNoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	requireNoError(t, err)
	if resp.StatusCode != http.StatusOK || !resp.Close && resp.Header.Get("Connection") != "close" {
		t.Fatalf("the stream was answered %s, and its connection was not taken", resp.Status)
	}
	return &reader{t, conn, bufio.NewReader(resp.Body), last}
}

// read reads most events, or with -1 all until the end, and returns the number of the last.
func (r *reader) read(most int) int {
	for n := 0; n != most; {
		_ = r.conn.SetReadDeadline(time.Now().Add(time.Minute))
		var frame []byte
		for !bytes.HasSuffix(frame, []byte("\n\n")) {
			line, err := r.body.ReadBytes('\n')
			frame = append(frame, line...)
			switch {
			case err == nil:
				continue
			case err == io.EOF && len(frame) > 0:
				r.t.Errorf("the stream ended as if it were whole, in the middle of %q", frame)
			case err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF):
				r.t.Errorf("after %d: %v", r.last, err)
			}
			return r.last
		}
		if string(frame) == ":\n\n" {
			continue
		}
		want := fmt.Sprintf("event: aaep.event\nid: %d\ndata: {\"n\":%d,", r.last+1, r.last+1)
		if !strings.HasPrefix(string(frame), want) {
			r.t.Errorf("after %d came %.100q", r.last, frame)
			return r.last
		}
		r.last++
		n++
	}
	return r.last
}
