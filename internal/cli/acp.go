package cli

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
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/aaep-go/aaep"
	bridge "github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/internal/cli/acp"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/subscriber/terminal"
	"github.com/aaep-go/aaep/transports"
)

// acpOptions are what the flags of "acp" say.
type acpOptions struct {
	listenFlags
	where         *serveFlags
	folder, trail string
	thoughts, tee bool
}

// acpCommand makes "aaep acp".
func acpCommand() *cobra.Command {
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
	f.BoolVar(&o.plain, "plain", false, "print lines on the terminal and nothing else, whatever the settings say")
	f.StringVar(&o.settings, "settings", "", "take your settings from this `FILE`, not from aaep/listen.conf in your directory of them")
	f.StringSliceVar(&o.outs, "output", nil, "tell it over these `OUTPUTS`, joined by commas:\n"+
		strings.Join(outputNames()[:len(outputNames())-1], ", "))
	o.addOutputFlags(cmd)
	o.ask = addCapabilityFlags(cmd)
	o.where = servingFlags(cmd)
	o.where.addrs, f.Lookup("listen").DefValue = nil, "[]"
	return cmd
}

// ownRate is how many events a second the person at the keyboard gets who has asked for no rate. It
// is high, so that what the agent says before it asks is told before the question; a voice or a
// display tells it at its own pace.
const ownRate = 20

// ownTerms are what the person at the keyboard gets otherwise than a listener who follows from
// elsewhere.
func ownTerms(caps *aaep.Capabilities, anyRate bool) {
	if anyRate {
		caps.MaxEventsPerSecond = ownRate
	}
	filters := aaep.EventFilters{Exclude: []string{string(aaep.TypeSessionStarted)}} // the person who typed a prompt need not hear it
	if caps.EventFilters != nil {
		filters.Exclude = append(filters.Exclude, caps.EventFilters.Exclude...)
	}
	caps.EventFilters = &filters
}

// runACP is "aaep acp": it starts the agent, and either talks with it here or stands between it and
// an editor.
func (o *acpOptions) runACP(cmd *cobra.Command, args []string) (err error) {
	const see = "\nSee: aaep acp --help"
	switch {
	case len(args) == 0:
		return usageError("name an agent after --, for example: aaep acp -- gemini --acp")
	case o.plain && len(o.outs) > 0:
		return usageError("--plain is for lines on the terminal alone, and --output for more; give one of them." + see)
	case slices.Contains(o.outs, onPage):
		return usageError("--output %s is a page of its own; serve one with --web."+see, onPage)
	}
	if (o.where.web || o.tee && len(o.outs) == 0) && len(o.where.addrs) == 0 {
		o.where.addrs = []string{"127.0.0.1:8080"}
	}
	if o.folder, err = filepath.Abs(o.folder); err != nil {
		return usageError("--folder %s", plainError(err))
	}
	if at, err := os.Stat(o.folder); err != nil || !at.IsDir() {
		return usageError("--folder %q is no folder."+see, o.folder)
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return usageError("cannot run %q: %s.\nCheck its name, or give its whole path", args[0], explainStart(err))
	}
	caps := aaep.Capabilities{}
	if !o.tee || len(o.outs) > 0 { // beside an editor, what the settings say of outputs does not count
		if caps, err = o.wantedCapabilities(cmd); err != nil {
			return err
		}
	}
	if o.ask.profile == "" && len(o.ask.include) == 0 {
		ownTerms(&caps, !o.ask.flags.Changed("rate"))
	}
	if o.tee {
		return o.runBetween(cmd, args, between{parent: "editor", name: filepath.Base(args[0]), caps: caps,
			typed: "--tee speaks with the editor that started it, and that is you.\nTry: aaep acp -- " + strings.Join(args, " "),
			tee: func(p *producer.Producer, editor io.ReadWriter, agent io.ReadWriteCloser) error {
				return bridge.Tee(p, bridge.Config{Folder: o.folder, Thoughts: o.thoughts, Logger: logTo(cmd.ErrOrStderr())},
					editor, agent)
			}})
	}
	ctx, stop := withInterrupt(cmd.Context())
	defer stop()
	t := terminal.Open(ctx, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	l, end, err := o.openConsole(ctx, t, caps, false)
	if err != nil {
		return err
	}
	defer end()
	return o.runConversation(ctx, cmd, args, l, caps)
}

// runConversation runs the agent, and a conversation with it, until one of the two ends.
func (o *acpOptions) runConversation(ctx context.Context, cmd *cobra.Command, args []string, l *listener,
	caps aaep.Capabilities) (err error) {
	program := exec.Command(args[0], args[1:]...)
	program.Dir, program.Env = o.folder, agentEnvironment()
	stop := l.announceConnecting(filepath.Base(args[0]))
	agent, err := bridge.Start(ctx, program, bridge.Config{Folder: o.folder, Thoughts: o.thoughts,
		Logger: logTo(cmd.ErrOrStderr()), BeforeAsking: l.awaitTold})
	stop()
	if err != nil {
		if ctx.Err() != nil {
			return stopError(ctx)
		}
		return exitWith(exitUnreachable, fmt.Errorf("%s cannot be talked with: %s", args[0],
			strings.TrimPrefix(plainError(err), "acp: ")))
	}
	defer agent.Close()
	name := cmp.Or(agent.Name(), filepath.Base(args[0]))
	mine := &ownLink{principal: "keyboard:" + rand.Text()}
	p, served, end, err := o.serveAgent(ctx, cmd, name,
		producer.Config{Language: caps.Languages[0], Admit: mine.admitOwnLink(o.where.rightsOf(&l.status))}, &l.status)
	if err != nil {
		return err
	}
	defer end(&err)
	mine.p = p
	f := &followedAgent{listener: l, wanted: caps}
	defer func() { <-served }()
	over := make(chan struct{}) // closed once everyone has heard the end
	defer func() { <-over }()
	if f.sub, err = subscriber.Dial(ctx, mine, f.subscriberConfig(true)); err != nil {
		go func() { defer close(over); mine.p.Shutdown(ctx) }()
		return dialError(ctx, args[0], err, caps.Languages...)
	}
	defer f.sub.Close()
	talking, leave := context.WithCancel(ctx)
	defer leave()
	console, err := acp.New(ctx, agent, mine.p,
		func(text string) { l.status.printLabelled("aaep", text) }, l.phraseText)
	if err != nil {
		go func() { defer close(over); mine.p.Shutdown(ctx) }()
		return exitWith(exitFailed, fmt.Errorf("%s cannot be talked with: %s", name,
			strings.TrimPrefix(plainError(err), "acp: ")))
	}
	l.talk = console
	ended := make(chan error, 1)
	go func() {
		defer close(over)
		ended <- console.Run(talking)
		drainListeners(ctx, mine.p, drainTime, &l.status) // which ends what is followed here, once all of it was told
	}()
	err = f.followAgents(ctx, f)
	leave()
	f.sub.Close()
	failed := <-ended
	switch {
	case ctx.Err() != nil:
		return stopError(ctx)
	case failed != nil:
		return exitWith(exitFailed, fmt.Errorf("%s %s", name,
			cmp.Or(howEnded(failed), "has ended: "+plainError(failed))))
	case l.isUnread():
		return err
	}
	return nil
}

// serveAgent makes the producer of an agent, and serves it where that was asked for. End closes
// what is kept on record.
func (o *acpOptions) serveAgent(ctx context.Context, cmd *cobra.Command, name string, cfg producer.Config,
	status *announcer) (p *producer.Producer, served <-chan error, end func(*error), err error) {
	talk := cmd.ErrOrStderr()
	cfg.Observer, cfg.MaxSubscriptions, cfg.Logger = o.where.seen, maxOfOne, o.where.connectionLog(talk, errorsTo(talk))
	if cfg.Signers, err = o.where.readSigners(talk); err != nil {
		return nil, nil, nil, err
	}
	end = func(*error) {}
	if o.trail != "" {
		trail, err := openTrail(o.trail)
		if err != nil {
			return nil, nil, nil, err
		}
		cfg.Audit = trail
		end = func(err *error) { closeTrail(trail, o.trail, err) }
	}
	begin := func() (*producer.Producer, error) { p, err = newProducer(name, cfg); return p, err }
	if len(o.where.addrs) == 0 {
		none := make(chan error)
		close(none)
		served = none
		_, err = begin()
	} else {
		var at []invitation
		if at, served, err = o.where.serveEverywhere(ctx, begin, talk); err == nil {
			printInvitations(status, name, "", at)
			notifyReady()
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
	ctx, stop := withInterrupt(cmd.Context())
	defer stop()
	status := &announcer{out: cmd.ErrOrStderr()}
	if in, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		return usageError("%s", b.typed)
	}
	program := exec.CommandContext(ctx, args[0], args[1:]...)
	program.Stderr, program.WaitDelay, program.Env = cmd.ErrOrStderr(), lastChance, agentEnvironment()
	in, err := program.StdinPipe()
	if err != nil {
		return exitWith(exitFailed, err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		return exitWith(exitFailed, err)
	}
	if err := program.Start(); err != nil {
		return exitWith(exitUnreachable, fmt.Errorf("cannot run %q: %s", args[0], explainStart(err)))
	}
	mine := &ownLink{principal: "outputs:" + rand.Text()}
	p, served, end, err := o.serveAgent(ctx, cmd, b.name,
		producer.Config{Admit: mine.admitOwnLink(o.where.rightsOf(status))}, status)
	if err != nil {
		status.printLabelled("aaep", "Nobody can follow the agent: "+words.Sentence(plainError(err))+
			" The "+b.parent+" goes on without that.")
		if p, err = newProducer(b.name, producer.Config{}); err != nil {
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
		if len(o.outs) == 0 {
			return
		}
		if err := o.tellBesideEditor(ctx, mine, b.caps, cmd.ErrOrStderr()); err != nil && ctx.Err() == nil {
			status.printLabelled("aaep", "Nothing is told here: "+words.Sentence(plainError(err))+
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
	drainListeners(ctx, p, drainTime, status)
	<-told
	<-served
	var exit *exec.ExitError
	switch {
	case errors.As(ended, &exit):
		code, how := programEnding(exit)
		return exitWith(code, errors.New(args[0]+" "+how))
	case failed != nil:
		return exitWith(exitFailed, errors.New(plainError(failed)))
	}
	return nil
}

// tellBesideEditor tells over the outputs what passes between the editor and the agent, until that
// ends. Lines are printed on standard error, since the other streams are the editor's.
func (o *acpOptions) tellBesideEditor(ctx context.Context, mine *ownLink, caps aaep.Capabilities,
	talk io.Writer) error {
	nothing, typed := io.Pipe()
	defer typed.Close()
	l, end, err := o.openConsole(ctx, terminal.Open(ctx, nothing, talk, talk), caps, true)
	if err != nil {
		return err
	}
	defer end()
	caps.Languages = l.out.spokenFirst(caps.Languages)
	f := &followedAgent{listener: l, wanted: caps}
	if f.sub, err = subscriber.Dial(ctx, mine, f.subscriberConfig(true)); err != nil {
		return err
	}
	defer f.sub.Close()
	return f.followAgents(ctx, f)
}

const (
	mostBehind = time.Minute            // that a question waits for what was said before it to be told
	tellsSoon  = 300 * time.Millisecond // for which nothing is told before all counts as told
)

// awaitTold waits until the outputs have told what the agent has said so far, or for mostBehind.
// The lines of a terminal need no time.
func (l *listener) awaitTold(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, mostBehind)
	defer cancel()
	quiet := tellsSoon
	l.out.forEach(func(p *present.Presenter) {
		p.Wait(ctx, quiet)
		quiet = 0 // all of them have what came meanwhile
	})
}

// A conversation is what a person says beside answers to questions. Nil is a person who only
// listens.
type conversation interface {
	Prompt(line string)                                  // sends a line
	Keep(line string)                                    // keeps one that may have been meant as an answer
	Command(ctx context.Context, name, word string) bool // obeys a command, if it is one of its own
	Own(line string) bool                                // sends a command of the agent's, if it is one
	End()                                                // nothing more is typed
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
