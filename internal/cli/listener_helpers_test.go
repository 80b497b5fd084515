package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/subscriber/terminal"
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
	lines    chan terminal.Line
	out, err saidLine
	screen   saidLine // both, as they come
	ended    error
}

// newTestListener returns a listener that prints into memory, where keys are seen.
func newTestListener(t *testing.T, caps aaep.Capabilities) *testListener {
	e := &testListener{t: t, lines: make(chan terminal.Line)}
	e.l = &listener{wanted: caps, unseen: func() bool { return false }}
	e.l.read = func(ctx context.Context, do func(terminal.Line)) bool {
		for {
			select {
			case line, ok := <-e.lines:
				if !ok {
					return true
				}
				do(line)
			case <-ctx.Done():
				return false
			}
		}
	}
	e.l.announcer.out, e.l.status.out = io.MultiWriter(&e.out, &e.screen), io.MultiWriter(&e.err, &e.screen)
	e.l.status.said = e.l.recordSaid
	return e
}

// print has the listener print until ctx is done.
func (e *testListener) print(ctx context.Context) (end func()) {
	return e.l.useTerminal(ctx, terminal.Open(ctx, strings.NewReader(""), e.l.announcer.out, e.l.status.out))
}

// hearOver has the person told over an output beside the terminal, until ctx is done.
func (e *testListener) hearOver(ctx context.Context, out present.Output) *personOutput {
	of := e.l.preferences(false)
	of.Speaks = out.Speaks
	of.Otherwise = func(own string) announce.Words { return explainUnspoken(uiLanguage(own), phrase.PrintedInstead) }
	told := &personOutput{outputKind: outputKind{name: "test", words: true, knows: true}, p: present.New(of), speaks: out.Speaks}
	e.l.out = &outputs{tellings: []*personOutput{told}}
	e.l.status.also = func(text string) { told.p.Tell(text, false) }
	e.l.printing.Go(func() { told.p.Run(ctx, out) })
	return told
}

// listenTo follows what dial reaches while f runs. It must be called in a bubble.
func listenTo(t *testing.T, dial dialerFunc, caps aaep.Capabilities, f func(e *testListener)) *testListener {
	t.Helper()
	return listenToAll(t, caps, []dialerFunc{dial}, f)
}

func listenToAll(t *testing.T, caps aaep.Capabilities, dials []dialerFunc, f func(e *testListener)) *testListener {
	t.Helper()
	e := newTestListener(t, caps)
	e.listen(t.Context(), nil, dials, func() { f(e) })
	return e
}

// listen follows what dials reach while f runs, over the outputs that prepare sets, if it is set.
func (e *testListener) listen(ctx context.Context, prepare func(context.Context, *testListener), dials []dialerFunc, f func()) {
	e.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	if prepare != nil {
		prepare(ctx, e)
	}
	defer e.print(ctx)()
	var agents []*followedAgent
	for _, dial := range dials {
		f := &followedAgent{listener: e.l, wanted: e.l.wanted}
		var err error
		if f.sub, err = subscriber.Dial(e.t.Context(), dial, f.subscriberConfig(false)); err != nil {
			e.t.Fatal(err)
		}
		defer f.sub.Close()
		agents = append(agents, f)
	}
	done := make(chan struct{})
	go func() { defer close(done); e.ended = e.l.followAgents(ctx, agents...) }()
	synctest.Wait()
	e.err.Reset() // the first lines
	f()
	cancel()
	<-done
}

// typeLine types a line, and returns what is said about it.
func (e *testListener) typeLine(line string) string {
	e.err.Reset()
	e.lines <- terminal.Line{Text: line, At: time.Now(), Began: time.Now()}
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

// writerFunc is a function that writes.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// failing is a writer whose reader has gone.
type failing struct{ n int }

func (f *failing) Write([]byte) (int, error) { f.n++; return 0, errors.New("gone") }
