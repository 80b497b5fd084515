package producer

import (
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
)

// lifetime ends a subscription whose terms ask for that: after some time without an event, or some
// time after it began. It belongs to the owner of the subscription.
type lifetime struct {
	idle, end time.Time     // when it ends for lack of events, and at the latest; zero: never
	idleFor   time.Duration // how long it may be without an event; 0: for ever
	began     time.Time
}

// newLifetime returns the lifetime of a subscription that begins now. serveSubscription calls it.
func newLifetime(t *handshake.Terms) lifetime {
	l := lifetime{began: time.Now()}
	l.set(t)
	return l
}

// set applies new terms, at the beginning and after a renegotiation. A limit that stays the same is
// not measured anew.
func (l *lifetime) set(t *handshake.Terms) {
	if t.IdleTimeout != l.idleFor {
		l.idleFor = t.IdleTimeout
		l.sent(time.Now())
	}
	if l.end = (time.Time{}); t.MaxDuration != 0 {
		l.end = l.began.Add(t.MaxDuration)
	}
}

// sent notes that an event has left at now, from when on the time without an event is measured.
func (l *lifetime) sent(now time.Time) {
	if l.idle = (time.Time{}); l.idleFor != 0 {
		l.idle = now.Add(l.idleFor)
	}
}

// ends returns when the subscription ends if nothing is sent before; zero is never.
func (l *lifetime) ends() time.Time { return earliest(l.idle, l.end) }

// over returns why the subscription ends at now, or nil. handlePending calls it between two
// batches.
func (l *lifetime) over(now time.Time) *aaep.Rejection {
	switch {
	case !l.end.IsZero() && !now.Before(l.end):
		return &aaep.Rejection{Code: "ttl", Message: "The subscription is as old as it was to become."}
	case !l.idle.IsZero() && !now.Before(l.idle):
		return &aaep.Rejection{Code: "idle_timeout", Message: "Nothing was sent for as long as the subscription was to wait."}
	}
	return nil
}

// shuttingDown returns why a subscription ends at a shutdown after it has been sent everything.
func shuttingDown() *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.ProducerShutdown, Message: "The agent is shutting down."}
}

// cutShort returns why a subscription ends that is aborted, or at a shutdown that does not wait for
// it any longer. The message says so if not everything has been sent. The owner calls it.
func (sub *subscription) cutShort() *aaep.Rejection {
	over := shuttingDown()
	if !sub.idle() || sub.cursor < sub.p.log.End() {
		over.Message = "The agent is shutting down, and could not wait until you had been told all of it."
	}
	return over
}

// goneBecause returns why a subscription ends that the peer has left or whose link ended with err.
func goneBecause(err error) *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.SubscriberShutdown, Remote: true, Err: err}
}

// slow returns why a subscription ends that cannot keep up; why is the end of the sentence that
// says it.
func slow(why string) *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.SlowSubscriber, Message: "This subscription cannot keep up: " + why + "."}
}
