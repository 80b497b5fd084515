package listen

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/uilang"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/subscriber/terminal"
)

// An testListener is a listener in virtual time, with a person who types.
type testListener struct {
	t        *testing.T
	l        *Listener
	lines    chan terminal.Line
	out, err clitest.Buffer
	screen   clitest.Buffer // both, as they come
	ended    error
}

// newTestListener returns a listener that prints into memory, where keys are seen.
func newTestListener(t *testing.T, caps aaep.Capabilities) *testListener {
	e := &testListener{t: t, lines: make(chan terminal.Line)}
	e.l = &Listener{wanted: caps, unseen: func() bool { return false }}
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
	e.l.Printer.Out, e.l.Status.Out = io.MultiWriter(&e.out, &e.screen), io.MultiWriter(&e.err, &e.screen)
	e.l.Status.Said = e.l.recordSaid
	return e
}

// print has the listener print until ctx is done.
func (e *testListener) print(ctx context.Context) (end func()) {
	return e.l.useTerminal(ctx, terminal.Open(ctx, strings.NewReader(""), e.l.Printer.Out, e.l.Status.Out))
}

// hearOver has the person told over an output beside the terminal, until ctx is done.
func (e *testListener) hearOver(ctx context.Context, out present.Output, content ...announce.Content) *personOutput {
	of := e.l.preferences(false)
	if of.Speaks = out.Speaks; content != nil {
		of.Content = content[0]
	}
	of.Otherwise = func(own string) announce.Words { return explainUnspoken(uilang.Language(own), phrase.PrintedInstead) }
	told := &personOutput{outputKind: outputKind{name: "test", words: true, knows: true}, p: present.New(of), speaks: out.Speaks}
	e.l.out = &outputs{tellings: []*personOutput{told}}
	e.l.Status.Also = func(text string) { told.p.Tell(text, false) }
	e.l.printing.Go(func() { told.p.Run(ctx, out) })
	return told
}

// listenTo follows what dial reaches while f runs. It must be called in a bubble.
func listenTo(t *testing.T, dial clitest.DialerFunc, caps aaep.Capabilities, f func(e *testListener)) *testListener {
	t.Helper()
	return listenToAll(t, caps, []clitest.DialerFunc{dial}, f)
}

func listenToAll(t *testing.T, caps aaep.Capabilities, dials []clitest.DialerFunc, f func(e *testListener)) *testListener {
	t.Helper()
	e := newTestListener(t, caps)
	e.listen(t.Context(), nil, dials, func() { f(e) })
	return e
}

// listen follows what dials reach while f runs, over the outputs that prepare sets, if it is set.
func (e *testListener) listen(ctx context.Context, prepare func(context.Context, *testListener), dials []clitest.DialerFunc, f func()) {
	e.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	if prepare != nil {
		prepare(ctx, e)
	}
	defer e.print(ctx)()
	var agents []*FollowedAgent
	for _, dial := range dials {
		f := &FollowedAgent{Listener: e.l, wanted: e.l.wanted}
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
