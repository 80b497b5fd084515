package bridge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/listen"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/internal/cli/subprocess"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber/terminal"
)

// between is how this program stands between the one that started it and the one that it starts.
type between struct {
	parent string              // what the program is that started this one, to a person
	typed  string              // what a person is told who typed the command
	name   string              // the agent's
	person *listen.PersonFlags // over whose outputs it is told here; nil is none
	caps   aaep.Capabilities   // of that person
	tee    func(p *producer.Producer, parent io.ReadWriter, child io.ReadWriteCloser) error
}

// runBetween starts the program in args, copies what it and the program that started this one send
// each other, and announces it over the outputs. No fault of serving or announcing interrupts the
// two. It ends when one of the two does, with the program's exit code; b says how, and for whom.
func (a *servedAgent) runBetween(cmd *cobra.Command, args []string, b between) (err error) {
	ctx, stop := exits.WithInterrupt(cmd.Context())
	defer stop()
	status := &lineio.Printer{Out: cmd.ErrOrStderr()}
	if in, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		return exits.UsageError("%s", b.typed)
	}
	program := exec.CommandContext(ctx, args[0], args[1:]...)
	program.Stderr, program.WaitDelay, program.Env = cmd.ErrOrStderr(), subprocess.KillDelay, subprocess.Environment()
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) }
	if runtime.GOOS == "windows" { // which has no such signal
		program.Cancel = program.Process.Kill
	}
	defer subprocess.EndWithParent(program)()
	in, err := program.StdinPipe()
	if err != nil {
		return exits.With(exits.Failed, err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		return exits.With(exits.Failed, err)
	}
	if err := program.Start(); err != nil {
		return exits.With(exits.Unreachable, fmt.Errorf("cannot run %q: %s", args[0], subprocess.ExplainStart(err)))
	}
	outputs := &ownLink{principal: "outputs:" + rand.Text()}
	p, served, end, err := a.serveAgent(ctx, cmd, b.name,
		producer.Config{Admit: outputs.admitOwnLink(a.where.RightsOf(status))}, status)
	if err != nil {
		status.PrintLabelled("aaep", "Nobody can follow the agent: "+words.Sentence(exits.PlainError(err))+
			" The "+b.parent+" goes on without that.")
		if p, err = serving.NewProducer(b.name, producer.Config{}); err != nil {
			return err
		}
		never := make(chan error)
		close(never)
		served, end = never, func(*error) {}
	}
	defer end(&err)
	outputs.p = p
	telling, endTelling := context.WithCancel(context.WithoutCancel(ctx))
	defer endTelling()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(serving.KillTime, endTelling) })()
	allTold := make(chan struct{})
	go func() {
		defer close(allTold)
		if b.person == nil || !b.person.HasOutputs() {
			return
		}
		if err := b.tellBesideEditor(telling, outputs, cmd.ErrOrStderr()); err != nil && ctx.Err() == nil {
			status.PrintLabelled("aaep", "Nothing is told here: "+words.Sentence(exits.PlainError(err))+
				" The "+b.parent+" goes on without that.")
		}
	}()
	passed := make(chan error, 1)
	go func() {
		passed <- b.tee(p, struct {
			io.Reader
			io.Writer
		}{cmd.InOrStdin(), cmd.OutOrStdout()}, struct {
			io.Reader
			io.WriteCloser
		}{out, in})
	}()
	var failed, ended error
	select {
	case failed = <-passed:
		in.Close()
		ended = program.Wait()
		serving.DrainBeforeKill(ctx, p, serving.DrainTime, status)
	case <-ctx.Done(): // the child, or what it started, may still hold the streams when this is killed
		serving.DrainBeforeKill(ctx, p, serving.DrainTime, status)
		in.Close()
		ended = program.Wait() // which closes what the child writes to
		failed = <-passed
	}
	<-allTold
	<-served
	var exit *exec.ExitError
	switch {
	case errors.As(ended, &exit):
		code, ending := subprocess.Ending(exit)
		return exits.With(code, errors.New(args[0]+" "+ending))
	case failed != nil:
		return exits.With(exits.Failed, errors.New(exits.PlainError(failed)))
	}
	return nil
}

// tellBesideEditor announces over the outputs what the editor and the agent send each other, until
// that ends. Lines are printed on standard error, since the other streams are the editor's.
func (b between) tellBesideEditor(ctx context.Context, outputs *ownLink, talk io.Writer) error {
	nothing, typed := io.Pipe()
	defer typed.Close()
	l, end, err := b.person.Open(ctx, terminal.Open(ctx, nothing, talk, talk), b.caps, true)
	if err != nil {
		return err
	}
	defer end()
	b.caps.Languages = l.SpokenFirst(b.caps.Languages)
	f, err := l.Dial(ctx, outputs, b.caps)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Follow(ctx)
}
