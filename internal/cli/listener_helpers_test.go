package cli

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

type dialerFunc func(context.Context) (transports.Conn, error)

func (f dialerFunc) Dial(ctx context.Context) (transports.Conn, error) { return f(ctx) }

// saidLine is what was written, which the test may read at any time.
type saidLine struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *saidLine) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *saidLine) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *saidLine) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Reset()
}

// An testListener is a listener in virtual time, with a person who types.
type testListener struct {
	t        *testing.T
	l        *listener
	lines    chan typedLine
	out, err saidLine
	screen   saidLine // both, as they come
	ended    error
}

// listenTo follows what dial reaches while f runs. It must be called in a bubble.
func listenTo(t *testing.T, dial dialerFunc, caps aaep.Capabilities, f func(e *testListener)) *testListener {
	t.Helper()
	return listenToAll(t, caps, []dialerFunc{dial}, f)
}

func listenToAll(t *testing.T, caps aaep.Capabilities, dials []dialerFunc, f func(e *testListener)) *testListener {
	t.Helper()
	e := &testListener{t: t, lines: make(chan typedLine)}
	e.l = &listener{announcer: announcer{out: io.MultiWriter(&e.out, &e.screen)},
		status: announcer{out: io.MultiWriter(&e.err, &e.screen)}}
	var agents []*followedAgent
	for _, dial := range dials {
		f := &followedAgent{listener: e.l, wanted: caps}
		var err error
		if f.sub, err = subscriber.Dial(t.Context(), dial, f.subscriberConfig(false)); err != nil {
			t.Fatal(err)
		}
		defer f.sub.Close()
		agents = append(agents, f)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); e.ended = e.l.followAgents(ctx, e.lines, agents...) }()
	synctest.Wait()
	e.err.Reset() // the first lines
	f(e)
	cancel()
	<-done
	return e
}

// typeLine types a line, and returns what is said about it.
func (e *testListener) typeLine(line string) string {
	e.err.Reset()
	e.lines <- typedLine{text: line, at: time.Now()}
	synctest.Wait()
	return e.err.String()
}

// passTime lets time pass.
func passTime(d time.Duration) {
	time.Sleep(d) // in a bubble, where it takes no time
	synctest.Wait()
}

// wantSaid types a line, and checks what is said about it.
func (e *testListener) wantSaid(line string, said ...string) {
	e.t.Helper()
	want := ""
	for _, s := range said {
		want += "aaep: " + s + "\n"
	}
	if got := e.typeLine(line); got != want {
		e.t.Errorf("%s: %q, want %q", line, got, want)
	}
}

// agentOf serves an agent in this process, and ends it with the test.
func agentOf(t *testing.T, cfg producer.Config) (*producer.Producer, dialerFunc) {
	t.Helper()
	return agentNamed(t, "asker", cfg)
}

func agentNamed(t *testing.T, name string, cfg producer.Config) (*producer.Producer, dialerFunc) {
	t.Helper()
	cfg.Agent = aaep.Producer{AgentID: name}
	p, err := producer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p, pipeTo(p)
}

// pipeTo reaches an agent of this process.
func pipeTo(p *producer.Producer) dialerFunc {
	return func(context.Context) (transports.Conn, error) {
		a, b := transports.Pipe()
		go p.ServeConn(b)
		return a, nil
	}
}
