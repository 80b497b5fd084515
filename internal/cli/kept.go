package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log/jetstream"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// shared is where an agent that several machines serve keeps its log.
type shared struct {
	servers string
	opts    jetstream.Options
}

func sharedFlags(cmd *cobra.Command) *shared {
	s := &shared{}
	f := cmd.Flags()
	f.StringVar(&s.servers, "nats", "", "keep what is said in the NATS servers at these `URLS`, separated by commas")
	f.StringVar(&s.opts.Credentials, "nats-creds", "", "the NATS user, a credentials `FILE`")
	f.StringVar(&s.opts.CA, "nats-ca", "", "know the NATS servers by the CAs in this PEM `FILE` (default those of the system)")
	f.IntVar(&s.opts.Replicas, "nats-replicas", 0, "on how many of them it is kept (default 3 in a cluster)")
	return s
}

// dial connects to the servers.
func (s *shared) dial(ctx context.Context) (*jetstream.Cluster, error) {
	c, err := jetstream.Dial(ctx, s.servers, &s.opts)
	if err != nil {
		return nil, &exitError{exitUnreachable, fmt.Errorf("cannot take --nats: %s", plain(err))}
	}
	return c, nil
}

// openLog opens the folder that what is said is kept in.
func openLog(dir string, crashOnly bool) (*sqlite.Store, error) {
	kept, err := sqlite.Open(dir, &sqlite.Options{SurvivesCrash: crashOnly})
	if err != nil {
		return nil, &exitError{exitFailed, fmt.Errorf("cannot take --log: %s", plain(err))}
	}
	return kept, nil
}

// watchLog says when the log cannot be written any more, until the function that it returns is called.
func (r *runner) watchLog(ctx context.Context, p *producer.Producer) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.WaitLogFailed(ctx); ctx.Err() == nil {
			r.status.say("aaep", fmt.Sprintf("From here on nothing is kept: %s. Whoever listens hears all of it; after a restart they would not find their place.", plain(err)))
		}
	}()
	return func() { cancel(); <-done }
}
