package listen

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/control"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/cli/terms"
	"github.com/aaep-go/aaep/internal/cli/uilang"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/discover"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/subscriber/terminal"
	"github.com/aaep-go/aaep/transports"
)

// Listener is a person at a terminal, who follows one or several agents. Each agent is told by
// present.Follow over each of their outputs, of which the terminal is one. What is here is who is
// followed, on which terms, and what the person's lines do.
type Listener struct {
	lineio.Printer // what is printed beside what the outputs print
	Status         lineio.Printer
	json           bool
	read           func(context.Context, func(terminal.Line)) (ended bool) // reads what the person types
	unseen         func() bool                                             // whether keys are not seen
	terminal       *terminal.Terminal
	reads          *present.Presenter // tells what the terminal prints
	out            *outputs           // nil if the terminal is all there is
	wanted         aaep.Capabilities  // what was asked for at first
	agents         []*FollowedAgent
	attempted      <-chan struct{} // of the pending agent that was made last
	byName         sync.Map        // *FollowedAgent
	unanswerable   sync.Map        // questions, *aaep.Event, of agents that do not know who can answer
	talk           Conversation    // nil where the person only listens
	attended       bool            // a person is at a terminal
	inputEnded     atomic.Bool     // nothing can be answered here any more
	besideEditor   bool            // they type in an editor, and answer there or by "aaep answer"
	control        *control.Server // nil where no other window reaches it
	language       atomic.Value    // a uilang.Language
	elsewhere      atomic.Bool     // an answer comes from another window, whose keys are known
	walk           walk            // where the person walked to last
	calling        bool            // such a window is being responded to
	saying         sync.Mutex      // guards said
	said           []string        // of this program's own, since that began
	printing       sync.WaitGroup

	told         chan struct{}                                          // that something was told
	awaitPrinted func()                                                 // waits for what is printed of events, where no other output tells them
	loopCalls    chan func()                                            // what agents and keys do
	after        func(time.Duration, func(context.Context)) *time.Timer // does something then, unless it is all over
	gone         int                                                    // agents whose subscriptions are over
	last         error                                                  // why the last of them is
	hushed       *time.Timer                                            // until it is over; nil where it is not quiet
	paced        time.Time                                              // when the pace was looked at last
}

// preferences returns the person's announce.Preferences for one of their outputs; reads says that
// it shows lines that stay.
func (l *Listener) preferences(reads bool) announce.Preferences {
	return announce.Preferences{
		WordsPerMinute: l.wanted.PaceWPM,
		VoiceLanguages: uilang.SystemLanguages()[:1], // which a screen reader mostly speaks
		Reads:          reads,
		Answering: func(question *aaep.Event) announce.Words {
			if _, cannot := l.unanswerable.Load(question); cannot || l.inputEnded.Load() {
				return announce.Words{}
			}
			if l.besideEditor {
				return l.uiLanguage().InLanguage(l.PhraseText(phrase.AnswerBesideEditor, "aaep answer"))
			}
			return l.uiLanguage().InLanguage(uilang.AnswerPrompt(l.uiLanguage(), question))
		},
		Text: func(source string, ev *aaep.Event) announce.Words { return l.eventText(source, ev, reads) },
	}
}

// useTerminal has the listener print on a terminal, from a goroutine, until the function end is
// called, which waits for what is being printed. An input or an Unseen that was set before stays.
func (l *Listener) useTerminal(ctx context.Context, t *terminal.Terminal) (end func()) {
	p := l.preferences(true)
	switch {
	case l.unseen != nil:
	case l.besideEditor: // the keys of "aaep answer" are known, and there are no others
		l.unseen = func() bool { return false }
	default:
		l.unseen = t.Unseen
	}
	p.Unseen = func() bool { return !l.elsewhere.Load() && l.unseen() }
	if l.json { // an event is printed when its words are asked for, once and in its order
		words := p.Text
		p.Text = func(source string, ev *aaep.Event) announce.Words {
			l.printJSON(ev)
			return words(source, ev)
		}
	}
	if l.read == nil {
		l.read = t.Read
	}
	l.terminal, l.reads, l.attended = t, present.New(p), t.Attended()
	l.loopCalls, l.told = make(chan func()), make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(ctx)
	l.printing.Go(func() {
		if err := l.reads.Run(ctx, printedLines{t, l}); ctx.Err() == nil {
			l.Printer.Fail(err)
			l.runInLoop(ctx, func() {})
		}
	})
	return func() { cancel(); l.printing.Wait() }
}

// printedLines are the lines of the terminal: those of agents where the person wants them, or no
// other output is left.
type printedLines struct {
	*terminal.Terminal
	l *Listener
}

// Present prints an utterance of an agent, unless other outputs present it; what this program says
// by itself is printed in any case.
func (p printedLines) Present(ctx context.Context, u announce.Utterance) error {
	p.l.noteTold()
	prints := !p.l.json && p.l.out.printsLines()
	switch {
	case u.Kind == announce.Notice && (u.Source == "" || prints): // else it is about what another output tells
		p.l.recordSaid(u.Text)
	case !prints:
		return announce.ErrLanguage
	}
	return p.Terminal.Present(ctx, u)
}

// recordSaid gives what this program says to the call of another window that awaits it.
func (l *Listener) recordSaid(text string) {
	l.saying.Lock()
	defer l.saying.Unlock()
	if l.said != nil && len(l.said) < cap(l.said) {
		l.said = append(l.said, text)
	}
}

// allOutputs are the person's outputs, those with a voice of their own before the terminal.
func (l *Listener) allOutputs() []*present.Presenter { return append(l.out.presenters(), l.reads) }

// questionOutputs returns the outputs that put questions to the person: those that have words, or
// the terminal. There is at least one, and each has a question of every agent that is followed.
func (l *Listener) questionOutputs() (presenters []*present.Presenter) {
	presenters = l.out.withWords()
	if l.out.printsLines() || len(presenters) == 0 {
		presenters = append(presenters, l.reads)
	}
	return presenters
}

// hasSeveral reports whether more than one agent is followed, so that each has to be named.
func (l *Listener) hasSeveral() bool { return len(l.agents) > 1 }

// slowReach is when it is said that an agent is being reached: silence would be taken for nothing
// at all.
const slowReach = 2 * time.Second

// AnnounceConnecting says after slowReach that an agent is being reached, unless stop is called
// before.
func (l *Listener) AnnounceConnecting(url string) (stop func() bool) {
	return time.AfterFunc(slowReach, func() { l.informPerson(l.PhraseText(phrase.Connecting, url)) }).Stop
}

// dialAgent finds the ways to an agent and subscribes to it, on the terms wanted, over the first
// that leads there. The error says what to do, with its exit code.
func (l *Listener) dialAgent(ctx context.Context, route *reach.Flags, url string,
	wanted aaep.Capabilities) (*FollowedAgent, error) {
	f := &FollowedAgent{Listener: l, wanted: wanted}
	ways, err := route.FindWays(ctx, url)
	if err != nil {
		return nil, err
	}
	for _, w := range ways {
		f.ways = append(f.ways, reach.WireWords(w.Transport))
	}
	if f.trust, err = route.ReadTrust(url); err != nil {
		return nil, err
	}
	cfg := f.subscriberConfig(false)
	cfg.Fallback = discover.Dialers(ways[1:])
	dialer := ways[0].Dialer
	if route.StartsHooks {
		dialer = &hookDialer{Dialer: dialer}
	}
	if f.sub, err = subscriber.Dial(ctx, dialer, cfg); err != nil {
		return nil, reach.DialError(ctx, url, err, wanted.Languages...)
	}
	return f, nil
}

// followAddresses follows the agents at some addresses. An agent that is not there yet is awaited,
// except a single one where no person is at the terminal to wait for it.
func (l *Listener) followAddresses(ctx context.Context, route *reach.Flags, urls []string,
	wanted aaep.Capabilities) error {
	agents := make([]*FollowedAgent, len(urls))
	for i, url := range urls {
		agents[i] = l.newPendingAgent(url, wanted,
			func(ctx context.Context) (*FollowedAgent, error) { return l.dialAgent(ctx, route, url, wanted) })
	}
	if len(agents) == 1 && !l.attended {
		stop := l.AnnounceConnecting(urls[0])
		var err error
		agents[0], err = agents[0].reach(ctx)
		stop()
		if err != nil {
			return err
		}
	}
	defer func() {
		for _, f := range l.agents {
			if f.sub != nil {
				f.sub.Close()
			}
		}
	}()
	return l.followAgents(ctx, agents...)
}

// subscriberConfig returns how to subscribe. It asks for proof of who the agent is, if the person
// wants that.
func (f *FollowedAgent) subscriberConfig(once bool) subscriber.Config {
	if f.trust != nil {
		f.wanted.AcceptSignedManifestsOnly = new(true)
	}
	cfg := newSubscriberConfig(f.wanted, once)
	cfg.Trust = f.trust
	f.invalid = newInvalidMessages()
	cfg.Unreadable = f.invalid.noteInvalid
	return cfg
}

// newSubscriberConfig returns the Config with which this program subscribes; once ends the
// subscription with its link.
func newSubscriberConfig(wanted aaep.Capabilities, once bool) subscriber.Config {
	host, _ := os.Hostname()
	return subscriber.Config{ID: "aaep-listen-" + host, Name: "aaep listen", Version: aaep.Version,
		Capabilities: wanted, NoReconnect: once}
}

// Converse has lines that are no answers go to a conversation with the agent.
func (l *Listener) Converse(talk Conversation) { l.talk = talk }

// SpokenFirst returns languages with those first that the person's outputs can speak.
func (l *Listener) SpokenFirst(languages []string) []string { return l.out.spokenFirst(languages) }

// Dial subscribes to an agent that ends with its link, such as one that runs in this program.
func (l *Listener) Dial(ctx context.Context, dialer transports.Dialer, wanted aaep.Capabilities) (*FollowedAgent,
	error) {
	f := &FollowedAgent{Listener: l, wanted: wanted}
	var err error
	f.sub, err = subscriber.Dial(ctx, dialer, f.subscriberConfig(true))
	return f, err
}

// Follow follows this agent, and obeys the person, until ctx or the subscription ends.
func (f *FollowedAgent) Follow(ctx context.Context) error { return f.followAgents(ctx, f) }

// Close ends the subscription.
func (f *FollowedAgent) Close() error { return f.sub.Close() }

// runInLoop has the listener's own goroutine call do, and reports whether it will: false once ctx
// is done.
func (l *Listener) runInLoop(ctx context.Context, do func()) bool {
	select {
	case l.loopCalls <- do:
		return true
	case <-ctx.Done():
		return false
	}
}

// followAgents is the listener's loop: it runs the lines that a person types, until ctx or the last
// subscription ends. What the agents send is presented meanwhile, in other goroutines. The first
// agent's languages become the person's. It waits for those goroutines.
func (l *Listener) followAgents(ctx context.Context, agents ...*FollowedAgent) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.agents, l.paced = agents, time.Now()
	l.setLanguages(agents[0].wanted.Languages)
	l.awaitPrinted = func() { l.flushPrinted(ctx) }
	l.after = func(d time.Duration, task func(context.Context)) *time.Timer {
		return time.AfterFunc(d, func() { l.runInLoop(ctx, func() { task(ctx) }) })
	}
	for _, f := range agents {
		l.startAgent(ctx, f, &running)
	}
	if l.hasSeveral() {
		l.informPerson(l.PhraseText(phrase.HelpIsThere, ""), l.PhraseText(phrase.CtrlCEnds, ""))
	}
	go l.readTyped(ctx)
	for _, p := range l.allOutputs() {
		running.Go(func() { l.watchQuestion(ctx, p) })
	}
	for {
		if l.control != nil {
			l.control.Update(l.controlState())
		}
		select {
		case task := <-l.loopCalls:
			task()
			if l.isOver() {
				_ = present.AwaitTold(ctx, 0, l.allOutputs()...)
				return l.last
			}
			l.keepPace(ctx)
		case <-l.out.changes():
			l.takeOver()
		case call := <-l.nextCall():
			l.handleCall(ctx, call)
		case <-l.told: // another question may be put, or more of the pace is known
			l.keepPace(ctx)
		case <-ctx.Done():
			return nil
		}
		if l.IsUnread() {
			return l.WriteError()
		}
	}
}

// flushPrinted waits until what is printed of events has left, if no other output tells them. Where
// one does, a terminal or a pipe that takes nothing holds up nothing that a person hears.
func (l *Listener) flushPrinted(ctx context.Context) {
	if !l.out.hasAny() {
		if err := l.terminal.Flush(ctx); ctx.Err() == nil {
			l.Fail(err)
		}
	}
	if l.IsUnread() {
		l.noteTold()
	}
}

// startAgent starts the goroutines that follow an agent, or that wait for one that could not be
// reached. Where there are several, the outputs count it as one of them also while it is awaited.
func (l *Listener) startAgent(ctx context.Context, f *FollowedAgent, running *sync.WaitGroup) {
	f.running = running
	if f.sub != nil {
		f.startFollowing(ctx)
		return
	}
	if l.hasSeveral() {
		for _, p := range l.allOutputs() {
			p.Plan(func(a *announce.Announcer, _ time.Time) { a.Follow(f.name) })
		}
	}
	running.Go(func() { f.awaitAgent(ctx) })
}

// readTyped has the loop handle what the person types, line by line, until the input ends. Nothing
// can be answered after that.
func (l *Listener) readTyped(ctx context.Context) {
	ended := l.read(ctx, func(line terminal.Line) {
		l.runInLoopAndWait(ctx, func() { l.handleTyped(ctx, line) })
	})
	if ended {
		l.runInLoop(ctx, func() { l.stopAnswering(ctx) })
	}
}

// isOver reports whether no agent is left to follow, or whether what was asked for cannot be had.
func (l *Listener) isOver() bool {
	askedWrongly := l.last != nil && exits.CodeOf(l.last) == exits.Usage
	return l.gone == len(l.agents) || askedWrongly
}

// watchQuestion has the loop look, for other windows, whenever an output puts another question,
// until ctx is done. It is a goroutine of its own for each output.
func (l *Listener) watchQuestion(ctx context.Context, p *present.Presenter) {
	for ctx.Err() == nil {
		_, _, _, changed := p.OpenQuestion()
		l.noteTold()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// noteTold has the loop look whether another question is put. It waits for nothing.
func (l *Listener) noteTold() {
	select {
	case l.told <- struct{}{}:
	default:
	}
}

// runInLoopAndWait is runInLoop, and returns when do has.
func (l *Listener) runInLoopAndWait(ctx context.Context, do func()) {
	done := make(chan struct{})
	if l.runInLoop(ctx, func() { defer close(done); do() }) {
		<-done
	}
}

// countOpen returns how many questions of all agents are open.
func (l *Listener) countOpen() (n int) {
	for _, f := range l.agents {
		n += f.countOpen()
	}
	return n
}

// countEnded counts an agent whose subscription has ended, and keeps the error for the exit code;
// nil takes back an earlier one. Where several are followed it says which ended. The listener's
// loop calls it.
func (l *Listener) countEnded(f *FollowedAgent, err error) {
	l.gone++
	if err == nil {
		l.last = nil
		return
	}
	text := "the agent ended the link: " + words.Sentence(exits.PlainError(err))
	if !l.uiLanguage().IsEnglish() {
		text = l.PhraseText(phrase.AgentEndedLink, l.uiLanguage().ExplainError(err))
	}
	l.last = exits.With(exits.Failed, errors.New(text+reach.HowToAccept(err)))
	if l.hasSeveral() {
		f.informOfLink(l.PhraseText(phrase.AgentEndedLink, l.uiLanguage().ExplainError(err)) + reach.HowToAccept(err))
	}
}

// stopAnswering renegotiates that no person can answer here any more, because the input has ended:
// a question would only wait. What is said of questions from then on names no keys.
func (l *Listener) stopAnswering(ctx context.Context) {
	l.inputEnded.Store(true)
	if l.talk != nil {
		l.talk.End()
	}
	for f := range l.liveAgents() {
		f.setLanguages(f.wanted.Languages) // which has open questions say anew how they are answered
		if c := f.currentTerms(); terms.IsTrue(c.SupportsConfirmationReply) ||
			terms.IsTrue(c.SupportsClarificationReply) {
			if f.sub != nil {
				f.informOfLink(l.PhraseText(phrase.OthersAnswer, ""))
			}
			f.changeTerms(ctx, aaep.Capabilities{SupportsConfirmationReply: new(false),
				SupportsClarificationReply: new(false)})
		}
	}
}

// handleTyped obeys a key or a line that the person typed: a key holds up what is said, a line with
// a slash is a command, and any other is an answer. The listener's loop calls it.
func (l *Listener) handleTyped(ctx context.Context, line terminal.Line) {
	if line.Key {
		l.out.forEach((*present.Presenter).Typing)
		return
	}
	defer l.out.forEach((*present.Presenter).Rest) // after the answer, which knows by the keys when it was begun
	if strings.HasPrefix(line.Text, "/") {
		l.runCommand(ctx, line.Text)
		return
	}
	l.takeLine(line.Text, line.Began)
}

// takeLine takes a line, begun at a time, as an answer, or as what the person says in a
// conversation.
func (l *Listener) takeLine(text string, began time.Time) {
	isAnswer, inDoubt := true, false
	if l.talk != nil {
		l.questionOutputs()[0].Plan(func(a *announce.Announcer, now time.Time) {
			isAnswer, inDoubt = a.IsAnswer(now, began, text)
		})
	}
	switch {
	case isAnswer:
		if inDoubt && text != "" {
			l.talk.Keep(text)
		}
		present.Answer(began, text, l.questionOutputs()...)
	case text != "":
		l.talk.Prompt(text)
	}
}

const (
	mostBehind = time.Minute            // that a question waits for what was said before it to be told
	tellsSoon  = 300 * time.Millisecond // for which nothing is told before all counts as told
)

// AwaitTold waits until the outputs have presented what the agent has sent so far, or for
// mostBehind. The lines of a terminal need no time.
func (l *Listener) AwaitTold(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, mostBehind)
	defer cancel()
	_ = present.AwaitTold(ctx, tellsSoon, l.out.presenters()...)
}

// A Conversation is what a person says beside answers to questions. Nil is a person who only
// listens.
type Conversation interface {
	Prompt(line string)                                  // sends a line
	Keep(line string)                                    // keeps one that may have been meant as an answer
	Command(ctx context.Context, name, word string) bool // obeys a command, if it is one of its own
	Own(line string) bool                                // sends a command of the agent's, if it is one
	End()                                                // nothing more is typed
}

// uiLanguage returns the listener's language. Several goroutines may call it at once.
func (l *Listener) uiLanguage() uilang.Language {
	if t, ok := l.language.Load().(uilang.Language); ok {
		return t
	}
	return uilang.English
}

// setLanguages takes over the languages that the listener asked for. A language that no output can
// speak is left out, for it would not be heard.
func (l *Listener) setLanguages(languages []string) {
	spoken := slices.DeleteFunc(slices.Clone(languages), func(tag string) bool { return !l.out.canSpeak(tag) })
	l.language.Store(uilang.Language(phrase.Best(spoken)))
	l.out.forEach(func(p *present.Presenter) { p.SetLanguage(languages...) })
	if l.reads != nil {
		l.reads.SetLanguage(languages...)
		l.terminal.SetLanguage(languages...)
	}
}

// PhraseText returns one of this program's own sentences, in the listener's language.
func (l *Listener) PhraseText(id phrase.ID, arg string) string {
	return l.uiLanguage().PhraseText(id, arg)
}

// informPerson prints sentences of this program itself, and has the outputs say them.
func (l *Listener) informPerson(sentences ...string) {
	l.Status.PrintLabelled("aaep", words.OneLine(strings.Join(sentences, " ")))
}

// greetPerson prints sentences that a question which comes first makes needless: the outputs leave
// them out then.
func (l *Listener) greetPerson(sentences ...string) {
	text := words.OneLine(strings.Join(sentences, " "))
	l.Status.PrintToTerminal("aaep", text)
	l.out.planAll(func(a *announce.Announcer, now time.Time) { a.Mention(now, text) })
}
