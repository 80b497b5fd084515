package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/sse"
)

const maxRate = 100000 // of events in a second (§5.3.1)

func listenCommand() *cobra.Command {
	var asJSON, braille, noReply bool
	var rate int64
	var verbosity, boundary string
	var languages []string
	cmd := &cobra.Command{
		Use:   "listen ADDRESS",
		Short: "Follow an agent: hear what it says, sentence by sentence, and answer its questions",
		Long: `listen follows the agent at ADDRESS and prints one line for each thing there is to know. When the agent asks,
type your answer and press Enter. What you do not answer is decided as the question says.

When the link breaks, listen mends it; when the agent comes back, listen follows it again. Ctrl-C ends.`,
		Example: `  aaep listen http://127.0.0.1:8080
  aaep listen --json http://127.0.0.1:8080 | jq .type`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return usage("name one agent to follow, for example: aaep listen http://127.0.0.1:8080")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			url, err := address(args[0])
			if err != nil {
				return &exitError{exitUsage, err}
			}
			if err := checkTerms(rate, verbosity, boundary); err != nil {
				return err
			}
			caps := subscriber.ScreenReader(languages...)
			if braille {
				caps = subscriber.Braille(40, languages...)
			}
			if cmd.Flags().Changed("rate") {
				caps.MaxEventsPerSecond = rate
			}
			if verbosity != "" {
				caps.PreferredVerbosity = aaep.Verbosity(verbosity)
			}
			if boundary != "" {
				caps.CoalesceBoundaries = slices.Compact([]aaep.Boundary{aaep.Boundary(boundary), aaep.BoundaryCompletion})
			}
			if noReply || asJSON {
				caps.SupportsConfirmationReply, caps.SupportsClarificationReply = new(false), new(false)
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			l := &listener{announcer: announcer{out: cmd.OutOrStdout()}, status: announcer{out: cmd.ErrOrStderr()}, json: asJSON}
			return l.listen(ctx, url, caps, cmd.InOrStdin())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print the events as JSON, one on each line, and answer nothing")
	f.BoolVar(&braille, "braille", false, "ask for what suits a braille display: one event a second, few words, whole answers")
	f.BoolVar(&noReply, "no-reply", false, "follow without being asked anything")
	f.Int64Var(&rate, "rate", 3, "the most events in a second, from 1 to 100000")
	f.StringVar(&verbosity, "verbosity", "", "terse, normal or detailed")
	f.StringVar(&boundary, "boundary", "", "where answers are cut: none, word, sentence, paragraph or completion")
	f.StringSliceVar(&languages, "language", []string{"en-US"}, "language tags, best first")
	return cmd
}

// checkTerms refuses what no agent could be asked for.
func checkTerms(rate int64, verbosity, boundary string) error {
	const help = ".\nSee: aaep listen --help"
	if rate < 1 || rate > maxRate {
		return usage("--rate must be from 1 to %d; it is %d"+help, maxRate, rate)
	}
	for _, flag := range []struct {
		name, value string
		allowed     []string
	}{
		{"verbosity", verbosity, []string{"terse", "normal", "detailed"}},
		{"boundary", boundary, []string{"none", "word", "sentence", "paragraph", "completion"}},
	} {
		if last := len(flag.allowed) - 1; flag.value != "" && !slices.Contains(flag.allowed, flag.value) {
			return usage("--%s must be %s or %s; it is %q"+help, flag.name,
				strings.Join(flag.allowed[:last], ", "), flag.allowed[last], flag.value)
		}
	}
	return nil
}

// listener follows one agent on a terminal.
type listener struct {
	announcer
	status announcer
	json   bool
	sub    *subscriber.Subscription
	link   subscriber.Status // as it was last looked at
	asked  []*question       // the one on the screen first
}

func (l *listener) listen(ctx context.Context, url string, caps aaep.Capabilities, stdin io.Reader) error {
	host, _ := os.Hostname()
	sub, err := subscriber.Dial(ctx, sse.Dialer{URL: url}, subscriber.Config{
		ID: "aaep-listen-" + host, Name: "aaep listen", Version: aaep.Version, Capabilities: caps})
	if err != nil {
		return dialError(ctx, url, err)
	}
	defer sub.Close()
	l.sub = sub
	who := sub.Accepted().Producer
	name := oneLine(who.AgentName)
	if name == "" {
		name = oneLine(who.AgentID)
	}
	l.status.say("aaep", fmt.Sprintf("Following %s. Who it is has not been verified. Ctrl-C ends.", name))
	if note := sub.Accepted().NegotiationNotes; note != "" {
		l.status.say("aaep", oneLine(note))
	}
	lines := readLines(ctx, stdin)
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
	var changed <-chan struct{}
	l.link, changed = sub.Status()
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
			l.answer(ctx, line)
		case <-changed:
			changed = l.looked(sub.Status())
		case err := <-over:
			if err == nil || ctx.Err() != nil {
				return nil
			}
			return &exitError{exitFailed, fmt.Errorf("the agent ended the link: %s", sentence(plain(err)))}
		case <-ctx.Done():
			return nil
		}
	}
}

// looked tells what became of the link since it was last looked at.
func (l *listener) looked(now subscriber.Status, changed <-chan struct{}) <-chan struct{} {
	was := l.link
	l.link = now
	switch {
	case was.Connected && !now.Connected && errors.Is(now.Err, aaep.ProducerShutdown):
		l.status.say("aaep", "The agent has ended. Waiting for it to come back. Ctrl-C ends.")
	case was.Connected && !now.Connected:
		l.status.say("aaep", "Connection lost. Trying again. Ctrl-C ends.")
	case !was.Connected && now.Connected:
		l.status.say("aaep", "Connected again.")
	}
	if was.Subscribed != now.Subscribed && len(l.asked) > 0 {
		l.asked = nil // they went with the subscription they came on
		l.status.say("aaep", "The question is no longer open. If it still matters, the agent asks again.")
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
			l.ask(ev)
			return
		}
	}
	l.say("", announcement(ev, ev.Verbosity))
	l.settle(ev)
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
