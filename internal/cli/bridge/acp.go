package bridge

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	bridge "github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/internal/cli/acp"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/listen"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/internal/cli/subprocess"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber/terminal"
)

// acpOptions are what the flags of "acp" say.
type acpOptions struct {
	person *listen.PersonFlags
	servedAgent
	folder        string
	thoughts, tee bool
	version2      bool
}

// ACPCommand makes "aaep acp"; runACP does its work.
func ACPCommand() *cobra.Command {
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
	f.BoolVar(&o.version2, "acp-v2", false, "speak the draft of version 2 of the protocol, where AGENT does")
	f.BoolVar(&o.tee, "tee", false, "stand between the editor that started this and AGENT, and let others follow and answer")
	o.person = listen.AddPersonFlags(cmd, false)
	o.addFlags(cmd)
	o.where.Addrs, f.Lookup("listen").DefValue = nil, "[]"
	return cmd
}

// runACP does the work of "aaep acp": it checks the flags, starts the agent, and either talks with
// it here or, with --tee, stands between it and an editor. The error has the exit code.
func (o *acpOptions) runACP(cmd *cobra.Command, args []string) (err error) {
	const see = "\nSee: aaep acp --help"
	if len(args) == 0 {
		return exits.UsageError("name an agent after --, for example: aaep acp -- gemini --acp")
	}
	if err := o.person.Check(); err != nil {
		return err
	}
	if o.version2 && o.tee {
		return exits.UsageError("--acp-v2 is for an agent that you talk with, and --tee follows version 1; leave one of them out." + see)
	}
	if (o.where.Web || o.tee && !o.person.HasOutputs()) && len(o.where.Addrs) == 0 {
		o.where.Addrs = []string{"127.0.0.1:8080"}
	}
	if o.folder, err = filepath.Abs(o.folder); err != nil {
		return exits.UsageError("--folder %s", exits.PlainError(err))
	}
	if folder, err := os.Stat(o.folder); err != nil || !folder.IsDir() {
		return exits.UsageError("--folder %q is no folder."+see, o.folder)
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return exits.UsageError("%s", subprocess.CannotStart(args[0], err))
	}
	caps := aaep.Capabilities{}
	if !o.tee || o.person.HasOutputs() { // beside an editor, what the settings say of outputs does not count
		if caps, err = o.person.OwnCapabilities(); err != nil {
			return err
		}
	}
	if o.tee {
		return o.runBetween(cmd, args, between{parent: "editor", name: filepath.Base(args[0]), caps: caps,
			person: o.person,
			typed:  "--tee speaks with the editor that started it, and that is you.\nTry: aaep acp -- " + strings.Join(args, " "),
			tee: func(p *producer.Producer, editor io.ReadWriter, agent io.ReadWriteCloser) error {
				return bridge.Tee(p, bridge.Config{Folder: o.folder, Thoughts: o.thoughts,
					Logger: lineio.LogTo(cmd.ErrOrStderr())},
					editor, agent)
			}})
	}
	ctx, stop := exits.WithInterrupt(cmd.Context())
	defer stop()
	t := terminal.Open(ctx, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	l, end, err := o.person.Open(ctx, t, caps, false)
	if err != nil {
		return err
	}
	defer end()
	return o.runConversation(ctx, cmd, args, l, caps)
}

// adviseWord returns what to try, in a line of its own, with a program that does not speak ACP; ""
// where a word of its command line, args, says already that it shall.
func adviseWord(args []string) string {
	if strings.Contains(strings.Join(args, " "), "acp") {
		return ""
	}
	return "\nMost agents need a word for that after their name, such as --acp or acp"
}

// runConversation runs the agent, and a conversation with it by the listener's terminal and
// outputs, until one of the two ends. args are the agent's command line, caps the terms of the
// person. All listeners have heard the end when it returns.
func (o *acpOptions) runConversation(ctx context.Context, cmd *cobra.Command, args []string, l *listen.Listener,
	caps aaep.Capabilities) (err error) {
	program := exec.Command(args[0], args[1:]...)
	program.Dir, program.Env = o.folder, subprocess.Environment()
	say := func(text string) { l.Status.PrintLabelled("aaep", text) }
	stop := l.AnnounceConnecting(filepath.Base(args[0]))
	agent, err := bridge.Start(ctx, program, bridge.Config{Folder: o.folder, Thoughts: o.thoughts, Version2: o.version2,
		Logger: lineio.LogAsWords(slog.LevelWarn, say), BeforeAsking: l.AwaitTold})
	stop()
	if err != nil {
		if ctx.Err() != nil {
			return exits.StopError(ctx)
		}
		return exits.With(exits.Unreachable, fmt.Errorf("%s cannot be talked with: %s%s", args[0],
			exits.PlainError(err), adviseWord(args)))
	}
	defer agent.Close()
	name := cmp.Or(agent.Name(), filepath.Base(args[0]))
	keyboard := &ownLink{principal: "keyboard:" + rand.Text()}
	p, served, end, err := o.serveAgent(ctx, cmd, name,
		producer.Config{Language: caps.Languages[0], Logger: lineio.LogAsWords(slog.LevelError, say), Admit: keyboard.admitOwnLink(o.where.RightsOf(&l.Status))}, &l.Status)
	if err != nil {
		return err
	}
	defer end(&err)
	keyboard.p = p
	defer func() { <-served }()
	f, err := l.Dial(ctx, keyboard, caps)
	if err != nil {
		p.Shutdown(ctx)
		return reach.DialError(ctx, args[0], err, caps.Languages...)
	}
	defer f.Close()
	console, err := acp.New(ctx, agent, p,
		say, l.PhraseText)
	if err != nil {
		f.Close()
		p.Shutdown(ctx)
		return exits.With(exits.Failed, fmt.Errorf("%s cannot be talked with: %s", name,
			exits.PlainError(err)))
	}
	console.Sends = l.NoteTyped
	l.Converse(console)
	return followConversation(ctx, console, p, f, l, name)
}

// followConversation runs the console and follows what is announced, until the agent of that name
// or the person ends the conversation, or ctx is done. All listeners have heard the end when it
// returns.
func followConversation(ctx context.Context, console *acp.Console, p *producer.Producer, f *listen.FollowedAgent,
	l *listen.Listener, name string) error {
	talking, leave := context.WithCancel(ctx)
	defer leave()
	ended := make(chan error, 1)
	allTold := make(chan struct{})
	defer func() { <-allTold }()
	go func() {
		defer close(allTold)
		ended <- console.Run(talking)
		serving.DrainListeners(ctx, p, serving.DrainTime, &l.Status) // which ends f, once all of it was told
	}()
	err := f.Follow(ctx)
	leave()
	f.Close()
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
