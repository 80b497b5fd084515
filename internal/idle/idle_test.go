package idle

import (
	"crypto/tls"
	"net"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) } // the one goroutine is there while a connection waits

// pair returns the two ends of a connection.
func pair(t *testing.T, network string) (ours, theirs net.Conn) {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = filepath.Join(t.TempDir(), "s")
	}
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if theirs, err = net.Dial(network, ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if ours, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// begin begins to wait.
func begin(t *testing.T, conn net.Conn, f func()) *Wait {
	t.Helper()
	w := New(conn, f)
	if w == nil && runtime.GOOS != "linux" {
		t.Skip("this system is not asked")
	}
	if w == nil || !w.Begin() {
		t.Fatal("the system cannot be asked")
	}
	return w
}

func await(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatal("nobody was called: ", what)
	}
}

// Who waits is called once, each time: for data, also such as is there already, and for the end.
func TestWait(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		ours, theirs := pair(t, network)
		called := make(chan struct{}, 10)
		read := func(n int) {
			t.Helper()
			if got, err := ours.Read(make([]byte, 10)); got != n || err != nil {
				t.Fatalf("read %d bytes, %v; want %d", got, err, n)
			}
		}
		w := begin(t, ours, func() { called <- struct{}{} })
		again := func() {
			t.Helper()
			if !w.Begin() {
				t.Fatal("it cannot be waited again")
			}
		}
		theirs.Write([]byte("ab"))
		await(t, called, "something is there")
		if w.Stop() {
			t.Error("stopped after it was called")
		}
		again()
		await(t, called, "it is still there")
		read(2)
		again()
		if !w.Stop() || w.Stop() {
			t.Error("Stop is to report once that nobody will be called")
		}
		theirs.Write([]byte("c"))
		read(1)
		again()
		theirs.Close()
		await(t, called, "the end")
		if len(called) > 0 {
			t.Error("called more than once")
		}
		ours.Close()
		if w.Begin() {
			t.Error("waits for a connection that is closed")
		}
	}
}

// A connection that is closed on this side calls no function, nor does its descriptor, which others
// get.
func TestClosed(t *testing.T) {
	ours, _ := pair(t, "tcp")
	w := begin(t, ours, func() { t.Error("called for a connection that we closed") })
	ours.Close()
	for range 20 {
		again, theirs := pair(t, "tcp")
		called := make(chan struct{})
		begin(t, again, func() { close(called) })
		theirs.Write([]byte("a"))
		await(t, called, "the next connection")
	}
	if !w.Stop() {
		t.Error("not stopped")
	}
	w.CallNow() // has nothing to say any more
	b, _ := pair(t, "tcp")
	called := make(chan struct{})
	w = begin(t, b, func() { close(called) })
	w.CallNow()
	w.CallNow()
	await(t, called, "now")
}

// Many at once, some of which are stopped at the same time.
func TestMany(t *testing.T) {
	const n = 200
	var called, stopped, all atomic.Int32
	done := make(chan struct{})
	count := func(of *atomic.Int32) {
		if of.Add(1); all.Add(1) == n {
			close(done)
		}
	}
	var waits []*Wait
	var theirs []net.Conn
	for range n {
		a, b := pair(t, "tcp")
		waits, theirs = append(waits, begin(t, a, func() { count(&called) })), append(theirs, b)
	}
	go func() {
		for _, b := range theirs {
			b.Write([]byte("a"))
		}
	}()
	go func() {
		for _, w := range waits {
			if w.Stop() {
				count(&stopped)
			}
		}
	}()
	await(t, done, "each is called or stopped")
	if c, s := called.Load(), stopped.Load(); c+s != n {
		t.Errorf("%d called, %d stopped, of %d", c, s, n)
	}
}

// What is not the system's own may hold something back that the system knows nothing of.
func TestOthers(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	for _, conn := range []net.Conn{a, tls.Server(b, nil), struct{ *net.TCPConn }{}} {
		if New(conn, func() { t.Error("called") }) != nil {
			t.Errorf("waits for a %T", conn)
		}
	}
}
