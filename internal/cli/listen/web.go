package listen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/uilang"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/subscriber/discover"
	"github.com/aaep-go/aaep/subscriber/web/relay"
)

// onPage is the output that is a page in the person's own browser.
const onPage = "web"

// onPage serves the page for one agent until it is interrupted. The page is the listener: what it
// asks for is set there, and it says where the agent is not there (yet). Nothing subscribes before
// it does, for an agent may wait for its first listener.
func (o *flags) onPage(cmd *cobra.Command, urls []string) error {
	name := o.ask.GivenFlag()
	for _, flag := range []string{"quiet-until-done", "content", "sounds", "volume"} {
		if cmd.Flags().Changed(flag) {
			name = cmp.Or(name, flag)
		}
	}
	switch {
	case len(urls) == 0:
		return exits.UsageError("--output %s needs the address of an agent. To start one with a page: aaep run --web -- COMMAND", onPage)
	case len(urls) > 1:
		return exits.UsageError("--output %s shows one agent; it has %d addresses."+seeListen, onPage, len(urls))
	case o.asJSON || len(o.outs) > 1:
		return exits.UsageError("--output %s goes with no other output: the page is the listener. A second aaep listen can follow the same agent."+seeListen, onPage)
	case name != "":
		return exits.UsageError("--%s does not go with --output %s: the page has settings of its own."+seeListen, name,
			onPage)
	}
	ctx, stop := exits.WithInterrupt(cmd.Context())
	defer stop()
	url, f := urls[0], &FollowedAgent{}
	if o.noReply {
		f.wanted.SupportsConfirmationReply, f.wanted.SupportsClarificationReply = new(false), new(false)
	}
	l := &Listener{Status: lineio.Printer{Out: cmd.ErrOrStderr()}}
	l.setLanguages(uilang.SystemLanguages()) // the page has a setting of its own
	stopTelling := l.AnnounceConnecting(url)
	ways, err := o.reach.FindWays(ctx, url)
	stopTelling()
	if err != nil {
		return err
	}
	if f.trust, err = o.reach.ReadTrust(url); err != nil {
		return err
	}
	cfg := f.subscriberConfig(false)
	cfg.Fallback, cfg.Unreadable = discover.Dialers(ways[1:]), nil
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return exits.With(exits.Failed, err)
	}
	r := relay.New(ways[0].Dialer, cfg)
	l.informPerson(l.PhraseText(phrase.PageIsHere, ""), l.PhraseText(phrase.PageIsSecret, ""),
		l.PhraseText(phrase.CtrlCEnds, ""))
	fmt.Fprintf(cmd.OutOrStdout(), "http://%s%s\n", ln.Addr(), r.Path())
	if err := r.Serve(ctx, ln); err != nil && !errors.Is(err, context.Canceled) {
		return exits.With(exits.Failed, err)
	}
	return nil
}
