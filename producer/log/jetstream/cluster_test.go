package jetstream_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/natstest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log/jetstream"
	"github.com/aaep-go/aaep/transports"
)

// trail keeps what was settled and run.
type trail struct {
	mu  sync.Mutex
	all []audit.Record
}

func (s *trail) Record(r audit.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, r)
	return nil
}

func (s *trail) of(kind audit.Kind) []audit.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.all), func(r audit.Record) bool { return r.Kind != kind })
}

// ear is a listener that has what came as it came.
type ear struct {
	t    *testing.T
	conn transports.Conn
	id   string
	on   func(*ear, *aaep.Event) // or nil

	mu   sync.Mutex
	seen []*aaep.Event
	grew chan struct{}
}

// listen subscribes at a producer, to go on after an event if one is named.
func listen(t *testing.T, p *producer.Producer, after string, on func(*ear, *aaep.Event)) *ear {
	t.Helper()
	a, b := transports.Pipe()
	go p.ServeConn(b)
	l := &ear{t: t, conn: a, on: on, grew: make(chan struct{})}
	c := aaep.Capabilities{CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryNone}, Languages: []string{"en-US"},
		SupportsConfirmationReply: new(on != nil), SupportsClarificationReply: new(false)}
	c.AddExtension(extensions.DeliveryVocabulary, extensions.Delivery{ResumeAfter: after})
	l.send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "ear", Capabilities: c})
	accepted, ok := l.receive().(*aaep.SubscriptionAccepted)
	if !ok || after != "" && !strings.Contains(string(accepted.HonoredCapabilities.Extensions["delivery"]), after) {
		t.Fatalf("the answer is %+v", accepted)
	}
	l.id = accepted.SubscriptionID
	go func() {
		for {
			ev, ok := l.receive().(*aaep.Event)
			if !ok {
				return
			}
			l.mu.Lock()
			l.seen = append(l.seen, ev)
			close(l.grew)
			l.grew = make(chan struct{})
			l.mu.Unlock()
			if l.on != nil {
				l.on(l, ev)
			}
		}
	}()
	return l
}

func (l *ear) send(m aaep.Message) {
	data, err := aaep.Encode(m)
	if err == nil {
		err = l.conn.Send(context.Background(), data)
	}
	if err != nil && l.t.Context().Err() == nil { // or the test is over
		l.t.Error(err)
	}
}

func (l *ear) receive() aaep.Message {
	data, err := l.conn.Receive(context.Background())
	if err != nil {
		return nil
	}
	m, err := aaep.Decode(data)
	if err != nil {
		l.t.Error(err)
	}
	return m
}

// until waits for the n-th event for which f says so, and returns what came up to then.
func (l *ear) until(what string, n int, f func(*aaep.Event) bool) []*aaep.Event {
	l.t.Helper()
	late := time.After(60 * time.Second)
	for i := 0; ; {
		l.mu.Lock()
		seen, grew := l.seen, l.grew // nothing in it changes any more
		l.mu.Unlock()
		for ; i < len(seen); i++ {
			if f(seen[i]) {
				n--
			}
			if n == 0 {
				return seen[:i+1]
			}
		}
		select {
		case <-grew:
		case <-late:
			l.t.Fatalf("%d times no %s within a minute, after %d events", n, what, len(seen))
		}
	}
}

// machine is what runs an agent or serves its listeners: a producer with a connection of its own.
type machine struct {
	*producer.Producer
	cluster *jetstream.Cluster
	close   func() error
}

func agentAt(t *testing.T, servers string, kept *trail, patience time.Duration) *machine {
	t.Helper()
	c := dial(t, servers, &jetstream.Options{Node: "agent", Patience: patience})
	store, err := c.Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "planner"}, Log: store, Audit: kept, MaxRequestsPerSecond: -1, ShortTimeouts: true, FromStart: true, Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	return begun(t, &machine{p, c, store.Close})
}

func edgeAt(t *testing.T, servers, name string) *machine {
	t.Helper()
	c := dial(t, servers, &jetstream.Options{Node: name})
	feed, err := c.Follow(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	p, err := producer.New(producer.Config{Follow: feed, Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	return begun(t, &machine{p, c, feed.Close})
}

func logger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func begun(t *testing.T, m *machine) *machine {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		m.Shutdown(ctx)
		m.close()
	})
	return m
}

func over(ev *aaep.Event) bool { return ev.Type() == aaep.TypeSessionCompleted }

// P1, P2, P8, INV-16, INV-23: replies race at three machines for every question while the server that leads is killed, first of
// the questions, then of the events. No question is settled twice, what ran is what was accepted, and it is on record where;
// every listener hears every event once, in order, the same at each machine; and one of them goes on at another. With
// AAEP_LONG it is ten thousand questions.
func TestRacingReplies(t *testing.T) {
	t.Parallel()
	if os.Getenv("AAEP_LONG") != "" {
		race(t, 10_000, "killed AAEP_REPLIES", "killed AAEP_A_planner", "paused AAEP_REPLIES", "paused AAEP_A_planner")
	} else {
		race(t, 320, "killed AAEP_REPLIES", "paused AAEP_A_planner")
	}
}

// The same while the network between the others and a server is torn, in both directions or one, for longer than it takes
// until another leads: of the server that leads, or the one that the agent is connected to, which finds another.
func TestTornServers(t *testing.T) {
	t.Parallel()
	if os.Getenv("AAEP_LONG") != "" {
		race(t, 10_000, "torn", "deaf", "dumb", "torn AAEP_A_planner", "torn AAEP_REPLIES", "deaf AAEP_A_planner", "dumb AAEP_A_planner", "deaf AAEP_REPLIES", "dumb AAEP_REPLIES")
	} else {
		race(t, 160, "torn")
	}
}

// torn is for how long a network is torn at least: until those who are cut off have found another server, and been taken for gone.
const torn = 15 * time.Second

func race(t *testing.T, questions int, faults ...string) {
	const sessions = 8
	each := questions / sessions
	servers := natstest.Start(t, 3)
	kept := &trail{}
	agent := agentAt(t, servers.URLs(), kept, 0)
	var edges []*machine
	var ears []*ear
	for i, s := range servers.Servers {
		edges = append(edges, edgeAt(t, s.URL+","+servers.URLs(), fmt.Sprint("edge ", i)))
		ears = append(ears, listen(t, edges[i].Producer, "", func(l *ear, ev *aaep.Event) {
			if q, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok {
				d := aaep.Accept
				if (len(q.ReplyToken)+int(q.ReplyToken[8])+i)%2 == 0 {
					d = aaep.Reject
				}
				go l.send(&aaep.ConfirmationReply{ReplyToken: q.ReplyToken, Decision: d, SubscriptionID: l.id, Timestamp: time.Now()})
			}
		}))
	}
	var mu sync.Mutex
	ran, refused := 0, 0
	progress := make(chan struct{}, sessions*each)
	var all sync.WaitGroup
	for range sessions {
		all.Go(func() {
			s, err := agent.StartSession(context.Background(), aaep.Say("Paying."))
			if err != nil {
				t.Error(err)
				return
			}
			for range each {
				_, err := s.Tool(context.Background(), producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true, Timeout: time.Minute,
					Action: aaep.Say("Pay $5."), Consequence: aaep.Say("It is gone.")}, func(context.Context) (string, error) {
					mu.Lock()
					defer mu.Unlock()
					ran++
					return "done", nil
				})
				if errors.Is(err, producer.ErrRejected) {
					mu.Lock()
					refused++
					mu.Unlock()
				} else if err != nil {
					t.Error(err)
				}
				progress <- struct{}{}
			}
			if err := s.Complete(aaep.Text{}); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range sessions * each {
		<-progress
		if every := sessions * each / (len(faults) + 1); i > 0 && i%every == 0 && i/every <= len(faults) {
			fault, stream, _ := strings.Cut(faults[i/every-1], " ")
			leader := servers.Of("aaep agent")
			if stream != "" {
				leader = servers.Leader(stream)
			}
			began := time.Now()
			goOn := func() {
				time.Sleep(torn - time.Since(began))
				servers.Tear(leader, false, false)
			}
			switch fault {
			case "killed":
				leader.Kill()
				goOn = leader.Start
			case "paused":
				leader.Pause()
				goOn = leader.Resume
			default:
				servers.Tear(leader, fault != "deaf", fault != "dumb")
			}
			servers.Leader(cmp.Or(stream, "AAEP_A_planner"), leader)
			t.Logf("%s: another leads after %v", faults[i/every-1], time.Since(began).Round(100*time.Millisecond))
			goOn()
			t.Logf("%d of %d are settled by then", i+len(progress), sessions*each)
			servers.Ready()
		}
	}
	all.Wait()
	if ran+refused != sessions*each || ran == 0 || refused == 0 {
		t.Errorf("%d ran, %d were refused, of %d", ran, refused, sessions*each)
	}
	where := map[string]int{}
	tokens := map[string]bool{}
	accepted := 0
	for _, r := range kept.of(audit.Settled) {
		if tokens[r.QuestionID] {
			t.Errorf("a question was settled twice: %+v", r)
		}
		tokens[r.QuestionID] = true
		if r.Decision == aaep.Accept {
			accepted++
		}
		if r.By == nil || r.By.Node == "" {
			t.Errorf("nobody settled it: %+v", r)
			continue
		}
		where[r.By.Node]++
	}
	if len(tokens) != sessions*each || accepted != ran || len(kept.of(audit.Invoked)) != ran {
		t.Errorf("%d questions are settled, %d accepted, %d ran", len(tokens), accepted, ran)
	}
	t.Log(ran, "accepted,", refused, "rejected; settled at", where)
	first := told(t, ears[0], sessions)
	for i, l := range ears[1:] {
		if got := told(t, l, sessions); !slices.Equal(got, first) {
			t.Errorf("edge %d tells %d events, edge 0 %d", i+1, len(got), len(first))
		}
	}
	after := first[len(first)/2:]
	after = after[:min(len(after), 1000)]
	rest, i := listen(t, edges[2].Producer, after[0], nil), 0
	rest.until("event", len(after)-1, func(ev *aaep.Event) bool {
		if ev.Critical() || link(ev) {
			return false
		}
		if i++; i < len(after) && ev.EventID != after[i] {
			t.Errorf("who goes on at another machine after %s hears %s as number %d; want %s", after[0], ev.EventID, i, after[i])
		}
		return true
	})
}

// P2, P8: the agent is cut off from the servers, in both directions or one, for longer than those who serve its listeners are
// waited for. What is answered meanwhile elsewhere settles the question, and not the answer of the agent's own listener, which
// cannot be kept; who is elsewhere hears everything when the network is whole again.
func TestTornAgent(t *testing.T) {
	t.Parallel()
	for name, holds := range map[string][2]bool{"both": {true, true}, "it is not heard": {true, false}, "it does not hear": {false, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "both" && os.Getenv("AAEP_LONG") == "" {
				t.Skip("part of make nodes")
			}
			s := natstest.Start(t, 1).Servers[0]
			network, url := s.Behind()
			claimed := make(chan string, 2)
			kept := &trail{}
			agent, edge := agentAt(t, url, kept, 0), edgeAt(t, s.URL, "edge")
			asked := make(chan *aaep.AwaitingConfirmation, 2)
			hear := func(_ *ear, ev *aaep.Event) {
				if q, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok {
					asked <- q
				}
			}
			near, far := listen(t, agent.Producer, "", hear), listen(t, edge.Producer, "", hear)
			watch, err := dial(t, s.URL, nil).Follow(t.Context(), "planner")
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
				_, err := session.Tool(context.Background(), producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true, Timeout: time.Minute,
					Action: aaep.Say("Pay $5."), Consequence: aaep.Say("It is gone.")}, func(context.Context) (string, error) { return "done", nil })
				done <- err
			}()
			q := <-asked
			<-asked
			network.Hold(holds[0], holds[1])
			began := time.Now()
			reply := func(l *ear, d aaep.Decision) {
				l.send(&aaep.ConfirmationReply{ReplyToken: q.ReplyToken, Decision: d, SubscriptionID: l.id, Timestamp: time.Now()})
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
			if want, got := told(t, near, 1), told(t, far, 1); !slices.Equal(got, want) {
				t.Errorf("who listens elsewhere hears %d events, the agent's own listener %d", len(got), len(want))
			}
			settled := kept.of(audit.Settled)
			if len(settled) != 1 || settled[0].Decision != aaep.Accept || settled[0].By == nil || settled[0].By.Node != "edge" {
				t.Errorf("settled: %+v", settled)
			}
		})
	}
}

// link reports whether an event tells of the connection to the agent.
func link(ev *aaep.Event) bool {
	return strings.HasPrefix(ev.Text(aaep.VerbosityNormal), "The connection to the agent is")
}

// told waits for the ends of so many sessions and returns the ids of all that came in the order of the log, each once.
func told(t *testing.T, l *ear, sessions int) (ids []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, ev := range l.until("end", sessions, over) {
		if seen[ev.EventID] {
			t.Errorf("event %s came twice", ev.EventID)
		}
		seen[ev.EventID] = true
		if !ev.Critical() && !link(ev) { // which may overtake; and which is in no log
			ids = append(ids, ev.EventID)
		}
	}
	return ids
}

// The servers are all gone for a while: the agent's own listeners hear it all the same; those elsewhere stay, are told, and then hear
// everything, once and in order. Where they are gone for longer than the log waits, the agent says so and goes on.
func TestAllServersGone(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1)
	s := servers.Servers[0]
	agent, edge := agentAt(t, s.URL, &trail{}, 0), edgeAt(t, s.URL, "edge")
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
	told(t, near, 1)
	told(t, far, 1)
	open, err := agent.StartSession(context.Background(), aaep.Say("Waiting."))
	if err != nil {
		t.Fatal(err)
	}
	far.until("start", 2, func(ev *aaep.Event) bool { return ev.Type() == aaep.TypeSessionStarted })
	s.Kill()
	said(20)
	if got := told(t, near, 2); len(got) != 8+2+23 {
		t.Errorf("without servers the agent's listeners hear %d events", len(got))
	}
	far.until("word of the connection", 1, link)
	if os.Getenv("AAEP_LONG") != "" {
		time.Sleep(time.Minute)
	}
	s.Start()
	servers.Ready()
	far.until("word of the connection", 2, link)
	open.Close()
	if want, got := told(t, near, 2), told(t, far, 2); !slices.Equal(got, want) {
		t.Errorf("those elsewhere hear %d events, the agent's own %d", len(got), len(want))
	}
	agent.Shutdown(t.Context())
	agent.close()

	short := agentAt(t, s.URL, &trail{}, time.Second)
	s.Kill()
	session, err := short.StartSession(context.Background(), aaep.Say("Working."))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := short.WaitLogFailed(ctx); err == nil || !strings.Contains(err.Error(), "the log of planner cannot be written") {
		t.Errorf("WaitLogFailed = %v", err)
	}
	if err := session.Complete(aaep.Text{}); err != nil {
		t.Error(err)
	}
	data, _ := json.Marshal(short.Stats())
	t.Logf("%s", data)
}
