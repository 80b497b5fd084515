package producer

import (
	"math"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
)

// never is what a timer is made with that is set later. With 0 it would fire on the goroutine that makes it; in a
// synctest bubble two that do so at once bring down the race detector (golang/go#78156).
const never time.Duration = math.MaxInt64

// A life ends a subscription that asked for it: after so long without an event, or so long after it began.
type life struct {
	idle, end *time.Timer
	idleFor   time.Duration // 0: for ever
	endAfter  time.Duration
	began     time.Time
}

func newLife(t handshake.Terms) *life {
	l := &life{idle: time.NewTimer(never), end: time.NewTimer(never), began: time.Now()}
	l.set(t)
	return l
}

// set takes over renegotiated terms; a limit that stays as it was counts on.
func (l *life) set(t handshake.Terms) {
	if t.IdleTimeout != l.idleFor {
		l.idleFor = t.IdleTimeout
		l.sent()
	}
	if t.MaxDuration != l.endAfter {
		l.endAfter = t.MaxDuration
		restart(l.end, l.endAfter, time.Since(l.began))
	}
}

// sent says that an event has left.
func (l *life) sent() { restart(l.idle, l.idleFor, 0) }

func restart(t *time.Timer, limit, gone time.Duration) {
	if limit == 0 {
		t.Stop()
		return
	}
	t.Reset(max(limit-gone, 0))
}

func (l *life) stop() {
	l.idle.Stop()
	l.end.Stop()
}

// Why a subscription ends, for those who made nothing of it themselves.

func tooOld() *aaep.Rejection {
	return &aaep.Rejection{Code: "ttl", Message: "The subscription is as old as it was to become."}
}

func shuttingDown() *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.ProducerShutdown, Message: "The agent is shutting down."}
}

func goneBecause(err error) *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.SubscriberShutdown, Remote: true, Err: err}
}

func slow(why string) *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.SlowSubscriber, Message: "This subscription cannot keep up: " + why + "."}
}
