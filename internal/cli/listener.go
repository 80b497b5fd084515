package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/control"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/discover"
	"github.com/aaep-go/aaep/subscriber/present"
)

// listener is a person at a terminal, who follows one or several agents.
type listener struct {
	announcer
	status       announcer
	json         bool
	agents       []*followedAgent
	attempted    <-chan struct{}          // of the pending agent that was made last
	asked        announce.Questions       // the first is on the screen
	lastQuestion lastQuestion             // of what was asked before
	tried        map[*announce.Asked]bool // an answer was sent and may have arrived
	doubted      *announce.Asked          // an acceptance came too soon, and is asked for once more
	// twoChoices is an answer that may mean two of the choices; it counts when it comes again.
	twoChoices doubtfulChoice
	talk       conversation    // nil where the person only listens
	askedAt    time.Time       // when a question was open last
	out        *outputs        // nil if the terminal is all there is
	context    lineContext     // of the line that is being typed
	sees       func() bool     // whether keys are seen; nil if they are
	attended   bool            // a person is at a terminal
	word       string          // that is a yes to the question on the screen where they are not; empty if none was shown,
	wordFor    *aaep.Event     // and that question
	words      []string        // that were shown last; none is a yes to another question
	control    *control.Server // nil where no other window reaches it
	language   atomic.Value    // a uiLanguage

	loopCalls chan func()                                            // what the agents do
	after     func(time.Duration, func(context.Context)) *time.Timer // does something then, unless it is all over
	speaker   string                                                 // who was named last
	gone      int                                                    // agents whose subscriptions are over
	last      error                                                  // why the last of them is

	waiting []heldLine      // what came while a question was on the screen
	dropped int             // of it
	offered *announce.Asked // of whose session it was said that there is more

	questions int             // that were put
	hushed    *time.Timer     // until it is over; nil where it is not quiet
	paced     time.Time       // when the pace was looked at last
	extending bool            // more time is asked for
	given     *announce.Asked // of which the agent has yet to say that there is more time
}

// hasSeveral reports whether more than one agent is followed, so that each has to be named.
func (l *listener) hasSeveral() bool { return len(l.agents) > 1 }

// slowReach is when it is said that an agent is being reached: silence would be taken for nothing
// at all.
const slowReach = 2 * time.Second

// announceConnecting says after slowReach that an agent is being reached, unless stop is called
// before.
func (l *listener) announceConnecting(url string) (stop func() bool) {
	return time.AfterFunc(slowReach, func() { l.informPerson(l.phraseText(phrase.Connecting, url)) }).Stop
}

// dialAgent finds the ways to an agent and subscribes to it.
func (l *listener) dialAgent(ctx context.Context, reach *reachFlags, url string,
	wanted aaep.Capabilities) (*followedAgent, error) {
	f := &followedAgent{listener: l, wanted: wanted}
	ways, err := reach.findWays(ctx, url)
	if err != nil {
		return nil, err
	}
	for _, w := range ways {
		f.over = append(f.over, wireWords(w.Transport))
	}
	if f.trust, err = reach.readTrust(url); err != nil {
		return nil, err
	}
	cfg := f.subscriberConfig(false)
	cfg.Fallback = discover.Dialers(ways[1:])
	dialer := ways[0].Dialer
	if reach.startsHooks {
		dialer = &hookDialer{Dialer: dialer}
	}
	if f.sub, err = subscriber.Dial(ctx, dialer, cfg); err != nil {
		return nil, dialError(ctx, url, err, wanted.Languages...)
	}
	return f, nil
}

// followAddresses follows the agents at some addresses. An agent that is not there yet is awaited,
// except a single one where no person is at the terminal to wait for it.
func (l *listener) followAddresses(ctx context.Context, reach *reachFlags, urls []string, wanted aaep.Capabilities,
	lines <-chan typedLine) error {
	agents := make([]*followedAgent, len(urls))
	for i, url := range urls {
		agents[i] = l.newPendingAgent(url, wanted,
			func(ctx context.Context) (*followedAgent, error) { return l.dialAgent(ctx, reach, url, wanted) })
	}
	if len(agents) == 1 && !l.attended {
		stop := l.announceConnecting(urls[0])
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
	return l.followAgents(ctx, lines, agents...)
}

// subscriberConfig returns how to subscribe. It asks for proof of who the agent is, if the person
// wants that.
func (f *followedAgent) subscriberConfig(once bool) subscriber.Config {
	if f.trust != nil {
		f.wanted.AcceptSignedManifestsOnly = new(true)
	}
	cfg := newSubscriberConfig(f.wanted, once)
	cfg.Trust = f.trust
	f.invalid = newInvalidMessages()
	cfg.Unreadable = f.invalid.noteInvalid
	return cfg
}

func newSubscriberConfig(wanted aaep.Capabilities, once bool) subscriber.Config {
	host, _ := os.Hostname()
	return subscriber.Config{ID: "aaep-listen-" + host, Name: "aaep listen", Version: aaep.Version,
		Capabilities: wanted, NoReconnect: once}
}

// runInLoop has the listener's own goroutine call do, and reports whether it will: false once ctx
// is done.
func (l *listener) runInLoop(ctx context.Context, do func()) bool {
	select {
	case l.loopCalls <- do:
		return true
	case <-ctx.Done():
		return false
	}
}

// followAgents is the listener's loop: it prints what agents send and obeys the lines that a person
// types, until ctx or the last subscription ends.
func (l *listener) followAgents(ctx context.Context, lines <-chan typedLine, agents ...*followedAgent) error {
	var awaiting sync.WaitGroup
	defer awaiting.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.agents, l.loopCalls = agents, make(chan func())
	l.setLanguages(agents[0].wanted.Languages)
	l.after = func(d time.Duration, do func(context.Context)) *time.Timer {
		return time.AfterFunc(d, func() { l.runInLoop(ctx, func() { do(ctx) }) })
	}
	for _, f := range agents {
		if f.sub == nil {
			awaiting.Go(func() { f.awaitAgent(ctx) })
		} else {
			f.startFollowing(ctx)
		}
	}
	if l.hasSeveral() {
		l.informPerson(l.phraseText(phrase.HelpIsThere, ""), l.phraseText(phrase.CtrlCEnds, ""))
	}
	timer := time.NewTimer(math.MaxInt64) // set below
	defer timer.Stop()
	for {
		if l.asked.Len() > 0 {
			l.askedAt = time.Now()
		}
		if l.control != nil {
			l.control.Update(l.controlState())
		}
		at := l.warnOfDeadlines()
		for _, f := range l.agents {
			if wake := f.announceLasting(); at.IsZero() || !wake.IsZero() && wake.Before(at) {
				at = wake
			}
		}
		if at.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(max(time.Until(at), time.Millisecond))
		}
		select {
		case do := <-l.loopCalls:
			do()
			if l.isUnread() {
				return l.writeError()
			}
			if l.gone == len(l.agents) || l.last != nil && exitCodeOf(l.last) == exitUsage {
				return l.last
			}
			l.keepPace(ctx)
		case line, ok := <-lines:
			if !ok {
				lines = nil
				l.stopAnswering(ctx)
				continue
			}
			l.handleTyped(ctx, line)
		case call := <-l.control.Calls():
			l.handleCall(ctx, call)
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// countEnded counts an agent whose subscription is over.
func (l *listener) countEnded(f *followedAgent, err error) {
	l.gone++
	if err == nil {
		l.last = nil
		return
	}
	says := "the agent ended the link: " + words.Sentence(plainError(err))
	if !l.uiLanguage().isEnglish() {
		says = l.phraseText(phrase.AgentEndedLink, l.uiLanguage().explainError(err))
	}
	l.last = &exitError{exitFailed, errors.New(says + howToAccept(err))}
	if l.hasSeveral() {
		f.informOfLink(l.phraseText(phrase.AgentEndedLink, l.uiLanguage().explainError(err)) + howToAccept(err))
	}
}

// warnOfDeadlines prints that the time for a question ends soon, and returns when to check again;
// outputs say it themselves. It also says which answers nothing shows to have arrived, for the
// person believes that they decided.
func (l *listener) warnOfDeadlines() time.Time {
	for {
		q, wake := l.asked.TimeEnds(time.Now(), l.listeningPace())
		if q == nil {
			return wake
		}
		text := l.asked.Warning(time.Now(), q).String()
		if l.asked.Find(q.Event) != nil {
			l.printLabelled("", l.speakerPrefix(q)+text)
			continue
		}
		unheeded := l.phraseText(phrase.AnswerUnheeded, "")
		l.agentOf(q).informOfLink(unheeded, text)
		if l.lastQuestion.last == q {
			l.lastQuestion.unheeded = unheeded
		}
	}
}

// listeningPace returns how fast the person listens, as far as is known, in words per minute. No
// agent has a say in it: how long a question takes to be heard depends on it.
func (l *listener) listeningPace() int64 {
	for _, f := range l.agents {
		if pace := f.wanted.PaceWPM; pace > 0 {
			return pace
		}
	}
	return usualPace
}

// stopAnswering tells the agents that no person can answer here any more, because the input has
// ended: a question would only wait.
func (l *listener) stopAnswering(ctx context.Context) {
	if l.talk != nil {
		l.talk.End()
	}
	for f := range l.liveAgents() {
		if c := f.currentTerms(); isTrue(c.SupportsConfirmationReply) || isTrue(c.SupportsClarificationReply) {
			if f.sub != nil {
				f.informOfLink(l.phraseText(phrase.OthersAnswer, ""))
			}
			f.changeTerms(ctx, aaep.Capabilities{SupportsConfirmationReply: new(false),
				SupportsClarificationReply: new(false)})
		}
	}
}

// handleTyped obeys a key or a line that the person typed.
func (l *listener) handleTyped(ctx context.Context, line typedLine) {
	began := line.began
	if !line.key && began.IsZero() { // its keys were not seen
		began = line.at
	}
	if began != l.context.began { // or the keys before were taken back
		l.context = l.newLineContext(began)
	}
	if line.key {
		l.out.forEach((*present.Presenter).Typing)
		return
	}
	aim := l.context
	aim.unseen = line.unseen
	l.context = lineContext{}
	l.out.forEach((*present.Presenter).Rest)
	for f := range l.liveAgents() {
		f.checkLink()
	}
	if strings.HasPrefix(line.text, "/") {
		l.runCommand(ctx, line.text)
	} else {
		l.answerQuestion(ctx, line.text, aim)
	}
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
