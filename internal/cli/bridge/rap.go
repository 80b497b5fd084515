package bridge

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/bridges/rap"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/producer"
)

// rapOptions are what the flags of "bridge rap" say.
type rapOptions struct {
	bridgeFlags
	at, ownURL, events string
	cfg                rap.Config
}

// bridgeRAPCommand makes "aaep bridge rap"; runRAP does its work.
func bridgeRAPCommand() *cobra.Command {
	o := &rapOptions{}
	cmd := &cobra.Command{
		Use:   "rap [flags] URL",
		Short: "Hear an agent's tools, and hold what cannot be undone until you say yes",
		Long: `rap stands between an agent and the tool server at URL, which speak the Reactive Agent Protocol. Give the agent's runtime
the address that is printed in the place of URL. Whoever listens hears which tools are called, what comes of it, and the events
that the agent subscribed to.

A call of a tool that the toolset marks as destructive, or does not list, is held: it reaches the tool server once, after an
answer that accepts it, and never otherwise. The agent then gets a result that says it was not done. All other calls pass at
once, also where nothing can be told; --ask-all holds each that is not marked as read-only.

A choice that a tool offers is asked here and by the runtime; the first answer counts.

With --events the agent can be told of you: a second toolset, at the printed address and /aaep-events, lets it subscribe to what
you answer, and to whether somebody listens who can.`,
		Example: `  aaep bridge rap http://127.0.0.1:4000
  aaep bridge rap --at 127.0.0.1:9100 --held held.jsonl --audit trail.jsonl http://127.0.0.1:4000`,
		Args: exits.Arguments(1, 1),
	}
	cmd.RunE = o.runRAP
	o.addFlags(cmd, "Agent's tools")
	f := cmd.Flags()
	f.StringVar(&o.at, "at", "127.0.0.1:9090", "serve the toolset to the runtime at this `ADDRESS` of this machine")
	f.StringVar(&o.ownURL, "at-url", "", "the `URL` by which the runtime and the tool server reach that (default http://ADDRESS)")
	f.BoolVar(&o.cfg.AskAll, "ask-all", false, "hold every call of a tool that is not marked as read-only")
	f.DurationVar(&o.cfg.AnswerTime, "answer-time", 5*time.Minute, "how long there is to answer; silence is a no")
	f.StringVar(&o.cfg.State, "held", "", "remember in this `FILE` what is held, so that a restart refuses it and a tool can answer after it")
	f.StringVar(&o.events, "events", "", "also offer the toolset aaep-events, and remember in this `FILE` who has subscribed")
	return cmd
}

// runRAP serves a proxy between an agent and its RAP tool server, and what its tools do, until it
// is told to end; with --events also a toolset about the person. The error has the exit code.
func (o *rapOptions) runRAP(cmd *cobra.Command, args []string) error {
	if _, isWeb := httpguard.WebAddress(args[0]); !isWeb {
		return exits.UsageError("%q is not the address of a tool server, such as http://127.0.0.1:4000.\nSee: aaep bridge rap --help", args[0])
	}
	o.status.Out = cmd.ErrOrStderr()
	ln, err := listenForPrograms(cmd.Context(), "--at", o.at)
	if err != nil {
		return err
	}
	defer ln.Close()
	o.cfg.Toolset, o.cfg.Logger = args[0], lineio.LogTo(cmd.ErrOrStderr())
	if o.cfg.URL = o.ownURL; o.cfg.URL == "" {
		o.cfg.URL = "http://" + ln.Addr().String()
	}
	var tee *rap.Tee
	begin := func(p *producer.Producer) (_ http.Handler, err error) {
		if tee, err = rap.New(p, o.cfg); err != nil {
			return nil, exits.CannotTake("--held or --at-url", errors.New(exits.PlainError(err)))
		}
		o.status.PrintLabelled("aaep", "The agent's runtime finds the tools at "+o.cfg.URL)
		return tee, nil
	}
	return o.bridgeFlags.serveBridge(cmd, firstOf(o.name, "Agent's tools"), nil, begin,
		func(ctx context.Context, p *producer.Producer) (err error) {
			defer func() { err = errors.Join(err, tee.Close()) }()
			if o.events == "" {
				return servePrograms(ctx, ln, tee, nil)
			}
			const below = "/aaep-events"
			events, err := rap.NewEvents(p, rap.EventsConfig{URL: o.cfg.URL + below, State: o.events,
				Logger: o.cfg.Logger})
			if err != nil {
				return exits.CannotTake("--events", errors.New(exits.PlainError(err)))
			}
			defer func() { err = errors.Join(err, events.Close()) }()
			mux := http.NewServeMux()
			mux.Handle("/", tee)
			mux.Handle(below+"/", http.StripPrefix(below, events))
			o.status.PrintLabelled("aaep", "It finds the toolset aaep-events at "+o.cfg.URL+below)
			return servePrograms(ctx, ln, mux, nil)
		})
}
