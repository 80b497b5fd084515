package producer

import (
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep/internal/delivery"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/questions"
)

// subscription is one subscriber's subscription: who it is, what it may do and what it is asked.
// What it is sent, and when, is decided by its delivery.Subscription, whose owner is also the owner
// here; what it is asked, by its questions.Recipient.
type subscription struct {
	*delivery.Subscription
	*questions.Recipient
	p            *Producer
	id           string
	began        time.Time    // when its request came
	subscriberID string       // as the request says
	isLate       bool         // it came during a shutdown; see isAwaited
	rights       Rights       // as Config.Admit says
	over         func()       // called once, when the subscription has ended
	replyLimits  *replyLimits // the receiving goroutine's; nil before the first reply

	terms   atomic.Pointer[negotiation.Terms] // replaced by the owner
	changes atomic.Pointer[pendingChanges]    // of the terms; nil before the first

	confirms, clarifies atomic.Bool // confirmations, and clarifications, may be put to it
	// patience, least and pace are what its user needs to answer; see replica.Needs for the units.
	patience, least atomic.Int64
	pace            atomic.Int64
}

// MayBeAsked reports whether a question may be put to the subscription, a confirmation or else a
// clarification: its terms and its rights allow the reply. Any goroutine may call it; the answer
// holds as long as Board.HoldRecipients does.
func (sub *subscription) MayBeAsked(isConfirmation bool) bool {
	if isConfirmation {
		return sub.confirms.Load()
	}
	return sub.clarifies.Load()
}

// Languages returns the languages of its terms, best first. Any goroutine may call it.
func (sub *subscription) Languages() []string { return sub.terms.Load().Languages }
