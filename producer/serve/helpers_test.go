package serve_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
)

func TestMain(m *testing.M) {
	if what := os.Getenv(childVariable); what != "" {
		runChild(what)
		return
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must happen. It is no measure of anything.
const patience = time.Minute

// fixture is one producer on a port of its own.
type fixture struct {
	t     testing.TB
	p     *producer.Producer
	addr  string
	ended chan error // gets what serve.Serve returned
	once  sync.Once
}

// startFixture serves a producer on a free loopback port until the test ends.
func startFixture(t testing.TB, cfg producer.Config) *fixture {
	t.Helper()
	return startFixtureAt(t, cfg, "127.0.0.1:0")
}

// startFixtureAt is startFixture at an address.
func startFixtureAt(t testing.TB, cfg producer.Config, addr string) *fixture {
	t.Helper()
	cfg.Agent = aaep.Agent{AgentID: "tester", AgentName: "Tester"}
	cfg.ShortTimeouts = true
	p, err := producer.New(cfg)
	check(t, err)
	ln, err := net.Listen("tcp", addr)
	check(t, err)
	st := &fixture{t: t, p: p, addr: ln.Addr().String(), ended: make(chan error, 1)}
	go func() { st.ended <- serve.Serve(context.Background(), ln, p) }()
	t.Cleanup(func() { st.shutdown(time.Second) })
	return st
}

// shutdown ends the producer and waits for the server.
func (st *fixture) shutdown(within time.Duration) {
	st.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		st.p.Shutdown(ctx)
		if err := <-st.ended; err != nil {
			st.t.Errorf("Serve = %v after Shutdown, want nil", err)
		}
	})
}

func (st *fixture) startSession(about string) *producer.Session {
	st.t.Helper()
	s, err := st.p.StartSession(context.Background(), aaep.Say(about))
	check(st.t, err)
	return s
}

// pay is a tool that must ask, look one that need not.
var (
	pay = producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true,
		Action: aaep.Say("Pay $5."), Consequence: aaep.Say("The money is gone.")}
	look = producer.Tool{Name: "look", Action: aaep.Say("Looking.")}
)

// succeed is a tool's action that does nothing.
func succeed(context.Context) (string, error) { return "done", nil }

// replyTerms are the capabilities of a listener that may be asked; a zero rate is no limit.
func replyTerms(rate int64, boundaries ...aaep.Boundary) aaep.Capabilities {
	return aaep.Capabilities{MaxEventsPerSecond: rate, CoalesceBoundaries: boundaries, Languages: []string{"en-US"},
		SupportsConfirmationReply: new(true), SupportsClarificationReply: new(true)}
}

var everything = replyTerms(0, aaep.BoundaryNone)

// withoutReplies takes away the right to be asked.
func withoutReplies(c aaep.Capabilities) aaep.Capabilities {
	c.SupportsConfirmationReply, c.SupportsClarificationReply = new(false), new(false)
	return c
}

// waitUntil polls a condition that nothing announces, until patience is over.
func waitUntil(t testing.TB, what string, f func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("never: %s", what)
		}
	}
}

// result is what a call that waits came to.
type result[T any] struct {
	value T
	err   error
	took  time.Duration
}

// runAsync calls f on a goroutine of its own; the channel gets what it returned.
func runAsync[T any](f func() (T, error)) <-chan result[T] {
	c := make(chan result[T], 1)
	begin := time.Now()
	go func() {
		v, err := f()
		c <- result[T]{v, err, time.Since(begin)}
	}()
	return c
}

// awaitResult receives from a channel, and fails the test once patience is over.
func awaitResult[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	panic("unreachable")
}

// encodeMessage returns a message as it is sent.
func encodeMessage(t testing.TB, m aaep.Message) string {
	t.Helper()
	data, err := aaep.Encode(m)
	check(t, err)
	return string(data)
}

// setMember changes or, with a nil value, removes a member of a JSON object.
func setMember(t testing.TB, object, member string, value any) string {
	t.Helper()
	var m map[string]any
	check(t, json.Unmarshal([]byte(object), &m))
	if m[member] = value; value == nil {
		delete(m, member)
	}
	data, err := json.Marshal(m)
	check(t, err)
	return string(data)
}

// check fails the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
