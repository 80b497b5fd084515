package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
)

// BenchmarkDelivery measures what one event costs from the agent's call to the listener's socket, over
// Server-Sent Events on loopback, against a handler that only writes frames that are encoded already.
// One operation is one delivery to one listener; p99 is from the call to the receipt. "single" sends one event
// and waits until all have it, "burst" sends 32.
func BenchmarkDelivery(b *testing.B) {
	for _, listeners := range []int{1, 100} {
		for _, burst := range []int{1, 32} {
			load := map[int]string{1: "single", 32: "burst"}[burst]
			b.Run(fmt.Sprintf("aaep/%s/listeners=%d", load, listeners), func(b *testing.B) {
				measure(b, listeners, burst, startAAEP)
			})
			b.Run(fmt.Sprintf("floor/%s/listeners=%d", load, listeners), func(b *testing.B) {
				measure(b, listeners, burst, startFloor)
			})
		}
	}
}

// A target is what is measured: emit sends the event with number n, below numbers, to all listeners; open opens
// one listener's stream.
type target struct {
	emit func(n int)
	open func() net.Conn
}

// numbers is how many events are told apart. A burst is shorter.
const numbers = 1024

// receipt is an event that has come.
type receipt struct {
	n  int
	at time.Time
}

func measure(b *testing.B, listeners, burst int, start func(*testing.B) target) {
	t := start(b)
	received := make(chan receipt, listeners*burst)
	for range listeners {
		conn := t.open()
		defer conn.Close()
		go read(conn, received)
	}
	sent := make([]time.Time, numbers)
	delays := make([]time.Duration, 0, b.N+listeners*burst)
	number := 0
	b.ReportAllocs()
	b.ResetTimer()
	for len(delays) < b.N {
		for range burst {
			sent[number] = time.Now()
			t.emit(number)
			number = (number + 1) % numbers
		}
		for range listeners * burst {
			r := <-received
			delays = append(delays, r.at.Sub(sent[r.n]))
		}
	}
	b.StopTimer()
	slices.Sort(delays)
	b.ReportMetric(float64(delays[len(delays)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(len(delays))/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(len(delays)), "ns/op") // the last burst may go past b.N
}

var numbered = []byte(`"summary_normal":"Event `)

// read reports every event that arrives.
func read(conn net.Conn, received chan<- receipt) {
	r := bufio.NewReaderSize(conn, 64<<10)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		if _, rest, ok := bytes.Cut(line, numbered); ok {
			digits, _, _ := bytes.Cut(rest, []byte("."))
			if n, err := strconv.Atoi(string(digits)); err == nil {
				received <- receipt{n, time.Now()}
			}
		}
	}
}

func startAAEP(b *testing.B) target {
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "bench", AgentName: "Bench"}})
	if err != nil {
		b.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { serve.Serve(context.Background(), ln, p) })
	s, err := p.StartSession(context.Background(), aaep.Say("Measuring."))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		p.Shutdown(ctx)
		serving.Wait()
	})
	return target{
		emit: func(n int) {
			text := aaep.Say("Event " + strconv.Itoa(n) + ".")
			if err := s.Progress(text, aaep.Progress{Step: int64(n + 1)}, 0); err != nil {
				panic(err)
			}
		},
		open: func() net.Conn {
			body := `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"bench","capabilities":{}}`
			resp, err := http.Post("http://"+ln.Addr().String()+"/aaep/v1/subscriptions", "application/json", bytes.NewReader([]byte(body)))
			if err != nil {
				b.Fatal(err)
			}
			resp.Body.Close()
			return openStream(b, ln.Addr(), resp.Header.Get("Location"))
		},
	}
}

func openStream(b *testing.B, addr net.Addr, path string) net.Conn {
	conn, err := net.Dial("tcp", addr.String())
	if err != nil {
		b.Fatal(err)
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n", path, addr)
	// Wait for the headers, so that every event sent from now on arrives.
	for line := []byte{}; !bytes.HasSuffix(line, []byte("\r\n\r\n")); {
		var one [1]byte
		if _, err := conn.Read(one[:]); err != nil {
			b.Fatal(err)
		}
		line = append(line, one[0])
	}
	return conn
}

// startFloor is the least a server can do: a channel for each listener, and frames that are encoded already.
func startFloor(b *testing.B) target {
	var mu sync.Mutex
	var streams []chan []byte
	joined := make(chan struct{}, 1)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		frames := make(chan []byte, 64)
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w)
		flush.Flush()
		mu.Lock()
		streams = append(streams, frames)
		mu.Unlock()
		joined <- struct{}{}
		for {
			select {
			case f := <-frames:
				w.Write(f)
				flush.Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: handler}
	go srv.Serve(ln)
	b.Cleanup(func() { srv.Close() })
	frames := make([][]byte, numbers) // as long as a real event
	for i := range frames {
		frames[i] = []byte(fmt.Sprintf("event: aaep.event\nid: evt_0123456789abcdef0123456789abcdef\ndata: {\"pad\":\"%0450d\",\"summary_normal\":\"Event %d.\"}\n\n", 0, i))
	}
	return target{
		emit: func(n int) {
			for _, s := range streams {
				s <- frames[n]
			}
		},
		open: func() net.Conn {
			conn := openStream(b, ln.Addr(), "/")
			<-joined
			return conn
		},
	}
}
