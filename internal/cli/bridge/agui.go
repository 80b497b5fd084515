package bridge

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/bridges/agui"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/producer"
)

// aguiOptions are what the flags of "agui" say.
type aguiOptions struct {
	bridgeFlags
	at                 string
	observe, reasoning bool
}

// AGUICommand makes "aaep agui"; runProxy does its work.
func AGUICommand() *cobra.Command {
	o := &aguiOptions{}
	cmd := &cobra.Command{
		Use:   "agui [flags] UPSTREAM",
		Short: "Hear and answer the agent of a web app that speaks AG-UI",
		Long: `agui stands between a web app and its agent, which speak the Agent-User Interaction protocol. UPSTREAM is the address of
the agent's endpoint; give the app that of agui instead. What the agent says and does is heard by whoever listens, as the app
gets it.

What the agent interrupts its run for, such as a yes before it uses a tool, is asked of the listeners. After an answer the
agent goes on, once, and for the app it is one run. Silence, and a question that cannot be put here, are the app's to ask. With
--observe all of them are.

It serves one person: whoever listens hears all runs. The app is on this machine; its pages in a browser are named with --origin.`,
		Example: `  aaep agui http://127.0.0.1:8000/agent
  aaep agui --observe --at 127.0.0.1:9000 https://agents.example/agui
  aaep agui --origin http://localhost:3000 http://127.0.0.1:8000/`,
		Args: exits.Arguments(1, 1),
		RunE: o.runProxy,
	}
	o.addFlags(cmd, "where it is")
	f := cmd.Flags()
	f.StringVar(&o.at, "at", "127.0.0.1:8081", "where the app finds it: an `ADDRESS` of this machine")
	f.BoolVar(&o.observe, "observe", false, "only tell what the agent asks, and leave the answer to the app")
	f.BoolVar(&o.reasoning, "thoughts", false, "also tell what the model thinks before it answers")
	return cmd
}

// runProxy serves a proxy between an app and its AG-UI agent at an address, whose events it also
// serves as AAEP, until it is told to end. The error has the exit code.
func (o *aguiOptions) runProxy(cmd *cobra.Command, args []string) error {
	const see = "\nSee: aaep agui --help"
	upstream, isWeb := httpguard.WebAddress(args[0])
	switch {
	case !isWeb:
		return exits.UsageError("%q is not the address of an agent, such as http://127.0.0.1:8000/agent."+see, args[0])
	case upstream.User != nil, upstream.RawQuery != "", upstream.Fragment != "":
		return exits.UsageError("The address of the agent has no user, key or \"?\" in it; those are the app's to send." +
			see)
	}
	ln, err := listenForPrograms(cmd.Context(), "--at", o.at)
	if err != nil {
		return err
	}
	defer ln.Close()
	if upstream.Host == ln.Addr().String() {
		return exits.UsageError("%s is where this is itself: name the address of the agent."+see, upstream.Host)
	}
	o.status.Out = cmd.ErrOrStderr()
	name, cfg := firstOf(o.name, upstream.Host), agui.Config{Observe: o.observe, Reasoning: o.reasoning}
	return o.bridgeFlags.serveBridge(cmd, name, nil, nil, func(ctx context.Context, p *producer.Producer) error {
		o.status.PrintLabelled("aaep", "The app finds its agent at http://"+ln.Addr().String()+upstream.Path)
		return servePrograms(ctx, ln, agui.Proxy(p, upstream, cfg), append([]string{}, o.where.Origins...))
	})
}
