package jetstream_test

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
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

// Record keeps r.
func (s *trail) Record(r audit.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, r)
	return nil
}

// recordsOf returns the records of one kind.
func (s *trail) recordsOf(kind audit.Kind) []audit.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.all), func(r audit.Record) bool { return r.Kind != kind })
}

// testListener is a listener that keeps what came as it came.
type testListener struct {
	t    testing.TB
	conn transports.Conn
	id   string
	on   func(*testListener, *aaep.Event) // or nil

	mu   sync.Mutex
	seen []*aaep.Event
	grew chan struct{}
}

// listen subscribes at a producer, to go on after an event if one is named.
func listen(t testing.TB, p *producer.Producer, after string, on func(*testListener, *aaep.Event)) *testListener {
	t.Helper()
	a, b := transports.Pipe()
	go p.ServeConn(b)
	l := &testListener{t: t, conn: a, on: on, grew: make(chan struct{})}
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

// send sends m, if the test goes on.
func (l *testListener) send(m aaep.Message) {
	data, err := aaep.Encode(m)
	if err == nil {
		err = l.conn.Send(context.Background(), data)
	}
	if err != nil && l.t.Context().Err() == nil { // or the test is over
		l.t.Error(err)
	}
}

// receive returns the next message, or nil when the link has ended.
func (l *testListener) receive() aaep.Message {
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

// awaitEvents waits for the n-th event for which f says so, and returns what came up to then.
func (l *testListener) awaitEvents(what string, n int, f func(*aaep.Event) bool) []*aaep.Event {
	l.t.Helper()
	late := time.After(2 * time.Minute)
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

// startAgent starts the agent on these servers, which records in kept.
func startAgent(t testing.TB, servers string, kept *trail, patience time.Duration) *machine {
	t.Helper()
	c := dialCluster(t, servers, jetstream.Options{Node: "agent", Patience: patience})
	store, err := c.Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}, Log: store, Audit: kept,
		MaxRequestsPerSecond: -1, ShortTimeouts: true, FromStart: true, Logger: newLogger(t)})
	if err != nil {
		t.Fatal(err)
	}
	return closeWithTest(t, &machine{p, c, store.Close})
}

// startReplica starts a process of this name that follows the agent.
func startReplica(t testing.TB, servers, name string) *machine {
	t.Helper()
	c := dialCluster(t, servers, jetstream.Options{Node: name})
	feed, err := c.Follow(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	p, err := producer.New(producer.Config{Follow: feed, Logger: newLogger(t)})
	if err != nil {
		t.Fatal(err)
	}
	return closeWithTest(t, &machine{p, c, feed.Close})
}

// newLogger returns a logger of warnings to the test's output.
func newLogger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// closeWithTest has m end with the test, and returns it.
func closeWithTest(t testing.TB, m *machine) *machine {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		m.Shutdown(ctx)
		m.close()
	})
	return m
}

// isCompleted reports whether ev is the end of a session.
func isCompleted(ev *aaep.Event) bool { return ev.Type() == aaep.TypeSessionCompleted }

// isLinkNotice reports whether an event tells of the connection to the agent.
func isLinkNotice(ev *aaep.Event) bool {
	return strings.HasPrefix(ev.Text(aaep.VerbosityNormal), "The connection to the agent is")
}

// sameEvents reports whether two listeners were told the same: of what was overtaken for one of
// them the stamp is another, and so the id.
func sameEvents(a, b []*aaep.Event) bool {
	return slices.EqualFunc(a, b, func(a, b *aaep.Event) bool {
		return a.Type() == b.Type() && a.SessionID == b.SessionID && a.Summary == b.Summary &&
			reflect.DeepEqual(a.Payload, b.Payload)
	})
}

// awaitSessions waits for the ends of so many sessions, and returns what came in the order of the
// log, each once.
func awaitSessions(t *testing.T, l *testListener, sessions int) (events []*aaep.Event) {
	t.Helper()
	seen := map[string]bool{}
	for _, ev := range l.awaitEvents("end", sessions, isCompleted) {
		if seen[ev.EventID] {
			t.Errorf("event %s came twice", ev.EventID)
		}
		seen[ev.EventID] = true
		if !ev.Critical() && !isLinkNotice(ev) { // which may overtake; and which is in no log
			events = append(events, ev)
		}
	}
	return events
}
