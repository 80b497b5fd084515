// Command service is the agent of examples/bank as an operator runs it: what it said survives a
// restart, who allowed what is on record, and only those who show a token may listen, of whom only
// some may answer.
//
//	umask 077; echo "ada $(openssl rand -hex 16)" > tokens; cut -d' ' -f2 tokens > ada.token
//	go run ./examples/service -state state -tokens tokens -may-answer ada        # in one terminal
//	go run ./cmd/aaep listen --token-file ada.token http://127.0.0.1:8080        # in another: hear it, and answer y or n
//	go run ./cmd/aaep audit show state/trail.jsonl                               # afterwards: who allowed what
//
// Other machines need a certificate too: serve.Server.TLS. SIGTERM and Ctrl-C end it in words.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log/sqlite"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/transports/auth"
)

func main() {
	addr := flag.String("listen", "127.0.0.1:8080", "where the agent can be followed")
	state := flag.String("state", "", "the folder of the log and the trail, which is made if need be")
	tokens := flag.String("tokens", "", "the file of those who may listen: a name, a space and a token on each line")
	answers := flag.String("may-answer", "", "the names of those who may answer, with commas between; without it nobody may, and nothing is done")
	flag.Parse()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	mayAnswer := strings.FieldsFunc(*answers, func(r rune) bool { return r == ',' })
	if err := run(ctx, logger, *addr, *state, *tokens, mayAnswer); err != nil && ctx.Err() == nil {
		logger.Error("the agent ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, logger *slog.Logger, addr, state, tokens string, answers []string) (err error) {
	names, err := auth.TokenNames(tokens)
	if err != nil {
		return fmt.Errorf("-tokens: %w", err)
	}
	for _, name := range answers {
		if !slices.Contains(names, name) {
			return fmt.Errorf("-may-answer has %q, and nobody who can come here is called that; there is %s",
				name, strings.Join(names, ", "))
		}
	}
	kept, err := sqlite.Open(filepath.Join(state, "log"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	trail, err := audit.Open(filepath.Join(state, "trail.jsonl"), audit.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trail.Close()) }() // after the last record
	known, err := auth.TokenFile(tokens, logger)
	if err != nil {
		return err
	}
	p, err := producer.New(producer.Config{
		Agent: aaep.Agent{AgentID: "bank", AgentName: "Bank"}, Log: kept, Audit: trail, Logger: logger, RefuseSecrets: true,
		Admit: func(principal string, _ *aaep.SubscriptionRequest) (producer.Rights, error) {
			return producer.Rights{Reply: slices.Contains(answers, principal)}, nil
		},
	})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := serve.Server{Authenticate: known, Logger: logger}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { stop(server.Serve(context.Background(), ln, p)) }() // until the producer is shut down
	defer p.Shutdown(context.Background())                          // before the trail and the log are closed
	fmt.Printf("Follow me: aaep listen --token-file FILE http://%s\n", ln.Addr())
	if err := p.WaitSubscriber(ctx); err != nil {
		return context.Cause(ctx) // that the agent could not be served, or the signal
	}
	return transfer(ctx, p)
}
