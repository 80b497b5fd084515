package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/sse"
)

func listenCommand() *cobra.Command {
	var asJSON, braille, noReply bool
	var rate int
	var verbosity, boundary string
	var languages []string
	cmd := &cobra.Command{
		Use:   "listen URL",
		Short: "Follow an agent: hear what it says, sentence by sentence, and answer its questions",
		Long: `listen follows the agent at URL and prints one line for each thing there is to know. When the agent asks,
type your answer and press Enter; what you do not answer is decided by the default that was said.

When the link breaks it is mended, and when the agent comes back it is followed again. Ctrl-C ends.`,
		Example: `  aaep listen http://127.0.0.1:8080
  aaep listen --json http://127.0.0.1:8080 | jq .type`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			caps := subscriber.ScreenReader(languages...)
			if braille {
				caps = subscriber.Braille(languages...)
			}
			if cmd.Flags().Changed("rate") {
				caps.MaxEventsPerSecond = int64(rate)
			}
			if verbosity != "" {
				caps.PreferredVerbosity = aaep.Verbosity(verbosity)
			}
			if boundary != "" {
				caps.CoalesceBoundaries = []aaep.Boundary{aaep.Boundary(boundary), aaep.BoundaryCompletion}
				if boundary == string(aaep.BoundaryCompletion) {
					caps.CoalesceBoundaries = caps.CoalesceBoundaries[1:]
				}
			}
			if noReply || asJSON {
				caps.SupportsConfirmationReply, caps.SupportsClarificationReply = new(false), new(false)
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			l := &listener{announcer: announcer{out: cmd.OutOrStdout()}, status: announcer{out: cmd.ErrOrStderr()}, json: asJSON}
			return l.listen(ctx, args[0], caps, cmd.InOrStdin())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print the events as JSON, one on each line, and answer nothing")
	f.BoolVar(&braille, "braille", false, "ask for what suits a braille display: one event a second, few words, whole answers")
	f.BoolVar(&noReply, "no-reply", false, "follow without being asked anything")
	f.IntVar(&rate, "rate", 3, "the most events in a second, from 1 to 100000; 0 is no limit")
	f.StringVar(&verbosity, "verbosity", "", "terse, normal or detailed")
	f.StringVar(&boundary, "boundary", "", "where answers are cut: none, word, sentence, paragraph or completion")
	f.StringSliceVar(&languages, "language", []string{"en-US"}, "language tags, best first")
	return cmd
}

// listener follows one agent on a terminal.
type listener struct {
	announcer
	status announcer
	json   bool
	sub    *subscriber.Subscription
	asked  *aaep.Event // the question on the screen, or nil
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
	name := who.AgentName
	if name == "" {
		name = who.AgentID
	}
	l.status.say("aaep", fmt.Sprintf("Following %s (not verified). Ctrl-C ends.", name))
	if note := sub.Accepted().NegotiationNotes; note != "" {
		l.status.say("aaep", note)
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
	status, changed := sub.Status()
	for {
		select {
		case ev := <-events:
			l.announce(ev)
			if l.err != nil { // nobody reads any more
				return nil
			}
		case line, ok := <-lines:
			if !ok {
				lines = nil
				continue
			}
			l.answer(ctx, line)
		case <-changed:
			was := status
			status, changed = sub.Status()
			switch {
			case was.Connected && !status.Connected:
				l.status.say("aaep", "Connection lost: "+plain(status.Err)+". Trying again; Ctrl-C ends.")
			case !was.Connected && status.Connected:
				l.status.say("aaep", "Connected again.")
			}
		case err := <-over:
			if err == nil || ctx.Err() != nil {
				return nil
			}
			return &exitError{exitFailed, err}
		case <-ctx.Done():
			return nil
		}
	}
}

func dialError(ctx context.Context, url string, err error) error {
	var no *aaep.Rejection
	var invalid *aaep.InvalidError
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted")}
	case errors.As(err, &invalid):
		return &exitError{exitUsage, err}
	case errors.As(err, &no):
		return &exitError{exitFailed, err}
	}
	return &exitError{exitUnreachable, fmt.Errorf("no agent reached at %s: %w\nIs it running, and is this its address? Start one with: aaep run --listen 127.0.0.1:8080 -- PROGRAM", url, err)}
}

// plain is an error in the words of a person.
func plain(err error) string {
	var r *aaep.Rejection
	if errors.As(err, &r) && r.Message != "" {
		return strings.TrimSuffix(r.Message, ".")
	}
	return strings.TrimPrefix(err.Error(), "transports: ")
}

func (l *listener) announce(ev *aaep.Event) {
	if l.json {
		if msg, err := ev.MarshalJSON(); err == nil {
			l.line(string(msg))
		}
		return
	}
	if l.asked != nil && ev.SessionID == l.asked.SessionID && ends(ev) {
		l.asked = nil
	}
	l.say("", announcement(ev, ev.Verbosity))
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		l.asked = ev
		l.say("", "Type y and Enter to accept, n and Enter to reject:")
	case *aaep.AwaitingClarification:
		l.asked = ev
		hint := "Type your answer and Enter:"
		if len(p.Choices) > 0 {
			hint = "Type the number of a choice and Enter:"
		}
		l.say("", hint)
	}
}

// line prints data as it is.
func (l *listener) line(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := fmt.Fprintln(l.out, s); err != nil {
		l.err = err
	}
}

// ends reports whether an event says that a question of its session is no longer open.
func ends(ev *aaep.Event) bool {
	if p, ok := ev.Payload.(*aaep.StateChanged); ok {
		return p.FromState == aaep.StateAwaitingInput
	}
	return ev.Type().Terminal()
}

// answer takes a line the person typed.
func (l *listener) answer(ctx context.Context, line string) {
	if l.asked == nil {
		if line != "" {
			l.status.say("aaep", "Nothing is being asked.")
		}
		return
	}
	var err error
	switch p := l.asked.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		d := decisionOf(line)
		if d == "" {
			l.status.say("aaep", "Please type y to accept or n to reject.")
			return
		}
		err = l.sub.Reply(ctx, l.asked, d)
	case *aaep.AwaitingClarification:
		response, problem := responseOf(p, line)
		if problem != "" {
			l.status.say("aaep", problem)
			return
		}
		err = l.sub.Answer(ctx, l.asked, response)
	}
	if err != nil {
		l.status.say("aaep", "Not delivered: "+plain(err)+". Type it again, or leave it to the default.")
		return
	}
	l.asked = nil
	l.status.say("aaep", "Answer sent.")
}

// decisionOf reads a yes or a no, and nothing else.
func decisionOf(line string) aaep.Decision {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return aaep.Accept
	case "n", "no":
		return aaep.Reject
	}
	return ""
}
