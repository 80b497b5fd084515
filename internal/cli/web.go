package cli

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/subscriber/discover"
	"github.com/aaep-go/aaep/subscriber/web/relay"
)

// onPage is the output that is a page in the person's own browser.
const onPage = "web"

// onPage serves the page for one agent until it is interrupted. The page is the listener: what it
// asks for is set there, and it says where the agent is not there (yet). Nothing subscribes before
// it does, for an agent may wait for its first listener.
func (o *listenFlags) onPage(cmd *cobra.Command, urls []string) error {
	switch name := o.ask.givenFlag(); {
	case len(urls) == 0:
		return usageError("--output %s needs the address of an agent. To start one with a page: aaep run --web -- COMMAND", onPage)
	case len(urls) > 1:
		return usageError("--output %s shows one agent; it has %d addresses."+seeListen, onPage, len(urls))
	case o.asJSON || len(o.outs) > 1:
		return usageError("--output %s goes with no other output: the page is the listener. A second aaep listen can follow the same agent."+seeListen, onPage)
	case name != "":
		return usageError("--%s does not go with --output %s: the page has settings of its own."+seeListen, name,
			onPage)
	}
	ctx, stop := withInterrupt(cmd.Context())
	defer stop()
	url, f := urls[0], &followedAgent{}
	if o.noReply {
		f.wanted.SupportsConfirmationReply, f.wanted.SupportsClarificationReply = new(false), new(false)
	}
	l := &listener{status: announcer{out: cmd.ErrOrStderr()}}
	l.setLanguages(systemLanguages()) // the page has a setting of its own
	stopTelling := l.announceConnecting(url)
	ways, err := o.reach.findWays(ctx, url)
	stopTelling()
	if err != nil {
		return err
	}
	if f.trust, err = o.reach.readTrust(url); err != nil {
		return err
	}
	cfg := f.subscriberConfig(false)
	cfg.Fallback, cfg.Unreadable = discover.Dialers(ways[1:]), nil
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return exitWith(exitFailed, err)
	}
	r := relay.New(ways[0].Dialer, cfg)
	l.informPerson(l.phraseText(phrase.PageIsHere, ""), l.phraseText(phrase.PageIsSecret, ""),
		l.phraseText(phrase.CtrlCEnds, ""))
	fmt.Fprintf(cmd.OutOrStdout(), "http://%s%s\n", ln.Addr(), r.Path())
	if err := r.Serve(ctx, ln); err != nil && !errors.Is(err, context.Canceled) {
		return exitWith(exitFailed, err)
	}
	return nil
}

// givenFlag returns the first flag about the terms that was given, or "".
func (a *capabilityFlags) givenFlag() string {
	names := []string{"as", "cells", "profile", "include", "exclude"}
	for _, w := range wishes {
		names = append(names, w.name)
	}
	for _, name := range names {
		if a.flags.Changed(name) {
			return name
		}
	}
	return ""
}
