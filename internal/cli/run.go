package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
)

func runCommand() *cobra.Command {
	var addr, language, name string
	var wait bool
	cmd := &cobra.Command{
		Use:   "run [--listen ADDRESS] [-- PROGRAM ARGS…]",
		Short: "Make any program that prints text an accessible agent",
		Long: `run starts PROGRAM and serves what it prints, as it prints it, to assistive technology. Without a program
it serves its own standard input. The text also goes to standard output.

The program's exit code ends the session: 0 completes it, any other fails it, and it is run's own exit code.
Ctrl-C cancels the session in the user's name. Whoever begins to listen in the middle hears all of it.`,
		Example: `  aaep run --listen 127.0.0.1:8080 -- some-llm "Plan my week"
  some-llm "Plan my week" | aaep run --listen 127.0.0.1:8080`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if in, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(in.Fd())) {
					return &exitError{exitUsage, errors.New("nothing to run: name a program after --, or pipe text in\nSee: aaep run --help")}
				}
			}
			if name == "" {
				name = "pipe"
				if len(args) > 0 {
					name = filepath.Base(args[0])
				}
			}
			r := &runner{args: args, name: name, wait: wait, in: cmd.InOrStdin(), out: cmd.OutOrStdout(), status: announcer{out: cmd.ErrOrStderr()}, errs: cmd.ErrOrStderr()}
			return r.run(cmd.Context(), addr, language)
		},
	}
	f := cmd.Flags()
	f.StringVar(&addr, "listen", "127.0.0.1:8080", "where to serve; it must be a loopback address")
	f.StringVar(&language, "language", "en-US", "the tag of the language the program prints")
	f.StringVar(&name, "name", "", "the agent's name; the program's by default")
	f.BoolVar(&wait, "wait", false, "wait for somebody to listen before starting")
	return cmd
}

type runner struct {
	args   []string
	name   string
	wait   bool
	in     io.Reader
	out    io.Writer
	errs   io.Writer
	status announcer
}

// drainTime is how long listeners that are behind may take to hear the end.
const drainTime = 30 * time.Second

func (r *runner) run(ctx context.Context, addr, language string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	p, err := newProducer(r.name, language)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	ln, err := serve.Listen(ctx, addr)
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("cannot serve on %s: %w", addr, err)}
	}
	served := make(chan error, 1)
	go func() { served <- serve.Serve(context.WithoutCancel(ctx), ln, p) }()
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		p.Shutdown(ending)
		<-served
	}()
	r.status.say("aaep", fmt.Sprintf("Serving %s. Follow it with: aaep listen http://%s", r.name, ln.Addr()))
	if r.wait {
		r.status.say("aaep", "Waiting for somebody to listen.")
		if err := p.WaitSubscriber(ctx); err != nil {
			return &exitError{exitInterrupted, errors.New("interrupted")}
		}
	}
	return r.session(ctx, p)
}

// session runs the program, or reads standard input, as one session.
func (r *runner) session(ctx context.Context, p *producer.Producer) error {
	s, err := p.StartSession(context.WithoutCancel(ctx), aaep.Say("Running "+r.name+"."))
	if err != nil {
		return &exitError{exitUsage, err}
	}
	defer s.Close()
	text := &textWriter{out: s.Output(), tee: r.out}
	var failed error
	if len(r.args) == 0 {
		failed = copyInterruptible(ctx, text, r.in)
	} else {
		failed = r.program(ctx, text)
	}
	if err := text.Close(); err != nil && failed == nil {
		failed = err
	}
	if text.strange > 0 {
		r.status.say("aaep", fmt.Sprintf("%d bytes were not text; they are told as the replacement character.", text.strange))
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		s.Cancel(aaep.CancelledByUser, aaep.Say(r.name+" was stopped."))
		return &exitError{exitInterrupted, errors.New("interrupted")}
	case errors.As(failed, &exit):
		code := exit.ExitCode()
		if code < 0 { // ended by a signal
			code = exitFailed
		}
		s.Fail(failed, aaep.Say(fmt.Sprintf("%s failed with %s.", r.name, exit)))
		return &exitError{code, fmt.Errorf("%s failed: %v", r.name, exit)}
	case failed != nil:
		s.Fail(failed, aaep.Say(r.name+" could not be run."))
		return &exitError{exitFailed, failed}
	}
	if err := s.Complete(aaep.Say(r.name + " finished.")); err != nil {
		return &exitError{exitFailed, err}
	}
	return nil
}

// program runs the program with the session as its standard output. Ctrl-C reaches it as it would without us;
// if it does not heed that, it is killed.
func (r *runner) program(ctx context.Context, out io.Writer) error {
	cmd := exec.CommandContext(ctx, r.args[0], r.args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.in, out, r.errs
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	return cmd.Run()
}

// copyInterruptible copies until src ends or ctx is done. A read that waits cannot be stopped; its goroutine
// ends with the program.
func copyInterruptible(ctx context.Context, dst io.Writer, src io.Reader) error {
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(dst, bufio.NewReaderSize(src, 4096))
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
