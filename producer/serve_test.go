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

// Accept waits for the end of ctx, and then fails with err.
func (l endingListener) Accept(ctx context.Context) (transports.Conn, error) {
	<-ctx.Done()
	return nil, l.err
}

// Close does nothing.
func (endingListener) Close() error { return nil }

// Serve returns the error of its context where that is done, whatever the listener says then, and
// ErrClosed after a shutdown.
func TestServeReturnsOneError(t *testing.T) {
	for _, accept := range []error{context.Canceled, transports.ErrClosed, errors.New("use of a closed connection")} {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
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
		if err := p.Serve(ctx, endingListener{accept}); !errors.Is(err, context.Canceled) {
			t.Errorf("where Accept returns %q, the context is done and the producer shut down: %v, want that of the context", accept, err)
		}
	}
}

// It is one error, not either of two, where the agent shuts down because the context is done, as
// most do; also where a subscriber came last.
func TestServeEndsWithItsContext(t *testing.T) {
	for range 100 {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		link, other := transports.Pipe()
		l := make(lastListener, 1)
		served := make(chan error)
		go func() { served <- p.Serve(ctx, l) }()
		cancel()
		go func() { l <- other }()
		p.Shutdown(t.Context())
		link.Close()
		if err := <-served; !errors.Is(err, context.Canceled) {
			t.Fatalf("%v, want that of the context", err)
		}
		select {
		case <-l:
		default:
		}
	}
}

// lastListener is one that accepts what is there also where its context is done.
type lastListener chan transports.Conn

// Accept returns a link that is there, even if ctx is done.
func (l lastListener) Accept(ctx context.Context) (transports.Conn, error) {
	select {
	case conn := <-l:
		return conn, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close does nothing.
func (lastListener) Close() error { return nil }
