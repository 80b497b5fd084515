package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aaep-go/aaep/internal/errkind"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/producer/log/jetstream"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// clusterFlags say where an agent that several machines serve keeps its log.
type clusterFlags struct {
	servers string
	opts    jetstream.Options
}

// addClusterFlags adds the flags for a log in NATS servers.
func addClusterFlags(cmd *cobra.Command) *clusterFlags {
	s := &clusterFlags{}
	f := cmd.Flags()
	f.StringVar(&s.servers, "nats", "", "keep what is said in the NATS servers at these `URLS`, separated by commas")
	f.StringVar(&s.opts.Credentials, "nats-creds", "",
		"who this is to them, a `FILE`: .creds, an nkey's seed or USER:PASSWORD")
	f.StringVar(&s.opts.CA, "nats-ca", "", "know the NATS servers by the CAs in this PEM `FILE` (default those of the system)")
	f.StringVar(&s.opts.Certificate, "nats-cert", "",
		"what this shows servers that ask for a certificate, a PEM `FILE`")
	f.StringVar(&s.opts.Key, "nats-key", "", "its key, a PEM `FILE`")
	return s
}

// checkAlone refuses the other flags about NATS servers where --nats names none.
func (s *clusterFlags) checkAlone(f *pflag.FlagSet) (err error) {
	f.Visit(func(f *pflag.Flag) {
		if s.servers == "" && strings.HasPrefix(f.Name, "nats-") {
			err = usageError("--%s is about NATS servers: name them with --nats.\nSee: aaep run --help", f.Name)
		}
	})
	return err
}

// dialCluster connects to the NATS servers.
func (s *clusterFlags) dialCluster(ctx context.Context) (*jetstream.Cluster, error) {
	if (s.opts.Certificate == "") != (s.opts.Key == "") {
		return nil, usageError("--nats-cert and --nats-key belong together.\nSee: aaep run --help")
	}
	for _, f := range []struct{ flag, file string }{{"--nats-creds", s.opts.Credentials}, {"--nats-ca", s.opts.CA},
		{"--nats-cert", s.opts.Certificate}, {"--nats-key", s.opts.Key}} {
		if f.file == "" {
			continue
		}
		if _, err := os.Stat(f.file); err != nil {
			return nil, cannotTake(f.flag, err)
		}
	}
	c, err := jetstream.Dial(ctx, s.servers, s.opts)
	switch {
	case err == nil:
	case errors.Is(err, errkind.Unreachable): // what was asked for is right
		return nil, exitWith(exitUnreachable, fmt.Errorf("cannot take --nats: %w", err))
	default:
		return nil, cannotTake("--nats", err)
	}
	return c, nil
}

// openLog opens where what is said is kept, if anywhere.
func (r *runner) openLog(ctx context.Context) (kept log.Store, letGo func(), err error) {
	switch {
	case r.log != "":
		folder, err := sqlite.Open(r.log, sqlite.Options{SurvivesCrash: r.crashOnly})
		if err != nil {
			return nil, nil, cannotTake("--log", err)
		}
		return folder, func() { folder.Close() }, nil
	case r.nats.servers != "":
		cluster, err := r.nats.dialCluster(ctx)
		if err != nil {
			return nil, nil, err
		}
		stream, err := cluster.Open(ctx, r.name)
		if err != nil {
			cluster.Close()
			return nil, nil, exitWith(exitFailed, err)
		}
		return stream, func() { stream.Close(); cluster.Close() }, nil
	}
	return nil, func() {}, nil
}
