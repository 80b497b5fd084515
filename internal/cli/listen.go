package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/discover"
	"github.com/aaep-go/aaep/subscriber/present"
)

func listenCommand() *cobra.Command {
	var asJSON, noReply bool
	var program string
	var outs []string
	var ask *asking
	var reach *reaching
	cmd := &cobra.Command{
		Use:   "listen (ADDRESS | --exec COMMAND)",
		Short: "Follow an agent: hear what it says, sentence by sentence, and answer its questions",
		Long: `listen follows the agent at ADDRESS and prints one line for each thing there is to know. When the agent asks,
type your answer and press Enter. What you do not answer is decided as the question says.

While it runs, a line that begins with a slash changes what you get, such as /rate 1, or gives you more time to
answer, with /more; /help lists them.

--as asks for what suits a device. What a profile says goes over that, and what the other flags say over both.

When the link breaks, listen mends it; when the agent comes back, listen follows it again. Ctrl-C ends.

With --exec it starts the agent itself and speaks with it over its standard input and output. When one of them
ends, so does the other; nothing starts the agent again. COMMAND is split at spaces. Quotes, single or double,
keep what is between them together. No shell reads it.`,
		Example: `  aaep listen http://127.0.0.1:8080
  aaep listen --as braille --cells 20 --language es,en http://127.0.0.1:8080
  aaep listen ws://127.0.0.1:8080
  aaep listen ` + localScheme + `planner
  aaep listen --exec "aaep run --stdio -- some-llm 'Plan my week'"
  aaep listen --json http://127.0.0.1:8080 | jq .type`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && program == "" || len(args) == 0 && program != "":
				return nil
			case program != "":
				return usage("--exec starts the agent, so there is no address to name too; give one of them.\nSee: aaep listen --help")
			}
			return usage("name one agent to follow, for example: aaep listen http://127.0.0.1:8080")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var url string
			if program == "" {
				var err error
				if url, err = address(args[0]); err != nil {
					return &exitError{exitUsage, err}
				}
			}
			caps, err := ask.capabilities()
			if err != nil {
				return err
			}
			if noReply || asJSON {
				caps.SupportsConfirmationReply, caps.SupportsClarificationReply = new(false), new(false)
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			l := &listener{announcer: announcer{out: cmd.OutOrStdout()}, status: announcer{out: cmd.ErrOrStderr()}, json: asJSON, wanted: caps}
			if len(outs) > 0 {
				l.out, err = openOutputs(ctx, outs, caps.PaceWPM, func(text string) { l.status.say("aaep", text) })
				if err != nil {
					return err
				}
				defer l.out.close()
				l.status.also = func(text string) { l.out.each(func(p *present.Presenter) { p.Tell(text, false) }) }
				l.announcer.out = l.out.lines(cmd.OutOrStdout())
			}
			if program != "" {
				if err := reach.ofChild(); err != nil {
					return err
				}
				if l.trust, err = reach.trust(""); err != nil {
					return err
				}
				return l.listenTo(ctx, program, cmd.InOrStdin(), cmd.ErrOrStderr())
			}
			return l.listen(ctx, reach, url, cmd.InOrStdin())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print the events as JSON, one on each line, and answer nothing")
	f.StringVar(&program, "exec", "", "start the agent with this `COMMAND`, and follow it")
	f.StringSliceVar(&outs, "output", nil, "tell it over these `OUTPUTS` in place of lines: "+strings.Join(outputNames(), ", "))
	f.BoolVar(&noReply, "no-reply", false, "follow without being asked anything")
	ask = askingFlags(cmd)
	reach = reachingFlags(cmd)
	reach.trustFlags(cmd)
	return cmd
}

// listener follows one agent on a terminal.
type listener struct {
	announcer
	status announcer
	json   bool
	wanted aaep.Capabilities // what was asked for
	sub    *subscriber.Subscription
	link   subscriber.Status // as it was last looked at
	asked  []*question       // the one on the screen first
	before past              // of what was asked before
	note   string            // of the agent, about the terms; said once
	source string            // the agent's name
	trust  *manifest.Trust   // nil demands no proof
	out    *outputs          // nil if the terminal is all there is
	over   []string          // the ways to the agent, in words; empty if there is one that speaks for itself

	changing bool               // other terms are asked for
	later    *aaep.Capabilities // to ask for after that
	changed  chan renegotiated
	quiet    <-chan time.Time // when it is over; nil where it is not quiet

	meanwhile []string // what came while a question was on the screen
	dropped   int      // of it

	extending bool // more time is asked for
	extended  chan moreTime
	given     *question        // of which the agent has yet to say that there is more time
	untold    <-chan time.Time // when that is said without it
}

func (l *listener) listen(ctx context.Context, reach *reaching, url string, stdin io.Reader) error {
	ways, err := reach.ways(ctx, url)
	if err != nil {
		return err
	}
	for _, w := range ways {
		l.over = append(l.over, wireWords(w.Transport))
	}
	cfg := listenConfig(l.wanted, false)
	cfg.Fallback = discover.Dialers(ways[1:])
	if l.trust, err = reach.trust(url); err != nil {
		return err
	}
	l.demand(&cfg)
	sub, err := subscriber.Dial(ctx, ways[0].Dialer, cfg)
	if err != nil {
		return dialError(ctx, url, err)
	}
	defer sub.Close()
	return l.follow(ctx, sub, readLines(ctx, stdin))
}

// demand asks for proof of who the agent is, if the person wants that.
func (l *listener) demand(cfg *subscriber.Config) {
	if l.trust == nil {
		return
	}
	l.wanted.AcceptSignedManifestsOnly = new(true)
	cfg.Capabilities, cfg.Trust = l.wanted, l.trust
}

func listenConfig(wanted aaep.Capabilities, once bool) subscriber.Config {
	host, _ := os.Hostname()
	return subscriber.Config{ID: "aaep-listen-" + host, Name: "aaep listen", Version: aaep.Version, Capabilities: wanted, NoReconnect: once}
}

// follow tells what comes, and obeys the lines a person types, until ctx or the subscription ends.
func (l *listener) follow(ctx context.Context, sub *subscriber.Subscription, lines <-chan typed) error {
	l.sub = sub
	who := sub.Accepted().Producer
	name, proof := nameOfAgent(who.AgentName, who.AgentID), "Who it is has not been verified."
	if v := sub.Verified(); v != nil {
		name, proof = nameOfAgent(v.Manifest.AgentName, v.Manifest.AgentID), "It has proved who it is."
		if like := v.Identity.LooksLike; like != "" {
			proof += " Its name looks like that of another agent, " + words.OneLine(like) + ", which it is not."
		}
	}
	var moved <-chan struct{}
	l.link, moved = sub.Status()
	l.source = name
	l.status.say("aaep", fmt.Sprintf("Following %s%s. %s Type /help for commands. Ctrl-C ends.", name, l.way(), proof))
	l.explain(l.wanted)
	if isQuiet(l.terms()) {
		l.quiet = time.After(quietTime)
	}
	events := make(chan *aaep.Event)
	over := make(chan error, 1)
	go func() {
		for ev, err := range sub.Events(ctx) {
			if err != nil {
				over <- err
				return
			}
			select {
			case events <- ev:
			case <-ctx.Done():
			}
		}
		over <- nil
	}()
	l.changed, l.extended = make(chan renegotiated, 1), make(chan moreTime, 1)
	var pace <-chan time.Time
	if l.out != nil {
		t := time.NewTicker(30 * time.Second)
		defer t.Stop()
		pace = t.C
	}
	for {
		select {
		case ev := <-events:
			l.looked(sub.Status())
			l.announce(ev)
			if l.failed() {
				return nil
			}
		case line, ok := <-lines:
			if !ok {
				lines = nil
				continue
			}
			l.looked(sub.Status())
			if strings.HasPrefix(line.text, "/") {
				l.command(ctx, line.text)
			} else {
				l.answer(ctx, line)
			}
		case <-moved:
			moved = l.looked(sub.Status())
		case r := <-l.changed:
			l.agreed(ctx, r)
		case m := <-l.extended:
			l.gave(ctx, m)
		case <-l.untold:
			l.tellGiven()
		case <-l.quiet:
			l.change(ctx, l.presence(false))
		case <-pace:
			l.keepPace(ctx)
		case err := <-over:
			if err == nil || ctx.Err() != nil {
				return nil
			}
			return &exitError{exitFailed, fmt.Errorf("the agent ended the link: %s", words.Sentence(plain(err)))}
		case <-ctx.Done():
			return nil
		}
	}
}

// way says over what the agent is reached.
func (l *listener) way() string {
	if l.link.Way >= len(l.over) {
		return ""
	}
	return " over " + l.over[l.link.Way]
}

// terms are what holds now; before anything was agreed on, what is wanted.
func (l *listener) terms() aaep.Capabilities {
	if l.sub == nil {
		return l.wanted
	}
	return effective(l.wanted, l.sub.Accepted().HonoredCapabilities)
}

// explain says what of a request the agent did not grant.
func (l *listener) explain(asked aaep.Capabilities) {
	note := words.OneLine(l.sub.Accepted().NegotiationNotes)
	if note != "" && note != l.note {
		l.status.say("aaep", note)
	}
	l.note = note
	if list := notGranted(asked, l.terms(), note != ""); len(list) > 0 {
		l.status.say("aaep", words.OneLine("Not granted: "+strings.Join(list, ", ")+"."))
	}
}

// looked tells what became of the link since it was last looked at.
func (l *listener) looked(now subscriber.Status, changed <-chan struct{}) <-chan struct{} {
	was := l.link
	l.link = now
	switch {
	case now.Over: // whoever follows tells why
	case was.Connected && !now.Connected && errors.Is(now.Err, aaep.ProducerShutdown):
		l.status.say("aaep", "The agent has ended. Waiting for it to come back. Ctrl-C ends.")
	case was.Connected && !now.Connected:
		l.status.say("aaep", "Connection lost. Trying again. Ctrl-C ends.")
	case !was.Connected && now.Connected:
		again := "Connected again."
		if now.Way != was.Way {
			again = "Connected again" + l.way() + "."
		}
		switch {
		case was.Subscribed == now.Subscribed:
		case now.Resumed:
			again += " Nothing is missing."
		default:
			again += " What was said meanwhile may be missing."
		}
		l.status.say("aaep", again)
	}
	if was.Subscribed != now.Subscribed && len(l.asked) > 0 {
		l.asked, l.before = nil, past{} // they went with the subscription they came on
		l.status.say("aaep", "The question is no longer open. If it still matters, the agent asks again.")
	}
	if was.Subscribed != now.Subscribed && l.quiet != nil {
		l.quiet = time.After(quietTime) // it was asked for anew
	}
	return changed
}

func (l *listener) announce(ev *aaep.Event) {
	if l.json {
		if msg, err := ev.MarshalJSON(); err == nil {
			l.line(safeJSON(string(msg)))
		}
		return
	}
	switch ev.Payload.(type) {
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		if l.canAnswer(ev) {
			l.say("", felt(ev, l.terms()))
			l.ask(ev)
			return
		}
	}
	l.out.each(func(p *present.Presenter) { p.Add(l.source, ev) })
	text := felt(ev, l.terms()) + " " + l.news(ev)
	if l.waits(ev) {
		l.keep(text)
		return
	}
	l.say("", strings.TrimSpace(text))
	l.heed(ev)
	l.settle(ev)
	l.catchUp()
}

// safeJSON spells what could disturb a terminal as JSON can, which changes nothing of what it says.
func safeJSON(msg string) string {
	if aaep.SafeText(msg) == msg && !strings.ContainsAny(msg, "\n\t") {
		return msg
	}
	var b strings.Builder
	for _, r := range msg {
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ') // between members: within a string they are spelled already
		case aaep.SafeText(string(r)) == string(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
