package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log/jetstream"
)

// maxListeners is how many one process serves that does nothing else.
const maxListeners = 10_000

func serveCommand() *cobra.Command {
	var where *serving
	var nats *shared
	var trail string
	cmd := &cobra.Command{
		Use:   "serve --nats URLS [AGENT]",
		Short: "Serve an agent's listeners from another machine",
		Long: `serve lets assistive technology follow an agent that runs elsewhere, and was started with aaep run --nats and a --name.
Any number of machines can serve the same agent: listeners find their place again at any of them, and of their answers
the first counts, wherever it was given. Without a name it serves the one agent there is.

If the agent ends, its listeners stay, and hear it when it is started again, on any machine. A service manager ends serve
with SIGTERM, which is no failure: it ends with 0.

With --audit it is put on record who was asked here, and what they answered. The agent's own record has the answers too.`,
		Example: `  aaep run --nats nats://10.0.0.1,nats://10.0.0.2,nats://10.0.0.3 --name planner -- some-llm "Plan my week"
  aaep serve --nats nats://10.0.0.2 planner`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if nats.servers == "" {
				return usage("--nats says where the agent's log is.\nSee: aaep serve --help")
			}
			status := announcer{out: cmd.ErrOrStderr()}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			cluster, err := nats.dial(ctx)
			if err != nil {
				return err
			}
			defer cluster.Close()
			agent, err := oneAgent(ctx, cluster, args)
			if err != nil {
				return err
			}
			feed, err := cluster.Follow(ctx, agent)
			if errors.Is(err, jetstream.ErrNoAgent) {
				if there, err := cluster.Agents(ctx); err == nil && len(there) > 0 {
					slices.Sort(there)
					err = fmt.Errorf("cannot follow %s: there is no such agent; there is %s", agent, strings.Join(there, ", "))
					return &exitError{exitFailed, err}
				}
			}
			if err != nil {
				return &exitError{exitFailed, err}
			}
			defer feed.Close()
			log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
			cfg := producer.Config{Follow: feed, Admit: where.admit(), MaxSubscriptions: maxListeners, Logger: log}
			if cfg.Signers, err = where.signers(); err != nil {
				return err
			}
			if trail != "" {
				kept, err := openTrail(trail)
				if err != nil {
					return err
				}
				defer kept.Close()
				cfg.Audit = kept
			}
			p, err := producer.New(cfg)
			if err != nil {
				return &exitError{exitFailed, fmt.Errorf("cannot serve %s: %s", agent, plain(err))}
			}
			at, served, err := where.open(ctx, p, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			invite(&status, agent, at)
			failed := p.WaitLogFailed(ctx)
			shutdown(ctx, p, &status)
			<-served
			if ctx.Err() != nil {
				return stopped(ctx)
			}
			return &exitError{exitFailed, fmt.Errorf("%s cannot be served any more: %s", agent, plain(failed))}
		},
	}
	where, nats = servingFlags(cmd), sharedFlags(cmd)
	cmd.Flags().StringVar(&trail, "audit", "", "put on record in this `FILE` what is asked and answered here")
	return cmd
}

// oneAgent is the agent that is meant.
func oneAgent(ctx context.Context, cluster *jetstream.Cluster, named []string) (string, error) {
	if len(named) > 0 {
		return named[0], nil
	}
	agents, err := cluster.Agents(ctx)
	slices.Sort(agents)
	switch {
	case err != nil:
		return "", &exitError{exitFailed, err}
	case len(agents) == 0:
		return "", &exitError{exitFailed, errors.New("there is no agent yet.\nStart one with: aaep run --nats URLS --name NAME -- PROGRAM")}
	case len(agents) > 1:
		return "", usage("there are %s: name one of them.\nThey are: %s", words.Count(len(agents), "agent"), strings.Join(agents, ", "))
	}
	return agents[0], nil
}
