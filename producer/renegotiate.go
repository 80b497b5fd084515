package producer

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/budget"
	"github.com/aaep-go/aaep/internal/delivery"
	"github.com/aaep-go/aaep/internal/negotiation"
)

const (
	// changesPerSecond is how many changes of the terms of one subscription take effect in a
	// second.
	changesPerSecond = 10
	// maxChanges is how many may wait to take effect.
	maxChanges = 10

	// asksPerSecond is how many renegotiations of one subscription are answered in a second, on the
	// average. A slider that is moved sends sixty.
	asksPerSecond = 100
	// asksAtOnce is how many are answered in a burst after ten seconds without any.
	asksAtOnce = 1000
	// asksAtFirst is how many a new subscription has. It is few, for a peer that was refused may
	// subscribe anew at once, up to Config.MaxRequestsPerSecond.
	asksAtFirst = 20
)

// termsChange is what came of a renegotiation: new terms or a refusal.
type termsChange struct {
	terms   *negotiation.Terms // those that hold from then on; if it is refused, those before
	refusal *aaep.Rejection    // nil: it is accepted
	answers int                // how many renegotiations it answers
	more    []aaep.ReplyToken  // the questions that it asks more time for
	quiet   bool               // it declares a quiet time, which begins when it takes effect
}

// pendingChanges are the renegotiations of one subscription that have not taken effect.
//
// A change takes locks that other goroutines need, so only so many take effect in a second. What
// waits is handed to the owner of the subscription by a goroutine that lives as long as anything
// waits. The link is read meanwhile: a subscriber whose slider is moved, or one that floods the
// producer, must still have its reply and its goodbye received. The room is bounded too: when too
// many wait, the newest change takes the place of the one before it. Each renegotiation is still
// judged by itself, in order, and gets an answer of its own (§5.7); one whose change has been
// replaced is answered with the terms that hold from then on.
type pendingChanges struct {
	// These belong to the goroutine that receives.
	ahead   *negotiation.Terms // what the terms will be when all that waits has taken effect
	refused bool               // a refusal waits, which ends the subscription
	asks    float64            // how many renegotiations may be answered still, as of asked
	asked   time.Time          // when the last one came

	pace *budget.Budget // changes that take effect; belongs to handOverChanges

	next chan *termsChange // holds one: a change whose turn has come, for the owner of the subscription

	mu      sync.Mutex    // a leaf; guards what follows
	waiting []termsChange // in the order in which they take effect
	handing bool          // handOverChanges is running
}

// requestChange judges a renegotiation and queues its answer and its terms for handOverChanges,
// which it starts if need be. The receiving goroutine calls it, and it returns at once. After one
// refusal it does nothing more. Beyond maxChanges that wait, a change takes the place of the
// newest, whose answers it owes too.
func (sub *subscription) requestChange(m *aaep.SubscriptionRenegotiate) {
	q := sub.changes.Load()
	if q == nil { // made at the first change, for most subscriptions never have one
		q = &pendingChanges{ahead: sub.terms.Load(), asks: asksAtFirst, asked: sub.began,
			pace: budget.New(changesPerSecond), next: make(chan *termsChange, 1)}
		sub.changes.Store(q)
	}
	if q.refused {
		return // after a refusal nothing more is answered
	}
	c := termsChange{answers: 1, terms: q.ahead}
	if c.refusal = q.checkBudget(time.Now()); c.refusal == nil {
		c.terms, c.refusal = sub.negotiateChange(q.ahead, m)
	}
	declared := m.Capabilities.Extensions
	c.quiet = q.ahead.Quiets(declared) || c.terms.Quiets(declared)
	q.ahead, q.refused = c.terms, c.refusal != nil
	if c.refusal == nil && c.terms.MoreTime != "" {
		c.more = append(c.more, c.terms.MoreTime)
	}
	if q.enqueue(c) {
		sub.p.loops.Go(sub.handOverChanges)
	}
}

// enqueue adds a change to those that wait. Where maxChanges wait already it takes the place of the
// newest, unless it is a refusal. It reports whether handOverChanges has to be started. The
// receiving goroutine calls it; it takes q.mu.
func (q *pendingChanges) enqueue(c termsChange) (start bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxChanges && c.refusal == nil {
		newest := &q.waiting[len(q.waiting)-1]
		c.answers += newest.answers
		c.quiet = c.quiet || newest.quiet
		c.more = append(newest.more, c.more...)
		c.more = c.more[max(0, len(c.more)-maxChanges):]
		*newest = c
	} else {
		q.waiting = append(q.waiting, c)
	}
	start, q.handing = !q.handing, true
	return start
}

// checkBudget counts a renegotiation and refuses one that is too many, for each costs time to judge
// and to answer. nil means that it may be judged. The receiving goroutine calls it.
func (q *pendingChanges) checkBudget(now time.Time) *aaep.Rejection {
	q.asks = min(asksAtOnce, q.asks+asksPerSecond*now.Sub(q.asked).Seconds())
	q.asked = now
	if q.asks >= 1 {
		q.asks--
		return nil
	}
	return &aaep.Rejection{Code: aaep.RateLimit, RetryAfter: asksAtOnce / asksPerSecond * time.Second,
		Message: fmt.Sprintf("At most %d changes of the terms a second are answered. "+
			"Wait, then subscribe with the terms of your choice.", asksPerSecond)}
}

// negotiateChange returns the terms that a renegotiation m makes of the terms now. If it is
// refused, these are now, and the rejection says why. It changes nothing.
func (sub *subscription) negotiateChange(now *negotiation.Terms, m *aaep.SubscriptionRenegotiate) (
	*negotiation.Terms, *aaep.Rejection) {
	if m.SubscriptionID != sub.id {
		return now, &aaep.Rejection{Code: aaep.AuthorizationDenied, Message: "This is not the subscription's own id."}
	}
	terms, err := negotiation.Renegotiate(*now, m.Capabilities, sub.currentOffer())
	if err == nil {
		err = checkCapabilitySize(m.Capabilities)
	}
	if err == nil {
		return &terms, nil
	}
	var r *aaep.Rejection
	if !errors.As(err, &r) {
		r = &aaep.Rejection{Code: aaep.ReasonUnknown, Message: "The terms could not be changed."}
	}
	return now, r
}

// handOverChanges is a goroutine that hands the changes that wait to the owner of the subscription,
// at the rate changesPerSecond. requestChange starts it. It ends when nothing waits, or with the
// subscription.
func (sub *subscription) handOverChanges() {
	q := sub.changes.Load()
	for {
		if wait := time.Until(q.pace.Next(time.Now())); wait > 0 {
			select {
			case <-time.After(wait):
			case <-sub.Context().Done():
				return
			}
		}
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.handing = false
			q.mu.Unlock()
			return
		}
		next := q.waiting[0]
		q.waiting = append(q.waiting[:0], q.waiting[1:]...)
		q.mu.Unlock()
		q.pace.Take(time.Now())
		select {
		case q.next <- &next:
			sub.Wake()
		case <-sub.Context().Done():
			return
		}
	}
}

// HandlePending puts the questions to the subscription that are on record by now, and puts a change
// of the terms into effect whose turn has come. The owner calls it between two batches, holding no
// lock. The result says why the subscription ends, or is nil.
func (sub *subscription) HandlePending() *aaep.Rejection {
	sub.AskLate()
	if sub.IsOverfull() {
		return delivery.SlowRejection("too many questions could not be put to it before they were settled")
	}
	if q := sub.changes.Load(); q != nil && len(q.next) > 0 {
		return sub.applyChange(<-q.next)
	}
	return nil
}

// applyChange puts a change into effect and answers the renegotiations that it stands for. New
// terms hold for every event after the answer (§5.7). The result says why the subscription ends, or
// is nil; a refusal ends it. The owner calls it, holding no lock; it holds the recipients of
// questions, and may wait for the audit log for a moment.
func (sub *subscription) applyChange(c *termsChange) *aaep.Rejection {
	if c.refusal != nil {
		sub.SendMessage(closeTimeout, rejectionMessage(c.refusal))
		return &aaep.Rejection{Code: c.refusal.Code} // nothing more is sent
	}
	before, terms := sub.terms.Load(), c.terms
	accepted, err := sub.acceptedMessage(*terms)
	if err != nil {
		return &aaep.Rejection{Code: aaep.ManifestSignatureRequired} // acceptedMessage has sent the refusal
	}
	// A question that is being put meanwhile sees the old terms, and is settled below, or the new
	// ones.
	release := sub.p.board.HoldRecipients()
	sub.setTerms(terms)
	release()
	sub.p.follower.ReportNew(sub.includeIn)
	sub.p.follower.RequestReport() // what this subscriber can answer may have become less
	sub.ShapeBy(terms, c.quiet)
	if before.ConfirmationReply && !terms.ConfirmationReply || before.ClarificationReply && !terms.ClarificationReply {
		sub.p.broker.NarrowAbilities(sub.id, !terms.ConfirmationReply, !terms.ClarificationReply)
	}
	for _, token := range c.more {
		if sub.p.board.Extend(sub.id, sub.AuditIdentity(nil), token) && token == terms.MoreTime {
			accepted.HonoredCapabilities = terms.Granted()
		}
	}
	answer, err := aaep.Encode(accepted)
	if err != nil {
		return &aaep.Rejection{Code: aaep.SubscriberShutdown, Remote: true, Err: err}
	}
	if why := sub.SendAnswer(answer, c.answers); why != nil {
		return why
	}
	sub.PutForNewTerms(before)
	return nil
}
