package bridge

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/bridges/akashik"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/producer"
)

// akashikOptions are what the flags of "bridge akashik" say.
type akashikOptions struct {
	bridgeFlags
	token string
	cfg   akashik.Config
}

// bridgeAkashikCommand makes "aaep bridge akashik"; runAkashik does its work.
func bridgeAkashikCommand() *cobra.Command {
	o := &akashikOptions{}
	cmd := &cobra.Command{
		Use:   "akashik [flags] URL",
		Short: "Hear what agents record in a field that they share",
		Long: `akashik follows the field at URL, which speaks the Akashik Protocol 0.1.0: the memory that agents share. Whoever listens
hears what is recorded, replaced and disputed there, conflicts, tasks and agents; the first at once, and what follows within
--window as one digest. What the field says requires an action is told at once.

A field that pushes is subscribed to, and asked each minute for what it did not push; one that does not is asked every --poll.
Then tasks, agents, and that a conflict was settled cannot be heard. With --mcp the field's tools are called by the Model Context
Protocol, which never pushes.

With --record whoever listens is asked what to do where an action is required, and the answer is written into the field as a
directive of a person. That is all it does: no field is known that acts on it. Silence writes nothing.`,
		Example: `  aaep bridge akashik --seen seen.db https://field.example
  aaep bridge akashik --min-relevance 0.6 --interest pricing --record --token-file token.txt https://field.example
  aaep bridge akashik --mcp --event memory.recorded,conflict.detected http://127.0.0.1:3000/mcp`,
		Args: exits.Arguments(1, 1),
	}
	cmd.RunE = o.runAkashik
	o.addFlags(cmd, "Field")
	f, c := cmd.Flags(), &o.cfg
	f.StringVar(&o.token, "token-file", "", "show the field the bearer token in this `FILE`")
	f.BoolVar(&c.MCP, "mcp", false, "URL is that of a server of the Model Context Protocol")
	f.StringVar(&c.AgentID, "agent", "", "the field knows this listener by this `ID` (default one made at random, which --seen keeps)")
	f.StringVar(&c.Role, "role", "observer", "the `ROLE` by which the field judges what is relevant")
	f.StringSliceVar(&c.Interests, "interest", nil, "the `TOPICS` by which it does")
	f.StringVar(&c.Task, "task", "", "the `ID` of the task by which it does")
	f.StringSliceVar(&c.Events, "event", nil, "tell only these `EVENTS`: "+strings.Join(akashik.Events(), ", "))
	f.Float64Var(&c.MinRelevance, "min-relevance", 0,
		"leave out what is less relevant than this `NUMBER` from 0 to 1, but for what requires an action or is handed over")
	f.DurationVar(&c.Debounce, "debounce", 0, "have the field wait this `TIME` between two notifications about the same")
	f.DurationVar(&c.Poll, "poll", 5*time.Second, "ask a field that does not push every `TIME`")
	f.DurationVar(&c.Window, "window", 30*time.Second,
		"what follows a piece of news for this `TIME` is one digest, up to 5m; 0 tells each at once")
	f.BoolVar(&c.Record, "record", false, "ask about what requires an action, and write the answer into the field")
	f.DurationVar(&c.AnswerTime, "answer-time", 5*time.Minute, "how long there is to answer")
	f.StringVar(&c.Seen, "seen", "", "remember in this `FILE` what was told, so that a restart goes on where it was")
	return cmd
}

// runAkashik does the work of "aaep bridge akashik": it follows the field and announces its news
// until the command is stopped. The error has the exit code.
func (o *akashikOptions) runAkashik(cmd *cobra.Command, args []string) (err error) {
	if o.cfg.Token, err = readToken(o.token); err != nil {
		return err
	}
	o.status.Out = cmd.ErrOrStderr()
	o.cfg.URL, o.cfg.Name, o.cfg.Logger = args[0], o.name, lineio.LogTo(cmd.ErrOrStderr())
	var bridge *akashik.Bridge
	begin := func(p *producer.Producer) (_ http.Handler, err error) {
		if bridge, err = akashik.New(p, o.cfg); err != nil {
			return nil, exits.UsageError("%s.\nSee: aaep bridge akashik --help", exits.PlainError(err))
		}
		return nil, nil
	}
	return o.bridgeFlags.serveBridge(cmd, firstOf(o.name, "Field"), nil, begin,
		func(ctx context.Context, _ *producer.Producer) error {
			err := bridge.Follow(ctx)
			closed := bridge.Close()
			if ctx.Err() == nil {
				return exits.With(exits.Unreachable, errors.New(exits.TrimPackageNames(err.Error())))
			}
			return closed
		})
}
