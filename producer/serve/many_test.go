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
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
)

// TestTwoSessions: what two sessions say at once arrives whole at listeners with different terms,
// and what one is asked is not mixed up with the other.
func TestTwoSessions(t *testing.T) {
	st := startFixture(t, producer.Config{})
	listeners := []*subscriber.Subscription{
		dialSubscriber(t, st.addr, everything), dialSubscriber(t, st.addr, replyTerms(50, aaep.BoundarySentence)),
		dialSubscriber(t, st.addr, withoutReplies(replyTerms(50, aaep.BoundaryCompletion))),
	}
	texts := []string{"First of all. Then more. And the end", "Something else. Quite so! Really"}
	var agents sync.WaitGroup
	results := make([]error, len(texts))
	for i, text := range texts {
		s := st.startSession(fmt.Sprint("Session ", i))
		agents.Go(func() {
			out := s.Output()
			for _, r := range text {
				out.WriteString(string(r))
			}
			tool := pay
			tool.Action = aaep.Say(text)
			_, results[i] = s.Tool(context.Background(), tool, succeed)
			out.Close()
			s.Complete(aaep.Say("Done."))
		})
	}
	var all sync.WaitGroup
	for i, sub := range listeners {
		all.Go(func() {
			over := 0
			evs, err := readUntil(sub, func(ev *aaep.Event) bool {
				if q, asks := ev.Payload.(*aaep.AwaitingConfirmation); asks && i == 1 {
					d := map[string]aaep.Decision{texts[0]: aaep.Accept, texts[1]: aaep.Reject}[q.Action]
					if err := replies.Send(context.Background(), sub.Question(ev), d, nil); err != nil {
						t.Error(err)
					}
				}
				if isOver(ev) {
					over++
				}
				return over == 2
			})
			if err := errors.Join(err, checkOnce(evs), checkText(evs, texts...)); err != nil {
				t.Errorf("listener %d: %v\n%s", i, err, summarize(evs))
			}
			if want := map[bool]int{false: 2, true: 0}[i == 2]; countType(evs, aaep.TypeAwaitingConfirmation) != want {
				t.Errorf("listener %d was asked %d times, want %d", i, countType(evs, aaep.TypeAwaitingConfirmation),
					want)
			}
		})
	}
	all.Wait()
	agents.Wait()
	if results[0] != nil || !errors.Is(results[1], producer.ErrRejected) {
		t.Errorf("the tools ended with %v; the first was allowed, the second rejected", results)
	}
}

// TestTwoProducers: two producers in one process know nothing of each other's ids and tokens
// (INV-19, INV-43).
func TestTwoProducers(t *testing.T) {
	a, b := startFixture(t, producer.Config{}), startFixture(t, producer.Config{})
	ra, rb := subscribeRaw(t, a.addr, everything), subscribeRaw(t, b.addr, everything)
	ea, eb := ra.openStream(""), rb.openStream("")
	sa, sb := a.startSession("A."), b.startSession("B.")
	defer sa.Close()
	defer sb.Close()
	agent := runAsync(func() (string, error) { return sa.Tool(context.Background(), pay, succeed) })
	f, q := ea.findQuestion()
	for what, body := range map[string]string{"as ours": ra.sendReply(q.ReplyToken, aaep.Accept),
		"as theirs": rb.sendReply(q.ReplyToken, aaep.Accept)} {
		if resp, _ := sendRequest(t, "POST", b.addr, "/aaep/v1/replies",
			body); resp.StatusCode != http.StatusNoContent {
			t.Errorf("%s, at the other producer: %s", what, resp.Status)
		}
	}
	if resp, _ := sendRequest(t, "GET", b.addr, ra.location, ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("the stream at the other producer: %s, want 404", resp.Status)
	}
	if first := eb.findType(aaep.TypeSessionStarted); first.decodeEvent(t).SessionID != sb.ID() {
		t.Errorf("B tells %s", first.data)
	}
	if again, _ := rb.openStream(f.id).nextFrame(); again.decodeEvent(t).Type() != aaep.TypeStateChanged {
		t.Errorf("after an id of the other producer came %+v, want the state", again)
	}
	select {
	case r := <-agent:
		t.Fatalf("the other producer's reply counted: %v", r.err)
	default:
	}
	ra.postMessage(ra.sendReply(q.ReplyToken, aaep.Accept))
	if r := awaitResult(t, agent); r.err != nil {
		t.Error(r.err)
	}
}

// TestRestart: the producer goes and comes back on the same port; the subscriber follows, and knows
// that it has begun anew.
func TestRestart(t *testing.T) {
	old := startFixtureAt(t, producer.Config{}, freeport.Addr())
	sub := dialSubscriber(t, old.addr, everything)
	s := old.startSession("Before.")
	agent := runAsync(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
	before := mustCollect(t, sub, isA(aaep.TypeAwaitingConfirmation))
	question := before[len(before)-1]
	old.shutdown(patience)
	if r := awaitResult(t, agent); !errors.Is(r.err, producer.ErrSessionOver) { // INV-03, INV-53
		t.Errorf("the open question ended with %v, want ErrSessionOver", r.err)
	}
	evs := mustCollect(t, sub, isOver)
	if p, cancelled := evs[len(evs)-1].Payload.(*aaep.SessionCancelled); !cancelled ||
		p.CancelledBy != aaep.CancelledBySystem {
		t.Errorf("the session ended with %s", summarize(evs))
	}
	awaitStatus(t, sub, "broken", broken)
	if status, _ := sub.Status(); status.Err == nil {
		t.Errorf("the status is %+v, want why", status)
	}
	anew := startFixtureAt(t, producer.Config{}, old.addr)
	awaitStatus(t, sub, "back", connected)
	if status, _ := sub.Status(); status.Subscribed != 2 || status.Err != nil {
		t.Errorf("the status is %+v, want the second subscription", status)
	}
	if err := sub.Question(question).Accept(context.Background()); err == nil {
		t.Error("a question of the old producer can be answered")
	}
	s = anew.startSession("After.")
	check(t, s.Complete(aaep.Text{}))
	if evs := mustCollect(t, sub, isOver); summarize(evs) != "aaep-go:events.lost session.started idle>thinking session.completed" || !hasText("After.")(evs[1]) {
		t.Errorf("after the restart came %s", summarize(evs))
	}
}

// TestShutdown: every open stream gets the end of the sessions and a close; the server ends, also
// with connections that never said a word and one that does not read; those who come back do so
// calmly (INV-29, INV-52, INV-53).
func TestShutdown(t *testing.T) {
	st := startFixtureAt(t, producer.Config{}, freeport.Addr())
	var raws []*stream
	for range 5 {
		raws = append(raws, subscribeRaw(t, st.addr, everything).openStream(""))
	}
	const readers = 5
	var subs []*subscriber.Subscription
	for range readers {
		subs = append(subs, dialSubscriber(t, st.addr, everything))
	}
	silent, err := net.Dial("tcp", st.addr)
	check(t, err)
	defer silent.Close()
	openHostileStream(t, subscribeRaw(t, st.addr, everything))
	unopened := subscribeRaw(t, st.addr, everything)
	s := st.startSession("Working.")
	agent := runAsync(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
	for _, r := range raws {
		r.findQuestion()
	}
	st.shutdown(patience)
	if r := awaitResult(t, agent); r.err == nil {
		t.Error("the tool ran because of a shutdown")
	}
	for i, r := range raws {
		frames := r.readToEnd()
		if len(frames) < 2 {
			t.Fatalf("stream %d ends with %+v", i, frames)
		}
		last, before := frames[len(frames)-1], frames[len(frames)-2]
		m, err := aaep.Decode([]byte(last.data))
		check(t, err)
		if bye, isClose := m.(*aaep.SubscriptionClose); !isClose || bye.ReasonCode != aaep.ProducerShutdown ||
			!isOver(before.decodeEvent(t)) {
			t.Errorf("stream %d ends with %+v", i, frames)
		}
	}
	if _, _, err := trySend("GET", st.addr, unopened.location, ""); err == nil {
		t.Error("the port still answers")
	}
	// Those who want to come back do not storm the server that listens there now.
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
		awaitStatus(t, sub, "broken", broken)
	}
	time.Sleep(time.Second) // nothing is to happen
	if n := attempts.Load(); n > readers*8 {
		t.Errorf("%d attempts in a second by %d subscribers", n, readers)
	}
}

// TestServeCancelled: the end of the context is the end of the agent, and told as such: no listener
// finds the line cut. The agent's own Shutdown waits for all of that.
func TestServeCancelled(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
	check(t, err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	ctx, interrupt := context.WithCancel(context.Background())
	ended := runAsync(func() (any, error) { return nil, serve.Serve(ctx, ln, p) })
	sub := dialSubscriber(t, ln.Addr().String(),
		replyTerms(4, aaep.BoundarySentence)) // who has not heard all of it by then
	s, err := p.StartSession(ctx, aaep.Say("Working."))
	check(t, err)
	out := s.Output()
	_, err = io.WriteString(out, "One thing. Another thing. ")
	check(t, errors.Join(err, out.Close()))
	mustCollect(t, sub, isA(aaep.TypeSessionStarted))
	interrupt()
	closed := runAsync(func() (any, error) { return nil, p.Shutdown(context.Background()) })
	evs := mustCollect(t, sub, isOver)
	check(t, checkText(evs, "One thing. Another thing. "))
	if !strings.HasSuffix(summarize(evs), " session.cancelled") {
		t.Errorf("it heard %s", summarize(evs))
	}
	awaitResult(t, closed)
	select {
	case <-p.Done():
	default:
		t.Error("Shutdown did not wait")
	}
	if r := awaitResult(t, ended); !errors.Is(r.err, context.Canceled) {
		t.Errorf("Serve = %v, want context.Canceled", r.err)
	}
	if _, _, err := trySend("GET", ln.Addr().String(), "/", ""); err == nil {
		t.Error("the port still answers")
	}
}

// TestServeEnded: nothing is served for a producer that has been shut down.
func TestServeEnded(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
	check(t, err)
	check(t, p.Shutdown(context.Background()))
	if err := serve.ListenAndServe(t.Context(), "127.0.0.1:0", p); err != nil {
		t.Errorf("ListenAndServe = %v, want nil", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	ln.Close()
	p, err = producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
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
