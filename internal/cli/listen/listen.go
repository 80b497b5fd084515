// Package listen is "aaep listen": one person at a terminal, who follows agents and answers them.
// What the person hears, when an answer counts and what an outage sounds like is the business of
// present.Follow and package announce; the terminal is one of the outputs. Here is who is followed,
// over which outputs, on which terms, and what the person's lines do beside answers.
//
// Begin with Flags.runListen and Listener.FollowAgents, the loop: all that a person types, and all
// that changes who is followed, runs on its goroutine. "aaep acp" (package bridge) has the same
// listener.
package listen

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/hook/call"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/cli/terms"
	"github.com/aaep-go/aaep/subscriber/sound"
	"github.com/aaep-go/aaep/subscriber/terminal"
)

// Flags are what the flags of "listen" say.
type Flags struct {
	asJSON, noReply, Plain bool
	untilDone              bool
	program, Settings      string
	Outs                   []string
	sound                  sound.Options
	Ask                    *terms.Flags
	reach                  *reach.Flags
}

const seeListen = "\nSee: aaep listen --help"

func Command() *cobra.Command {
	o := &Flags{}
	cmd := &cobra.Command{
		Use:   "listen [ADDRESS... | --exec COMMAND]",
		Short: "Follow agents: hear what they say, sentence by sentence, and answer their questions",
		Long: `listen follows the agent at ADDRESS, or without one the agents on this machine that "aaep hook" tells of, and prints one
line for each thing there is to know. When the agent asks, type your answer and press Enter. What you do not answer is
decided as the question says.

With several addresses it follows several agents at once, and names the one that speaks. Their questions are put one
after the other, and each answer goes to the agent that asked. /agents says how it stands with each.

An agent that is not there yet is followed when it is; but where it is the only one and nobody is at a terminal, as in a
script, listen ends with 3.

While it runs, a line that begins with a slash changes what you get, such as /rate 1, or gives you more time to
answer, with /more; /help lists them.

--as asks for what suits a device. What a profile says goes over that, and what the other flags say over both. Your own
settings are lines of a file, such as "output speech" and "pace 300"; what the command line says goes over them.

When the link breaks, listen mends it; when the agent comes back, listen follows it again. Ctrl-C ends.

With --exec it starts the agent itself and speaks with it over its standard input and output. When one of them
ends, so does the other; nothing starts the agent again. COMMAND is split at spaces. Quotes, single or double,
keep what is between them together. No shell reads it.`,
		Example: `  aaep listen http://127.0.0.1:8080
  aaep listen --as braille --cells 20 --language es,en http://127.0.0.1:8080
  aaep listen
  aaep listen http://127.0.0.1:8080 http://127.0.0.1:8081
  aaep listen ws://127.0.0.1:8080
  aaep listen ` + reach.LocalScheme + `planner
  aaep listen --exec "aaep run --stdio -- some-llm 'Plan my week'"
  aaep listen --output web --token-file token.txt https://bank.example
  aaep listen --json http://127.0.0.1:8080 | jq .type`,
		Args: o.checkArgs,
		RunE: o.runListen,
	}
	f := cmd.Flags()
	f.BoolVar(&o.asJSON, "json", false, "print the events as JSON, one on each line, and answer nothing")
	f.StringVar(&o.program, "exec", "", "start the agent with this `COMMAND`, and follow it")
	f.BoolVar(&o.Plain, "plain", false, "print lines on the terminal and nothing else, whatever the settings say")
	f.StringVar(&o.Settings, "settings", "", "take your settings from this `FILE`, not from aaep/listen.conf in your directory of them")
	f.StringSliceVar(&o.Outs, "output", nil, "tell it over these `OUTPUTS`, joined by commas:\n"+
		strings.Join(OutputNames(), ", ")+" (a page)")
	o.AddOutputFlags(cmd)
	f.BoolVar(&o.noReply, "no-reply", false, "follow without being asked anything")
	o.Ask = terms.AddFlags(cmd)
	o.reach = reach.AddFlags(cmd)
	o.reach.AddTrustFlags(cmd)
	return cmd
}

// AddOutputFlags adds the flags of what outputs tell, and of --output sound.
func (o *Flags) AddOutputFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.untilDone, "quiet-until-done", false, "with --output, tell only questions and what comes of them, failures and ends;\n"+
		"/where, /newest and /details tell the rest when you ask")
	cmd.Flags().StringSliceVar(&o.sound.Only, "sounds", nil, "of --output sound, only these `MEANINGS`, joined by commas:\n"+
		strings.Join(sound.Meanings(), ", "))
	cmd.Flags().IntVar(&o.sound.Volume, "volume", 100, "of --output sound, how loud, in `PERCENT`")
}

// checkOutputFlags says what is wrong with the flags of outputs.
func (o *Flags) checkOutputFlags() error {
	if o.sound.Volume < 1 || o.sound.Volume > 100 {
		return exits.UsageError("--volume must be from 1 to 100, and is %d; sounds that are not wanted are left out by --sounds."+seeListen,
			o.sound.Volume)
	}
	for _, meaning := range o.sound.Only {
		if !slices.Contains(sound.Meanings(), meaning) {
			return exits.UsageError("--sounds %q is none of %s."+seeListen, meaning, strings.Join(sound.Meanings(), ", "))
		}
	}
	return nil
}

// checkArgs refuses to follow both an address and a program.
func (o *Flags) checkArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 && o.program != "" {
		return exits.UsageError("--exec starts the agent, so there is no address to name too; give one of them." + seeListen)
	}
	return nil
}

// runListen runs "aaep listen".
func (o *Flags) runListen(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && o.program == "" { // the server of hooks
		if err := call.Ensure(cmd.Context(), call.Start); err != nil {
			return exits.With(exits.Unreachable,
				fmt.Errorf("no address is given, and the agents that call hooks cannot be followed: %s.\nName an agent to follow, for example: aaep listen http://127.0.0.1:8080", exits.PlainError(err)))
		}
		args, o.reach.StartsHooks = []string{reach.LocalScheme + call.AgentID}, true
	}
	urls, err := checkAddresses(args)
	if err != nil {
		return err
	}
	if o.Plain && len(o.Outs) > 0 {
		return exits.UsageError("--plain is for lines on the terminal alone, and --output for more; give one of them." +
			seeListen)
	}
	if err := o.reach.CheckOneAgent(urls); err != nil {
		return err
	}
	if slices.Contains(o.Outs, OnPage) { // which has settings of its own
		return o.onPage(cmd, urls)
	}
	caps, err := o.WantedCapabilities(cmd)
	if err != nil {
		return err
	}
	ctx, stop := exits.WithInterrupt(cmd.Context())
	defer stop()
	t := terminal.Open(ctx, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	l, end, err := o.OpenConsole(ctx, t, caps, false)
	if err != nil {
		return err
	}
	defer end()
	caps.Languages = l.Out.SpokenFirst(caps.Languages)
	o.reach.Languages = caps.Languages
	if o.program == "" {
		return l.followAddresses(ctx, o.reach, urls, caps)
	}
	return l.listenToChild(ctx, o.reach, o.program, caps, cmd.ErrOrStderr())
}

// OpenConsole opens the outputs of the person, of which the terminal t is one; besideEditor says
// that they type in an editor and not there. The function end closes them.
func (o *Flags) OpenConsole(ctx context.Context, t *terminal.Terminal, caps aaep.Capabilities,
	besideEditor bool) (l *Listener, end func(), err error) {
	l = &Listener{json: o.asJSON, wanted: caps, besideEditor: besideEditor}
	l.Printer.Out, l.Status.Out, l.Status.Said = t.Out, t.Talk, l.recordSaid
	l.setLanguages(caps.Languages)
	closeOutputs := func() {}
	if len(o.Outs) > 0 {
		if err := l.useOutputs(ctx, o.Outs, outputOptions{caps.PaceWPM, o.sound, o.untilDone}); err != nil {
			t.Close()
			return nil, nil, err
		}
		closeOutputs = l.Out.closeAll
	}
	closeControl := func() {}
	if !o.asJSON {
		closeControl = l.openControl(ctx)
	}
	stopPrinting := l.useTerminal(ctx, t)
	l.setLanguages(caps.Languages)
	return l, func() { stopPrinting(); t.Close(); closeControl(); closeOutputs() }, nil
}

// checkAddresses completes and checks the addresses of agents, each of which may be named once.
func checkAddresses(args []string) (urls []string, err error) {
	for _, arg := range args {
		url, err := reach.CheckAddress(arg)
		if err != nil {
			return nil, exits.With(exits.Usage, err)
		}
		if slices.Contains(urls, url) {
			return nil, exits.UsageError("%s is named twice."+seeListen, arg)
		}
		urls = append(urls, url)
	}
	return urls, nil
}

// WantedCapabilities applies the person's settings, and returns the capabilities to ask the agents
// for.
func (o *Flags) WantedCapabilities(cmd *cobra.Command) (aaep.Capabilities, error) {
	chosen, untilDone := len(o.Outs) > 0, o.untilDone
	if err := applySettings(cmd, o.Settings); err != nil {
		return aaep.Capabilities{}, err
	}
	if o.Plain || o.asJSON && !chosen {
		o.Outs = nil
	}
	if err := o.checkOutputFlags(); err != nil {
		return aaep.Capabilities{}, err
	}
	if untilDone && len(o.Outs) == 0 {
		return aaep.Capabilities{}, exits.UsageError("--quiet-until-done is for what is told over --output, such as: --output speech" + seeListen)
	}
	caps, err := o.Ask.ParseCapabilities()
	if err != nil {
		return caps, err
	}
	if terms.IsTrue(caps.AcceptSignedManifestsOnly) && len(o.reach.Keys) == 0 && o.reach.FirstUse == "" {
		return caps, exits.UsageError("the profile demands an agent that proves who it is: name whose proof counts with --trust or --trust-first-use." + seeListen)
	}
	if o.noReply || o.asJSON {
		caps.SupportsConfirmationReply, caps.SupportsClarificationReply = new(false), new(false)
	}
	return caps, nil
}

// ownRate is how many events a second the person at the keyboard gets who has asked for no rate. It
// is high, so that what the agent says before it asks is told before the question; a voice or a
// display tells it at its own pace.
const ownRate = 20

// OwnTerms are what the person at the keyboard gets otherwise than a listener who follows from
// elsewhere.
func OwnTerms(caps *aaep.Capabilities, anyRate bool) {
	if anyRate {
		caps.MaxEventsPerSecond = ownRate
	}
	filters := aaep.EventFilters{Exclude: []string{string(aaep.TypeSessionStarted)}} // the person who typed a prompt need not hear it
	if caps.EventFilters != nil {
		filters.Exclude = append(filters.Exclude, caps.EventFilters.Exclude...)
	}
	caps.EventFilters = &filters
}
