package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/internal/natstest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log/jetstream"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// The listeners of an agent that cannot be followed any more are told so once: at the end of serve
// no listener is said to have missed it.
func TestServedAgentGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept, err := sqlite.Open(t.TempDir(), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var out clitest.Buffer
		s := &server{agents: map[string]*producer.Producer{}, gone: map[string]bool{}, status: lineio.Printer{Out: &out}}
		for name, cfg := range map[string]producer.Config{"lost": {Log: kept}, "other": {}} {
			cfg.Agent.AgentID = name
			if s.agents[name], err = producer.New(cfg); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { s.waitForEnd(ctx, 2) })
		kept.Close()
		s.agents["lost"].StartSession(ctx, aaep.Say("Nobody keeps this."))
		synctest.Wait()
		stop()
		watching.Wait()
		s.endAgents(ctx)
		if got := out.String(); strings.Count(got, "\n") != 1 ||
			!strings.HasPrefix(got, "aaep: lost cannot be served any more: ") {
			t.Errorf("it says %q", got)
		}
	})
}

// serve may be started before its agent and before the servers have one: it says that it waits, and
// for what, and follows the agent when that has said who it is.
func TestServeBeforeAgent(t *testing.T) {
	var out clitest.Buffer
	s := &server{status: lineio.Printer{Out: &out}}
	cluster, err := jetstream.Dial(t.Context(), natstest.Start(t, 1).URLs(), jetstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.followAgent(short, cluster, "planner"); !errors.Is(err, jetstream.ErrNoAgent) ||
		serving.StartCode(err) != exits.Unreachable {
		t.Errorf("an agent that does not come: %v", err)
	}
	if want := "aaep: Waiting up to 30 seconds: cannot follow planner: there is no such agent\n"; out.String() != want {
		t.Errorf("it says %q, want %q", out.String(), want)
	}
	store, err := cluster.Open(t.Context(), "planner")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	short, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.followAgent(short, cluster, "planner"); !errors.Is(err, jetstream.ErrNoAgent) ||
		!strings.Contains(err.Error(), "that has said who it is") {
		t.Errorf("an agent that has not said who it is: %v", err)
	}
	type result struct {
		feed *jetstream.Feed
		err  error
	}
	followed := make(chan result, 1)
	go func() {
		feed, err := s.followAgent(t.Context(), cluster, "planner")
		followed <- result{feed, err}
	}()
	if p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}, Log: store}); err != nil {
		t.Fatal(err)
	} else {
		defer p.Shutdown(context.Background())
	}
	got := <-followed
	if got.err != nil {
		t.Fatal(got.err)
	}
	got.feed.Close()
}

// What is said when the wait is over is the last answer of the servers, and not that the end of the
// wait cut a call short.
func TestServeLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{status: lineio.Printer{Out: io.Discard}}
		starting, cancel := context.WithTimeout(t.Context(), serving.StartTime)
		defer cancel()
		answer := fmt.Errorf("cannot follow planner: %w; there is pilot", jetstream.ErrNoAgent)
		err := s.retry(starting, func() error {
			if deadline, _ := starting.Deadline(); time.Until(deadline) > time.Second {
				return answer
			}
			<-starting.Done()
			return starting.Err()
		})
		if err != answer {
			t.Errorf("it says %q, want %q", err, answer)
		}
	})
}
