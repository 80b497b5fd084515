package serve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/freeport"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
)

// TestTwoSessions: what two sessions say at once arrives whole at listeners with different terms, and what one is
// asked is not mixed up with the other.
func TestTwoSessions(t *testing.T) {
	st := start(t, producer.Config{})
	listeners := []*subscriber.Subscription{
		follow(t, st.addr, everything), follow(t, st.addr, terms(50, aaep.BoundarySentence)), follow(t, st.addr, mute(terms(50, aaep.BoundaryCompletion))),
	}
	texts := []string{"First of all. Then more. And the end", "Something else. Quite so! Really"}
	var agents sync.WaitGroup
	results := make([]error, len(texts))
	for i, text := range texts {
		s := st.session(fmt.Sprint("Session ", i))
		agents.Go(func() {
			out := s.Output()
			for _, r := range text {
				out.WriteString(string(r))
			}
			tool := pay
			tool.Action = aaep.Say(text)
			_, results[i] = s.Tool(context.Background(), tool, ok)
			out.Close()
			s.Complete(aaep.Say("Done."))
		})
	}
	var all sync.WaitGroup
	for i, sub := range listeners {
		all.Go(func() {
			over := 0
			evs, err := collect(sub, func(ev *aaep.Event) bool {
				if q, asks := ev.Payload.(*aaep.AwaitingConfirmation); asks && i == 1 {
					d := map[string]aaep.Decision{texts[0]: aaep.Accept, texts[1]: aaep.Reject}[q.Action]
					if err := sub.Reply(context.Background(), ev, d); err != nil {
						t.Error(err)
					}
				}
				if isOver(ev) {
					over++
				}
				return over == 2
			})
			if err := errors.Join(err, checkOnce(evs), checkText(evs, texts...)); err != nil {
				t.Errorf("listener %d: %v\n%s", i, err, story(evs))
			}
			if want := map[bool]int{false: 2, true: 0}[i == 2]; count(evs, aaep.TypeAwaitingConfirmation) != want {
				t.Errorf("listener %d was asked %d times, want %d", i, count(evs, aaep.TypeAwaitingConfirmation), want)
			}
		})
	}
	all.Wait()
	agents.Wait()
	if results[0] != nil || !errors.Is(results[1], producer.ErrRejected) {
		t.Errorf("the tools ended with %v; the first was allowed, the second rejected", results)
	}
}

// TestTwoProducers: two producers in one process know nothing of each other's ids and tokens (INV-19, INV-43).
func TestTwoProducers(t *testing.T) {
	a, b := start(t, producer.Config{}), start(t, producer.Config{})
	ra, rb := subscribe(t, a.addr, everything), subscribe(t, b.addr, everything)
	ea, eb := ra.open(""), rb.open("")
	sa, sb := a.session("A."), b.session("B.")
	defer sa.Close()
	defer sb.Close()
	agent := later(func() (string, error) { return sa.Tool(context.Background(), pay, ok) })
	f, q := ea.question()
	for what, body := range map[string]string{"as ours": ra.reply(q.ReplyToken, aaep.Accept), "as theirs": rb.reply(q.ReplyToken, aaep.Accept)} {
		if resp, _ := call(t, "POST", b.addr, "/aaep/v1/replies", body); resp.StatusCode != http.StatusNoContent {
			t.Errorf("%s, at the other producer: %s", what, resp.Status)
		}
	}
	if resp, _ := call(t, "GET", b.addr, ra.location, ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("the stream at the other producer: %s, want 404", resp.Status)
	}
	if first := eb.find(aaep.TypeSessionStarted); first.event(t).SessionID != sb.ID() {
		t.Errorf("B tells %s", first.data)
	}
	if again, _ := rb.open(f.id).next(); again.event(t).Type() != aaep.TypeStateChanged {
		t.Errorf("after an id of the other producer came %+v, want the state", again)
	}
	select {
	case r := <-agent:
		t.Fatalf("the other producer's reply counted: %v", r.err)
	default:
	}
	ra.post(ra.reply(q.ReplyToken, aaep.Accept))
	if r := wait(t, agent); r.err != nil {
		t.Error(r.err)
	}
}

// TestRestart: the producer goes and comes back on the same port; the subscriber follows, and knows that it has
// begun anew.
func TestRestart(t *testing.T) {
	old := startAt(t, producer.Config{}, freeport.Addr())
	sub := follow(t, old.addr, everything)
	s := old.session("Before.")
	agent := later(func() (string, error) { return s.Tool(context.Background(), pay, ok) })
	before := mustCollect(t, sub, isA(aaep.TypeAwaitingConfirmation))
	question := before[len(before)-1]
	old.shutdown(patience)
	if r := wait(t, agent); !errors.Is(r.err, producer.ErrSessionOver) { // INV-03, INV-53
		t.Errorf("the open question ended with %v, want ErrSessionOver", r.err)
	}
	evs := mustCollect(t, sub, isOver)
	if p, cancelled := evs[len(evs)-1].Payload.(*aaep.SessionCancelled); !cancelled || p.CancelledBy != aaep.CancelledBySystem {
		t.Errorf("the session ended with %s", story(evs))
	}
	await(t, sub, "broken", broken)
	if status, _ := sub.Status(); status.Err == nil {
		t.Errorf("the status is %+v, want why", status)
	}
	anew := startAt(t, producer.Config{}, old.addr)
	await(t, sub, "back", connected)
	if status, _ := sub.Status(); status.Subscribed != 2 || status.Err != nil {
		t.Errorf("the status is %+v, want the second subscription", status)
	}
	if err := sub.Reply(context.Background(), question, aaep.Accept); err == nil {
		t.Error("a question of the old producer can be answered")
	}
	s = anew.session("After.")
	check(t, s.Complete(aaep.Text{}))
	if evs := mustCollect(t, sub, isOver); story(evs) != "aaep-go:events.lost session.started idle>thinking session.completed" || !says("After.")(evs[1]) {
		t.Errorf("after the restart came %s", story(evs))
	}
}

// TestShutdown: every open stream gets the end of the sessions and a close; the server ends, also with connections
// that never said a word and one that does not read; those who come back do so calmly (INV-29, INV-52, INV-53).
func TestShutdown(t *testing.T) {
	st := startAt(t, producer.Config{}, freeport.Addr())
	var raws []*stream
	for range 5 {
		raws = append(raws, subscribe(t, st.addr, everything).open(""))
	}
	const readers = 5
	var subs []*subscriber.Subscription
	for range readers {
		subs = append(subs, follow(t, st.addr, everything))
	}
	silent, err := net.Dial("tcp", st.addr)
	check(t, err)
	defer silent.Close()
	hostile(t, subscribe(t, st.addr, everything))
	unopened := subscribe(t, st.addr, everything)
	s := st.session("Working.")
	agent := later(func() (string, error) { return s.Tool(context.Background(), pay, ok) })
	for _, r := range raws {
		r.question()
	}
	st.shutdown(patience)
	if r := wait(t, agent); r.err == nil {
		t.Error("the tool ran because of a shutdown")
	}
	for i, r := range raws {
		frames := r.end()
		if len(frames) < 2 {
			t.Fatalf("stream %d ends with %+v", i, frames)
		}
		last, before := frames[len(frames)-1], frames[len(frames)-2]
		m, err := aaep.Decode([]byte(last.data))
		check(t, err)
		if bye, isClose := m.(*aaep.SubscriptionClose); !isClose || bye.ReasonCode != aaep.ProducerShutdown || !isOver(before.event(t)) {
			t.Errorf("stream %d ends with %+v", i, frames)
		}
	}
	if _, _, err := try("GET", st.addr, unopened.location, ""); err == nil {
		t.Error("the port still answers")
	}
	// Those who want to come back do not storm whoever listens there now.
	ln, err := net.Listen("tcp", st.addr)
	check(t, err)
	var attempts atomic.Int32
	var counting sync.WaitGroup
	counting.Go(func() {
		for c, err := ln.Accept(); err == nil; c, err = ln.Accept() {
			attempts.Add(1)
			c.Close()
		}
	})
	defer counting.Wait()
	defer ln.Close()
	for _, sub := range subs {
		await(t, sub, "broken", broken)
	}
	time.Sleep(time.Second) // nothing is to happen
	if n := attempts.Load(); n > readers*8 {
		t.Errorf("%d attempts in a second by %d subscribers", n, readers)
	}
}

// TestServeCancelled: the end of the context is the end of the agent, and told as such: no listener finds the line cut. The
// agent's own Shutdown waits for all of that.
func TestServeCancelled(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "tester"}})
	check(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	ctx, interrupt := context.WithCancel(context.Background())
	ended := later(func() (any, error) { return nil, serve.Serve(ctx, ln, p) })
	sub := follow(t, ln.Addr().String(), terms(4, aaep.BoundarySentence)) // who has not heard all of it by then
	s, err := p.StartSession(ctx, aaep.Say("Working."))
	check(t, err)
	out := s.Output()
	_, err = io.WriteString(out, "One thing. Another thing. ")
	check(t, errors.Join(err, out.Close()))
	mustCollect(t, sub, isA(aaep.TypeSessionStarted))
	interrupt()
	closed := later(func() (any, error) { return nil, p.Shutdown(context.Background()) })
	evs := mustCollect(t, sub, isOver)
	check(t, checkText(evs, "One thing. Another thing. "))
	if !strings.HasSuffix(story(evs), " session.cancelled") {
		t.Errorf("it heard %s", story(evs))
	}
	wait(t, closed)
	select {
	case <-p.Done():
	default:
		t.Error("Shutdown did not wait")
	}
	if r := wait(t, ended); !errors.Is(r.err, context.Canceled) {
		t.Errorf("Serve = %v, want context.Canceled", r.err)
	}
	if _, _, err := try("GET", ln.Addr().String(), "/", ""); err == nil {
		t.Error("the port still answers")
	}
}

// TestServeEnded: nothing is served for a producer that has been shut down.
func TestServeEnded(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "tester"}})
	check(t, err)
	check(t, p.Shutdown(context.Background()))
	if err := serve.ListenAndServe(t.Context(), "127.0.0.1:0", p); err != nil {
		t.Errorf("ListenAndServe = %v, want nil", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	ln.Close()
	p, err = producer.New(producer.Config{Agent: aaep.Producer{AgentID: "tester"}})
	check(t, err)
	defer p.Shutdown(context.Background())
	if err := serve.Serve(t.Context(), ln, p); err == nil {
		t.Error("Serve of a closed listener = nil")
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer taken.Close()
	if err := serve.ListenAndServe(t.Context(), taken.Addr().String(), p); err == nil {
		t.Error("ListenAndServe on a port that is taken = nil")
	}
}
