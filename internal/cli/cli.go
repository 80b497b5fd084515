// Package cli is the aaep command. What it prints is plain text in lines that are only ever
// appended, so that a screen reader can read it: no colour, no cursor motion, no spinner. Standard
// output is what was asked for; standard error is talk about it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/hook/call"
	_ "github.com/aaep-go/aaep/internal/cli/hook/early"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// The exit codes, of all commands.
const (
	exitOK          = iota
	exitFailed      // what was asked for was tried, and failed; or what was looked at is not right
	exitUsage       // it cannot be asked for like that: a flag, an argument, or a file that a flag names
	exitUnreachable // what it is about is not there: an agent, a server, the file to look at
	exitInterrupted = 130
)

// exitError ends the command with a code. An empty text says nothing more.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// exitWith returns the error that ends the command with a code.
func exitWith(code int, err error) *exitError { return &exitError{code: code, err: err} }

// Main runs the command and returns its exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if call.Is(args) { // which package early has done already where this is a process
		return call.Run(args[1], stdin, stdout, stderr)
	}
	// Where the reader of standard output has gone, writing fails, but listeners are still told.
	// Ignoring the signal instead would be passed on to the programs we run.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	root := &cobra.Command{
		Use:   "aaep",
		Short: "Accessible agents: say what an AI agent does, follow it, answer it",
		Long: `aaep speaks the Agent Accessibility Event Protocol: an AI agent says what it is doing, and a screen
reader, a braille display or any other assistive technology follows at its user's pace.

Begin with: aaep demo

Exit codes, of every command:
  0    done
  1    it was tried and failed, or what was looked at is not right; tried again it may succeed
  2    it cannot be asked for like that: a flag, an argument, or a file that a flag names; nothing was begun
  3    what it is about is not there: the agent, the servers, the issuer, the file to look at
  130  interrupted

"aaep run" ends with the code of the program it runs. SIGTERM, by which a service manager stops it, is no failure of
"aaep run" and "aaep serve": they end with 0.`,
		SilenceUsage: true, SilenceErrors: true,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.Version = versionText()
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			if like := similarName(unknown.GetSpecifiedName(), flagNames(cmd)); like != "" {
				return usageError("%w.\nPerhaps you mean: --%s. See: %s --help", err, like, cmd.CommandPath())
			}
		}
		return usageError("%w.\nSee: %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(demoCommand(), acpCommand(), hookCommand(), bridgeCommand(), tapCommand(), aguiCommand(), runCommand(),
		serveCommand(), listenCommand(), answerCommand(), validateCommand(), captureCommand(), replayCommand(), segmentCommand(),
		auditCommand(), logCommand(), manifestCommand(), conformanceCommand(), benchCommand())
	root.AddCommand(completionCommand(), manCommand())
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Args = func(_ *cobra.Command, topic []string) error { // cobra helps with everything instead
		if cmd, rest, _ := root.Find(topic); len(rest) > 0 {
			return exitWith(exitUsage, explainMisuse(root, topic,
				fmt.Errorf("unknown command %q for %q", rest[0], cmd.CommandPath())))
		}
		return nil
	}
	completeFlags(root)
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		unquoteFlags(root)
	}
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	if errors.Is(err, syscall.EPIPE) { // the reader of what we print has seen enough
		return exitFailed
	}
	var exit *exitError
	if !errors.As(err, &exit) { // what cobra itself found: an unknown command, missing arguments
		exit = exitWith(exitUsage, explainMisuse(root, args, err))
	}
	if text := exit.Error(); text != "" {
		fmt.Fprintln(withPriority(stderr, slog.LevelError), "aaep: "+aaep.SafeText(trimPackageNames(text)))
	}
	return exit.code
}

// explainMisuse says what is wrong with a command line that cobra does not take, and what would be
// right.
func explainMisuse(root *cobra.Command, args []string, err error) error {
	cmd, rest, _ := root.Find(args)
	what, _, _ := strings.Cut(err.Error(), "\n")
	if strings.Contains(what, " arg(s)") { // too many or too few
		return fmt.Errorf("it is called as: %s.\nSee: %s --help", strings.TrimSuffix(cmd.UseLine(), " [flags]"),
			cmd.CommandPath())
	}
	hint := "See: " + cmd.CommandPath() + " --help"
	if len(rest) > 0 {
		var names, below []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
			for _, sub := range c.Commands() {
				if sub.Name() == rest[0] && c.Name() != "completion" {
					below = append(below, sub.CommandPath())
				}
			}
		}
		if f := cmd.Flags().Lookup(rest[0]); f != nil {
			hint = "Perhaps you mean: " + cmd.CommandPath() + " --" + f.Name
		} else if like := similarName(rest[0], names); like != "" {
			hint = "Perhaps you mean: " + cmd.CommandPath() + " " + like
		} else if below != nil {
			hint = "Perhaps you mean: " + strings.Join(below, " or ")
		}
	}
	return fmt.Errorf("%s.\n%s", what, hint)
}

// similarName returns the name that was likely meant by another that was typed, or "". Cobra does
// this for commands alone.
func similarName(typed string, names []string) string {
	var judge cobra.Command
	for _, name := range names {
		judge.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	judge.SuggestionsMinimumDistance = 2
	return strings.Join(judge.SuggestionsFor(typed), " or ")
}

// flagNames returns the names of a command's flags.
func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// release is the version of a program that was built to be given away; the linker writes it
// (internal/release).
var release string

// buildInfo returns the version and the commit of this program, as far as the Go tools wrote them
// into it.
func buildInfo() (name, commit string) {
	name = release
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; name == "" && v != "(devel)" {
			name = v
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	return name, commit
}

// versionText says which build this is, and what it was built with.
func versionText() string {
	text := "aaep"
	name, commit := buildInfo()
	if name != "" {
		text += " " + name
	}
	text += ", for AAEP " + aaep.Version
	if commit != "" {
		text += ", commit " + commit
	}
	text += ", " + runtime.Version()
	if name == "" && commit == "" {
		text += "; the build says neither its version nor its commit (-buildvcs=false)"
	}
	return text
}

// usageError is the error of a command that was called in a wrong way.
func usageError(format string, args ...any) error {
	return exitWith(exitUsage, fmt.Errorf(format, args...))
}

// cannotTake is the error of a flag that names what cannot be used. It is no mistake of the caller
// where another program uses that, or the disk is full.
func cannotTake(flag string, err error) error {
	code, says := exitUsage, "cannot take "+flag+": "+plainError(err)
	if right := isRight[flag]; right != "" {
		says += ".\n" + right
	}
	if errors.Is(err, sqlite.ErrInUse) || isDiskFull(err) {
		code = exitFailed
	}
	return exitWith(code, errors.New(says))
}

// isDiskFull reports whether what was asked for is right, and there is no room for it.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC)
}

// isRight is what those who follow an agent may name with a flag, which they get from the person
// who runs it.
var isRight = map[string]string{
	"--trust":               "Name a JWK or PEM file with the agent's public keys, such as planner.keys.json of: aaep manifest keygen planner",
	"--token-file":          "Name a file that holds the token which the agent knows you by, and nothing else",
	"--ca, --cert or --key": "Name PEM files: the certificates of CAs, your certificate, its key",
	"--trust-first-use":     "Name a file for the keys of agents that are met; one that is not there yet is made",
}

// A signalled is why a context ended.
type signalled struct{ os.Signal }

func (s signalled) Error() string { return s.String() }

// withInterrupt returns a context that ends with Ctrl-C, a request to terminate or the end of the
// terminal, and then has a signalled as its cause.
func withInterrupt(ctx context.Context) (context.Context, context.CancelFunc) {
	return endedBy(ctx, nil)
}

// withServiceStop is interruptible for what a service manager may run: without a terminal that
// could end, SIGHUP changes nothing, and report is told why.
func withServiceStop(ctx context.Context, report func(label, text string)) (context.Context,
	context.CancelFunc) {
	if hasTerminal() {
		return withInterrupt(ctx)
	}
	return endedBy(ctx, func() {
		report("aaep", "SIGHUP changes nothing: files that changed are read again by themselves, and a new flag needs a restart.")
	})
}

// endedBy is interruptible where hangUp is nil; else that is called for the end of the terminal,
// which ends nothing.
func endedBy(ctx context.Context, hangUp func()) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup wants it
		signals = append(signals, syscall.SIGHUP)
	}
	received := make(chan os.Signal, 1)
	signal.Notify(received, signals...)
	go func() {
		defer signal.Stop(received)
		for {
			select {
			case s := <-received:
				if s == syscall.SIGHUP && hangUp != nil {
					hangUp()
					continue
				}
				cancel(signalled{s})
				if s != os.Interrupt {
					time.Sleep(withTheFirst)
				}
			case <-ctx.Done():
			}
			return
		}
	}()
	return ctx, func() { cancel(nil) }
}

const withTheFirst = time.Second

// stopError returns the error with which a command ends that serves until it is stopped: nil after
// SIGTERM, with which a service manager asks for what is no failure.
func stopError(ctx context.Context) error {
	if context.Cause(ctx) == (signalled{syscall.SIGTERM}) {
		return nil
	}
	return exitWith(exitInterrupted, errors.New("interrupted"))
}

// newProducer is the producer of an agent that has a name, and may be followed by any listener from
// the start.
func newProducer(name string, cfg producer.Config) (*producer.Producer, error) {
	cfg.Agent = aaep.Producer{AgentID: name, AgentName: name}
	cfg.AnyLanguage, cfg.FromStart = true, true
	if cfg.Audit == nil && cfg.Logger != nil { // otherwise the words of each question would be in the log
		cfg.Audit = answered{cfg.Logger}
	}
	return producer.New(cfg)
}
