package serving

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/errkind"
	"github.com/aaep-go/aaep/producer/log/jetstream"
)

// ClusterFlags say where an agent that several machines serve keeps its log.
type ClusterFlags struct {
	Servers string
	Opts    jetstream.Options
}

// AddClusterFlags adds the flags for a log in NATS servers to cmd, and returns what they will hold
// once they are parsed.
func AddClusterFlags(cmd *cobra.Command) *ClusterFlags {
	s := &ClusterFlags{}
	f := cmd.Flags()
	f.StringVar(&s.Servers, "nats", "", "keep what is said in the NATS servers at these `URLS`, separated by commas")
	f.StringVar(&s.Opts.Credentials, "nats-creds", "",
		"who this is to them, a `FILE`: .creds, an nkey's seed or USER:PASSWORD")
	f.StringVar(&s.Opts.CA, "nats-ca", "", "know the NATS servers by the CAs in this PEM `FILE` (default those of the system)")
	f.StringVar(&s.Opts.Certificate, "nats-cert", "",
		"what this shows servers that ask for a certificate, a PEM `FILE`")
	f.StringVar(&s.Opts.Key, "nats-key", "", "its key, a PEM `FILE`")
	return s
}

// StartCode returns the exit code of a command that could not begin because of err, an error of
// package jetstream: Unreachable where the servers or the agent's log are not there, else Failed.
func StartCode(err error) int {
	if errors.Is(err, errkind.Unreachable) || errors.Is(err, jetstream.ErrNoAgent) {
		return exits.Unreachable
	}
	return exits.Failed
}

// CheckAlone returns a usage error where another flag about NATS servers is given and --nats names
// none.
func (s *ClusterFlags) CheckAlone(f *pflag.FlagSet) (err error) {
	f.Visit(func(f *pflag.Flag) {
		if s.Servers == "" && strings.HasPrefix(f.Name, "nats-") {
			err = exits.UsageError("--%s is about NATS servers: name them with --nats.\nSee: aaep run --help", f.Name)
		}
	})
	return err
}

// StartTime is how long a command waits at its start for what it needs and is not there yet: NATS
// servers, a leader among them, the agent that it serves.
const StartTime = 30 * time.Second

// noticeAfter is how long a command waits before it prints that it does.
const noticeAfter = 2 * time.Second

// DialCluster connects to the NATS servers. It waits for them for StartTime, and prints to status
// that it does. A certificate without its key, and a file that is not there, is a usage error.
func (s *ClusterFlags) DialCluster(ctx context.Context, status *lineio.Printer) (*jetstream.Cluster, error) {
	if (s.Opts.Certificate == "") != (s.Opts.Key == "") {
		return nil, exits.UsageError("--nats-cert and --nats-key belong together.\nSee: aaep run --help")
	}
	for _, f := range []struct{ flag, file string }{{"--nats-creds", s.Opts.Credentials}, {"--nats-ca", s.Opts.CA},
		{"--nats-cert", s.Opts.Certificate}, {"--nats-key", s.Opts.Key}} {
		if f.file == "" {
			continue
		}
		if _, err := os.Stat(f.file); err != nil {
			return nil, exits.CannotTake(f.flag, err)
		}
	}
	starting, cancel := context.WithTimeout(ctx, StartTime)
	defer cancel()
	defer time.AfterFunc(noticeAfter, func() {
		status.PrintLabelled("aaep", fmt.Sprintf("Waiting up to %.0f seconds for the NATS servers.", StartTime.Seconds()))
	}).Stop()
	c, err := jetstream.Dial(starting, s.Servers, s.Opts)
	switch {
	case err == nil:
	case errors.Is(err, errkind.Unreachable): // what was asked for is right
		return nil, exits.With(exits.Unreachable, fmt.Errorf("cannot take --nats: %w", err))
	default:
		return nil, exits.CannotTake("--nats", err)
	}
	return c, nil
}
