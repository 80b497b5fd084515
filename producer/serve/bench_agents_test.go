package serve_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	gorilla "github.com/gorilla/websocket"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/transports/ipc"
	"github.com/aaep-go/aaep/transports/websocket"
)

func listenOn(b *testing.B, wire string) net.Listener {
	network, addr := "tcp", "127.0.0.1:0"
	if wire == "ipc" {
		network, addr = "unix", filepath.Join(b.TempDir(), "s")
	}
	ln, err := net.Listen(network, addr)
	check(b, err)
	b.Cleanup(func() { ln.Close() })
	return ln
}

func startAAEP(b *testing.B, wire string, listeners int) target {
	return startSaying(b, wire, listeners, aaep.Say)
}

// startTranslated says everything in as many languages as shapes need.
func startTranslated(b *testing.B, wire string, listeners int) target {
	return startSaying(b, wire, listeners, func(words string) aaep.Text {
		text := aaep.Text{Normal: words, Terse: "Event."}
		for _, tag := range languages {
			text = text.In(tag, aaep.Text{Normal: words, Terse: tag})
		}
		return text
	})
}

var languages = []string{"es", "de", "fr", "it", "pt", "nl", "sv"} // beside en-US

func startSaying(b *testing.B, wire string, listeners int, said func(string) aaep.Text) target {
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "bench", AgentName: "Bench"}, Languages: languages, MaxSubscriptions: 2 * listeners, MaxRequestsPerSecond: -1})
	check(b, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(b, err)
	socket, err := ipc.Listen(filepath.Join(b.TempDir(), "aaep", "s"), nil)
	check(b, err)
	var serving sync.WaitGroup
	serving.Go(func() { serve.Serve(context.Background(), ln, p) })
	serving.Go(func() { p.Serve(context.Background(), socket) })
	s, err := p.StartSession(context.Background(), aaep.Say("Measuring."))
	check(b, err)
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		p.Shutdown(ctx)
		serving.Wait()
	})
	addr := ln.Addr().String()
	if wire == "ipc" {
		addr = socket.Addr()
	}
	step := int64(0)
	return target{addr: addr,
		emit: func(events int) {
			for range events {
				step++
				text := said("Event " + strconv.FormatInt(time.Now().UnixNano(), 10) + ".")
				if err := s.Progress(text, aaep.Progress{Step: step}, 0); err != nil {
					panic(err)
				}
			}
		},
		alarm: func() {
			s.Handoff(aaep.Say("Event "+strconv.FormatInt(time.Now().UnixNano(), 10)+"."), aaep.HandoffRequested{})
		},
		here: func() (n int) {
			for _, sub := range p.Subscriptions() {
				if sub.Connected {
					n++
				}
			}
			return n
		},
	}
}

// frameOf is an event as long as a real one, as the wire wants it.
func frameOf(wire string) []byte {
	msg := fmt.Sprintf(`{"pad":"%0420d","summary_normal":"Event %d."}`, 0, time.Now().UnixNano())
	switch wire {
	case "sse":
		return []byte("event: aaep.event\nid: evt_0123456789abcdef0123456789abcdef\ndata: " + msg + "\n\n")
	case "websocket":
		return append(binary.BigEndian.AppendUint16([]byte{frameText, 126}, uint16(len(msg))), msg...)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))), msg...)
}

// startBare is a plain handler: a channel for each listener.
func startBare(b *testing.B, wire string, _ int) target {
	var mu sync.Mutex
	var streams []chan []byte
	join := func() chan []byte {
		frames := make(chan []byte, 64)
		mu.Lock()
		defer mu.Unlock()
		streams = append(streams, frames)
		return frames
	}
	ln := startPlain(b, wire, func(w http.ResponseWriter, r *http.Request) {
		flush := http.NewResponseController(w)
		flush.Flush()
		frames := join()
		for {
			select {
			case f := <-frames:
				w.Write(f)
				flush.Flush()
			case <-r.Context().Done():
				return
			}
		}
	}, func(conn net.Conn) {
		frames := join()
		for f := range frames {
			if _, err := conn.Write(f); err != nil {
				return
			}
		}
	})
	b.Cleanup(func() {
		for _, s := range streams {
			close(s)
		}
	})
	return target{addr: ln.Addr().String(),
		emit: func(events int) {
			for range events {
				f := frameOf(wire)
				for _, s := range streams {
					s <- f
				}
			}
		},
		here: func() int { mu.Lock(); defer mu.Unlock(); return len(streams) },
	}
}

// startRaw writes to one socket after the other.
func startRaw(b *testing.B, wire string, _ int) target {
	var mu sync.Mutex
	var conns []net.Conn
	over := make(chan struct{})
	join := func(conn net.Conn) {
		mu.Lock()
		conns = append(conns, conn)
		mu.Unlock()
		<-over
	}
	b.Cleanup(func() { close(over) })
	ln := startPlain(b, wire, func(w http.ResponseWriter, _ *http.Request) {
		http.NewResponseController(w).Flush()
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		buf.Flush()
		join(conn)
	}, join)
	return target{addr: ln.Addr().String(),
		emit: func(events int) {
			var all []byte
			for range events {
				all = append(all, frameOf(wire)...)
			}
			for _, c := range conns {
				if _, err := c.Write(all); err != nil {
					panic(err)
				}
			}
		},
		here: func() int { mu.Lock(); defer mu.Unlock(); return len(conns) },
	}
}

// startPlain hands each listener to one of two functions.
func startPlain(b *testing.B, wire string, stream http.HandlerFunc, link func(net.Conn)) net.Listener {
	ln := listenOn(b, wire)
	if wire == "ipc" {
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				go func() { defer conn.Close(); link(conn) }()
			}
		}()
		return ln
	}
	srv := &http.Server{Handler: stream}
	if wire == "websocket" {
		up := gorilla.Upgrader{Subprotocols: []string{websocket.Subprotocol}}
		srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if ws, err := up.Upgrade(w, r, nil); err == nil {
				defer ws.Close()
				link(ws.NetConn())
			}
		})
	}
	go srv.Serve(ln)
	b.Cleanup(func() { srv.Close() })
	return ln
}
