package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log/jetstream"
	"github.com/aaep-go/aaep/producer/serve"
)

// maxListeners is how many listeners of each agent a process serves that does nothing else.
const maxListeners = 10_000

// ServeCommand makes "aaep serve"; runServer does its work.
func ServeCommand() *cobra.Command {
	s := &server{agents: map[string]*producer.Producer{}, gone: map[string]bool{}}
	cmd := &cobra.Command{
		Use:   "serve --nats URLS [AGENT ...]",
		Short: "Serve the listeners of agents from another machine",
		Long: `serve lets assistive technology follow agents that run elsewhere, and were started with aaep run --nats and a --name.
Any number of machines can serve the same agent: listeners find their place again at any of them, and of their answers
the first counts, wherever it was given.

One agent is at the address itself; several are below it, each under its name. Without a name all are served that there
are when this starts.

If an agent ends, its listeners stay, and hear it when it is started again, on any machine. At the start serve waits
half a minute for servers and an agent that are not there yet. A service manager ends serve with SIGTERM, which is no
failure: it ends with 0.

With --audit it is put on record who was asked here, and what they answered. The agent's own record has the answers too.`,
		Example: `  aaep run --nats nats://10.0.0.1,nats://10.0.0.2,nats://10.0.0.3 --name planner -- some-llm "Plan my week"
  aaep serve --nats nats://10.0.0.2 planner
  aaep serve --nats nats://10.0.0.2 planner bank`,
		RunE: func(cmd *cobra.Command, names []string) error {
			s.talk, s.status.Out = cmd.ErrOrStderr(), cmd.ErrOrStderr()
			return s.runServer(cmd.Context(), names)
		},
	}
	s.where, s.nats = serving.AddFlags(cmd), serving.AddClusterFlags(cmd)
	s.metrics = serving.MetricsFlag(cmd.Flags())
	cmd.Flags().StringVar(&s.trail, "audit", "", "put on record in this `FILE` what is asked and answered here")
	return cmd
}

// runServer does the work of "aaep serve": it serves the agents with these names, or all there are,
// whose log is in NATS servers, until it is told to end or none can be served. It waits at most
// serving.StartTime for servers and agents.
func (s *server) runServer(ctx context.Context, names []string) (err error) {
	if s.nats.Servers == "" {
		return exits.UsageError("--nats says where the agent's log is.\nSee: aaep serve --help")
	}
	ctx, stop := exits.WithServiceStop(ctx, s.status.PrintLabelled)
	defer stop()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = exits.StopError(ctx)
		}
	}()
	cluster, err := s.nats.DialCluster(ctx, &s.status)
	if err != nil {
		return err
	}
	defer cluster.Close()
	starting, cancel := context.WithTimeout(ctx, serving.StartTime)
	defer cancel()
	if names, err = s.agentsToServe(starting, cluster, names); err != nil {
		return err
	}
	if s.trail != "" {
		sink, err := serving.OpenTrail(s.trail)
		if err != nil {
			return err
		}
		defer serving.CloseTrail(sink, s.trail, &err)
		s.audit = sink
	}
	var gauges net.Listener // or nil
	if *s.metrics != "" {
		if gauges, err = serving.ListenMetrics(ctx, *s.metrics, s.where.Addrs); err != nil {
			return err
		}
		defer gauges.Close()
	}
	defer s.endAgents(ctx)
	for _, name := range names {
		if err := s.addAgent(starting, cluster, name); err != nil {
			return err
		}
	}
	invitations, err := s.openListener(ctx, names)
	if err != nil {
		return err
	}
	s.printAddresses(names, invitations)
	if gauges != nil {
		metricsAt, stop := serving.ServeMetrics(gauges, s.agents, s.where.Seen)
		defer stop()
		s.status.PrintLabelled("aaep", "Metrics are at "+metricsAt)
	}
	return s.waitForEnd(ctx, len(names))
}

// agentsToServe returns the agents that are to be served, each once: those that are named, else all
// in the servers whose name can be a path. It waits until starting is done for there to be one.
func (s *server) agentsToServe(starting context.Context, cluster *jetstream.Cluster, ids []string) ([]string, error) {
	if len(ids) == 0 {
		err := s.retry(starting, func() (err error) {
			ids, err = cluster.Agents(starting)
			if err == nil && len(ids) == 0 {
				err = fmt.Errorf("cannot follow any agent: %w; start one with aaep run --nats URLS --name NAME -- PROGRAM",
					jetstream.ErrNoAgent)
			}
			return err
		})
		if err != nil {
			return nil, exits.With(serving.StartCode(err), err)
		}
		if len(ids) > 1 {
			ids = slices.DeleteFunc(ids, func(name string) bool {
				_, err := serve.Path(name)
				if err != nil {
					s.status.PrintLabelled("aaep",
						"Not served: "+exits.PlainError(err)+". Serve it with an aaep serve of its own.")
				}
				return err != nil
			})
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// server serves agents that run elsewhere.
type server struct {
	where   *serving.Flags
	nats    *serving.ClusterFlags
	trail   string  // the name of the file; empty is none
	metrics *string // an address; empty is none
	talk    io.Writer
	status  lineio.Printer

	audit  audit.Sink // or nil
	agents map[string]*producer.Producer
	feeds  []*jetstream.Feed
	served <-chan error

	gone     map[string]bool // agents that cannot be followed any more
	draining sync.WaitGroup
}

// retry calls do until it succeeds, fails for another reason than that there is no such agent yet,
// or starting is done, and prints once that it waits. Where the end of starting cut the last call
// short, the error is that of the call before, which had an answer.
func (s *server) retry(starting context.Context, do func() error) error {
	var last error
	for tries := 0; ; tries++ {
		err := do()
		if err != nil && last != nil && starting.Err() != nil {
			return last
		}
		if !errors.Is(err, jetstream.ErrNoAgent) {
			return err
		}
		last = err
		if tries == 0 {
			s.status.PrintLabelled("aaep", fmt.Sprintf("Waiting up to %.0f seconds: %v", serving.StartTime.Seconds(), err))
		}
		select {
		case <-starting.Done():
			return err
		case <-time.After(time.Second / 4):
		}
	}
}

// followAgent returns the log of an agent that has said who it is. It waits until starting is done
// for an agent that was never started.
func (s *server) followAgent(starting context.Context, cluster *jetstream.Cluster, name string) (
	feed *jetstream.Feed, err error) {
	err = s.retry(starting, func() (err error) {
		if feed, err = cluster.Follow(starting, name); err != nil {
			return withOtherAgents(starting, cluster, err)
		}
		profile, err := feed.Profile(starting)
		if err == nil && profile == nil {
			err = fmt.Errorf("cannot follow %s: %w that has said who it is", name, jetstream.ErrNoAgent)
		}
		if err != nil {
			feed.Close()
		}
		return err
	})
	return feed, err
}

// withOtherAgents adds to an error that there is no such agent those that there are.
func withOtherAgents(ctx context.Context, cluster *jetstream.Cluster, err error) error {
	if !errors.Is(err, jetstream.ErrNoAgent) {
		return err
	}
	agents, failed := cluster.Agents(ctx)
	if failed != nil || len(agents) == 0 {
		return err
	}
	slices.Sort(agents)
	return fmt.Errorf("%w; there is %s", err, strings.Join(agents, ", "))
}

// addAgent begins to follow the log of the agent with a name, in s.agents. It waits for the agent
// until starting is done. The error has the exit code.
func (s *server) addAgent(starting context.Context, cluster *jetstream.Cluster, name string) error {
	feed, err := s.followAgent(starting, cluster, name)
	if err != nil {
		return exits.With(serving.StartCode(err), err)
	}
	s.feeds = append(s.feeds, feed)
	journal := s.where.ConnectionLog(s.talk, lineio.LogTo(s.talk)).With("agent", name)
	trail := s.audit
	if trail == nil {
		trail = serving.Answered{Logger: journal}
	}
	cfg := producer.Config{Follow: feed, Admit: s.where.RightsOf(&s.status), MaxSubscriptions: maxListeners,
		MaxPerPrincipal: maxListeners / 2, Logger: journal, Audit: trail, Observer: s.where.Seen}
	if cfg.Signers, err = s.where.ReadSigners(s.talk); err != nil {
		return err
	}
	if s.agents[name], err = producer.New(cfg); err != nil {
		delete(s.agents, name)
		return exits.With(exits.Failed, fmt.Errorf("cannot serve %s: %s", name, exits.PlainError(err)))
	}
	return nil
}

// openListener begins to serve the agents by their names: one at the address itself, several each
// below its name. s.served is closed when nothing is served any more.
func (s *server) openListener(ctx context.Context, names []string) (invitations []serving.Invitation, err error) {
	if len(names) == 1 {
		invitations, s.served, err = s.where.ServeEverywhere(ctx,
			func() (*producer.Producer, error) { return s.agents[names[0]], nil }, s.talk)
	} else {
		invitations, s.served, err = s.where.OpenAll(ctx, s.agents, s.talk)
	}
	return invitations, err
}

// printAddresses prints where each agent can be followed, and tells a service manager that all are
// ready.
func (s *server) printAddresses(names []string, invitations []serving.Invitation) {
	for _, name := range names {
		ofAgent, path := slices.Clone(invitations), ""
		for i := range ofAgent {
			if name != names[len(names)-1] {
				ofAgent[i].Notes = nil // once is enough
			}
		}
		if len(names) > 1 {
			path = "/" + name
		}
		serving.PrintInvitations(&s.status, name, path, ofAgent)
	}
	serving.NotifyReady()
}

// waitForEnd waits until it is interrupted, or none of the running agents can be followed any more,
// which is an error. One whose log fails is said, and its listeners hear the end.
func (s *server) waitForEnd(ctx context.Context, running int) error {
	type end struct {
		name string
		why  error
	}
	ends := make(chan end)
	for name, p := range s.agents {
		go func() {
			why := p.WaitLogFailed(ctx)
			select {
			case ends <- end{name, why}:
			case <-ctx.Done():
			}
		}()
	}
	for {
		select {
		case <-ctx.Done():
			return exits.StopError(ctx)
		case failed := <-ends:
			if ctx.Err() != nil {
				continue
			}
			notServed := fmt.Errorf("%s cannot be served any more: %s", failed.name, exits.PlainError(failed.why))
			if running--; running == 0 {
				return exits.With(exits.Failed, notServed)
			}
			s.status.PrintLabelled("aaep", words.OneLine(notServed.Error())+". The others go on.")
			s.gone[failed.name] = true
			s.draining.Go(func() { serving.DrainListeners(ctx, s.agents[failed.name], serving.DrainTime, &s.status) })
		}
	}
}

// endAgents shuts all producers down, and waits until their listeners have heard it, for at most
// serving.DrainTime. runServer calls it at its end.
func (s *server) endAgents(ctx context.Context) {
	for name, p := range s.agents {
		if !s.gone[name] { // else its listeners are being told
			s.draining.Go(func() { serving.DrainListeners(ctx, p, serving.DrainTime, &s.status) })
		}
	}
	s.draining.Wait()
	if s.served != nil {
		<-s.served
	}
	for _, feed := range s.feeds {
		feed.Close()
	}
}
