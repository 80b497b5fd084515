package a2a_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/a2a"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// missing skips a test that needs a program which is not there; with AAEP_REAL=1 it fails.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("AAEP_REAL") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// install fetches the npm packages that a folder of testdata pins, and returns a folder with them and with what else is there.
func install(t *testing.T, name string) (dir string) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, "%s is missing", program)
		}
	}
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	npm := exec.Command("npm", "ci", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		missing(t, "npm could not fetch what %s needs: %v: %.200q", name, err, out)
	}
	return dir
}

// A program is one that runs for a test, and prints lines.
type program struct {
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, dir, name string, args ...string) *program {
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
	return &program{in, bufio.NewReader(out)}
}

func (p *program) line(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// A listener hears what a Producer tells, and answers as reply says.
type listener struct {
	sub   *subscriber.Subscription
	mu    sync.Mutex
	heard []string // what was told, in order and without states; the parts of one output are one
	kinds []aaep.Type
	last  string // the id of the output at the end of heard
	moved chan struct{}
}

type ownDialer struct{ p *producer.Producer }

func (d ownDialer) Dial(context.Context) (transports.Conn, error) {
	theirs, ours := transports.Pipe()
	go d.p.ServeConn(ours)
	return theirs, nil
}

// listen begins to listen, at no limit of the rate. A nil reply never answers, and cannot be asked.
func listen(t *testing.T, p *producer.Producer, reply func(l *listener, ev *aaep.Event)) *listener {
	t.Helper()
	asks := reply != nil
	sub, err := subscriber.Dial(t.Context(), ownDialer{p}, subscriber.Config{ID: "listener", NoReconnect: true, Capabilities: aaep.Capabilities{
		MaxEventsPerSecond: 1000, SupportsConfirmationReply: &asks, SupportsClarificationReply: &asks}})
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{sub: sub, moved: make(chan struct{})}
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
				text = ""
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
			if typ := ev.Type(); asks && (typ == aaep.TypeAwaitingConfirmation || typ == aaep.TypeAwaitingClarification) {
				reply(l, ev)
			}
		}
	}()
	return l
}

// await waits until what was heard is as ok wants it, and returns it.
func (l *listener) await(t *testing.T, ok func(heard string, kinds []aaep.Type) bool) string {
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

// awaitEnd waits for the end of some sessions.
func (l *listener) awaitEnd(t *testing.T, sessions int) string {
	t.Helper()
	return l.await(t, func(_ string, kinds []aaep.Type) bool {
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

// awaitHeard waits until a text was heard.
func (l *listener) awaitHeard(t *testing.T, text string) string {
	t.Helper()
	return l.await(t, func(heard string, _ []aaep.Type) bool { return strings.Contains(heard, text) })
}

func newProducer(t *testing.T) *producer.Producer {
	t.Helper()
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "archive"}, ShortTimeouts: true, FromStart: true, KeepEvents: 1 << 16})
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

func dial(t *testing.T, url string, cfg a2a.Config) *a2a.Agent {
	t.Helper()
	agent, err := a2a.Dial(t.Context(), url, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return agent
}
