package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/term"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports/stdio"
)

// stdioMisused returns the usage error for what keeps run from serving on its own standard streams:
// a --listen beside it, no program, or a terminal at either end; else nil.
func stdioMisused(in io.Reader, out io.Writer, program []string, elsewhere bool) error {
	person := false
	for _, s := range []any{in, out} {
		f, ok := s.(*os.File)
		person = person || ok && term.IsTerminal(int(f.Fd()))
	}
	switch {
	case elsewhere:
		return exits.UsageError("--stdio and --listen are two places to serve; give one of them.\nSee: aaep run --help")
	case len(program) == 0:
		return exits.UsageError("--stdio needs a program: name it after --.\nSee: aaep run --help")
	case person:
		return exits.UsageError("--stdio speaks with the program that started it, and that is you.\nTry: aaep listen --exec \"aaep run --stdio -- %s\"", program[0])
	}
	return nil
}

// serveParent serves p to the parent of this program, on its standard streams. The context ends
// when that one leaves.
func serveParent(ctx context.Context, p *producer.Producer) (context.Context, <-chan error, error) {
	l, err := stdio.Listen(nil)
	if err != nil {
		return ctx, nil, exits.With(exits.Failed, fmt.Errorf("cannot serve on standard output: %s",
			exits.InnermostError(err)))
	}
	p.AddEndpoint(manifest.Stdio, manifest.Endpoint{})
	ctx, leave := context.WithCancelCause(ctx)
	served := make(chan error, 1)
	go func() {
		err := p.Serve(context.WithoutCancel(ctx), l)
		leave(exits.Signalled{Signal: syscall.SIGTERM})
		served <- err
	}()
	return ctx, served, nil
}
