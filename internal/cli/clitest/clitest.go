// Package clitest is what the tests of the command share: agents in the test's own process, and
// readers of what is printed. No command imports it.
package clitest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// Event returns an event of one session with a payload and a summary.
func Event(p aaep.Payload, summary string) *aaep.Event {
	return &aaep.Event{SessionID: "sess_1", Payload: p, Summary: aaep.Say(summary),
		LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: "en"}}
}

// Pay returns a question that is about money.
func Pay() *aaep.AwaitingConfirmation {
	return &aaep.AwaitingConfirmation{Action: "Pay $20.", Consequence: "The money is gone.", TimeoutSeconds: 90,
		DefaultDecision: aaep.Reject, RiskLevel: aaep.RiskMedium}
}

// Pager takes what is written to it when the person scrolls.
type Pager struct {
	Scroll chan struct{}
	bytes.Buffer
}

// Write waits until the reader has scrolled once, as a pager does, and keeps b.
func (p *Pager) Write(b []byte) (int, error) {
	<-p.Scroll
	return p.Buffer.Write(b)
}

// DialerFunc is a function that dials.
type DialerFunc func(context.Context) (transports.Conn, error)

func (f DialerFunc) Dial(ctx context.Context) (transports.Conn, error) { return f(ctx) }

// Buffer is what was written, which the test may read at any time.
type Buffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *Buffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *Buffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Reset forgets what was written.
func (s *Buffer) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Reset()
}

// PassTime lets time pass.
func PassTime(d time.Duration) {
	time.Sleep(d) // in a bubble, where it takes no time
	synctest.Wait()
}

// AgentOf serves an agent in this process, and ends it with the test.
func AgentOf(t *testing.T, cfg producer.Config) (*producer.Producer, DialerFunc) {
	t.Helper()
	return AgentNamed(t, "asker", cfg)
}

// AgentNamed serves an agent of a name in this process, and ends it with the test.
func AgentNamed(t *testing.T, name string, cfg producer.Config) (*producer.Producer, DialerFunc) {
	t.Helper()
	cfg.Agent = aaep.Agent{AgentID: name}
	p, err := producer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p, PipeTo(p)
}

// PipeTo returns a dialer, for tests, that reaches p, a producer of this process, over a pipe in
// memory.
func PipeTo(p *producer.Producer) DialerFunc {
	return func(context.Context) (transports.Conn, error) {
		a, b := transports.Pipe()
		go p.ServeConn(b)
		return a, nil
	}
}

// WriterFunc is a function that writes.
type WriterFunc func([]byte) (int, error)

func (f WriterFunc) Write(b []byte) (int, error) { return f(b) }

// FailingWriter is a writer whose reader has gone.
type FailingWriter struct{ N int }

func (f *FailingWriter) Write([]byte) (int, error) { f.N++; return 0, errors.New("gone") }

// Must returns a value, or panics with the error.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Patience is how long anything may take that must happen.
const Patience = 2 * time.Minute

// Main runs the tests of a package in English, also where the developer speaks another language.
func Main(m *testing.M) {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		os.Unsetenv(name)
	}
	os.Exit(m.Run())
}
