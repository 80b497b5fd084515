//go:build unix || windows

package ipc

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/transporttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, quiet()...) }

// acceptConn returns the next Conn of l.
func acceptConn(t *testing.T, l *Listener) transports.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := l.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// IPC-003: a mebibyte goes through, either way.
func TestSuite(t *testing.T) {
	transporttest.Run(t, func(t *testing.T) transporttest.Link {
		l := start(t)
		a, err := Dialer{Path: l.Addr()}.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return transporttest.Link{A: a, B: acceptConn(t, l), Principal: self(t)}
	})
}

// A cancelled Accept leaves the listener as it was.
func TestAcceptCancelled(t *testing.T) {
	l := start(t)
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if _, err := l.Accept(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Accept = %v", err)
		}
		cancel()
	}
	a, err := Dialer{Path: l.Addr()}.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	acceptConn(t, l)
}
