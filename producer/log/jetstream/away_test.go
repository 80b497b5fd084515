package jetstream_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/natstest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log/jetstream"
)

// P2, P8: the agent is cut off from the servers, in both directions or one, for longer than those
// who serve its listeners are waited for. What is answered meanwhile elsewhere settles the
// question, and not the answer of the agent's own listener, which cannot be kept; who is elsewhere
// hears everything when the network is whole again.
func TestTornAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("servers are torn apart: make test-all runs it")
	}
	t.Parallel()
	for name, holds := range map[string][2]bool{"both": {true, true}, "it is not heard": {true, false},
		"it does not hear": {false, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "both" && os.Getenv("AAEP_LONG") == "" {
				t.Skip("part of make nodes")
			}
			s := natstest.Start(t, 1).Servers[0]
			network, url := s.Behind()
			claimed := make(chan string, 2)
			kept := &trail{}
			agent, edge := startAgent(t, url, kept, 0), startReplica(t, s.URL, "edge")
			asked := make(chan *aaep.AwaitingConfirmation, 2)
			hear := func(_ *testListener, ev *aaep.Event) {
				if q, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok {
					asked <- q
				}
			}
			near, far := listen(t, agent.Producer, "", hear), listen(t, edge.Producer, "", hear)
			watch, err := dialCluster(t, s.URL, jetstream.Options{}).Follow(t.Context(), "planner")
			if err == nil {
				defer watch.Close()
				err = watch.Claims(func(token string) { claimed <- token })
			}
			if err != nil {
				t.Fatal(err)
			}
			session, err := agent.StartSession(context.Background(), aaep.Say("Paying."))
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				_, err := session.Tool(context.Background(),
					producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true, Timeout: time.Minute,
						Action: aaep.Say("Pay $5."), Consequence: aaep.Say("It is gone.")},
					func(context.Context) (string, error) { return "done", nil })
				done <- err
			}()
			q := <-asked
			<-asked
			network.Hold(holds[0], holds[1])
			began := time.Now()
			reply := func(l *testListener, d aaep.Decision) {
				l.send(&aaep.ConfirmationReply{ReplyToken: q.ReplyToken, Decision: d, SubscriptionID: l.id,
					Timestamp: time.Now()})
			}
			reply(far, aaep.Accept)
			if got := <-claimed; got != string(q.ReplyToken) {
				t.Errorf("%s is settled", got)
			}
			reply(near, aaep.Reject)
			session.Progress(aaep.Say("Still there."), aaep.Progress{Percent: new(50.0)}, 0)
			time.Sleep(torn - time.Since(began))
			select {
			case err := <-done:
				if holds[1] { // else it may hear of it
					t.Errorf("Tool = %v before anything could be known", err)
				}
				done <- err
			default:
			}
			network.Hold(false, false)
			if err := <-done; err != nil {
				t.Errorf("Tool = %v", err)
			}
			session.Complete(aaep.Text{})
			if want, got := awaitSessions(t, near, 1), awaitSessions(t, far, 1); !sameEvents(got, want) {
				t.Errorf("who listens elsewhere hears %d events, the agent's own listener %d", len(got), len(want))
			}
			settled := kept.recordsOf(audit.Settled)
			if len(settled) != 1 || settled[0].Decision != aaep.Accept || settled[0].By == nil ||
				settled[0].By.Node != "edge" {
				t.Errorf("settled: %+v", settled)
			}
		})
	}
}

// The servers are all gone for a while: the agent's own listeners hear it all the same; those
// elsewhere stay, are told, and then hear everything, once and in order. Where they are gone for
// longer than the log waits, the agent says so and goes on.
func TestAllServersGone(t *testing.T) {
	if testing.Short() {
		t.Skip("servers are torn apart: make test-all runs it")
	}
	t.Parallel()
	servers := natstest.Start(t, 1)
	s := servers.Servers[0]
	agent, edge := startAgent(t, s.URL, &trail{}, 0), startReplica(t, s.URL, "edge")
	near, far := listen(t, agent.Producer, "", nil), listen(t, edge.Producer, "", nil)
	said := func(n int) {
		t.Helper()
		session, err := agent.StartSession(context.Background(), aaep.Say("Working."))
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			session.Progress(aaep.Say("On the way."), aaep.Progress{Percent: new(50.0)}, 0)
		}
		session.Complete(aaep.Text{})
	}
	said(5)
	awaitSessions(t, near, 1)
	awaitSessions(t, far, 1)
	open, err := agent.StartSession(context.Background(), aaep.Say("Waiting."))
	if err != nil {
		t.Fatal(err)
	}
	far.awaitEvents("start", 2, func(ev *aaep.Event) bool { return ev.Type() == aaep.TypeSessionStarted })
	s.Kill()
	said(20)
	if got := awaitSessions(t, near, 2); len(got) != 8+2+23 {
		t.Errorf("without servers the agent's listeners hear %d events", len(got))
	}
	far.awaitEvents("word of the connection", 1, isLinkNotice)
	if os.Getenv("AAEP_LONG") != "" {
		time.Sleep(time.Minute)
	}
	s.Start()
	servers.Ready()
	far.awaitEvents("word of the connection", 2, isLinkNotice)
	open.Close()
	if want, got := awaitSessions(t, near, 2), awaitSessions(t, far, 2); !sameEvents(got, want) {
		t.Errorf("those elsewhere hear %d events, the agent's own %d", len(got), len(want))
	}
	agent.Shutdown(t.Context())
	agent.close()

	short := startAgent(t, s.URL, &trail{}, time.Second)
	s.Kill()
	session, err := short.StartSession(context.Background(), aaep.Say("Working."))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := short.WaitLogFailed(ctx); err == nil ||
		!strings.Contains(err.Error(), "the log of planner cannot be written") {
		t.Errorf("WaitLogFailed = %v", err)
	}
	if err := session.Complete(aaep.Text{}); err != nil {
		t.Error(err)
	}
	data, _ := json.Marshal(short.Stats())
	t.Logf("%s", data)
}

// Of three servers two are gone: what is left answers, and nothing can be kept. Those who listen
// elsewhere are told that, and so is who watches over the process, as where all servers are gone.
func TestMostServersGone(t *testing.T) {
	if testing.Short() {
		t.Skip("servers are torn apart: make test-all runs it")
	}
	t.Parallel()
	servers := natstest.Start(t, 3)
	left := servers.Servers[0]
	agent, edge := startAgent(t, left.URL, &trail{}, 0), startReplica(t, left.URL, "edge")
	far := listen(t, edge.Producer, "", nil)
	open, err := agent.StartSession(context.Background(), aaep.Say("Waiting."))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	far.awaitEvents("start", 1, func(ev *aaep.Event) bool { return ev.Type() == aaep.TypeSessionStarted })
	servers.Servers[1].Kill()
	servers.Servers[2].Kill()
	far.awaitEvents("word of the connection", 1, isLinkNotice)
	if !edge.Stats().LogAway {
		t.Error("the log of which no server leads is not away")
	}
	servers.Servers[1].Start()
	servers.Servers[2].Start()
	far.awaitEvents("word of the connection", 2, isLinkNotice)
	if edge.Stats().LogAway {
		t.Error("the log is away though a server leads again")
	}
}

// A server that should have a copy of the log and is down is named, and no longer once it is back.
func TestServersBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers are started: make test-all runs it")
	}
	t.Parallel()
	servers := natstest.Start(t, 3)
	c, err := jetstream.Dial(t.Context(), servers.URLs(), jetstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	store, err := c.Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	await := func(what string, want int) {
		t.Helper()
		var names []string
		for limit := time.Now().Add(time.Minute); time.Now().Before(limit); time.Sleep(100 * time.Millisecond) {
			if names, err = store.ServersBehind(t.Context()); err == nil && len(names) == want {
				return
			}
		}
		t.Fatalf("%s: %q, %v", what, names, err)
	}
	await("all are up", 0)
	leader := servers.Leader("AAEP_A_planner")
	other := servers.Servers[0]
	if other == leader {
		other = servers.Servers[1]
	}
	other.Kill()
	await("one is down", 1)
	other.Start()
	await("it is back", 0)
}
