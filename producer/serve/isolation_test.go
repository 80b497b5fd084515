package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// openHostileStream opens a subscription's stream on a bare connection with a small window.
func openHostileStream(t *testing.T, r *rawClient) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", r.addr)
	check(t, err)
	t.Cleanup(func() { c.Close() })
	conn := c.(*net.TCPConn)
	conn.SetReadBuffer(1 << 10)
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", r.location, r.addr)
	return conn
}

// TestIsolation: whatever others do, a listener who keeps up gets everything, and the agent waits
// for none of them (INV-26, INV-27, P7).
func TestIsolation(t *testing.T) {
	st := startFixture(t, producer.Config{KeepEvents: 256})
	good := dialSubscriber(t, st.addr, everything)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()

	for range 4 { // they never read
		openHostileStream(t, subscribeRaw(t, st.addr, withoutReplies(everything)))
	}
	creeping := openHostileStream(t, subscribeRaw(t, st.addr, withoutReplies(everything)))
	all.Go(func() { // a byte a second
		for one := make([]byte, 1); ctx.Err() == nil; {
			if _, err := creeping.Read(one); err != nil {
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
	vanishing := openHostileStream(t, subscribeRaw(t, st.addr, withoutReplies(everything)))
	all.Go(func() { // gone in the middle of an event
		io.CopyN(io.Discard, vanishing, 9000)
		vanishing.SetLinger(0)
		vanishing.Close()
	})
	flooder := subscribeRaw(t, st.addr, everything)
	floods := flooder.openStream("")
	client := http.Client{}
	defer client.CloseIdleConnections()
	bodies := []string{
		encodeMessage(t, &aaep.SubscriptionRenegotiate{SubscriptionID: flooder.id,
			Capabilities: aaep.Capabilities{MaxEventsPerSecond: 1}}),
		encodeMessage(t, &aaep.SubscriptionRenegotiate{SubscriptionID: flooder.id,
			Capabilities: aaep.Capabilities{MaxEventsPerSecond: 100000}}),
		flooder.sendReply("rpl_0123456789abcdef0123456789abcdef", aaep.Accept),
		strings.Repeat("[", 100000), `{"type":"nothing"}`, "\x00\xff",
	}
	flooded := 0
	all.Go(func() {
		for ; ctx.Err() == nil; flooded++ {
			resp, err := client.Post("http://"+st.addr+"/aaep/v1/replies", "application/json",
				strings.NewReader(bodies[flooded%len(bodies)]))
			if err != nil {
				t.Error(err)
				return
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
	all.Go(func() { // it does read
		for {
			select {
			case _, more := <-floods.frames:
				if !more {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})

	heap := heapInUse()
	s := st.startSession("Talking.")
	out := s.Output()
	const batches, batch = 10, 64
	text := strings.Repeat("x", 8<<10)
	var longest, slowest time.Duration
	got := 0
	for range batches { // 5 MiB, more than a socket holds
		sent := time.Now()
		for range batch {
			begin := time.Now()
			if _, err := out.WriteString(text); err != nil {
				t.Fatal(err)
			}
			longest = max(longest, time.Since(begin))
		}
		want := got + batch - 1 // the last letters may wait for what follows
		mustCollect(t, good, func(ev *aaep.Event) bool {
			if ev.Type() == aaep.TypeOutputStreaming {
				got++
			}
			return got >= want
		})
		slowest = max(slowest, time.Since(sent))
	}
	if longest > 8*time.Second || slowest > 8*time.Second { // to wait for one of them would take ten
		t.Errorf("the agent waited for %v, the listener for %v", longest, slowest)
	}
	keepUp := 0 // those that do not are stuck, or given up already
	for _, status := range st.p.Subscriptions() {
		if status.Delivered >= batches*batch {
			keepUp++
		}
		if status.Held > 1024 {
			t.Errorf("%d events are held for one listener", status.Held)
		}
	}
	if keepUp > 2 {
		t.Errorf("%d listeners hear all, of two who read", keepUp)
	}
	grown := int64(heapInUse()) - int64(heap)
	if grown > 48<<20 {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
	// An action without risk does not wait, although some listeners have not heard of it (D-49).
	begin := time.Now()
	if _, err := s.Tool(ctx, look, succeed); err != nil || time.Since(begin) > time.Second {
		t.Errorf("the tool: %v after %v", err, time.Since(begin))
	}
	cancel()
	check(t, out.Close())
	check(t, s.Complete(aaep.Text{}))
	mustCollect(t, good, isOver)
	all.Wait()
	if flooded < 10 {
		t.Errorf("only %d POSTs were a flood", flooded)
	}
	t.Logf("longest call %v, slowest batch %v, heap grown by %d KiB, flood of %d", longest, slowest, grown>>10, flooded)
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestConnectAndCut: many who come and vanish leave nothing behind (INV-51, TR-012).
func TestConnectAndCut(t *testing.T) {
	st := startFixture(t, producer.Config{Grace: -1, MaxRequestsPerSecond: -1})
	s := st.startSession("Talking.")
	defer s.Close()
	var before, after uint64
	const cycles = 300
	for i := range cycles {
		if i == cycles/10 { // when the pools are full
			before = heapInUse()
		}
		r := subscribeRaw(t, st.addr, withoutReplies(everything))
		conn, err := net.Dial("tcp", r.addr)
		check(t, err)
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", r.location, r.addr)
		for r, line := bufio.NewReader(conn), ""; !strings.HasPrefix(line, "data: "); {
			line, err = r.ReadString('\n')
			check(t, err)
		}
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
	waitUntil(t, "all are forgotten", func() bool { return len(st.p.Subscriptions()) == 0 })
	if after = heapInUse(); after > before+5<<20 {
		t.Errorf("the heap has grown by %d KiB", (after-before)>>10)
	}
}
