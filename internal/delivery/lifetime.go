package delivery

import (
	"errors"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
)

const (
	// openTimeout is how long the first stream may take after the answer to the request.
	openTimeout = 30 * time.Second
	// lastChance is how long a subscription whose events have all left may be without a stream
	// during a shutdown: the last of them may have been lost in the cut.
	lastChance = 2 * time.Second
)

// lifetime ends a subscription whose terms ask for that: after some time without an event, or some
// time after it began. It belongs to the owner of the subscription.
type lifetime struct {
	idle, end time.Time     // when it ends for lack of events, and at the latest; zero: never
	idleFor   time.Duration // how long it may be without an event; 0: for ever
	began     time.Time
}

// newLifetime returns the lifetime of a subscription that begins now. serveSubscription calls it.
func newLifetime(t *negotiation.Terms) lifetime {
	l := lifetime{began: time.Now()}
	l.applyTerms(t)
	return l
}

// applyTerms applies new terms, at the beginning and after a renegotiation. A limit that stays the
// same is not measured anew.
func (l *lifetime) applyTerms(t *negotiation.Terms) {
	if t.IdleTimeout != l.idleFor {
		l.idleFor = t.IdleTimeout
		l.noteSent(time.Now())
	}
	if l.end = (time.Time{}); t.MaxDuration != 0 {
		l.end = l.began.Add(t.MaxDuration)
	}
}

// noteSent starts the idle timeout again, because an event left at now.
func (l *lifetime) noteSent(now time.Time) {
	if l.idle = (time.Time{}); l.idleFor != 0 {
		l.idle = now.Add(l.idleFor)
	}
}

// nextEnd returns when the subscription ends if nothing is sent before; zero is never.
func (l *lifetime) nextEnd() time.Time { return earliestTime(l.idle, l.end) }

// reasonToEnd returns why the subscription ends at now, its age before its idle timeout, or nil.
// handlePending calls it between two batches.
func (l *lifetime) reasonToEnd(now time.Time) *aaep.Rejection {
	switch {
	case !l.end.IsZero() && !now.Before(l.end):
		return &aaep.Rejection{Code: "ttl", Message: "The subscription is as old as it was to become."}
	case !l.idle.IsZero() && !now.Before(l.idle):
		return &aaep.Rejection{Code: "idle_timeout",
			Message: "Nothing was sent for as long as the subscription was to wait."}
	}
	return nil
}

// shutdownRejection returns why a subscription ends at a shutdown after it has been sent
// everything.
func shutdownRejection() *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.ProducerShutdown, Message: "The agent is shutting down."}
}

// incompleteShutdown returns why a subscription ends that is aborted, or that a shutdown no longer
// waits for. If all of the log has left all the same, that is shutdownRejection; otherwise the
// message says that something is missing. The owner calls it.
func (sub *Subscription) incompleteShutdown() *aaep.Rejection {
	reason := shutdownRejection()
	if sub.isOwed() {
		reason.Message = "The agent is shutting down, and could not wait until you had been told all of it."
	}
	return reason
}

// isOwed reports whether something is still to leave for the subscriber, or left in a batch that
// its stream did not take. The owner calls it, once nothing more is appended to the log.
func (sub *Subscription) isOwed() bool {
	return sub.untaken || sub.pendingBatch != nil || len(sub.first) > 0 || !sub.isIdle() || sub.cursor < sub.d.Log.End()
}

// peerGone returns why a subscription ends whose link ended with err: for the reason of the
// *aaep.Rejection in err, where the transport ended it, and otherwise because the peer has left.
func peerGone(err error) *aaep.Rejection {
	if why, withdrawn := errors.AsType[*aaep.Rejection](err); withdrawn {
		return &aaep.Rejection{Code: why.Code, Err: why.Err} // without a message: there is no link for it
	}
	return &aaep.Rejection{Code: aaep.SubscriberShutdown, Remote: true, Err: err}
}

// SlowRejection returns why a subscription ends that cannot keep up; why is the end of the sentence
// that says it.
func SlowRejection(why string) *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.SlowSubscriber, Message: "This subscription cannot keep up: " + why + "."}
}
