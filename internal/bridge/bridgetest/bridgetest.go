// Package bridgetest is what the tests of the bridges share: a listener who hears and answers a
// Producer, and the programs of other projects, which npm fetches.
package bridgetest

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge/ownagent"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// A Program is one that runs for a test, and prints lines.
type Program struct {
	In  io.WriteCloser
	out *bufio.Reader
}

// Start starts a program in dir, which ends with the test. Its output can be read line by line, and
// its errors are those of the test.
func Start(t *testing.T, dir, name string, args ...string) *Program {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return &Program{in, bufio.NewReader(out)}
}

// Line waits for the next line that the program prints, and returns it without blanks around it.
// The test fails where the output ends first.
func (p *Program) Line(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// A Listener hears what a Producer tells, and answers as reply says.
type Listener struct {
	Sub   *subscriber.Subscription
	mu    sync.Mutex
	heard []string // what was told, in order and without states; the parts of one output are one
	kinds []aaep.Type
	state string // the text of the newest state
	last  string // the id of the output at the end of heard
	moved chan struct{}
}

// Listen begins to listen to p, at no limit of the rate. reply is called for each question; a nil
// reply never answers, and cannot be asked. It ends with p.
func Listen(t *testing.T, p *producer.Producer, reply func(l *Listener, ev *aaep.Event)) *Listener {
	t.Helper()
	answers := reply != nil
	sub, err := subscriber.Dial(t.Context(), ownagent.Link{Producer: p}, subscriber.Config{ID: "listener", NoReconnect: true,
		Capabilities: aaep.Capabilities{
			MaxEventsPerSecond: 1000, SupportsConfirmationReply: &answers, SupportsClarificationReply: &answers}})
	if err != nil {
		t.Fatal(err)
	}
	l := &Listener{Sub: sub, moved: make(chan struct{})}
	go func() {
		for ev, err := range sub.Events(context.Background()) {
			if err != nil {
				return
			}
			l.mu.Lock()
			id, text := "", ev.Text(aaep.VerbosityNormal)
			switch p := ev.Payload.(type) {
			case *aaep.OutputStreaming:
				id, text = p.OutputID, p.Chunk
			case *aaep.AwaitingClarification:
				text = p.Question
			}
			if ev.Type() == aaep.TypeStateChanged {
				l.state, text = text, ""
			}
			switch {
			case text == "":
			case id != "" && id == l.last:
				l.heard[len(l.heard)-1] += text
			default:
				l.heard = append(l.heard, text)
			}
			if text != "" {
				l.last = id
			}
			l.kinds = append(l.kinds, ev.Type())
			close(l.moved)
			l.moved = make(chan struct{})
			l.mu.Unlock()
			if typ := ev.Type(); answers && (typ == aaep.TypeAwaitingConfirmation ||
				typ == aaep.TypeAwaitingClarification) {
				reply(l, ev)
			}
		}
	}()
	return l
}

// Await waits until ok returns true for what was heard and the types of events so far, and returns
// what was heard. The test fails, with what was heard, when its context ends.
func (l *Listener) Await(t *testing.T, ok func(heard string, kinds []aaep.Type) bool) string {
	t.Helper()
	for {
		l.mu.Lock()
		heard, kinds, moved := strings.Join(l.heard, "\n"), append([]aaep.Type(nil), l.kinds...), l.moved
		l.mu.Unlock()
		if ok(heard, kinds) {
			return heard
		}
		select {
		case <-moved:
		case <-t.Context().Done():
			t.Fatalf("heard so far:\n%s", heard)
		}
	}
}

// AwaitState waits until the text of the newest state that was announced is text. The test fails
// when its context ends first.
func (l *Listener) AwaitState(t *testing.T, text string) {
	t.Helper()
	l.Await(t, func(string, []aaep.Type) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.state == text
	})
}

// AwaitEnd waits until so many sessions have ended, and returns all text that was heard so far.
func (l *Listener) AwaitEnd(t *testing.T, sessions int) string {
	t.Helper()
	return l.Await(t, func(_ string, kinds []aaep.Type) bool {
		n := 0
		for _, kind := range kinds {
			switch kind {
			case aaep.TypeSessionCompleted, aaep.TypeSessionErrored, aaep.TypeSessionCancelled:
				n++
			}
		}
		return n >= sessions
	})
}

// AwaitHeard waits until a text was heard.
func (l *Listener) AwaitHeard(t *testing.T, text string) string {
	t.Helper()
	return l.Await(t, func(heard string, _ []aaep.Type) bool { return strings.Contains(heard, text) })
}

// NewProducer returns a Producer that is shut down with the test.
func NewProducer(t *testing.T) *producer.Producer {
	t.Helper()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "archive"}, ShortTimeouts: true,
		FromStart: true, KeepEvents: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		p.Shutdown(ctx)
	})
	return p
}
