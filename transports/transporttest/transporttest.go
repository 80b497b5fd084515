// Package transporttest tests a transport: it checks what transports.Conn promises, over links that
// the caller makes.
//
//	func TestSuite(t *testing.T) {
//		transporttest.Run(t, func(t *testing.T) transporttest.Link { … })
//	}
//
// It is for links on which both ends say what they like when they like. Server-Sent Events are not
// one.
package transporttest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep/transports"
)

// Link is one link, which only the suite uses.
type Link struct {
	// A and B are its ends.
	A, B transports.Conn
	// Cut breaks the link as a lost machine does, without a goodbye. Nil says that it cannot break.
	Cut func()
	// Principal is who B says that A is, if it implements transports.Identified.
	Principal string
}

// patience is how long anything may take that should happen at once.
const patience = time.Minute

// Run runs the suite over fresh links from open. What open starts, it ends with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) Link) {
	for name, test := range map[string]func(*testing.T, Link){
		"Messages": testMessages, "Sizes": testSizes, "CloseA": func(t *testing.T, l Link) { testClose(t, l.A, l.B) },
		"CloseB": func(t *testing.T, l Link) { testClose(t, l.B, l.A) }, "CloseUnblocks": testCloseUnblocks,
		"CancelLosesNothing": testCancelLosesNothing, "ManyWriters": testManyWriters,
		"StalledReader": testStalledReader,
		"Volume":        testVolume, "Events": testEvents, "EventsStalled": testEventsStalled, "Cut": testCut,
		"Identity": testIdentity,
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t)
			t.Cleanup(func() {
				var all sync.WaitGroup
				all.Go(func() { l.A.Close() })
				all.Go(func() { l.B.Close() })
				all.Wait()
			})
			test(t, l)
		})
	}
}

// mustSend sends within patience, or fails the test. It may be called from any goroutine.
func mustSend(t *testing.T, c transports.Conn, msg []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Send(ctx, msg); err != nil {
		t.Errorf("Send of %d bytes = %v", len(msg), err)
	}
}

// receiveInTime receives within patience.
func receiveInTime(t *testing.T, c transports.Conn) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return c.Receive(ctx)
}

// mustReceive fails the test unless msg comes next.
func mustReceive(t *testing.T, c transports.Conn, msg []byte) {
	t.Helper()
	if got, err := receiveInTime(t, c); err != nil || !bytes.Equal(got, msg) {
		t.Fatalf("Receive = %.80q, %v; want %.80q", got, err, msg)
	}
}

// testMessages checks that messages arrive whole, byte for byte and in order, in both directions:
// repeated members, odd spacing and spelling too (TR-001, TR-003, TR-006).
func testMessages(t *testing.T, l Link) {
	all := [][]byte{}
	for _, s := range []string{
		`{}`, ` { "b" : 1 , "a" : [ ] } `, `{"decision":"reject","decision":"accept"}`, `{"b":1,"a":2}`,
		`{"t":"<b>&amp;"}`,
		`{"t":"\u003c\/\ud83d\ude00 😀 Ọjọ́ خطة"}`, `{"n":1.0e+2,"m":-0,"x":12345678901234567890}`,
		"{\"t\":\"a\u2028b\u0085c\"}",
		"{\t\"tab\":\ttrue}", `{"t":"` + strings.Repeat("long ", 5000) + `"}`, `{"":""}`,
	} {
		all = append(all, []byte(s))
	}
	for _, ends := range [][2]transports.Conn{{l.A, l.B}, {l.B, l.A}} {
		var sending sync.WaitGroup
		sending.Go(func() {
			for _, msg := range all {
				copied := slices.Clone(msg)
				mustSend(t, ends[0], msg)
				if !bytes.Equal(msg, copied) {
					t.Errorf("Send changed the caller's bytes")
				}
			}
		})
		for _, msg := range all {
			mustReceive(t, ends[1], msg)
		}
		sending.Wait()
	}
}

// testSizes checks that a megabyte goes through; a byte more is refused and costs nothing else
// (TR-020, TR-021).
func testSizes(t *testing.T, l Link) {
	big := messageOfSize(transports.MaxMessage)
	if err := l.A.Send(t.Context(), append(slices.Clone(big), ' ')); !errors.Is(err, transports.ErrTooLarge) {
		t.Errorf("Send of a byte too much = %v, want ErrTooLarge", err)
	}
	for _, ends := range [][2]transports.Conn{{l.A, l.B}, {l.B, l.A}} {
		var sending sync.WaitGroup
		sending.Go(func() { mustSend(t, ends[0], big) })
		mustReceive(t, ends[1], big)
		sending.Wait()
	}
}

// messageOfSize returns a message of n bytes.
func messageOfSize(n int) []byte {
	const frame = `{"x":""}`
	return []byte(`{"x":"` + strings.Repeat("y", n-len(frame)) + `"}`)
}

// testClose checks the end of a link: what a sent before a clean Close arrives at b, then b gets
// io.EOF however often it asks; after b's Close both ends say ErrClosed (TR-011).
func testClose(t *testing.T, a, b transports.Conn) {
	for n := range 10 {
		mustSend(t, a, fmt.Appendf(nil, `{"n":%d}`, n))
	}
	closed := make(chan struct{})
	go func() { defer close(closed); a.Close(); a.Close() }()
	for n := range 10 {
		mustReceive(t, b, fmt.Appendf(nil, `{"n":%d}`, n))
	}
	for range 2 {
		if _, err := receiveInTime(t, b); err != io.EOF {
			t.Errorf("Receive after the peer's close = %v, want io.EOF", err)
		}
	}
	b.Close()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("Close did not return")
	}
	for name, c := range map[string]transports.Conn{"first": a, "second": b} {
		if err := c.Send(t.Context(), []byte(`{}`)); !errors.Is(err, transports.ErrClosed) {
			t.Errorf("Send on the end closed %s = %v, want ErrClosed", name, err)
		}
		if _, err := receiveInTime(t, c); !errors.Is(err, transports.ErrClosed) {
			t.Errorf("Receive on the end closed %s = %v, want ErrClosed", name, err)
		}
	}
}

// testCloseUnblocks checks that Close unblocks Receive and Send on both sides (HS-080, TR-012).
func testCloseUnblocks(t *testing.T, l Link) {
	var all sync.WaitGroup
	for name, c := range map[string]transports.Conn{"A": l.A, "B": l.B} {
		all.Go(func() {
			for {
				if _, err := c.Receive(context.Background()); err != nil {
					return
				}
				if name == "B" { // to A something may be on its way
					t.Error("Receive on B returned a message that nobody sent")
				}
			}
		})
	}
	stuck := make(chan struct{})
	all.Go(func() { // until the link is full, and then until it ends
		defer close(stuck)
		for c := messageOfSize(1 << 16); l.B.Send(context.Background(), c) == nil; {
		}
	})
	full := time.NewTimer(patience)
	defer full.Stop()
	l.A.Close()
	all.Go(func() { l.B.Close() })
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-full.C:
		t.Fatal("a call is still blocked after both ends were closed")
	}
}

// testCancelLosesNothing checks that a Receive that is cancelled loses nothing.
func testCancelLosesNothing(t *testing.T, l Link) {
	const n = 2000
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range n {
			mustSend(t, l.A, fmt.Appendf(nil, `{"n":%d}`, i))
		}
	})
	defer sending.Wait()
	deadline := time.Now().Add(patience)
	for i := 0; i < n; {
		ctx, cancel := context.WithCancel(t.Context())
		if i%2 == 0 {
			go cancel()
		}
		got, err := l.B.Receive(ctx)
		cancel()
		switch {
		case err == nil:
			if want := fmt.Sprintf(`{"n":%d}`, i); string(got) != want {
				t.Fatalf("message %d is %q", i, got)
			}
			i, deadline = i+1, time.Now().Add(patience)
		case !errors.Is(err, context.Canceled) || time.Now().After(deadline):
			t.Fatalf("message %d: %v", i, err)
		}
	}
}

// testManyWriters checks that messages of many senders are whole, and those of each in order.
func testManyWriters(t *testing.T, l Link) {
	const writers, each = 8, 300
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			pad := strings.Repeat("x", w*1000)
			for i := range each {
				mustSend(t, l.A, fmt.Appendf(nil, `{"w":%d,"i":%d,"pad":%q}`, w, i, pad))
			}
		})
	}
	next := [writers]int{}
	for range writers * each {
		got, err := receiveInTime(t, l.B)
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			W, I int
			Pad  string
		}
		if err := json.Unmarshal(got, &m); err != nil || m.W >= writers || m.I != next[m.W] || len(m.Pad) != m.W*1000 {
			t.Fatalf("got %.80q, want message %d of it: %v", got, next[m.W], err)
		}
		next[m.W]++
	}
	all.Wait()
}

// testStalledReader checks that a reader that stalls makes Send wait, and takes no more memory than
// a link has room for; what was sent arrives when it reads again (TR-026, P7).
func testStalledReader(t *testing.T, l Link) {
	const most = 64 << 20
	msg := func(i int) []byte {
		m := messageOfSize(1 << 18)
		copy(m[6:], fmt.Sprintf("%012d", i))
		return m
	}
	sent := 0
	var last context.CancelFunc
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		last = cancel
		err := l.A.Send(ctx, msg(sent))
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if sent++; sent<<18 > most {
			t.Fatalf("%d MiB were taken from a sender whose peer reads nothing", sent>>2)
		}
	}
	last()
	for i := range sent {
		mustReceive(t, l.B, msg(i))
	}
}

// testVolume sends a hundred thousand messages.
func testVolume(t *testing.T, l Link) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range n {
			if err := l.A.Send(t.Context(), numberedMessage(i)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range n {
		got, err := l.B.Receive(t.Context())
		if err != nil || !bytes.Equal(got, numberedMessage(i)) {
			t.Fatalf("message %d: %q, %v", i, got, err)
		}
	}
	sending.Wait()
}

// numberedMessage returns a message with a number.
func numberedMessage(i int) []byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(i))
	return fmt.Appendf(nil, `{"n":"%x"}`, b)
}

// testCut checks that both ends learn of a link that broke, and that it was no goodbye (TR-011,
// HS-080).
func testCut(t *testing.T, l Link) {
	if l.Cut == nil {
		t.Skip("this link cannot break")
	}
	mustSend(t, l.A, []byte(`{}`))
	mustReceive(t, l.B, []byte(`{}`))
	l.Cut()
	for name, c := range map[string]transports.Conn{"A": l.A, "B": l.B} {
		_, err := receiveInTime(t, c)
		if err == nil || err == io.EOF || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Receive on %s after a cut = %v, want an error that is no clean end", name, err)
		}
	}
}

// testIdentity checks that the producer's end knows who its peer is (TR-015).
func testIdentity(t *testing.T, l Link) {
	identified, ok := l.B.(transports.Identified)
	if !ok {
		t.Skip("this link knows nobody")
	}
	mustSend(t, l.A, []byte(`{}`)) // a peer may be known only after it said something
	mustReceive(t, l.B, []byte(`{}`))
	if got := identified.Principal(); got != l.Principal {
		t.Errorf("the peer is %q, want %q", got, l.Principal)
	}
}
