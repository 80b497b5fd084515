// Package demo is "aaep demo": three people with different needs follow the agent of package
// planner in this process, and one of them answers. Begin with demo.runDemo.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/cli/demo/planner"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/internal/cli/terms"
	"github.com/aaep-go/aaep/internal/cli/uilang"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/subscriber/terminal"
	"github.com/aaep-go/aaep/transports/sse"
)

// Command makes "aaep demo"; runDemo does its work. Where no terminal is there to type at, the
// question times out.
func Command() *cobra.Command {
	var answer string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See the whole story: an agent speaks, four listeners follow it, one of them decides",
		Long: `demo runs a small retirement planner and four listeners, over real connections on this machine: somebody with a
screen reader, who can answer; somebody who reads Spanish on a braille display and goes along; a band on the wrist;
and a log. Each gets its own stream. You answer for the first, at a terminal; where there is none, answer beforehand
with --answer accept or --answer reject, or nobody answers. No real money moves.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			untyped := false
			in, isFile := cmd.InOrStdin().(*os.File)
			switch answer {
			case "":
				if !isFile || !term.IsTerminal(int(in.Fd())) {
					answer, untyped = "timeout", true // no person is there to decide, and no code decides for them
				}
			case "accept", "reject", "timeout":
			default:
				return exits.UsageError("--answer must be accept, reject or timeout; it is %q.\nSee: aaep demo --help",
					answer)
			}
			ctx, stop := exits.WithInterrupt(cmd.Context())
			defer stop()
			d := &demo{Printer: lineio.Printer{Out: cmd.OutOrStdout(), Gone: stop}, answer: answer,
				untyped: untyped, timeout: planner.TimeToDecide}
			if answer == "timeout" {
				d.timeout = 5 * time.Second
			}
			if answer == "" {
				d.keys = terminal.Open(ctx, in, d.Out, d.Out)
				defer d.keys.Close()
				d.Out = d.keys.Out
			}
			err := d.runDemo(ctx)
			if d.keys != nil {
				d.Fail(d.keys.Flush(ctx))
			}
			switch {
			case err == nil || d.IsUnread():
				return d.WriteError()
			case ctx.Err() != nil:
				return exits.With(exits.Interrupted, errors.New("interrupted"))
			}
			return exits.With(exits.Failed, fmt.Errorf("the demo failed: %s", exits.PlainError(err)))
		},
	}
	cmd.Flags().StringVar(&answer, "answer", "", "answer beforehand, as where you cannot type: accept, reject or timeout")
	return cmd
}

type demo struct {
	lineio.Printer
	answer  string
	untyped bool // no terminal is there to type at, and no answer was said beforehand
	timeout time.Duration
	keys    *terminal.Terminal // of the person who decides, if that was not said beforehand
}

// runDemo does the work of "aaep demo": it serves the planner in this process, has several
// listeners follow it, one of them a person at the keyboard, and says at the end what each
// received. The error is that of ctx, or of what failed.
func (d *demo) runDemo(ctx context.Context) error {
	p, err := serving.NewProducer("retirement-planner",
		producer.Config{Language: "en-US", Languages: []string{"es"}, ShortTimeouts: true})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- new(serve.Server).Serve(context.WithoutCancel(ctx), ln, p) }()
	defer func() { p.Shutdown(ctx); <-served }()

	url := "http://" + ln.Addr().String()
	d.PrintLabelled("", "A retirement planner is at work. Four follow it, each in their own way.")
	if d.untyped {
		d.PrintLabelled("", "This is no terminal, so nothing can be typed here and nobody will answer. To answer, start it with --answer accept or --answer reject.")
	}
	readsOnly := aaep.Capabilities{SupportsConfirmationReply: new(false), SupportsClarificationReply: new(false)}
	listens := subscriber.ScreenReader("en-US")
	delete(listens.Extensions, extensions.TimingVocabulary.Prefix) // a demonstration that is not answered is over sooner
	const cells = 40
	people := []*person{
		{demo: d, name: "screen reader", caps: listens, reads: true, decides: true},
		{demo: d, name: "braille display", caps: subscriber.Braille(cells, "es").With(readsOnly), reads: true,
			cells: cells},
		{demo: d, name: "haptic band", caps: subscriber.Haptic(terms.HapticPatterns...), feels: true},
		{demo: d, name: "log", caps: subscriber.Logger()},
	}
	for _, listener := range people {
		if err := listener.subscribeTo(ctx, url); err != nil {
			return fmt.Errorf("%s: %w", listener.name, err)
		}
		defer listener.sub.Close()
		d.PrintLabelled("", fmt.Sprintf("The %s gets %s.", listener.name, listener.agreedTerms()))
	}
	var hearing sync.WaitGroup
	for _, listener := range people {
		if listener.reads {
			hearing.Go(func() { listener.readSession(ctx) })
		} else {
			hearing.Go(func() { listener.receiveSession(ctx) })
		}
	}
	agent := &planner.Planner{Say: func(s string) { d.PrintLabelled("agent", s) }, Timeout: d.timeout}
	if err := agent.PlanRetirement(ctx, p); err != nil {
		return err
	}
	hearing.Wait() // until each has heard the end
	if ctx.Err() == nil {
		d.reportPeople(p, people)
	}
	return ctx.Err()
}

// agreedTerms returns, in words, what was agreed with a listener that the others do not have too.
func (w *person) agreedTerms() string {
	c := terms.InForce(w.caps, w.sub.Accepted().HonoredCapabilities)
	notable := aaep.Capabilities{MaxEventsPerSecond: 1, SupportsConfirmationReply: new(true),
		Extensions: map[string]json.RawMessage{"braille": nil, "haptic": nil}}
	if c.Extensions["haptic"] == nil {
		notable.Languages, notable.CoalesceBoundaries = c.Languages, c.CoalesceBoundaries
		if c.PreferredVerbosity != aaep.VerbosityNormal {
			notable.PreferredVerbosity = c.PreferredVerbosity
		}
	}
	return uilang.AndList(terms.InWords(uilang.English, c, notable))
}

// reportPeople prints how many events the agent produced, and what each person received of them, at
// which rate. A subscription that is over is left out.
func (d *demo) reportPeople(p *producer.Producer, people []*person) {
	d.PrintLabelled("", fmt.Sprintf("The agent produced %s.", words.Count(p.Stats().Produced, "event")))
	statuses := p.Subscriptions()
	for _, listener := range people {
		i := slices.IndexFunc(statuses, func(s producer.SubscriptionStatus) bool {
			return s.SubscriptionID == listener.sub.Accepted().SubscriptionID
		})
		if i < 0 {
			continue
		}
		status := statuses[i]
		text := fmt.Sprintf("The %s received %d", listener.name, len(listener.received))
		if status.Terms.MaxEventsPerSecond == 0 {
			text += " as they were made"
		}
		if status.Merged > 0 {
			text += fmt.Sprintf(", with %d others merged into them", status.Merged)
		}
		if status.Filtered > 0 {
			text += fmt.Sprintf(", %d not meant for it", status.Filtered)
		}
		if listener.caps.MaxEventsPerSecond > 0 {
			text += listener.describeRates(status.Terms.MaxEventsPerSecond)
		}
		d.PrintLabelled("", text+".")
	}
}

// describeRates says how many events came in a second at most, beside how many the person had asked
// for; and the same since they asked for less, where any came since. lowered is what was agreed
// then.
func (w *person) describeRates(lowered int64) string {
	before, after := w.received, []receipt(nil)
	if !w.less.IsZero() {
		if i := slices.IndexFunc(w.received, func(r receipt) bool { return r.at.After(w.less) }); i >= 0 {
			before, after = w.received[:i], w.received[i:]
		}
	}
	text := fmt.Sprintf(", and never more than %d in a second; it had asked for at most %d", highestRate(before),
		w.caps.MaxEventsPerSecond)
	if after != nil {
		text += fmt.Sprintf(". After it asked for at most %d, it was never more than %d", lowered, highestRate(after))
	}
	return text
}

// person follows the agent with one kind of assistive technology.
type person struct {
	*demo
	name     string
	caps     aaep.Capabilities
	reads    bool // what is said
	decides  bool
	cells    int  // of a display
	feels    bool // patterns
	sub      *subscriber.Subscription
	received []receipt
	less     time.Time // when other terms were agreed upon
}

type receipt struct {
	at       time.Time
	critical bool
}

// subscribeTo subscribes the person to the agent at an address.
func (w *person) subscribeTo(ctx context.Context, url string) (err error) {
	w.sub, err = subscriber.Dial(ctx, sse.Dialer{URL: url},
		subscriber.Config{ID: "demo-" + w.name, Capabilities: w.caps})
	return err
}

// receiveSession takes events, and prints the patterns that are felt, until the session or ctx is
// over, for a listener that reads no words. A link that is lost is printed.
func (w *person) receiveSession(ctx context.Context) {
	for ev, err := range w.sub.Events(ctx) {
		if err != nil {
			w.tellLost(ctx, err)
			return
		}
		w.received = append(w.received, receipt{time.Now(), ev.Critical()})
		if w.feels {
			w.PrintLabelled(w.name, terms.HapticPattern(ev, w.caps))
		}
		if ev.Type().Terminal() {
			return
		}
	}
}

// tellLost says that the agent is lost, unless the person wanted to be done.
func (w *person) tellLost(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		w.PrintLabelled(w.name, "Lost the agent: "+words.Sentence(exits.PlainError(err)))
	}
}

// readSession presents the session to the person until it is over or ctx is done, and has the one
// who decides answer, and ask for less once the agent talks.
func (w *person) readSession(ctx context.Context) {
	asked := false
	var busy sync.WaitGroup
	defer busy.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	following, stop := context.WithCancel(ctx)
	defer stop()
	voice := uilang.SystemLanguages()[:1]
	p := announce.Preferences{Reads: true, VoiceLanguages: voice, Answering: func(question *aaep.Event) announce.Words {
		if w.answer != "" {
			return nil
		}
		return uilang.English.InLanguage(uilang.AnswerPrompt(uilang.English, question))
	}}
	if w.decides && w.keys != nil {
		p.Unseen = w.keys.Unseen
	}
	var presenter *present.Presenter
	p.Text = func(_ string, ev *aaep.Event) announce.Words {
		w.received = append(w.received, receipt{time.Now(), ev.Critical()})
		switch {
		case w.decides && ev.Type() == aaep.TypeOutputStreaming && !asked:
			asked = true
			busy.Go(func() { w.askForLess(ctx) })
		case ev.Type() == aaep.TypeAwaitingConfirmation && w.answer != "":
			busy.Go(func() { w.answerForPerson(ctx, presenter, ev) })
		case ev.Type().Terminal():
			stop() // Follow adds this event, and returns
		}
		return announce.Text(ev, ev.Verbosity)
	}
	presenter = present.New(p)
	presenter.SetLanguage(w.caps.Languages...)
	busy.Go(func() { presenter.Run(ctx, labelledLines{w}) })
	if w.decides && w.keys != nil {
		go w.keys.Read(ctx, func(line terminal.Line) {
			if !line.Key && line.Text != "" {
				present.Answer(line.Began, line.Text, presenter)
			}
		})
	}
	w.tellLost(ctx, present.Follow(following, w.sub, w.name, presenter))
	_ = present.AwaitTold(ctx, 0, presenter)
}

// labelledLines are lines of the demo, for one person. A display shows as many cells at a time as
// it has; zero is no limit.
type labelledLines struct{ of *person }

// Present prints an utterance in lines of at most so many cells, where that is not zero, each
// behind the label.
func (l labelledLines) Present(_ context.Context, u announce.Utterance) error {
	line := ""
	for _, word := range strings.Fields(u.Text) {
		if longer := strings.TrimSpace(line + " " + word); l.of.cells == 0 || utf8.RuneCountInString(longer) <= l.of.cells {
			line = longer
			continue
		}
		l.of.PrintLabelled(l.of.name, line)
		line = word
	}
	l.of.PrintLabelled(l.of.name, line)
	return nil
}

func (labelledLines) Speaks(string) bool { return true }

func (labelledLines) Close() error { return nil }

// OnResume is that of the terminal, of the person at whose keyboard the question is answered.
func (l labelledLines) OnResume(do func()) {
	if l.of.decides && l.of.keys != nil {
		l.of.keys.OnResume(do)
	}
}

// askForLess renegotiates a lower rate and verbosity while the agent talks, and prints what was
// agreed, or why nothing was.
func (w *person) askForLess(ctx context.Context) {
	change := aaep.Capabilities{MaxEventsPerSecond: 1, PreferredVerbosity: aaep.VerbosityTerse}
	w.PrintLabelled(w.name, "That is a lot. The person asks for less.")
	if _, err := w.sub.Renegotiate(ctx, change); err != nil {
		if ctx.Err() == nil {
			w.PrintLabelled(w.name, "Asked for: "+uilang.AndList(terms.InWords(uilang.English, change,
				change))+". Not changed: "+
				words.Sentence(exits.PlainError(err)))
		}
		return
	}
	w.less = time.Now()
	w.PrintLabelled(w.name, "From now on: "+uilang.AndList(terms.InWords(uilang.English,
		w.sub.Accepted().HonoredCapabilities, change))+".")
}

// answerForPerson waits until the question is put, and sends what --answer said beforehand; for
// timeout it sends nothing, and says so. Where the question is over before, it does nothing.
func (w *person) answerForPerson(ctx context.Context, presenter *present.Presenter, question *aaep.Event) {
	for isPut := false; !isPut; {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-w.sub.Question(question).Done():
			return
		case <-ctx.Done():
			return
		}
		presenter.Plan(func(a *announce.Announcer, now time.Time) {
			_, readable := a.Question(now, aaep.Reject)
			isPut = readable == question
		})
	}
	d := map[string]aaep.Decision{"accept": aaep.Accept, "reject": aaep.Reject}[w.answer]
	if d == "" {
		w.PrintLabelled(w.name, "Nobody answers.")
		return
	}
	w.PrintLabelled(w.name, "The person answers: "+string(d)+".")
	if err := replies.Send(ctx, w.sub.Question(question), d, nil); err != nil && ctx.Err() == nil {
		w.PrintLabelled(w.name, "The answer was not delivered: "+words.Sentence(exits.PlainError(err)))
	}
}

// jitter is how much sooner one event may arrive after another than it was sent.
const jitter = 50 * time.Millisecond

// highestRate returns the largest number of events that are not critical in any window of one
// second, which is shortened by the jitter of the clock.
func highestRate(rs []receipt) int {
	highest := 0
	for i, first := range rs {
		n := 0
		for _, r := range rs[i:] {
			if !r.critical && r.at.Sub(first.at) < time.Second-jitter {
				n++
			}
		}
		highest = max(highest, n)
	}
	return highest
}
