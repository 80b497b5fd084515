package subscriber

import (
	"context"
	"iter"
	"time"

	"github.com/aaep-go/aaep/internal/hearing"
)

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
		var now outage
		for {
			status, changed := s.Status()
			if status.Over {
				return
			}
			if status.Connected && now.reported {
				now = outage{}
				if !yield(nil) {
					return
				}
				continue // the link may have broken since
			}
			select {
			case <-changed:
			case <-now.untilReport(status):
				now.reported, now.refused = true, now.refused || status.Awaits != ""
				if !yield(status.Err) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// An outage is what Outages knows of the one that lasts. The zero outage is none.
type outage struct {
	began    time.Time
	reported bool
	refused  bool // it was reported as one of credentials
}

// untilReport returns a channel that fires when the outage is to be reported, or nil if it need not
// be: the link is up, or all is reported. It begins the outage if the link has just broken.
func (o *outage) untilReport(status Status) <-chan time.Time {
	if status.Connected {
		*o = outage{}
		return nil
	}
	if o.began.IsZero() {
		o.began = time.Now()
	}
	newlyRefused := status.Awaits != "" && !o.refused
	if o.reported && !newlyRefused {
		return nil
	}
	return time.After(time.Until(o.began.Add(hearing.OutageAfter)))
}
