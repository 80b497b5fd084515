package cli

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

// An agent that is not there yet is one of several all the same, under its address, and keeps nobody from the others. What is
// asked of all of them is asked of it when it comes.

// Between two attempts to reach such an agent; the wait is doubled each time.
const (
	firstWait   = time.Second
	longestWait = 30 * time.Second
)

// notYet is an agent's wish not to be asked again before some time has passed.
type notYet struct {
	error
	after time.Duration
}

// awaited is an agent that reach is to reach.
func (l *listener) awaited(at string, wanted aaep.Capabilities, reach func(context.Context) (*following, error)) *following {
	return &following{listener: l, name: at, wanted: wanted, reach: reach, changing: true}
}

// await reaches the agent, as often as it takes, until ctx is done or the agent refuses.
func (f *following) await(ctx context.Context) {
	told, stop := false, f.connecting(f.name)
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		came, err := f.reach(ctx)
		stop()
		if err == nil {
			if !f.post(ctx, func() { f.come(ctx, came) }) {
				came.sub.Close()
			}
			return
		}
		if ctx.Err() != nil {
			return
		}
		if code(err) != exitUnreachable {
			f.post(ctx, func() { f.refused(err) })
			return
		}
		if !told {
			told = true
			said := []string{words.Sentence(plainError(err)), f.phrase(phrase.TriedUntilThere, "")}
			if !f.several() {
				said = append(said, f.phrase(phrase.CtrlCEnds, ""))
			}
			f.post(ctx, func() { f.inform(said...) })
		}
		pause := wait/2 + rand.N(wait/2)
		var asked notYet
		if errors.As(err, &asked) {
			pause += asked.after
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// come puts the agent in the place that was kept for it, and asks it for what was asked of all agents meanwhile.
func (f *following) come(ctx context.Context, came *following) {
	for i, other := range f.agents {
		if other == f {
			f.agents[i] = came
		}
	}
	came.begin(ctx)
	if f.later != nil {
		came.change(ctx, came.safely(*f.later))
	}
}

// refused gives up an agent that does not want to be followed, or not so.
func (f *following) refused(err error) {
	f.link.Over = true
	f.gone++
	f.last = err
	if code(err) != exitUsage && f.several() { // else it ends the command, and says so itself
		f.inform(words.Sentence(plainError(err)), f.phrase(phrase.NotFollowed, ""))
	}
}

// code is the exit code that an error asks for.
func code(err error) int {
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	return exitFailed
}
