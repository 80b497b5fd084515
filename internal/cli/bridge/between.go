package bridge

import (
	"context"
	"crypto/rand"
	"errors"
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
	program, err := startChild(ctx, args, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer program.release()
	outputs := &ownLink{principal: "outputs:" + rand.Text()}
	p, served, end, err := a.serveOrGoOn(ctx, cmd, b, outputs, status)
	if err != nil {
		return err
	}
	defer end(&err)
	outputs.p = p

	telling, endTelling := context.WithCancel(context.WithoutCancel(ctx))
	defer endTelling()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(serving.KillTime, endTelling) })()
	allTold := make(chan struct{})
	go func() {
		defer close(allTold)
		if err := b.tellBesideEditor(telling, outputs, cmd.ErrOrStderr()); err != nil && ctx.Err() == nil {
			status.PrintLabelled("aaep", "Nothing is told here: "+words.Sentence(exits.PlainError(err))+
				" The "+b.parent+" goes on without that.")
		}
	}()
	failed, ended := b.passUntilEnd(ctx, cmd, p, program, status)
	<-allTold
	<-served
	return endError(args[0], failed, ended)
}

// endError returns the error of a command that ran a program, given what was wrong with copying and
// what the program returned: the program's exit code counts first.
func endError(program string, failed, ended error) error {
	var exit *exec.ExitError
	switch {
	case errors.As(ended, &exit):
		code, ending := subprocess.Ending(exit)
		return exits.With(code, errors.New(program+" "+ending))
	case failed != nil:
		return exits.With(exits.Failed, errors.New(exits.PlainError(failed)))
	}
	return nil
}

// childProgram is a program that runs, with the ends of its standard input and output.
type childProgram struct {
	*exec.Cmd
	in      io.WriteCloser
	out     io.Reader
	release func() // is called when the program has ended
}

// startChild starts the program in args, which ends with this one, and gets SIGTERM when ctx ends;
// on Windows it is killed. The error has the exit code; a program that cannot be run is
// Unreachable. The caller calls release once the program has ended.
func startChild(ctx context.Context, args []string, stderr io.Writer) (_ *childProgram, err error) {
	c := &childProgram{Cmd: exec.CommandContext(ctx, args[0], args[1:]...)}
	c.Stderr, c.WaitDelay, c.Env = stderr, subprocess.KillDelay, subprocess.Environment()
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	if runtime.GOOS == "windows" { // which has no such signal
		c.Cancel = func() error { return c.Process.Kill() }
	}
	c.release = subprocess.EndWithParent(c.Cmd)
	defer func() {
		if err != nil {
			c.release()
		}
	}()
	if c.in, err = c.StdinPipe(); err != nil {
		return nil, exits.With(exits.Failed, err)
	}
	if c.out, err = c.StdoutPipe(); err != nil {
		return nil, exits.With(exits.Failed, err)
	}
	if err := c.Start(); err != nil {
		return nil, exits.With(exits.Unreachable, errors.New(subprocess.CannotStart(args[0], err)))
	}
	return c, nil
}

// serveOrGoOn serves the agent to its listeners. If that fails it says so, and returns a producer
// without listeners, so that the two programs can go on.
func (a *servedAgent) serveOrGoOn(ctx context.Context, cmd *cobra.Command, b between, outputs *ownLink,
	status *lineio.Printer) (p *producer.Producer, served <-chan error, end func(*error), err error) {
	p, served, end, err = a.serveAgent(ctx, cmd, b.name,
		producer.Config{Admit: outputs.admitOwnLink(a.where.RightsOf(status))}, status)
	if err == nil {
		return p, served, end, nil
	}
	status.PrintLabelled("aaep", "Nobody can follow the agent: "+words.Sentence(exits.PlainError(err))+
		" The "+b.parent+" goes on without that.")
	if p, err = serving.NewProducer(b.name, producer.Config{}); err != nil {
		return nil, nil, nil, err
	}
	nothingServed := make(chan error)
	close(nothingServed)
	return p, nothingServed, func(*error) {}, nil
}

// passUntilEnd copies what the two programs send each other, until one of them ends it or ctx ends,
// and gives the listeners time to hear the end. failed is what was wrong with copying, and ended
// what the program returned.
func (b between) passUntilEnd(ctx context.Context, cmd *cobra.Command, p *producer.Producer, program *childProgram,
	status *lineio.Printer) (failed, ended error) {
	parent := struct {
		io.Reader
		io.Writer
	}{cmd.InOrStdin(), cmd.OutOrStdout()}
	child := struct {
		io.Reader
		io.WriteCloser
	}{program.out, program.in}
	passed := make(chan error, 1)
	go func() { passed <- b.tee(p, parent, child) }()
	select {
	case failed = <-passed:
		program.in.Close()
		ended = program.Wait()
		serving.DrainBeforeKill(ctx, p, serving.DrainTime, status)
	case <-ctx.Done():
		// The program, or what it started, may hold its streams until it is killed. So copying ends
		// last.
		serving.DrainBeforeKill(ctx, p, serving.DrainTime, status)
		program.in.Close()
		ended = program.Wait() // which closes what the program writes to
		failed = <-passed
	}
	return failed, ended
}

// tellBesideEditor announces over the person's outputs what the editor and the agent send each
// other, until that ends; without outputs it does nothing. Lines are printed on standard error,
// since the other streams are the editor's.
func (b between) tellBesideEditor(ctx context.Context, outputs *ownLink, talk io.Writer) error {
	if b.person == nil || !b.person.HasOutputs() {
		return nil
	}
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
