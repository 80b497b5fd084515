package producer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// endingListener is one whose Accept waits for the end of its context and then fails with err.
type endingListener struct{ err error }

func (l endingListener) Accept(ctx context.Context) (transports.Conn, error) {
	<-ctx.Done()
	return nil, l.err
}
func (endingListener) Close() error { return nil }

// Serve returns the error of its context where that is done, whatever the listener says then, and ErrClosed after a shutdown.
func TestServeReturnsOneError(t *testing.T) {
	for _, accept := range []error{context.Canceled, transports.ErrClosed, errors.New("use of a closed connection")} {
		p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "tester"}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Serve(ctx, endingListener{accept}); !errors.Is(err, context.Canceled) {
			t.Errorf("where Accept returns %q: %v, want that of the context", accept, err)
		}
		served := make(chan error)
		go func() { served <- p.Serve(t.Context(), endingListener{accept}) }()
		p.Shutdown(t.Context())
		if err := <-served; !errors.Is(err, producer.ErrClosed) {
			t.Errorf("where Accept returns %q after a shutdown: %v, want ErrClosed", accept, err)
		}
	}
}
