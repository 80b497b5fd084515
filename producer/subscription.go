package producer

import (
	"sync"
	"sync/atomic"

	"github.com/aaep-go/aaep/internal/delivery"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// subscription is one subscriber's subscription: who it is, what it may do and what it is asked.
// What it is sent, and when, is decided by its delivery.Subscription, whose owner is also the owner
// here.
type subscription struct {
	*delivery.Subscription
	p            *Producer
	id           string
	subscriberID string       // as the request says
	rights       Rights       // as Config.Admit says
	over         func()       // called once, when the subscription has ended
	replyLimits  *replyLimits // the receiving goroutine's; nil before the first reply
	asks                      // what it is asked besides what it was asked from the first

	terms   atomic.Pointer[negotiation.Terms] // replaced by the owner
	changes atomic.Pointer[pendingChanges]    // of the terms; nil before the first

	confirms, clarifies atomic.Bool // confirmations, and clarifications, may be put to it
	// patience, least and pace are what its user needs to answer; see replica.Needs for the units.
	patience, least atomic.Int64
	pace            atomic.Int64

	mu sync.Mutex // a leaf; guards withheld and kept of asks
}

// mayBeAsked reports whether a question of this kind may be put to the subscription: its terms and
// its rights allow the reply. Any goroutine may call it; the answer holds as long as
// Producer.putting is held.
func (sub *subscription) mayBeAsked(isConfirmation bool) bool {
	if isConfirmation {
		return sub.confirms.Load()
	}
	return sub.clarifies.Load()
}
