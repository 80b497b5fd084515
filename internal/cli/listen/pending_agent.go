package listen

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

// An agent that is not there yet is one of several all the same, under its address, and does not
// delay the others. What is asked of all of them is asked of it when it comes.

// Between two attempts to reach such an agent; the wait is doubled each time.
const (
	firstWait   = time.Second
	longestWait = 30 * time.Second
)

// attemptWithin is how long an agent that was reached waits for the first attempts at those before
// it, so that agents of one name are numbered in the order of the command line.
const attemptWithin = time.Second

// newPendingAgent returns an agent that is not reached yet; reach makes one attempt.
func (l *Listener) newPendingAgent(address string, wanted aaep.Capabilities,
	reach func(context.Context) (*FollowedAgent, error)) *FollowedAgent {
	f := &FollowedAgent{Listener: l, name: address, wanted: wanted, reach: reach, changing: true,
		attempted: make(chan struct{}), before: l.attempted}
	l.attempted = f.attempted
	return f
}

// awaitEarlier waits until the agent before this one was reached or could not be, for attemptWithin
// at most.
func (f *FollowedAgent) awaitEarlier(ctx context.Context) {
	if f.before == nil {
		return
	}
	select {
	case <-f.before:
	case <-time.After(attemptWithin):
	case <-ctx.Done():
	}
}

// awaitAgent tries to reach the agent, with growing pauses, until ctx is done or the agent refuses.
// An agent that is reached takes the place of f in the listener, after those named before it; a
// refusal is announced. It is a goroutine of its own; f.attempted is closed after the first try.
func (f *FollowedAgent) awaitAgent(ctx context.Context) {
	isTold, stop := false, f.AnnounceConnecting(f.name)
	attempt := sync.OnceFunc(func() { close(f.attempted) })
	defer attempt()
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		reached, err := f.reach(ctx)
		stop()
		if err == nil {
			f.awaitEarlier(ctx)
			if !f.runInLoop(ctx, func() { f.replacePending(ctx, reached) }) {
				reached.sub.Close()
			}
			return
		}
		attempt()
		if ctx.Err() != nil {
			return
		}
		if exits.CodeOf(err) != exits.Unreachable {
			f.runInLoop(ctx, func() { f.giveUpAgent(err) })
			return
		}
		if !isTold {
			isTold = true
			sentences := []string{words.Sentence(exits.PlainError(err)), f.PhraseText(phrase.TriedUntilThere, "")}
			if !f.hasSeveral() {
				sentences = append(sentences, f.PhraseText(phrase.CtrlCEnds, ""))
			}
			f.runInLoop(ctx, func() { f.informPerson(sentences...) })
		}
		pause := wait/2 + rand.N(wait/2)
		var retry reach.RetryAfter
		if errors.As(err, &retry) {
			pause += retry.After
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// replacePending puts the agent that was reached in the place of the pending one, and asks it for
// the terms that were asked of all agents in the meantime.
func (f *FollowedAgent) replacePending(ctx context.Context, reached *FollowedAgent) {
	for i, other := range f.agents {
		if other == f {
			f.agents[i] = reached
		}
	}
	reached.running = f.running
	reached.startFollowing(ctx)
	if f.later != nil {
		reached.changeTerms(ctx, reached.keepLanguages(*f.later))
	}
}

// giveUpAgent counts an agent that refuses to be followed, or to be followed with these terms.
func (f *FollowedAgent) giveUpAgent(err error) {
	f.ended = true
	f.gone++
	f.last = err
	if exits.CodeOf(err) != exits.Usage && f.hasSeveral() { // else it ends the command, and says so itself
		f.informPerson(words.Sentence(exits.PlainError(err)), f.PhraseText(phrase.NotFollowed, ""))
	}
}
