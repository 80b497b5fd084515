package listen

import (
	"context"
	"sync"
	"time"

	"github.com/aaep-go/aaep/internal/cli/hook/call"
	"github.com/aaep-go/aaep/transports"
)

// hookRestartDelay is how long the server of hooks may be out of reach until a listener starts one
// itself. What else runs it, such as systemd, is quicker.
const hookRestartDelay = 3 * time.Second

// A hookDialer reaches the server of hooks, and starts one where there is none any more, as where
// it was killed: no hook would before the agent does something. A link that is made anew is a new
// subscription, which says that something may be missing.
type hookDialer struct {
	transports.Dialer

	mu   sync.Mutex
	gone time.Time // since when it was not reached; zero: it was
}

// Dial reaches the server of hooks as d.Dialer does. Where that has been gone for hookRestartDelay,
// it starts the server first. Any goroutine may call it.
func (d *hookDialer) Dial(ctx context.Context) (transports.Conn, error) {
	conn, err := d.dialServer(ctx)
	d.mu.Lock()
	if err == nil {
		d.gone = time.Time{}
	} else if d.gone.IsZero() {
		d.gone = time.Now()
	}
	wait := err == nil || time.Since(d.gone) < hookRestartDelay
	d.mu.Unlock()
	if wait || call.Ensure(ctx, call.Start) != nil {
		return conn, err
	}
	return d.dialServer(ctx)
}

// dialServer reaches the server where a listener looks for it, or where it says that it is.
func (d *hookDialer) dialServer(ctx context.Context) (transports.Conn, error) {
	conn, err := d.Dialer.Dial(ctx)
	if err == nil {
		return conn, nil
	}
	if conn, failed := call.Dial(ctx); failed == nil {
		return conn, nil
	}
	return nil, err
}
