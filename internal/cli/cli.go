// Package cli is the root of the aaep command: what all commands share at the top, such as help,
// completion and exit codes. What it prints is plain text in lines that are only ever appended, so
// that a screen reader can read it: no colour, no cursor motion, no spinner. Standard output is
// what was asked for; standard error is talk about it.
//
// Begin with Main. Each group of commands is a folder: listen, answer, agent (run, serve, replay,
// log), bridge (acp, hook, agui, tap, bridge), trust (manifest, audit), proof (conformance,
// validate, capture), measure (bench, segment) and demo. What they share are the folders exits,
// lineio, reach, serving, terms, uilang, subprocess and input; no group imports another but bridge,
// which listens by package listen.
//
// Main, help and the words of misuse are in cli.go, completion in completion.go, and manual pages
// in man.go.
package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/agent"
	"github.com/aaep-go/aaep/internal/cli/answer"
	"github.com/aaep-go/aaep/internal/cli/bridge"
	"github.com/aaep-go/aaep/internal/cli/buildinfo"
	"github.com/aaep-go/aaep/internal/cli/demo"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/hook/call"
	_ "github.com/aaep-go/aaep/internal/cli/hook/early"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/listen"
	"github.com/aaep-go/aaep/internal/cli/measure"
	"github.com/aaep-go/aaep/internal/cli/proof"
	"github.com/aaep-go/aaep/internal/cli/trust"
)

// Main runs the command with the arguments behind its name, over the given streams, and returns its
// exit code; the codes are those of package exits. The program's main, and tests, call it. An error
// is printed to stderr, with what to do.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if call.Is(args) { // which package early has done already where this is a process
		return call.Run(args[1], stdin, stdout, stderr)
	}
	// Where the reader of standard output has gone, writing fails, but listeners are still told.
	// Ignoring the signal instead would be passed on to the programs we run.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		unquoteFlags(root)
	}
	return reportError(root, args, root.Execute(), stderr)
}

// newRoot makes "aaep" with all its commands.
func newRoot() *cobra.Command {
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
		Args:              cobra.NoArgs,
		PersistentPreRunE: refuseEmptyFlags,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.Version = buildinfo.Text()
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(explainFlagError)
	root.AddCommand(demo.Command(), bridge.ACPCommand(), bridge.HookCommand(), bridge.BridgeCommand(),
		bridge.TapCommand(), bridge.AGUICommand(), agent.RunCommand(),
		agent.ServeCommand(), listen.Command(), answer.Command(), proof.ValidateCommand(), proof.CaptureCommand(), agent.ReplayCommand(), measure.SegmentCommand(),
		trust.AuditCommand(), agent.LogCommand(), trust.ManifestCommand(), proof.ConformanceCommand(), measure.BenchCommand())
	root.AddCommand(completionCommand(), manCommand())
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Args = checkHelpTopic
	completeFlags(root)
	return root
}

// refuseEmptyFlags refuses flags of any command that were given and say nothing, as --tokens
// "$TOKENS" or --head "$(ssh …)" do where nothing is there: taken as not given they would let
// everybody in, or vouch for what was not checked.
func refuseEmptyFlags(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return strings.TrimSpace(v) == "" }) {
			err = exits.UsageError("--%s is given and is empty, or a part of it is. Say what it should be, or leave it out.",
				f.Name)
		}
	})
	return err
}

// explainFlagError says what is wrong with a flag, and which flag was perhaps meant.
func explainFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if similar := exits.SimilarNames(unknown.GetSpecifiedName(), flagNames(cmd)); similar != "" {
			return exits.UsageError("%w.\nPerhaps you mean: --%s. See: %s --help", err, similar, cmd.CommandPath())
		}
	}
	return exits.UsageError("%w.\nSee: %s --help", err, cmd.CommandPath())
}

// checkHelpTopic refuses "aaep help" of a command that does not exist. Cobra would print the help
// of everything.
func checkHelpTopic(help *cobra.Command, topic []string) error {
	root := help.Root()
	if cmd, rest, _ := root.Find(topic); len(rest) > 0 {
		return exits.With(exits.Usage, explainMisuse(root, topic,
			fmt.Errorf("unknown command %q for %q", rest[0], cmd.CommandPath())))
	}
	return nil
}

// reportError prints what a command returned, if it is an error with a text, and returns the exit
// code for it.
func reportError(root *cobra.Command, args []string, err error, stderr io.Writer) int {
	if err == nil {
		return exits.OK
	}
	if lineio.IsReaderGone(err) { // the reader of what we print has seen enough
		return exits.Failed
	}
	var exit *exits.Error
	if !errors.As(err, &exit) { // what cobra itself found: an unknown command, missing arguments
		exit = exits.With(exits.Usage, explainMisuse(root, args, err))
	}
	if text := exit.Error(); text != "" {
		fmt.Fprintln(lineio.WithPriority(stderr, slog.LevelError), "aaep: "+aaep.SafeText(exits.TrimPackageNames(text)))
	}
	return exit.Code
}

// explainMisuse returns the usage error for a command line that cobra does not take: its own
// problem, and a similar command or flag, or else where the help is. Main calls it for an error of
// cobra's.
func explainMisuse(root *cobra.Command, args []string, err error) error {
	cmd, rest, _ := root.Find(args)
	problem, _, _ := strings.Cut(err.Error(), "\n")
	hint := "See: " + cmd.CommandPath() + " --help"
	if len(rest) > 0 {
		if likely := likelyMeant(cmd, rest[0]); likely != "" {
			hint = "Perhaps you mean: " + likely
		}
	}
	return fmt.Errorf("%s.\n%s", problem, hint)
}

// likelyMeant returns what a word may mean that is none of cmd's commands: a flag of that name,
// else commands with a similar name, else those of that name below one of cmd's; or "".
func likelyMeant(cmd *cobra.Command, word string) string {
	if f := cmd.Flags().Lookup(word); f != nil {
		return cmd.CommandPath() + " --" + f.Name
	}
	var names, below []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
		for _, sub := range c.Commands() {
			if sub.Name() == word && c.Name() != "completion" {
				below = append(below, sub.CommandPath())
			}
		}
	}
	if similar := exits.SimilarNames(word, names); similar != "" {
		return cmd.CommandPath() + " " + similar
	}
	return strings.Join(below, " or ")
}

// flagNames returns the names of a command's flags.
func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
