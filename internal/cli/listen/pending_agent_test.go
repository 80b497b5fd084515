package listen

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// A delayedAgent is one at an address where no server is, until dial is set.
type delayedAgent struct {
	mu    sync.Mutex
	dial  clitest.DialerFunc
	err   error // while it is not
	tries []time.Time
}

// dialOnce is one attempt to reach it.
func (x *delayedAgent) dialOnce(ctx context.Context) (clitest.DialerFunc, error) {
	x.mu.Lock()
	x.tries = append(x.tries, time.Now())
	dial, err := x.dial, x.err
	x.mu.Unlock()
	if dial == nil && err == nil { // a machine that sleeps
		<-ctx.Done()
		err = ctx.Err()
	}
	return dial, err
}

func (x *delayedAgent) dialTimes() []time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.tries)
}

func (x *delayedAgent) appear(dial clitest.DialerFunc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.dial, x.err = dial, nil
}

// followDelayed follows an agent that is there and another that is expected. It must be called in a
// bubble.
func followDelayed(t *testing.T, there clitest.DialerFunc, x *delayedAgent, f func(*testListener)) *testListener {
	e := newTestListener(t, subscriber.ScreenReader("en-US"))
	ctx, cancel := context.WithCancel(t.Context())
	defer e.print(ctx)()
	reach := func(dial clitest.DialerFunc) (*FollowedAgent, error) {
		f := &FollowedAgent{Listener: e.l, wanted: subscriber.ScreenReader("en-US")}
		var err error
		if f.sub, err = subscriber.Dial(t.Context(), dial, f.subscriberConfig(false)); err == nil {
			t.Cleanup(func() { f.sub.Close() })
		}
		return f, err
	}
	first, err := reach(there)
	if err != nil {
		t.Fatal(err)
	}
	second := e.l.newPendingAgent("http://late.example", first.wanted,
		func(ctx context.Context) (*FollowedAgent, error) {
			dial, err := x.dialOnce(ctx)
			if err != nil {
				return nil, err
			}
			return reach(dial)
		})
	done := make(chan struct{})
	go func() { defer close(done); e.ended = e.l.followAgents(ctx, second, first) }()
	synctest.Wait()
	f(e)
	cancel()
	<-done
	return e
}

// An agent that takes its time to be reached is not waited for in silence.
func TestConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, dialHere := clitest.AgentNamed(t, "Planner", producer.Config{})
		defer here.Shutdown(t.Context())
		for _, slow := range []bool{true, false} {
			x := &delayedAgent{}
			if !slow {
				x.err = errNotThere
			}
			followDelayed(t, dialHere, x, func(e *testListener) {
				clitest.PassTime(time.Minute)
				if n := strings.Count(e.screen.String(),
					"aaep: Connecting to http://late.example.\n"); n != map[bool]int{true: 1}[slow] {
					t.Errorf("slow: %t; told %d times that it connects:\n%s", slow, n, e.screen.String())
				}
			})
		}
	})
}

var errNotThere = exits.With(exits.Unreachable, errors.New("nothing answers at http://late.example"))

// An agent that is not there yet does not delay the others, is tried with patience, and comes in
// when it is there, with what was asked for meanwhile.
func TestAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, dialHere := clitest.AgentNamed(t, "Planner", producer.Config{})
		defer here.Shutdown(t.Context())
		late, dialLate := clitest.AgentNamed(t, "Bank", producer.Config{})
		defer late.Shutdown(t.Context())
		x := &delayedAgent{err: errNotThere}
		followDelayed(t, dialHere, x, func(e *testListener) {
			s, err := here.StartSession(t.Context(), aaep.Say("Planning."))
			if err != nil {
				t.Fatal(err)
			}
			s.Complete(aaep.Say("Ready."))
			clitest.PassTime(10 * time.Minute)
			if got := e.screen.String(); !strings.Contains(got, "Planner: Planning.\n") ||
				strings.Count(got, "late.example") != 1 ||
				!strings.Contains(got, "aaep: nothing answers at http://late.example. It is tried again until it is there.\n") {
				t.Errorf("beside one that is not there:\n%s", got)
			}
			tries := x.dialTimes()
			for i, at := range tries[1:] {
				if d := at.Sub(tries[i]); d < firstWait/2 || d > longestWait {
					t.Errorf("attempt %d came after %v", i+1, d)
				}
			}
			e.wantSaid("/verbosity terse", "Planner: From now on: in few words.")
			if got := e.typeLine("/agents"); got != "aaep: http://late.example: not connected; trying again.\naaep: Planner: connected.\n" {
				t.Errorf("how it stands: %s", got)
			}
			e.typeLine("/quiet")
			e.typeLine("/terms")
			e.err.Reset()
			x.appear(dialLate)
			clitest.PassTime(longestWait)
			if got, want := e.err.String(), "aaep: Following Bank. Who it is has not been verified.\naaep: Bank: From now on: in few words.\n"; got != want {
				t.Errorf("when it is there: %q, want %q", got, want)
			}
			e.typeLine("/quiet off") // which held for who came later, too
			if s, err = late.StartSession(t.Context(), aaep.Say("Banking.")); err != nil {
				t.Fatal(err)
			}
			s.Complete(aaep.Say("Ready."))
			clitest.PassTime(3 * time.Second)
			if got := e.screen.String(); !strings.Contains(got, "Bank: Banking.\n") {
				t.Errorf("it is not heard:\n%s", got)
			}
		})
	})
}

// One that does not answer at all does not hold up the others, nor the end.
func TestAwaitedHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentNamed(t, "Planner", producer.Config{})
		defer p.Shutdown(t.Context())
		followDelayed(t, dial, &delayedAgent{}, func(e *testListener) {
			if got := e.screen.String(); !strings.Contains(got, "aaep: Following Planner.") {
				t.Errorf("at once:\n%s", got)
			}
		})
	})
}

// One that refuses is not asked again; one that says when to come is not asked sooner.
func TestAwaitedRefuses(t *testing.T) {
	refuses := func(r *aaep.Rejection, f func(e *testListener, x *delayedAgent)) {
		synctest.Test(t, func(t *testing.T) {
			p, dial := clitest.AgentNamed(t, "Planner", producer.Config{})
			defer p.Shutdown(t.Context())
			x := &delayedAgent{err: reach.DialError(t.Context(), "http://late.example", r)}
			followDelayed(t, dial, x, func(e *testListener) {
				clitest.PassTime(time.Minute)
				f(e, x)
			})
		})
	}
	refuses(&aaep.Rejection{Code: aaep.AuthorizationDenied, Message: "Not you.", Remote: true},
		func(e *testListener, x *delayedAgent) {
			if got := e.screen.String(); len(x.dialTimes()) != 1 ||
				!strings.Contains(got, "aaep: the agent at http://late.example cannot be followed: Not you. It is not followed.\n") {
				t.Errorf("%d attempts:\n%s", len(x.dialTimes()), got)
			}
			if got := e.typeLine("/agents"); !strings.HasPrefix(got, "aaep: http://late.example: not followed.\n") {
				t.Errorf("how it stands: %s", got)
			}
		})
	refuses(&aaep.Rejection{Code: aaep.RateLimit, Message: "Too many.", RetryAfter: 20 * time.Second, Remote: true},
		func(e *testListener, x *delayedAgent) {
			if tries := x.dialTimes(); len(tries) < 2 || len(tries) > 3 || tries[1].Sub(tries[0]) < 20*time.Second {
				t.Errorf("it was to be asked after 20 seconds; it was asked at %v", tries)
			}
		})
}
