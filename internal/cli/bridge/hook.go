package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	bridge "github.com/aaep-go/aaep/bridges/hook"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/hook"
	"github.com/aaep-go/aaep/internal/cli/hook/call"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/internal/cli/subprocess"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
)

const trialTime = 15 * time.Second // for a hook, which may have to start the server

// HookCommand makes "aaep hook" for a person who types it; package call is what an agent runs.
func HookCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook (install | status | serve | AGENT)",
		Short: "Hear the coding agent that you use already, and answer it, by its hooks",
		Long: `hook lets you keep your coding agent and your editor, and hear what the agent does, that it waits, for what,
and that it is done; and answer it from your own voice, display or keys. It works with agents that call hooks:
` + strings.Join(call.Agents, ", ") + `.

Install it once, with "aaep hook install AGENT", and listen with "aaep listen". What the agent wants to be allowed is
asked there. Only your yes allows it. If nobody listens or answers, the agent asks in its own window, as if there were no hook.

The agent then runs "aaep hook AGENT" for each thing that happens: that reads one JSON object and prints one, or
nothing. It tells one server, which the first of them starts, and which ends when it is not needed.`,
		Example: `  aaep hook install claude
  aaep listen --output speech
  aaep hook status
  aaep hook install --remove claude`,
		ValidArgs: call.Agents,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			// An agent that calls a hook in this way must not take the exit code as a decision.
			return exits.With(exits.Failed, fmt.Errorf("there are no hooks for %q.\nThere are some for: %s",
				strings.Join(args,
					" "), strings.Join(call.Agents, ", ")))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(hookInstallCommand(), hookStatusCommand(), hookServeCommand())
	return cmd
}

// hookInstallCommand makes "aaep hook install"; printHooks or changeHooks does its work for each
// agent that is named.
func hookInstallCommand() *cobra.Command {
	var printed, remove, pieces bool
	cmd := &cobra.Command{
		Use:   "install AGENT...",
		Short: "Write the hooks into an agent's settings, or take them out",
		Long: `install writes hooks into the settings of AGENT: ` + strings.Join(call.Agents, ", ") + `.
All else in them stays as it is, to the byte; the file as it was is kept beside it. Doing it twice changes nothing.
--remove takes the hooks out, and gives back every byte.

Settings that are not valid JSON, have comments or are a symbolic link are left alone; add to those what --print
shows.`,
		Example: `  aaep hook install claude
  aaep hook install --print codex
  aaep hook install --remove gemini`,
		ValidArgs: call.Agents,
		RunE: func(cmd *cobra.Command, agents []string) error {
			if len(agents) == 0 {
				return exits.UsageError("name an agent: %s.\nSee: aaep hook install --help",
					strings.Join(call.Agents, ", "))
			}
			for _, agent := range agents {
				if !call.Known(agent) {
					return exits.UsageError("there are no hooks for %q.\nThere are some for: %s", agent,
						strings.Join(call.Agents, ", "))
				}
				if pieces && !hook.HasPieces(agent) {
					return exits.UsageError("--pieces is for gemini: %s reports its answers only when they are whole.\nLeave it out.",
						hook.Name(agent))
				}
			}
			for _, agent := range agents {
				var err error
				if printed && !remove {
					err = printHooks(cmd.OutOrStdout(), cmd.ErrOrStderr(), agent, pieces)
				} else {
					err = changeHooks(cmd.OutOrStdout(), agent, printed, remove, pieces)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&printed, "print", false, "print the hooks, and say which file they go into; with --remove print "+
		"what the settings would be; change nothing")
	cmd.Flags().BoolVar(&remove, "remove", false, "take the hooks out")
	cmd.Flags().BoolVar(&pieces, "pieces", false, "for gemini: also hear answers while they are written; it runs a "+
		"program for each piece, and waits for it")
	return cmd
}

// printHooks prints the hooks of an agent alone, on out, and on talk which settings they belong in.
// pieces adds the hook for answers while they are written.
func printHooks(out, talk io.Writer, agent string, pieces bool) error {
	text, err := hook.Printed(agent, pieces)
	if err != nil {
		return exits.With(exits.Failed, errors.New(exits.PlainError(err)))
	}
	if path, err := hook.File(agent); err == nil {
		fmt.Fprintf(talk, "These are the hooks alone. Add them to the settings of %s, %s.\n", hook.Name(agent), path)
	}
	_, err = out.Write(text)
	return err
}

// changeHooks writes hooks into the settings of an agent, or with remove takes them out, and prints
// what the person will hear from then on. With printed it only prints what the settings would be.
// pieces adds the hook for answers while they are written.
func changeHooks(out io.Writer, agent string, printed, remove, pieces bool) error {
	change, err := hook.Install(agent, pieces)
	if remove {
		change, err = hook.Remove(agent)
	}
	if err != nil {
		return exits.With(exits.Failed, errors.New(exits.PlainError(err)))
	}
	if printed {
		_, err := out.Write(change.New)
		return err
	}
	if err := change.Apply(); err != nil {
		return exits.With(exits.Failed, errors.New(exits.PlainError(err)))
	}
	reportChange(out, agent, change, remove)
	return nil
}

// reportChange prints what a change did to the settings of an agent, which with remove took the
// hooks out, and after it wrote them in, what the person will hear.
func reportChange(out io.Writer, agent string, change hook.Change, remove bool) {
	name := hook.Name(agent)
	heard, not, when := hook.Heard(agent)
	switch {
	case remove && change.Same():
		fmt.Fprintf(out, "There were no hooks of aaep in the settings of %s, %s.\n", name, change.Path)
	case remove:
		fmt.Fprintf(out, "The hooks are taken out of the settings of %s, %s.\n", name, change.Path)
	case change.Same():
		fmt.Fprintf(out, "The hooks are in the settings of %s already, %s.\nTo listen: aaep listen\n", name,
			change.Path)
	default:
		fmt.Fprintf(out, "The hooks are in the settings of %s, %s.\n", name, change.Path)
		if change.Backup != "" {
			fmt.Fprintf(out, "The file as it was is kept as %s.\n", change.Backup)
		}
		fmt.Fprintf(out, "You will hear: %s\nYou will not hear: %s\n%s\nTo listen: aaep listen\nTo take the hooks out: "+
			"aaep hook install --remove %s\n", heard, not, when, agent)
	}
}

// hookStatusCommand makes "aaep hook status"; hookStatus does its work.
func hookStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say which agents have the hooks, and try each once",
		Long: `status says of each agent whether its settings have the hooks, and tries them: it runs the command that the
agent would run, and sees whether the server takes what that says. Listeners hear nothing of it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := exits.WithInterrupt(cmd.Context())
			defer stop()
			return hookStatus(ctx, cmd.OutOrStdout())
		},
	}
}

// hookStatus prints for each agent whether its hooks are installed, and tries those that are; then
// whether the server runs, and with how many listeners. The error, which has an exit code and no
// words, says that some of it does not work.
func hookStatus(ctx context.Context, out io.Writer) error {
	installed, failed := 0, 0
	for _, agent := range call.Agents {
		line, err := hook.Installed(agent)
		switch {
		case err != nil:
			failed++
			fmt.Fprintf(out, "%s: %s\n", hook.Name(agent), words.Sentence(exits.PlainError(err)))
			continue
		case line == "":
			fmt.Fprintf(out, "%s: not installed. To do so: aaep hook install %s\n", hook.Name(agent), agent)
			continue
		}
		installed++
		if err := tryHook(ctx, line); err != nil {
			failed++
			fmt.Fprintf(out, "%s: installed, and does not work: %s To install it anew: aaep hook install %s\n",
				hook.Name(agent), words.Sentence(exits.PlainError(err)), agent)
			continue
		}
		fmt.Fprintf(out, "%s: installed, and works.\n", hook.Name(agent))
	}
	switch listeners, err := call.Status(ctx); {
	case err != nil && installed > 0 && failed == 0:
		fmt.Fprintf(out, "The server does not answer: %s\n", words.Sentence(exits.PlainError(err)))
		failed++
	case err != nil:
		fmt.Fprintln(out, "The server does not run. The first hook starts it.")
	case listeners == 0:
		fmt.Fprintln(out, "The server runs, and nobody listens. To listen: aaep listen")
	default:
		fmt.Fprintf(out, "The server runs, with %s.\n", words.Count(listeners, "listener"))
	}
	if failed > 0 {
		return exits.With(exits.Failed, errors.New(""))
	}
	return nil
}

// tryHook runs the command line of a hook as an agent does, within trialTime, with an event that
// means nothing. The error says why it did not reach the server.
func tryHook(ctx context.Context, line string) error {
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	shell := []string{"sh", "-c", line}
	if os.PathSeparator == '\\' {
		shell = []string{"cmd", "/c", line}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1:]...)
	var heard, prints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(`{"session_id":"trial","cwd":"","hook_event_name":"Trial"}`),
		&prints, &heard
	cmd.Env = append(os.Environ(), call.Variable+"=1")
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%q cannot be run: %s %s", line, subprocess.ExplainStart(err), words.OneLine(heard.String()))
	}
	var receipt call.Receipt
	if err := json.Unmarshal(prints.Bytes(), &receipt); err != nil || !receipt.Received {
		return fmt.Errorf("%q says: %s", line, words.OneLine(heard.String()+prints.String()))
	}
	return nil
}

// hookServeFlags are what the flags of "hook serve" say.
type hookServeFlags struct {
	where       *serving.Flags
	idle        time.Duration
	http, trail string
	quiet, unit bool
}

// hookServeCommand makes "aaep hook serve"; serveHooks does its work.
func hookServeCommand() *cobra.Command {
	o := &hookServeFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve what hooks report to whoever listens, for all agents of this user",
		Long: `serve takes what the hooks of your agents report, at a socket that only you can reach, and serves it to your
listeners: "aaep listen" finds it without an address. The first hook starts it, and it ends after ten minutes without
a hook and a listener, so you need not; started by yourself, or by systemd with the unit that --print-unit prints, it stays.

What is asked and answered is put on record. --listen and --web serve others too; who may answer can then allow what an
agent asks.`,
		Example: `  aaep hook serve
  aaep hook serve --web --listen 127.0.0.1:8080
  aaep hook serve --print-unit > ~/.config/systemd/user/aaep-hook.service`,
		Args: cobra.NoArgs,
		RunE: o.serveHooks,
	}
	f := cmd.Flags()
	o.where = serving.AddFlags(cmd)
	o.where.Addrs, f.Lookup("listen").DefValue = nil, "[]"
	f.DurationVar(&o.idle, "idle", 0, "end after this `TIME` without a hook and a listener, such as 10m (default never)")
	f.StringVar(&o.http, "http", "", "also take what hooks post to this loopback `ADDRESS`, with the secret that is "+
		"told at the start")
	f.StringVar(&o.trail, "audit", "", "put on record in this `FILE` what is asked and answered (default hook.trail in "+
		"aaep's folder of state)")
	f.BoolVar(&o.quiet, "quiet-until-done", false, "tell only questions, what the agent waits for, answers and ends")
	f.BoolVar(&o.unit, "print-unit", false, "print a systemd unit for the user that runs this, and end")
	return cmd
}

// serveHooks serves what the hooks of coding agents say, until the command is stopped or was idle
// for --idle. With --print-unit it only prints a unit for systemd. Where another server runs
// already it ends, without an error if it was started by a hook.
func (o *hookServeFlags) serveHooks(cmd *cobra.Command, _ []string) (err error) {
	if o.unit {
		return printUnit(cmd.OutOrStdout())
	}
	if o.idle < 0 {
		return exits.UsageError("--idle %v is no time.\nGive one such as 10m, or leave it out.", o.idle)
	}
	status := &lineio.Printer{Out: cmd.ErrOrStderr()}
	ctx, stop := exits.WithServiceStop(cmd.Context(), status.PrintLabelled)
	defer stop()
	lock, err := hook.Lock()
	switch {
	case errors.Is(err, hook.ErrRunning) && o.idle > 0:
		return nil // the hook that started this finds the other
	case err != nil:
		return exits.With(exits.Failed, errors.New(exits.PlainError(err)))
	}
	defer lock.Close()
	dir, err := makeStateFolder()
	if err != nil {
		return exits.With(exits.Failed, errors.New(exits.PlainError(err)))
	}
	if o.trail == "" {
		o.trail = filepath.Join(dir, "hook.trail")
	}
	trail, err := serving.OpenTrail(o.trail)
	if err != nil {
		return err
	}
	defer serving.CloseTrail(trail, o.trail, &err)
	return o.serveBoth(ctx, dir, trail, cmd.ErrOrStderr(), status)
}

// serveBoth serves the listeners, and takes what hooks report, until ctx is done or there was
// neither for --idle. dir is the folder of state. The error has the exit code.
func (o *hookServeFlags) serveBoth(ctx context.Context, dir string, trail *audit.File, talk io.Writer,
	status *lineio.Printer) error {
	p, invitations, served, err := o.serveListeners(ctx, trail, talk, status)
	if err != nil {
		return err
	}
	defer func() { <-served }()
	defer serving.DrainListeners(ctx, p, serving.DrainTime, status)
	s := &hook.Server{Bridge: bridge.New(p, bridge.Config{QuietUntilDone: o.quiet}), Idle: o.idle,
		Listeners: func() int { return p.Stats().Connected }}
	inputs, err := hook.Listen()
	if err != nil {
		return exits.With(exits.Failed, errors.New(exits.PlainError(err)))
	}
	defer inputs.Close()
	if o.http != "" {
		end, err := o.serveInputs(ctx, s, dir, status)
		if err != nil {
			return err
		}
		defer end()
	}
	serving.PrintInvitations(status, "Coding agents", "", invitations)
	serving.NotifyReady()
	if err := s.Serve(ctx, inputs); err != nil {
		return exits.With(exits.Failed, errors.New(exits.PlainError(err)))
	}
	if ctx.Err() != nil {
		return exits.StopError(ctx)
	}
	return nil
}

// printUnit prints the units for systemd that run this command for the user.
func printUnit(out io.Writer) error {
	unit, err := hook.Unit()
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, unit)
	return err
}

// makeStateFolder returns aaep's folder of state, which only this user may read, and makes it if
// there is none.
func makeStateFolder() (string, error) {
	dir, err := call.StateFolder()
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// serveListeners serves one producer for all coding agents, at the local address that "aaep listen"
// knows and at those of --listen. It returns the producer, how to follow it, and what is closed
// when nothing is served any more.
func (o *hookServeFlags) serveListeners(ctx context.Context, trail *audit.File, talk io.Writer,
	status *lineio.Printer) (p *producer.Producer, invitations []serving.Invitation, served <-chan error, err error) {
	cfg := producer.Config{Agent: aaep.Agent{AgentID: call.AgentID, AgentName: "Coding agents"}, AnyLanguage: true,
		FromStart: true, RefuseSecrets: true,
		Audit: trail, Observer: o.where.Seen, MaxSubscriptions: serving.MaxBesideAgent, Admit: o.where.RightsOf(status),
		Logger: o.where.ConnectionLog(talk, lineio.ErrorsTo(talk))}
	if cfg.Signers, err = o.where.ReadSigners(talk); err != nil {
		return nil, nil, nil, err
	}
	o.where.Addrs = slices.Concat([]string{reach.LocalScheme + call.AgentID}, o.where.Addrs)
	invitations, served, err = o.where.ServeEverywhere(ctx, func() (_ *producer.Producer, err error) {
		p, err = producer.New(cfg)
		return p, err
	}, talk)
	return p, invitations, served, err
}

// serveInputs takes what hooks post over HTTP, at the loopback address of --http and with the
// secret that is kept in dir, until end is called. The error has the exit code.
func (o *hookServeFlags) serveInputs(ctx context.Context, s *hook.Server, dir string,
	status *lineio.Printer) (end func(), err error) {
	addr, err := net.ResolveTCPAddr("tcp", o.http)
	if err != nil || !addr.IP.IsLoopback() {
		return nil, exits.UsageError("--http %q is no loopback address.\nGive one such as 127.0.0.1:7338.", o.http)
	}
	path := filepath.Join(dir, "hook.secret")
	secret, err := hook.Secret(path, rand.Text)
	if err != nil {
		return nil, exits.With(exits.Failed, errors.New(exits.PlainError(err)))
	}
	ln, err := serving.ListenTCP(ctx, o.http, "End it, or give --http another address")
	if err != nil {
		return nil, err
	}
	srv := s.NewHTTPServer(secret)
	go srv.Serve(ln)
	status.PrintLabelled("aaep", fmt.Sprintf("Hooks may be posted to http://%s/claude, with the header Authorization: "+
		"Bearer and the secret in %s.", ln.Addr(), path))
	return func() { srv.Close() }, nil
}
