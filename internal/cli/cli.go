// Package cli is the aaep command. What it prints is plain text in lines that are only ever appended, so
// that a screen reader can read it: no colour, no cursor motion, no spinner. Standard output is what
// was asked for; standard error is talk about it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// The exit codes.
const (
	exitOK = iota
	exitFailed
	exitUsage
	exitUnreachable
	exitInterrupted = 130
)

// exitError ends the command with a code. An empty text says nothing more.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// Main runs the command and returns its exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "aaep",
		Short: "Accessible agents: say what an AI agent does, follow it, answer it",
		Long: `aaep speaks the Agent Accessibility Event Protocol, with which an AI agent says what it is doing and
a screen reader, a braille display or any other assistive technology follows at its user's pace.

Exit codes: 0 done, 1 failed, 2 wrong use, 3 agent not reached. "aaep run" ends with the program's own code.`,
		SilenceUsage: true, SilenceErrors: true,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &exitError{exitUsage, fmt.Errorf("%w\nSee: %s --help", err, cmd.CommandPath())}
	})
	root.AddCommand(demoCommand(), runCommand(), listenCommand())
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) { // what cobra itself found: an unknown command, missing arguments
		exit = &exitError{exitUsage, fmt.Errorf("%w\nSee: aaep --help", err)}
	}
	if text := exit.Error(); text != "" {
		fmt.Fprintln(stderr, "aaep: "+aaep.SafeText(text))
	}
	return exit.code
}

// interruptible returns a context that ends with Ctrl-C or a request to terminate. A second Ctrl-C kills.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// newProducer is the producer of an agent that has a name and a language.
func newProducer(name, language string) (*producer.Producer, error) {
	return producer.New(producer.Config{
		Agent:    aaep.Producer{AgentID: name, AgentName: name},
		Language: language, AnyLanguage: true, FromStart: true,
	})
}
