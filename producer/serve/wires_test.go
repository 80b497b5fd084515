package serve_test

import (
	"context"
	"errors"
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
						if err := sub.Question(ev).Accept(context.Background()); err != nil {
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

// LVL-023, LVL-024, XT-003: the questions of each subscription are handles, over every wire. All
// that are open at once are yielded; an answer over one wire closes them on all; a link that was
// cut leaves them open or asks anew; and when the agent dies none is left open.
func TestQuestionsOnEveryWire(t *testing.T) {
	st := startFixture(t, producer.Config{})
	px := newProxy(t, st.addr)
	type listener struct {
		sub   *subscriber.Subscription
		asked chan *subscriber.Question
	}
	listeners := map[string]*listener{}
	var all sync.WaitGroup
	for name, d := range map[string]transports.Dialer{"sse": sse.Dialer{URL: "http://" + st.addr, Client: throughProxy(px)},
		"websocket": websocket.Dialer{URL: "ws://" + px.ln.Addr().String(), Header: http.Header{"Host": {st.addr}}}, "pipe": ownDialer{st.p}} {
		sub, err := subscriber.Dial(context.Background(), d, subscriber.Config{ID: name, Capabilities: everything})
		check(t, err)
		defer sub.Close()
		l := &listener{sub, make(chan *subscriber.Question, 16)}
		listeners[name] = l
		all.Go(func() {
			defer close(l.asked)
			for q := range sub.Questions(context.Background()) {
				l.asked <- q
			}
		})
	}
	ask := func(about string) (<-chan result[bool], map[string]*subscriber.Question) {
		s := st.startSession(about)
		agent := runAsync(func() (bool, error) {
			defer s.Close()
			return s.AskYesNo(context.Background(), producer.Question{Text: aaep.Say(about)})
		})
		open := map[string]*subscriber.Question{}
		for name, l := range listeners {
			if open[name] = awaitResult(t, l.asked); open[name] == nil || open[name].Err() != nil {
				t.Fatalf("%s: %s is not open", name, about)
			}
		}
		return agent, open
	}
	for name := range listeners {
		first, one := ask("The first?")
		second, two := ask("The second?")
		check(t, two[name].AnswerYesNo(context.Background(), false))
		check(t, one[name].AnswerYesNo(context.Background(), true))
		if r := awaitResult(t, first); !r.value || r.err != nil {
			t.Errorf("over %s a yes is %v, %v", name, r.value, r.err)
		}
		if r := awaitResult(t, second); r.value || r.err != nil {
			t.Errorf("over %s a no is %v, %v", name, r.value, r.err)
		}
		for other := range listeners {
			awaitResult(t, one[other].Done())
			awaitResult(t, two[other].Done())
			if err := one[other].AnswerYesNo(context.Background(), false); !errors.Is(err, subscriber.ErrUnknownEvent) {
				t.Errorf("over %s the same is answered after %s: %v", other, name, err)
			}
		}
	}
	cut, open := ask("Over a cut?")
	px.cutAll(true)
	waitUntil(t, "both links are cut", func() bool {
		sse, _ := listeners["sse"].sub.Status()
		ws, _ := listeners["websocket"].sub.Status()
		return !sse.Connected && !ws.Connected
	})
	px.reopen()
	anew := awaitResult(t, listeners["websocket"].asked)
	awaitResult(t, open["websocket"].Done())
	waitUntil(t, "the stream is resumed", func() bool { is, _ := listeners["sse"].sub.Status(); return is.Connected })
	if isClosed(open["sse"].Done()) || open["sse"].Err() != nil {
		t.Error("a question over a stream that is resumed is closed")
	}
	if err := open["websocket"].AnswerYesNo(context.Background(), true); !errors.Is(err, subscriber.ErrUnknownEvent) {
		t.Errorf("the question of a subscription that is gone is answered: %v", err)
	}
	check(t, anew.AnswerYesNo(context.Background(), true))
	if r := awaitResult(t, cut); !r.value || r.err != nil {
		t.Errorf("over a cut a yes is %v, %v", r.value, r.err)
	}
	dead, open := ask("The last?")
	st.shutdown(time.Second)
	for name, q := range open {
		awaitResult(t, q.Done())
		if err := q.AnswerYesNo(context.Background(), true); !errors.Is(err, subscriber.ErrUnknownEvent) {
			t.Errorf("%s: a dead agent is answered: %v", name, err)
		}
	}
	if r := awaitResult(t, dead); r.value || r.err == nil {
		t.Errorf("a question that died is %v, %v", r.value, r.err)
	}
	for _, l := range listeners {
		l.sub.Close()
	}
	all.Wait()
}

// ownDialer reaches a producer in this process.
type ownDialer struct{ p *producer.Producer }

func (d ownDialer) Dial(ctx context.Context) (transports.Conn, error) {
	theirs, ours := transports.Pipe()
	go d.p.ServeConn(ours)
	return theirs, ctx.Err()
}

// isClosed reports whether a channel is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
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
