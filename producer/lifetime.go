package producer

import (
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
)

// A lifetime ends a subscription that asked for it: after so long without an event, or so long after it began.
type lifetime struct {
	idle, end time.Time     // when it ends; zero: never
	idleFor   time.Duration // 0: for ever
	began     time.Time
}

func newLifetime(t *handshake.Terms) lifetime {
	l := lifetime{began: time.Now()}
	l.set(t)
	return l
}

// set takes over renegotiated terms; a limit that stays as it was counts on.
func (l *lifetime) set(t *handshake.Terms) {
	if t.IdleTimeout != l.idleFor {
		l.idleFor = t.IdleTimeout
		l.sent(time.Now())
	}
	if l.end = (time.Time{}); t.MaxDuration != 0 {
		l.end = l.began.Add(t.MaxDuration)
	}
}

// sent says that an event has left.
func (l *lifetime) sent(now time.Time) {
	if l.idle = (time.Time{}); l.idleFor != 0 {
		l.idle = now.Add(l.idleFor)
	}
}

// ends is when it is over, if nothing is sent before.
func (l *lifetime) ends() time.Time { return earliest(l.idle, l.end) }

// over returns why the subscription ends now, or nil.
func (l *lifetime) over(now time.Time) *aaep.Rejection {
	switch {
	case !l.end.IsZero() && !now.Before(l.end):
		return &aaep.Rejection{Code: "ttl", Message: "The subscription is as old as it was to become."}
	case !l.idle.IsZero() && !now.Before(l.idle):
		return &aaep.Rejection{Code: "idle_timeout", Message: "Nothing was sent for as long as the subscription was to wait."}
	}
	return nil
}

// Why a subscription ends, for those who made nothing of it themselves.

func shuttingDown() *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.ProducerShutdown, Message: "The agent is shutting down."}
}

// cutShort is shuttingDown for a listener that may not have heard all.
func (sub *subscription) cutShort() *aaep.Rejection {
	over := shuttingDown()
	if !sub.idle() || sub.cursor < sub.p.log.End() {
		over.Message = "The agent is shutting down, and could not wait until you had been told all of it."
	}
	return over
}

func goneBecause(err error) *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.SubscriberShutdown, Remote: true, Err: err}
}

func slow(why string) *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.SlowSubscriber, Message: "This subscription cannot keep up: " + why + "."}
}
