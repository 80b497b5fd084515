package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// HS-003, XT-003, IPC-005: one agent is followed over every wire at once; all hear the same story,
// and who answers on one of them answers for all.
func TestEveryWire(t *testing.T) {
	for _, answers := range []string{"sse", "websocket", "ipc"} {
		st := startFixture(t, producer.Config{})
		path := filepath.Join(t.TempDir(), "aaep", "agent.sock")
		if runtime.GOOS == "windows" {
			path = fmt.Sprintf(`\\.\pipe\aaep\every wire %d %s`, os.Getpid(), answers)
		}
		socket, err := ipc.Listen(path, nil)
		check(t, err)
		go st.p.Serve(context.Background(), socket)
		subs := map[string]*subscriber.Subscription{}
		for name, d := range map[string]transports.Dialer{"sse": sse.Dialer{URL: "http://" + st.addr},
			"websocket": websocket.Dialer{URL: "ws://" + st.addr}, "ipc": ipc.Dialer{Path: socket.Addr()}} {
			sub, err := subscriber.Dial(context.Background(), d, subscriber.Config{ID: name, Capabilities: everything})
			check(t, err)
			defer sub.Close()
			subs[name] = sub
		}
		// A stream of Server-Sent Events opens after the answer to the request.
		waitUntil(t, "all are there", func() bool {
			n := 0
			for _, s := range st.p.Subscriptions() {
				if s.Connected {
					n++
				}
			}
			return n == 3
		})
		agent := runAsync(func() (string, error) {
			s := st.startSession("Paying.")
			out := s.Output()
			out.WriteString("First this. ")
			out.Close()
			_, err := s.Tool(context.Background(), pay, succeed)
			s.Complete(aaep.Say("Done."))
			return "", err
		})
		var mu sync.Mutex
		heard := map[string]string{}
		var all sync.WaitGroup
		for name, sub := range subs {
			all.Go(func() {
				evs, err := readUntil(sub, func(ev *aaep.Event) bool {
					if ev.Type() == aaep.TypeAwaitingConfirmation && name == answers {
						if err := sub.Reply(context.Background(), ev, aaep.Accept); err != nil {
							t.Error(err)
						}
					}
					return isOver(ev)
				})
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				mu.Lock()
				heard[name] = summarize(evs)
				mu.Unlock()
			})
		}
		all.Wait()
		check(t, awaitResult(t, agent).err)
		for name := range subs {
			if heard[name] != heard["sse"] || heard[name] == "" {
				t.Errorf("%s heard\n%s\nand sse\n%s", name, heard[name], heard["sse"])
			}
		}
	}
}

// WS-007, D-38: a WebSocket that breaks is subscribed to anew; the producer lets go of the old one
// at once.
func TestSocketBegunAnew(t *testing.T) {
	st := startFixture(t, producer.Config{})
	px := newProxy(t, st.addr)
	sub, err := subscriber.Dial(context.Background(),
		websocket.Dialer{URL: "ws://" + px.ln.Addr().String(), Header: http.Header{"Host": {st.addr}}},
		subscriber.Config{ID: "real", Capabilities: everything})
	check(t, err)
	defer sub.Close()
	px.cutAll(true)
	waitUntil(t, "the producer let go", func() bool { return len(st.p.Subscriptions()) == 0 })
	px.reopen()
	waitUntil(t, "it is there again", func() bool {
		s, _ := sub.Status()
		return len(st.p.Subscriptions()) == 1 && s.Connected && s.Subscribed == 2
	})
	s := st.startSession("Again.")
	defer s.Close()
	take := func() *aaep.Event {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for ev, err := range sub.Events(ctx) {
			check(t, err)
			return ev
		}
		return nil
	}
	for _, want := range []aaep.Type{aaep.TypeLost, aaep.TypeSessionStarted} { // no client could say where to go on
		if ev := take(); ev.Type() != want {
			t.Errorf("heard %s, want %s", ev.Type(), want)
		}
	}
}

// Serve ends what it served: also what the http.Server has let go of.
func TestServeEndsSockets(t *testing.T) {
	st := startFixture(t, producer.Config{})
	sub, err := subscriber.Dial(context.Background(), websocket.Dialer{URL: "ws://" + st.addr},
		subscriber.Config{ID: "real", Capabilities: everything, NoReconnect: true})
	check(t, err)
	defer sub.Close()
	st.shutdown(time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, err := range sub.Events(ctx) {
		if err == nil {
			t.Error("an event came after the end")
		}
	}
	if s, _ := sub.Status(); !s.Over {
		t.Errorf("%+v", s)
	}
}
