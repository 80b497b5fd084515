package subscriber

import (
	"context"
	"iter"
	"time"
)

// outOfReach is how long a link may be broken until a user is told: most cuts are mended sooner,
// and would only disturb.
const outOfReach = 3 * time.Second

// Outages yields why the producer is out of reach when it has been for three seconds, and nil when
// it is back. A user who hears nothing cannot tell an agent that works from one that is gone, or
// that has ended, which is aaep.ProducerShutdown. Where that turns out to be that credentials are
// refused and others awaited, it yields once more, aaep.AuthenticationRequired. It ends with the
// subscription, and with ctx.
func (s *Subscription) Outages(ctx context.Context) iter.Seq[error] {
	return func(yield func(error) bool) {
		if !s.isDialed() {
			return
		}
		var broke time.Time // zero while it is connected
		// yielded says that the outage was yielded, refused that it was yielded as one of
		// credentials.
		for yielded, refused := false, false; ; {
			status, changed := s.Status()
			var overdue <-chan time.Time
			switch {
			case status.Over:
				return
			case status.Connected && yielded:
				broke, yielded, refused = time.Time{}, false, false
				if !yield(nil) {
					return
				}
				continue // it may have broken since
			case status.Connected:
				broke = time.Time{}
			case broke.IsZero():
				broke = time.Now()
				fallthrough
			case !yielded || status.Awaits != "" && !refused:
				overdue = time.After(time.Until(broke.Add(outOfReach)))
			}
			select {
			case <-changed:
			case <-overdue:
				yielded, refused = true, refused || status.Awaits != ""
				if !yield(status.Err) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}
