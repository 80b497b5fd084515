package bridge

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/aaep-go/aaep"
	bridge "github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/internal/cli/acp"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/listen"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/internal/cli/subprocess"
	"github.com/aaep-go/aaep/internal/cli/terms"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/terminal"
	"github.com/aaep-go/aaep/transports"
)

// acpOptions are what the flags of "acp" say.
type acpOptions struct {
	listen.Flags
	where         *serving.Flags
	folder, trail string
	thoughts, tee bool
}

// AcpCommand makes "aaep acp".
func AcpCommand() *cobra.Command {
	o := &acpOptions{}
	cmd := &cobra.Command{
		Use:   "acp [flags] -- AGENT ARGUMENTS",
		Short: "Talk with a coding agent: type, hear its answer, decide what it may do",
		Long: `acp starts AGENT, which speaks the Agent Client Protocol over its standard input and output, as Gemini CLI,
opencode, goose and many others do. Type a line and press Enter to send it; you hear the answer sentence by sentence. When the
agent wants to do something, you are asked what exactly; type y or n. Nothing is allowed unless you say so: silence, /stop and
a lost link are a no.

The outputs, the settings and the commands are those of "aaep listen", and /help lists them all. /stop stops the agent, /details
tells the whole of what is asked, such as the lines that change.

With --listen or --web others can follow the agent at the same time, and answer it, as with "aaep run".

With --tee, in an editor's settings as the command of its agent, it stands between the two: what they say passes unchanged,
whoever listens hears it, and what the agent asks can be answered in both places; the first answer counts. With --output
you hear it here, and answer in the editor, or from any window with "aaep answer".`,
		Example: `  aaep acp -- gemini --acp
  aaep acp --output speech -- opencode acp
  aaep acp --as braille --cells 14 --output braille -- goose acp
  aaep acp --web --listen 127.0.0.1:8080 -- gemini --acp
  aaep acp --tee --listen 127.0.0.1:8080 -- gemini --acp
  aaep acp --tee --output speech -- gemini --acp`,
		RunE: o.runACP,
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the agent's name is the agent's
	f.StringVar(&o.folder, "folder", "", "the agent works in this `FOLDER` (default is where you are)")
	f.BoolVar(&o.thoughts, "thoughts", false, "also tell what the model thinks before it answers")
	f.StringVar(&o.trail, "audit", "", "put on record in this `FILE` what is asked and answered")
	f.BoolVar(&o.tee, "tee", false, "stand between the editor that started this and AGENT, and let others follow and answer")
	f.BoolVar(&o.Plain, "plain", false, "print lines on the terminal and nothing else, whatever the settings say")
	f.StringVar(&o.Settings, "settings", "", "take your settings from this `FILE`, not from aaep/listen.conf in your directory of them")
	f.StringSliceVar(&o.Outs, "output", nil, "tell it over these `OUTPUTS`, joined by commas:\n"+
		strings.Join(listen.OutputNames()[:len(listen.OutputNames())-1], ", "))
	o.AddOutputFlags(cmd)
	o.Ask = terms.AddFlags(cmd)
	o.where = serving.AddFlags(cmd)
	o.where.Addrs, f.Lookup("listen").DefValue = nil, "[]"
	return cmd
}

// runACP is "aaep acp": it starts the agent, and either talks with it here or stands between it and
// an editor.
func (o *acpOptions) runACP(cmd *cobra.Command, args []string) (err error) {
	const see = "\nSee: aaep acp --help"
	switch {
	case len(args) == 0:
		return exits.UsageError("name an agent after --, for example: aaep acp -- gemini --acp")
	case o.Plain && len(o.Outs) > 0:
		return exits.UsageError("--plain is for lines on the terminal alone, and --output for more; give one of them." + see)
	case slices.Contains(o.Outs, listen.OnPage):
		return exits.UsageError("--output %s is a page of its own; serve one with --web."+see, listen.OnPage)
	}
	if (o.where.Web || o.tee && len(o.Outs) == 0) && len(o.where.Addrs) == 0 {
		o.where.Addrs = []string{"127.0.0.1:8080"}
	}
	if o.folder, err = filepath.Abs(o.folder); err != nil {
		return exits.UsageError("--folder %s", exits.PlainError(err))
	}
	if at, err := os.Stat(o.folder); err != nil || !at.IsDir() {
		return exits.UsageError("--folder %q is no folder."+see, o.folder)
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return exits.UsageError("cannot run %q: %s.\nCheck its name, or give its whole path", args[0], subprocess.ExplainStart(err))
	}
	caps := aaep.Capabilities{}
	if !o.tee || len(o.Outs) > 0 { // beside an editor, what the settings say of outputs does not count
		if caps, err = o.WantedCapabilities(cmd); err != nil {
			return err
		}
	}
	if o.Ask.Profile == "" && len(o.Ask.Include) == 0 {
		listen.OwnTerms(&caps, !o.Ask.Flags.Changed("rate"))
	}
	if o.tee {
		return o.runBetween(cmd, args, between{parent: "editor", name: filepath.Base(args[0]), caps: caps,
			typed: "--tee speaks with the editor that started it, and that is you.\nTry: aaep acp -- " + strings.Join(args, " "),
			tee: func(p *producer.Producer, editor io.ReadWriter, agent io.ReadWriteCloser) error {
				return bridge.Tee(p, bridge.Config{Folder: o.folder, Thoughts: o.thoughts, Logger: lineio.LogTo(cmd.ErrOrStderr())},
					editor, agent)
			}})
	}
	ctx, stop := exits.WithInterrupt(cmd.Context())
	defer stop()
	t := terminal.Open(ctx, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	l, end, err := o.OpenConsole(ctx, t, caps, false)
	if err != nil {
		return err
	}
	defer end()
	return o.runConversation(ctx, cmd, args, l, caps)
}

// runConversation runs the agent, and a conversation with it, until one of the two ends.
func (o *acpOptions) runConversation(ctx context.Context, cmd *cobra.Command, args []string, l *listen.Listener,
	caps aaep.Capabilities) (err error) {
	program := exec.Command(args[0], args[1:]...)
	program.Dir, program.Env = o.folder, subprocess.Environment()
	stop := l.AnnounceConnecting(filepath.Base(args[0]))
	agent, err := bridge.Start(ctx, program, bridge.Config{Folder: o.folder, Thoughts: o.thoughts,
		Logger: lineio.LogTo(cmd.ErrOrStderr()), BeforeAsking: l.AwaitTold})
	stop()
	if err != nil {
		if ctx.Err() != nil {
			return exits.StopError(ctx)
		}
		return exits.With(exits.Unreachable, fmt.Errorf("%s cannot be talked with: %s", args[0],
			exits.PlainError(err)))
	}
	defer agent.Close()
	name := cmp.Or(agent.Name(), filepath.Base(args[0]))
	mine := &ownLink{principal: "keyboard:" + rand.Text()}
	p, served, end, err := o.serveAgent(ctx, cmd, name,
		producer.Config{Language: caps.Languages[0], Admit: mine.admitOwnLink(o.where.RightsOf(&l.Status))}, &l.Status)
	if err != nil {
		return err
	}
	defer end(&err)
	mine.p = p
	f := &listen.FollowedAgent{Listener: l, Wanted: caps}
	defer func() { <-served }()
	over := make(chan struct{}) // closed once everyone has heard the end
	defer func() { <-over }()
	if f.Sub, err = subscriber.Dial(ctx, mine, f.SubscriberConfig(true)); err != nil {
		go func() { defer close(over); mine.p.Shutdown(ctx) }()
		return reach.DialError(ctx, args[0], err, caps.Languages...)
	}
	defer f.Sub.Close()
	talking, leave := context.WithCancel(ctx)
	defer leave()
	console, err := acp.New(ctx, agent, mine.p,
		func(text string) { l.Status.PrintLabelled("aaep", text) }, l.PhraseText)
	if err != nil {
		go func() { defer close(over); mine.p.Shutdown(ctx) }()
		return exits.With(exits.Failed, fmt.Errorf("%s cannot be talked with: %s", name,
			exits.PlainError(err)))
	}
	l.Talk = console
	ended := make(chan error, 1)
	go func() {
		defer close(over)
		ended <- console.Run(talking)
		serving.DrainListeners(ctx, mine.p, serving.DrainTime, &l.Status) // which ends what is followed here, once all of it was told
	}()
	err = f.FollowAgents(ctx, f)
	leave()
	f.Sub.Close()
	failed := <-ended
	switch {
	case ctx.Err() != nil:
		return exits.StopError(ctx)
	case failed != nil:
		return exits.With(exits.Failed, fmt.Errorf("%s %s", name,
			cmp.Or(subprocess.HowEnded(failed), "has ended: "+exits.PlainError(failed))))
	case l.IsUnread():
		return err
	}
	return nil
}

// serveAgent makes the producer of an agent, and serves it where that was asked for. End closes
// what is kept on record.
func (o *acpOptions) serveAgent(ctx context.Context, cmd *cobra.Command, name string, cfg producer.Config,
	status *lineio.Printer) (p *producer.Producer, served <-chan error, end func(*error), err error) {
	talk := cmd.ErrOrStderr()
	cfg.Observer, cfg.MaxSubscriptions, cfg.Logger = o.where.Seen, serving.MaxBesideAgent, o.where.ConnectionLog(talk, lineio.ErrorsTo(talk))
	if cfg.Signers, err = o.where.ReadSigners(talk); err != nil {
		return nil, nil, nil, err
	}
	end = func(*error) {}
	if o.trail != "" {
		trail, err := serving.OpenTrail(o.trail)
		if err != nil {
			return nil, nil, nil, err
		}
		cfg.Audit = trail
		end = func(err *error) { serving.CloseTrail(trail, o.trail, err) }
	}
	begin := func() (*producer.Producer, error) { p, err = serving.NewProducer(name, cfg); return p, err }
	if len(o.where.Addrs) == 0 {
		none := make(chan error)
		close(none)
		served = none
		_, err = begin()
	} else {
		var at []serving.Invitation
		if at, served, err = o.where.ServeEverywhere(ctx, begin, talk); err == nil {
			serving.PrintInvitations(status, name, "", at)
			serving.NotifyReady()
		}
	}
	if err != nil {
		end(new(error))
		return nil, nil, nil, err
	}
	return p, served, end, nil
}

// between is how this program stands between the one that started it and the one that it starts.
type between struct {
	parent string            // what the program is that started this one, to a person
	typed  string            // what a person is told who typed the command
	name   string            // the agent's
	caps   aaep.Capabilities // of the person who hears it over the outputs here, if there are any
	tee    func(p *producer.Producer, parent io.ReadWriter, child io.ReadWriteCloser) error
}

// runBetween starts the program in args, stands between it and the program that started this one,
// and tells over the outputs what passes. No fault of serving or telling keeps the two from each
// other.
func (o *acpOptions) runBetween(cmd *cobra.Command, args []string, b between) (err error) {
	ctx, stop := exits.WithInterrupt(cmd.Context())
	defer stop()
	status := &lineio.Printer{Out: cmd.ErrOrStderr()}
	if in, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		return exits.UsageError("%s", b.typed)
	}
	program := exec.CommandContext(ctx, args[0], args[1:]...)
	program.Stderr, program.WaitDelay, program.Env = cmd.ErrOrStderr(), subprocess.KillDelay, subprocess.Environment()
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
	mine := &ownLink{principal: "outputs:" + rand.Text()}
	p, served, end, err := o.serveAgent(ctx, cmd, b.name,
		producer.Config{Admit: mine.admitOwnLink(o.where.RightsOf(status))}, status)
	if err != nil {
		status.PrintLabelled("aaep", "Nobody can follow the agent: "+words.Sentence(exits.PlainError(err))+
			" The "+b.parent+" goes on without that.")
		if p, err = serving.NewProducer(b.name, producer.Config{}); err != nil {
			return err
		}
		none := make(chan error)
		close(none)
		served, end = none, func(*error) {}
	}
	defer end(&err)
	mine.p = p
	told := make(chan struct{})
	go func() {
		defer close(told)
		if len(o.Outs) == 0 {
			return
		}
		if err := o.tellBesideEditor(ctx, mine, b.caps, cmd.ErrOrStderr()); err != nil && ctx.Err() == nil {
			status.PrintLabelled("aaep", "Nothing is told here: "+words.Sentence(exits.PlainError(err))+
				" The "+b.parent+" goes on without that.")
		}
	}()
	failed := b.tee(p, struct {
		io.Reader
		io.Writer
	}{cmd.InOrStdin(), cmd.OutOrStdout()}, struct {
		io.Reader
		io.WriteCloser
	}{out, in})
	in.Close()
	ended := program.Wait()
	serving.DrainListeners(ctx, p, serving.DrainTime, status)
	<-told
	<-served
	var exit *exec.ExitError
	switch {
	case errors.As(ended, &exit):
		code, how := subprocess.Ending(exit)
		return exits.With(code, errors.New(args[0]+" "+how))
	case failed != nil:
		return exits.With(exits.Failed, errors.New(exits.PlainError(failed)))
	}
	return nil
}

// tellBesideEditor tells over the outputs what passes between the editor and the agent, until that
// ends. Lines are printed on standard error, since the other streams are the editor's.
func (o *acpOptions) tellBesideEditor(ctx context.Context, mine *ownLink, caps aaep.Capabilities,
	talk io.Writer) error {
	nothing, typed := io.Pipe()
	defer typed.Close()
	l, end, err := o.OpenConsole(ctx, terminal.Open(ctx, nothing, talk, talk), caps, true)
	if err != nil {
		return err
	}
	defer end()
	caps.Languages = l.Out.SpokenFirst(caps.Languages)
	f := &listen.FollowedAgent{Listener: l, Wanted: caps}
	if f.Sub, err = subscriber.Dial(ctx, mine, f.SubscriberConfig(true)); err != nil {
		return err
	}
	defer f.Sub.Close()
	return f.FollowAgents(ctx, f)
}

// ownLink is the link of the person at the keyboard to the agent that runs in this program.
type ownLink struct {
	p         *producer.Producer
	principal string
}

func (o *ownLink) Dial(ctx context.Context) (transports.Conn, error) {
	theirs, ours := transports.Pipe()
	go o.p.ServeConn(ownConn{ours, o.principal})
	return theirs, ctx.Err()
}

// admitOwnLink lets the person at the keyboard answer, whatever others may do.
func (o *ownLink) admitOwnLink(others func(string, *aaep.SubscriptionRequest) (producer.Rights, error)) func(string,
	*aaep.SubscriptionRequest) (producer.Rights, error) {
	if others == nil {
		return nil
	}
	return func(principal string, req *aaep.SubscriptionRequest) (producer.Rights, error) {
		if principal == o.principal {
			return producer.Rights{Reply: true}, nil
		}
		return others(principal, req)
	}
}

type ownConn struct {
	transports.Conn
	principal string
}

func (c ownConn) Principal() string { return c.principal }
