// Package listen is "aaep listen": one person at a terminal, who follows agents and answers them.
// What the person hears, when an answer counts and what an outage sounds like is the business of
// present.Follow and package announce; the terminal is one of the outputs. Here is who is followed,
// over which outputs, on which terms, and what the person's lines do beside answers. outputs.go
// opens each output, with its options; settings.go reads the person's file of settings.
//
// Begin with flags.runListen and Listener.followAgents, the loop: all that a person types, and all
// that changes who is followed, runs on its goroutine. "aaep acp" (package bridge) has the same
// listener.
//
// The flags are in listen.go and person.go, slash commands in slash_commands.go, going back through
// what was said in walk.go, questions from other windows in control.go, and the page in web.go. One
// agent's link is in followed_agent.go, with what is said of it and of who it is; the sentences are
// those of package phrase.
package listen

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/hook/call"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/cli/terms"
	"github.com/aaep-go/aaep/subscriber/terminal"
)

// flags are what the flags of "listen" say.
type flags struct {
	*PersonFlags
	asJSON, noReply bool
	program         string
	reach           *reach.Flags
}

const seeListen = "\nSee: aaep listen --help"

// Command makes "aaep listen"; runListen does its work.
func Command() *cobra.Command {
	o := &flags{}
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
	f.BoolVar(&o.noReply, "no-reply", false, "follow without being asked anything")
	o.PersonFlags = AddPersonFlags(cmd, true)
	o.reach = reach.AddFlags(cmd)
	o.reach.AddTrustFlags(cmd)
	return cmd
}

// checkArgs refuses to follow both an address and a program; it is the Args of the command "aaep
// listen".
func (o *flags) checkArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 && o.program != "" {
		return exits.UsageError("--exec starts the agent, so there is no address to name too; give one of them." + seeListen)
	}
	return nil
}

// runListen does the work of "aaep listen": it checks the flags, opens the outputs, connects to the
// agents and follows them. Without an address or a program it follows the server of hooks, which it
// starts. The error has the exit code.
func (o *flags) runListen(cmd *cobra.Command, args []string) error {
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
	if err := o.Check(); err != nil {
		return err
	}
	if err := o.reach.CheckOneAgent(urls); err != nil {
		return err
	}
	if slices.Contains(o.outs, onPage) { // which has settings of its own
		return o.onPage(cmd, urls)
	}
	caps, err := o.wantedCapabilities()
	if err != nil {
		return err
	}
	ctx, stop := exits.WithInterrupt(cmd.Context())
	defer stop()
	t := terminal.Open(ctx, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
	l, end, err := o.Open(ctx, t, caps, false)
	if err != nil {
		return err
	}
	defer end()
	caps.Languages = l.out.spokenFirst(caps.Languages)
	o.reach.Languages = caps.Languages
	if o.program == "" {
		return l.followAddresses(ctx, o.reach, urls, caps)
	}
	return l.listenToChild(ctx, o.reach, o.program, caps, cmd.ErrOrStderr())
}

// checkAddresses completes and checks the addresses of agents, each of which may be named once. The
// error says which is wrong, as a usage error.
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

// wantedCapabilities returns the capabilities to ask the agents for, by the flags and the settings.
// With --no-reply or --json no questions are asked for. The error is for flags that do not fit, and
// a profile that demands a proof without --trust.
func (o *flags) wantedCapabilities() (aaep.Capabilities, error) {
	o.onlyJSON = o.asJSON
	caps, err := o.Capabilities()
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
