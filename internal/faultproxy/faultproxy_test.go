package faultproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// startProxy runs a Proxy between a new listener and a target whose connections come from the
// channel.
func startProxy(t *testing.T, network string, plan Plan) (*Proxy, <-chan net.Conn) {
	t.Helper()
	listen := func() net.Listener {
		addr := "127.0.0.1:0"
		if network == "unix" {
			addr = filepath.Join(t.TempDir(), "s")
		}
		ln, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		return ln
	}
	target := listen()
	conns := make(chan net.Conn, 16)
	go func() {
		defer close(conns)
		for {
			c, err := target.Accept()
			if err != nil {
				return
			}
			conns <- c
		}
	}()
	p := New(listen(), func() (net.Conn, error) { return net.Dial(network, target.Addr().String()) }, plan)
	t.Cleanup(func() {
		target.Close()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		for c := range conns {
			c.Close()
		}
	})
	return p, conns
}

// openConn makes one connection through p and returns its ends.
func openConn(t *testing.T, p *Proxy, conns <-chan net.Conn) (a, b net.Conn) {
	t.Helper()
	a, err := net.Dial(p.Addr().Network(), p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b = <-conns
	for _, c := range []net.Conn{a, b} {
		c.SetDeadline(time.Now().Add(patience))
		t.Cleanup(func() { c.Close() })
	}
	return a, b
}

func testPattern(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	return data
}

// Whatever the weather, what comes is what was sent, and the end of one half leaves the other.
func TestWhole(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for seed := range uint64(12) {
			p, conns := startProxy(t, network, Random(seed, Weather{Wait: time.Millisecond}))
			a, b := openConn(t, p, conns)
			data := testPattern(20_000)
			for _, ends := range [][2]net.Conn{{a, b}, {b, a}} {
				go func() {
					ends[0].Write(data)
					ends[0].(interface{ CloseWrite() error }).CloseWrite()
				}()
				if got, err := io.ReadAll(ends[1]); err != nil || !bytes.Equal(got, data) {
					t.Fatalf("%s, seed %d: %d bytes came whole: %v, %v", network, seed, len(got),
						bytes.Equal(got, data), err)
				}
			}
		}
	}
}

// A cut comes after the byte that the plan names, in the way it names, and both sides see it.
func TestCut(t *testing.T) {
	data := testPattern(1000)
	for _, network := range []string{"tcp", "unix"} {
		for _, end := range []End{Close, Reset} {
			for _, after := range []int{0, 1, 500, 999, 1000} {
				if end == Reset && after == 0 {
					continue // the connection may be lost before it is made
				}
				for _, down := range []bool{false, true} {
					name := fmt.Sprint(network, end, after, down)
					p, conns := startProxy(t, network, func(int) (l, m Line) {
						cut := Line{End: end, After: after, Next: func() (time.Duration, int) { return 0, 7 }}
						if down {
							return Line{}, cut
						}
						return cut, Line{}
					})
					a, b := openConn(t, p, conns)
					from, to := a, b
					if down {
						from, to = b, a
					}
					go from.Write(data)
					got, err := io.ReadAll(to)
					if end == Close && (err != nil || len(got) != after) || len(got) > after ||
						!bytes.Equal(got, data[:len(got)]) {
						t.Errorf("%s: %d bytes came, %v", name, len(got), err)
					}
					if end == Reset && network == "tcp" && !errors.Is(err, syscall.ECONNRESET) {
						t.Errorf("%s: the end is %v, want a reset", name, err)
					}
					if _, err := from.Read(make([]byte, 1)); err == nil || isTimeout(err) {
						t.Errorf("%s: the sender saw %v", name, err)
					}
					if got := p.Ends(); len(got) != 1 || got[end] != 1 {
						t.Errorf("%s: the ends are %v", name, got)
					}
				}
			}
		}
	}
}

// A stall tells neither side anything: what is sent vanishes, and nothing ends before its time.
func TestStall(t *testing.T) {
	for _, length := range []time.Duration{0, 300 * time.Millisecond} {
		p, conns := startProxy(t, "tcp", func(int) (Line, Line) {
			return Line{},
				Line{End: Stall, After: 3, Stall: length}
		})
		a, b := openConn(t, p, conns)
		began := time.Now()
		b.Write([]byte("abcdef"))
		if _, err := io.ReadFull(a, make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		for p.Ends()[Stall] == 0 {
			time.Sleep(time.Millisecond)
		}
		a.Write([]byte("hello"))
		for _, c := range []net.Conn{a, b} {
			if length == 0 { // it stays so
				c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			}
			n, err := c.Read(make([]byte, 9))
			if n > 0 || err == nil || isTimeout(err) != (length == 0) {
				t.Errorf("a stall of %v: %d bytes and %v came through", length, n, err)
			}
			if took := time.Since(began); took < length {
				t.Errorf("a stall of %v has ended after %v", length, took)
			}
		}
	}
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// The same seed is the same plan, and another is another.
func TestSeed(t *testing.T) {
	draw := func(seed uint64) string {
		s := ""
		for n := range 20 {
			up, down := Random(seed, Weather{Bytes: 5000, Wait: time.Second, Stall: time.Minute})(n)
			for _, l := range []Line{up, down} {
				s += fmt.Sprint(l.End, l.After, l.Stall)
				for range 5 {
					wait, most := l.Next()
					s += fmt.Sprint(" ", wait, most)
				}
			}
		}
		return s
	}
	if one, again, other := draw(1), draw(1), draw(2); one != again || one == other {
		t.Error("a plan does not follow from its seed")
	}
}

// Nothing is left after Close, whatever was under way. INV-51.
func TestClose(t *testing.T) {
	ends := []End{Never, Stall, Never}
	p, conns := startProxy(t, "tcp", func(n int) (Line, Line) { return Line{}, Line{End: ends[n]} })
	var all []net.Conn
	for range ends {
		a, b := openConn(t, p, conns)
		all = append(all, a, b)
	}
	all[0].Write([]byte("x"))
	p.Close()
	p.Close()
	for i, c := range all {
		if _, err := io.Copy(io.Discard, c); isTimeout(err) {
			t.Errorf("connection %d is still open", i)
		}
	}
}

// A torn network holds what is on its way in the directions that it is torn in, of connections
// there are and of new ones, and loses nothing of it.
func TestHold(t *testing.T) {
	p, conns := startProxy(t, "tcp", func(int) (Line, Line) { return Line{}, Line{} })
	a, b := openConn(t, p, conns)
	send := func(to net.Conn, text string) {
		t.Helper()
		if _, err := io.WriteString(to, text); err != nil {
			t.Fatal(err)
		}
	}
	want := func(from net.Conn, text string) {
		t.Helper()
		got := make([]byte, len(text))
		if _, err := io.ReadFull(from, got); err != nil || string(got) != text {
			t.Fatalf("%q, %v; want %q", got, err, text)
		}
	}
	nothing := func(from net.Conn) {
		t.Helper()
		from.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if n, err := from.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("%d bytes came through, %v", n, err)
		}
		from.SetReadDeadline(time.Now().Add(patience))
	}
	p.Hold(true, false)
	send(a, "up")
	send(b, "down")
	want(a, "down")
	nothing(b)
	c, d := openConn(t, p, conns)
	send(c, "up")
	nothing(d)
	p.Hold(false, true)
	want(b, "up")
	want(d, "up")
	send(b, "later")
	nothing(a)
	p.Hold(false, false)
	want(a, "later")
}
