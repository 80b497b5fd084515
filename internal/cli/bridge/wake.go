package bridge

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/bridges/wake"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/producer"
)

// wakeOptions are what the flags of "bridge wake" say.
type wakeOptions struct {
	bridgeFlags
	keys, seen, identity string
	only                 []string
	window               time.Duration
	server               wake.Server
	token                string
}

// bridgeWakeCommand makes "aaep bridge wake"; runWake does its work.
func bridgeWakeCommand() *cobra.Command {
	o := &wakeOptions{}
	cmd := &cobra.Command{
		Use:   "wake [flags]",
		Short: "Hear what wakes the agents of a Neo swarm",
		Long: `wake takes the wake messages of a Neo agent swarm: messages to an identity, changes of its tasks, permissions, and digests
of those. Whoever listens hears the first at once, and what follows within --window as one digest; a task that waits for
somebody is told at once. A digest that counts nothing, as of a heartbeat, is not told.

With --keys wakes are taken as the swarm's webhook delivery posts them. They are signed: the file holds the key that the swarm
gave out for each subscription. With --server the swarm's memory server is followed, which speaks the Model Context Protocol:
its notifications are taken, and what came while the link was cut. Both may be given.

Wake has no way to answer: what waits for an answer is told with who waits.`,
		Example: `  aaep bridge wake --keys keys.txt --hook 127.0.0.1:9090
  aaep bridge wake --server https://swarm.example/mcp --token-file token.txt
  aaep bridge wake --keys keys.txt --identity @ada --only task_state_changed --window 150s --seen seen.db`,
		Args: cobra.NoArgs,
	}
	cmd.RunE = o.runWake
	o.addFlags(cmd, "Swarm")
	f := cmd.Flags()
	f.StringVar(&o.hookAt, "hook", "127.0.0.1:9090", "take wakes at this `ADDRESS` of this machine")
	f.StringVar(&o.keys, "keys", "", "the signing keys: on each line of this `FILE` a subscription's id, a space, its key")
	f.StringVar(&o.server.URL, "server", "", "follow the swarm's memory server at this `URL`")
	f.StringVar(&o.token, "token-file", "", "show that server the bearer token in this `FILE`")
	f.StringArrayVar(&o.server.Subscriptions, "subscription", nil,
		"follow the subscription with this `ID` there; may be repeated (default all that are sent by notifications)")
	f.DurationVar(&o.server.Poll, "poll", 30*time.Second,
		"ask that server every `TIME` for what its notifications did not bring; 0 never does")
	f.StringVar(&o.identity, "identity", "", "take only the wakes of this `IDENTITY`, such as @ada")
	f.StringSliceVar(&o.only, "only", nil, "tell only these `KINDS`: sent_to_me, task_state_changed, permission_granted")
	f.DurationVar(&o.window, "window", 30*time.Second,
		"what follows a wake for this `TIME` is one digest, up to 5m; 0 tells each at once")
	f.StringVar(&o.seen, "seen", "", "remember in this `FILE` what was told, so that nothing is told again after a restart")
	return cmd
}

// runWake does the work of "aaep bridge wake": it takes signed wakes, asks a server for events, or
// both, and serves what they say, until it is told to end or the server cannot be followed. The
// error has the exit code.
func (o *wakeOptions) runWake(cmd *cobra.Command, _ []string) (err error) {
	const see = "\nSee: aaep bridge wake --help"
	switch {
	case o.keys == "" && o.server.URL == "":
		return exits.UsageError("--keys or --server is missing: a wake counts only if it is signed, or comes from a server that you name." + see)
	case o.server.URL == "" && (o.token != "" || len(o.server.Subscriptions) > 0):
		return exits.UsageError("--token-file and --subscription are of a server: name it with --server." + see)
	case o.server.Poll < 0 || o.server.Poll > 0 && o.server.Poll < time.Second:
		return exits.UsageError("--poll must be 0, or a second at least; it is %v."+see, o.server.Poll)
	}
	if address, err := url.Parse(o.server.URL); o.server.URL != "" && (err != nil || address.Host == "") {
		return exits.UsageError("%q is not the address of a server, such as https://swarm.example/mcp."+see,
			o.server.URL)
	}
	cfg := wake.Config{Identity: o.identity, Only: o.only, Window: o.window, Seen: o.seen,
		Logger: lineio.LogTo(cmd.ErrOrStderr())}
	if o.server.Token, err = readToken(o.token); err != nil {
		return err
	}
	o.status.Out = cmd.ErrOrStderr()
	var hook net.Listener
	if o.keys != "" {
		if cfg.Keys, err = wake.ReadKeys(o.keys); err != nil {
			return exits.CannotTake("--keys", err)
		}
		if hook, err = o.openHook(cmd.Context()); err != nil {
			return err
		}
		defer hook.Close()
	}
	var bridge *wake.Bridge
	begin := func(p *producer.Producer) (_ http.Handler, err error) {
		if bridge, err = wake.New(p, cfg); err != nil {
			return nil, exits.CannotTake("--window or --seen", err)
		}
		return bridge, nil
	}
	return o.bridgeFlags.serveBridge(cmd, firstOf(o.name, "Swarm"), hook, begin,
		func(ctx context.Context, _ *producer.Producer) (err error) {
			if o.server.URL != "" {
				err = bridge.Follow(ctx, o.server)
			} else {
				<-ctx.Done()
			}
			closed := bridge.Close()
			if ctx.Err() == nil {
				return exits.With(exits.Unreachable, errors.New(exits.TrimPackageNames(err.Error())))
			}
			return closed
		})
}
