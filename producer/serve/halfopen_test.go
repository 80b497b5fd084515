package serve_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/memnet"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// runFlood is a process that opens connections and sends nothing on one half of them and a byte now
// and then on the other, and opens another one for each that is closed.
func runFlood(addr, connections string) {
	n, err := strconv.Atoi(connections)
	exitOn(err)
	var open atomic.Int64
	say := []byte("GET /aaep/v1/events HTTP/1.1\r\nHost: localhost\r\n")
	for i := range n {
		c, err := net.Dial("tcp", addr)
		if err != nil { // as many as the system allows
			break
		}
		open.Add(1)
		go func() {
			for at := 0; i%2 == 0; at++ {
				if _, err := c.Write(say[at%len(say):][:1]); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
			io.Copy(io.Discard, c)
		}()
	}
	fmt.Println("open", open.Load())
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// TestHalfOpen: ten thousand connections on which nothing is sent, or a byte a second, cost the
// others nothing, not even those who come then; and take a bounded amount of memory (INV-26,
// INV-50, INV-54, P7).
func TestHalfOpen(t *testing.T) {
	st := startFixture(t, producer.Config{})
	sub := dialSubscriber(t, st.addr, everything)
	s := st.startSession("Working.")
	defer s.Close()
	heap := heapInUse()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=flood "+st.addr+" 10000")
	in, err := cmd.StdinPipe()
	check(t, err)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	defer cmd.Wait()
	defer in.Close()
	opened := make(chan string, 1)
	go func() {
		says := bufio.NewScanner(out)
		says.Scan()
		opened <- says.Text()
	}()
	var delays []time.Duration
	var came []time.Duration
	text, grown := "", int64(0)
	for i := 0; text == "" || len(delays) < 100; i++ {
		begin := time.Now()
		check(t, s.Progress(aaep.Text{}, aaep.Progress{Step: int64(i + 1)}, 0))
		mustCollect(t, sub, func(ev *aaep.Event) bool {
			p, ok := ev.Payload.(*aaep.ProgressUpdated)
			return ok && p.Progress.Step == int64(i+1)
		})
		delays = append(delays, time.Since(begin))
		if i%20 == 0 {
			begin = time.Now()
			another, err := dial(st.addr, everything)
			check(t, err)
			came = append(came, time.Since(begin))
			another.Close()
		}
		select {
		case text = <-opened:
			grown = int64(heapInUse()) - int64(heap)
		default:
			time.Sleep(5 * time.Millisecond)
		}
	}
	slices.Sort(delays)
	t.Logf("connections: %s; the listener's p50 %v, p99 %v, most %v; newcomers were served within %v; the heap grew by %d MiB", text,
		delays[len(delays)/2], delays[len(delays)*99/100], delays[len(delays)-1], slices.Max(came), grown>>20)
	if delays[len(delays)-1] > 5*time.Second || slices.Max(came) > 5*time.Second || grown > 256<<20 ||
		!strings.HasPrefix(text, "open ") {
		t.Error("the flood was felt")
	}
}

// TestSlowBytes: a thousand connections whose header comes a byte a second, and a thousand whose
// body does, end after 5 and 10 seconds; a WebSocket that says nothing after 10, and one whose
// message goes on after 30, pongs or not. The listener beside them waits for nothing (INV-26,
// INV-54).
func TestSlowBytes(t *testing.T) {
	const many = 1000
	header := "GET /aaep/v1/events HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X: y\r\n", 20)
	body := "POST /aaep/v1/subscriptions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
	greeting := "GET " + websocket.DefaultPath +
		" HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: " + websocket.Subprotocol + "\r\n\r\n"
	for name, tc := range map[string]struct {
		connections int
		at          string // once
		each        func(i int) string
		every, ends time.Duration
	}{
		"header":        {many, "", func(i int) string { return header[i : i+1] }, time.Second, 5 * time.Second},
		"silence":       {many, "", nil, 0, 5 * time.Second},
		"body":          {many, body, func(int) string { return " " }, time.Second, 10 * time.Second},
		"first message": {100, greeting, nil, 0, 10 * time.Second},
		"pongs only": {1, greeting, func(int) string { return maskedFrame(framePong, "") }, time.Second,
			10 * time.Second},
		"message, pongs": {1, greeting + maskedFrame(frameText, goodRequest) + maskedFrame(begins, "{"),
			func(int) string { return maskedFrame(framePong, "") }, time.Second, 30 * time.Second},
		"endless message": {1, greeting + maskedFrame(frameText, goodRequest) + maskedFrame(begins, "{"),
			func(int) string { return maskedFrame(goesOn, "x") }, 10 * time.Millisecond, 30 * time.Second},
		"empty fragments": {1, greeting + maskedFrame(frameText, goodRequest) + maskedFrame(begins, "{"),
			func(int) string { return maskedFrame(goesOn, "") }, 10 * time.Millisecond, 30 * time.Second},
		"half a frame": {1, greeting + maskedFrame(frameText, goodRequest) + "\x81\xfe\x01\x00\x00\x00\x00\x00",
			func(int) string { return " " }, time.Second, 30 * time.Second},
		"neither pongs": {1, greeting + maskedFrame(frameText, goodRequest), nil, 0, 45 * time.Second},
		"first, in pieces": {1, greeting + maskedFrame(begins, "{"),
			func(int) string { return maskedFrame(goesOn, " ") }, time.Second, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			runVirtual(t, producer.Config{MaxSubscriptions: 2 * many}, func(t *testing.T, v *virtualServer) {
				good, r := v.openStream(v.subscribe(withoutReplies(everything)))
				defer good.Close()
				s, err := v.p.StartSession(context.Background(), aaep.Say("Talking."))
				check(t, err)
				begin := time.Now()
				var all sync.WaitGroup
				ends := make([]time.Duration, tc.connections)
				for i := range ends {
					c, err := v.ln.Dial(context.Background(), "", "")
					check(t, err)
					defer time.AfterFunc(tc.ends+time.Minute, func() { c.Close() }).Stop() // or it might never end
					all.Go(func() {
						io.Copy(io.Discard, c) // until it ends
						ends[i] = time.Since(begin)
						c.Close()
					})
					all.Go(func() {
						at, upgraded := strings.CutPrefix(tc.at, greeting)
						if upgraded {
							io.WriteString(c, greeting)
							time.Sleep(time.Millisecond) // nothing may be said before the answer
						}
						if _, err := io.WriteString(c, at); err != nil || tc.each == nil {
							return
						}
						for i := 0; ; i++ {
							time.Sleep(tc.every)
							if _, err := io.WriteString(c, tc.each(i)); err != nil {
								return
							}
						}
					})
				}
				for i := range 20 {
					time.Sleep(tc.ends / 20)
					now := time.Now()
					check(t, s.Progress(aaep.Text{}, aaep.Progress{Step: int64(i + 1)}, 0))
					for line := ""; !strings.Contains(line, fmt.Sprintf(`"step":%d`, i+1)); {
						line, err = r.ReadString('\n')
						check(t, err)
					}
					if took := time.Since(now); took > 0 {
						t.Errorf("the listener waited for %v", took)
					}
				}
				go io.Copy(io.Discard, r)
				all.Wait()
				// A WebSocket is given a second more for its goodbye.
				if first, last := slices.Min(ends), slices.Max(ends); first < tc.ends || last > tc.ends+2*time.Second {
					t.Errorf("the connections ended after %v to %v, want %v", first, last, tc.ends)
				}
			})
		})
	}
}

// TestStorm: hundreds of subscribers whose producer starts again come back one by one, and all of
// them; and no more in a second than it answers (INV-50, INV-52).
func TestStorm(t *testing.T) {
	const perSecond = 100
	many := 1000
	if testing.Short() {
		many = 400
	}
	synctest.Test(t, func(t *testing.T) {
		begin := func(ln *memnet.Listener) (*producer.Producer, func()) {
			p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}, MaxSubscriptions: 2 * many,
				MaxRequestsPerSecond: perSecond})
			check(t, err)
			ended := make(chan error, 1)
			go func() { ended <- serve.Serve(context.Background(), ln, p) }()
			return p, func() {
				p.Shutdown(context.Background())
				if err := <-ended; err != nil {
					t.Errorf("Serve = %v", err)
				}
			}
		}
		var current atomic.Pointer[memnet.Listener]
		current.Store(memnet.Listen())
		var mu sync.Mutex
		var requests []time.Time
		count := roundTripper(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/subscriptions") {
				mu.Lock()
				requests = append(requests, time.Now())
				mu.Unlock()
			}
			return next.RoundTrip(r)
		})
		tr := &http.Transport{DialContext: func(ctx context.Context, a, b string) (net.Conn,
			error) {
			return current.Load().Dial(ctx, a, b)
		}}
		client := &http.Client{Transport: chained{count, tr}}
		p, end := begin(current.Load())
		var subs []*subscriber.Subscription
		for i := range many {
			if i%perSecond == 0 {
				time.Sleep(1100 * time.Millisecond)
			}
			sub, err := subscriber.Dial(context.Background(), sse.Dialer{URL: "http://localhost", Client: client},
				subscriber.Config{ID: "real", Capabilities: withoutReplies(everything)})
			check(t, err)
			subs = append(subs, sub)
		}
		synctest.Wait()
		if n := len(p.Subscriptions()); n != many {
			t.Errorf("%d subscriptions at first", n)
		}
		requests = nil
		end()
		time.Sleep(3 * time.Second) // the producer is gone
		current.Store(memnet.Listen())
		p, end = begin(current.Load())
		started := time.Now()
		heap := heapInUse()
		connected := func() (n int) {
			for _, s := range p.Subscriptions() {
				if s.Connected {
					n++
				}
			}
			return n
		}
		for connected() < many {
			time.Sleep(time.Second)
			if time.Since(started) > 30*time.Minute {
				t.Fatalf("only %d are back", connected())
			}
		}
		took := time.Since(started)
		grown := int64(heapInUse()) - int64(heap)
		mu.Lock()
		most, tries := 0, len(requests)
		for i, from := 0, 0; i < len(requests); i++ {
			for requests[i].Sub(requests[from]) >= time.Second {
				from++
			}
			most = max(most, i-from+1)
		}
		mu.Unlock()
		t.Logf("all back after %v, %d requests, at most %d in a second; the heap grew by %d MiB", took, tries, most,
			grown>>20)
		if most > 2*many || tries > 8*many || grown > 128<<20 {
			t.Error("that was a storm")
		}
		var closing sync.WaitGroup
		for _, sub := range subs {
			closing.Go(func() { sub.Close() })
		}
		closing.Wait()
		end()
		tr.CloseIdleConnections()
	})
}

type roundTripper func(*http.Request, http.RoundTripper) (*http.Response, error)

type chained struct {
	first roundTripper
	next  http.RoundTripper
}

func (c chained) RoundTrip(r *http.Request) (*http.Response, error) { return c.first(r, c.next) }
