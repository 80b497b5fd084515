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

func (l uneasy) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &uneasyConn{c}, nil
}

type uneasyConn struct{ net.Conn }

func moment() {
	switch n := rand.IntN(8); {
	case n < 4:
		for range n * n {
			runtime.Gosched()
		}
	case n == 7:
		time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
	}
}

func (c *uneasyConn) Read(b []byte) (int, error) {
	moment()
	defer moment()
	return c.Conn.Read(b)
}

func (c *uneasyConn) Write(b []byte) (n int, err error) {
	moment()
	defer moment()
	if len(b) > 1 && rand.IntN(2) == 0 {
		if n, err = c.Conn.Write(b[:rand.IntN(len(b))]); err != nil {
			return n, err
		}
		moment()
	}
	m, err := c.Conn.Write(b[n:])
	return n + m, err
}

func (c *uneasyConn) SetDeadline(t time.Time) error {
	moment()
	defer moment()
	return c.Conn.SetDeadline(t)
}

func (c *uneasyConn) SetReadDeadline(t time.Time) error {
	moment()
	defer moment()
	return c.Conn.SetReadDeadline(t)
}

func (c *uneasyConn) SetWriteDeadline(t time.Time) error {
	moment()
	defer moment()
	return c.Conn.SetWriteDeadline(t)
}

func (c *uneasyConn) Close() error {
	moment()
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
	check(t, err)
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
		sub := dial(t, Dialer{URL: url})
		p := subscribe(t, s, sub, id)
		_ = sub.Close() // its place is taken by readers that see each byte
		var sent atomic.Int64
		produced := make(chan struct{})
		go func() {
			defer close(produced)
			produce(p, &sent)
		}()
		last := 0
		var readers sync.WaitGroup
		for range 10 {
			r := follow(t, ln.Addr().String(), id, last)
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
		r := follow(t, ln.Addr().String(), id, last)
		last = r.read(1 + rand.IntN(5))
		readers.Go(func() { last = r.read(-1); _ = r.conn.Close() })
		check(t, p.(*prompt).Close())
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

// produce sends numbered events, on the newest stream from where its reader was.
func produce(p transports.Resumable, sent *atomic.Int64) {
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
			moment()
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

func follow(t *testing.T, addr, id string, last int) *reader {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	check(t, err)
	_, err = fmt.Fprintf(conn,
		"GET /aaep/v1/events?subscription_id=%s HTTP/1.1\r\nHost: %s\r\nLast-Event-ID: %d\r\n\r\n", id, addr, last)
	check(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	check(t, err)
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
