package hook

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/transports"
)

// A mute is a listener to which no hook comes.
type mute struct{ transports.Listener }

func (mute) Accept(ctx context.Context) (transports.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A server stays while a hook runs or a listener is there, and for its time after that; without a
// time it stays for good.
func TestIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, idle := range []time.Duration{10 * time.Minute, 0} {
			var listeners atomic.Int64
			s := &Server{Idle: idle, Listeners: func() int { return int(listeners.Load()) }}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Serve(ctx, mute{}) }()
			stays := func(d time.Duration, want bool) {
				t.Helper()
				time.Sleep(d)
				synctest.Wait()
				if got := len(ended) == 0; got != want {
					t.Errorf("with --idle %v it stays: %v, want %v", idle, got, want)
				}
			}
			stays(9*time.Minute, true)
			listeners.Store(1)
			stays(time.Hour, true)
			listeners.Store(0)
			s.begin()
			stays(time.Hour, true)
			s.end()
			stays(9*time.Minute, true)
			stays(3*time.Minute, idle == 0)
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}
