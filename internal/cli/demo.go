package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/sse"
)

func demoCommand() *cobra.Command {
	var answer string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See the whole story: an agent speaks, two people follow it differently, one of them decides",
		Long: `demo runs a small retirement planner and two people who follow it over Server-Sent Events on this machine: one
with a screen reader, who can answer, and one with a braille display, who reads. You answer for the first.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			in, isFile := cmd.InOrStdin().(*os.File)
			switch answer {
			case "":
				if !isFile || !term.IsTerminal(int(in.Fd())) {
					answer = "timeout" // nobody is there to decide, and nobody decides for them
				}
			case "accept", "reject", "timeout":
			default:
				return &exitError{exitUsage, fmt.Errorf("--answer %q must be accept, reject or timeout", answer)}
			}
			ctx, stop := interruptible(cmd.Context())
			defer stop()
			d := &demo{announcer: announcer{out: cmd.OutOrStdout()}, answer: answer, timeout: 30 * time.Second}
			if answer == "timeout" {
				d.timeout = 5 * time.Second
			}
			if answer == "" {
				d.lines = readLines(ctx, cmd.InOrStdin())
			}
			if err := d.run(ctx); err != nil {
				if ctx.Err() != nil {
					return &exitError{exitInterrupted, errors.New("interrupted")}
				}
				return &exitError{exitFailed, err}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&answer, "answer", "", "answer for the person at the keyboard: accept, reject or timeout")
	return cmd
}

type demo struct {
	announcer
	answer  string
	timeout time.Duration
	lines   <-chan string
}

func (d *demo) run(ctx context.Context) error {
	p, err := newProducer("retirement-planner", "en-US")
	if err != nil {
		return err
	}
	ln, err := serve.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- serve.Serve(context.WithoutCancel(ctx), ln, p) }()
	defer func() { p.Shutdown(ctx); <-served }()

	url := "http://" + ln.Addr().String()
	d.say("", "A retirement planner is at work on "+url+". Two people follow it:")
	people := []*person{
		{demo: d, name: "screen reader", caps: subscriber.ScreenReader("en-US"), decides: true},
		{demo: d, name: "braille display", caps: subscriber.Braille("en-US")},
	}
	for _, who := range people {
		if err := who.subscribe(ctx, url); err != nil {
			return fmt.Errorf("%s: %w", who.name, err)
		}
		defer who.sub.Close()
		honored := who.sub.Accepted().HonoredCapabilities
		d.say("", fmt.Sprintf("  The %s gets at most %d events a second, %s words, answers cut at %v, and %s.", who.name,
			honored.MaxEventsPerSecond, honored.PreferredVerbosity, honored.CoalesceBoundaries, canAnswer(who.decides)))
	}
	var hearing sync.WaitGroup
	for _, who := range people {
		hearing.Go(func() { who.follow(ctx) })
	}
	agent := &planner{say: func(s string) { d.say("agent", s) }, timeout: d.timeout}
	if err := agent.work(ctx, p); err != nil {
		return err
	}
	hearing.Wait() // until each has heard the end
	d.report(p, people)
	return ctx.Err()
}

func canAnswer(yes bool) string {
	if yes {
		return "can answer"
	}
	return "cannot answer"
}

// report says what each person received of what the agent produced.
func (d *demo) report(p *producer.Producer, people []*person) {
	d.say("", fmt.Sprintf("The agent produced %d events.", p.Produced()))
	for _, status := range p.Subscriptions() {
		for _, who := range people {
			if who.sub.Accepted().SubscriptionID != status.SubscriptionID {
				continue
			}
			d.say("", fmt.Sprintf("The %s received %d: %d were merged into others and %d were not for it; at most %d came in any second, and %d were asked for.",
				who.name, len(who.received), status.Merged, status.Filtered, highestRate(who.received), status.Terms.MaxEventsPerSecond))
		}
	}
}

// person follows the agent with one kind of assistive technology.
type person struct {
	*demo
	name     string
	caps     aaep.Capabilities
	decides  bool
	sub      *subscriber.Subscription
	received []receipt
}

type receipt struct {
	at       time.Time
	critical bool
}

func (w *person) subscribe(ctx context.Context, url string) (err error) {
	w.sub, err = subscriber.Dial(ctx, sse.Dialer{URL: url}, subscriber.Config{ID: "demo-" + w.name, Capabilities: w.caps})
	return err
}

// follow announces until the session is over.
func (w *person) follow(ctx context.Context) {
	for ev, err := range w.sub.Events(ctx) {
		if err != nil {
			w.say(w.name, "Lost the agent: "+plain(err))
			return
		}
		w.received = append(w.received, receipt{time.Now(), ev.Critical()})
		w.say(w.name, announcement(ev, ev.Verbosity))
		if _, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok && w.decides {
			go w.decide(ctx, ev)
		}
		if ev.Type().Terminal() {
			return
		}
	}
}

// decide sends what the person at the keyboard says, or what --answer said for them beforehand.
func (w *person) decide(ctx context.Context, ev *aaep.Event) {
	d := map[string]aaep.Decision{"accept": aaep.Accept, "reject": aaep.Reject}[w.answer]
	if w.answer == "timeout" {
		w.say(w.name, "Nobody answers.")
		return
	}
	if d == "" {
		w.say(w.name, "Type y and Enter to accept, n and Enter to reject, or wait.")
	}
	for d == "" {
		select {
		case line, ok := <-w.lines:
			if !ok {
				return
			}
			if d = decisionOf(line); d == "" {
				w.say(w.name, "Please type y to accept or n to reject.")
			}
		case <-ctx.Done():
			return
		}
	}
	if err := w.sub.Reply(ctx, ev, d); err != nil {
		w.say(w.name, "Not delivered: "+plain(err))
		return
	}
	w.say(w.name, "The person answers: "+string(d)+".")
}

// highestRate is the largest number of events that are not critical in any window of one second.
func highestRate(rs []receipt) int {
	most := 0
	for i, first := range rs {
		n := 0
		for _, r := range rs[i:] {
			if !r.critical && r.at.Sub(first.at) < time.Second {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
