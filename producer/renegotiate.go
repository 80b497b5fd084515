package producer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/budget"
	"github.com/aaep-go/aaep/transports"
)

const (
	changesPerSecond = 10 // of the terms of one subscription
	maxChanges       = 10 // that wait to take effect

	asksPerSecond = 100  // of one subscription, on the average: a slider that is moved sends sixty
	asksAtOnce    = 1000 // that are answered, after ten seconds with fewer
)

// A change is what came of a renegotiation: new terms or a refusal.
type change struct {
	terms   *handshake.Terms
	refusal *aaep.Rejection
	answers int               // how many renegotiations it answers
	more    []aaep.ReplyToken // questions to give more time
	quiet   bool              // it declares how quiet it is to be; what was declared before holds from when it was
}

// changes are those that were asked for and have not taken effect.
//
// A change takes locks that others need, so there are only so many in a second; what waits is handed over by a
// goroutine that lives as long as anything waits. The link is read on meanwhile: whoever moves a slider, or
// floods us, must not be the last to hear of their own reply or goodbye. So that this needs no more room
// the longer it lasts, the newest change takes the place of the one before it when too many wait. Each
// renegotiation is still judged by itself, in order, and has an answer of its own (§5.7); those whose
// change another has overtaken are told the terms that hold from then on.
type changes struct {
	// Only receive uses these.
	ahead   *handshake.Terms // when all that waits has taken effect
	refused bool             // the subscription is over
	asks    float64          // that are answered still, by when one was last
	asked   time.Time

	pace *budget.Budget // used by hand alone, of which there is one at a time

	next chan *change // holds one: a change whose turn has come, for run

	mu      sync.Mutex // never held while waiting
	waiting []change
	handing bool
}

// ask takes a renegotiation from receive, and never waits.
func (sub *subscription) ask(m *aaep.SubscriptionRenegotiate) {
	q := sub.changes.Load()
	if q == nil { // most never ask for any
		q = &changes{ahead: sub.terms, asks: asksAtOnce, asked: time.Now(), pace: budget.New(changesPerSecond), next: make(chan *change, 1)}
		sub.changes.Store(q)
	}
	if q.refused {
		return // a refusal is the last word
	}
	c := change{answers: 1, terms: q.ahead}
	if c.refusal = q.tooMany(time.Now()); c.refusal == nil {
		c.terms, c.refusal = sub.judge(q.ahead, m)
	}
	declared := m.Capabilities.Extensions
	c.quiet = q.ahead.Quiets(declared) || c.terms.Quiets(declared)
	q.ahead, q.refused = c.terms, c.refusal != nil
	if c.refusal == nil && c.terms.MoreTime != "" {
		c.more = append(c.more, c.terms.MoreTime)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if last := len(q.waiting) - 1; last+1 >= maxChanges && !q.refused {
		c.answers += q.waiting[last].answers
		c.quiet = c.quiet || q.waiting[last].quiet
		c.more = append(q.waiting[last].more, c.more...)
		c.more = c.more[max(0, len(c.more)-maxChanges):]
		q.waiting[last] = c
	} else {
		q.waiting = append(q.waiting, c)
	}
	if !q.handing {
		q.handing = true
		sub.p.loops.Go(sub.hand)
	}
}

// tooMany counts a renegotiation, and refuses the one that is too much: each costs time to judge and has an answer.
func (q *changes) tooMany(now time.Time) *aaep.Rejection {
	q.asks = min(asksAtOnce, q.asks+asksPerSecond*now.Sub(q.asked).Seconds())
	q.asked = now
	if q.asks >= 1 {
		q.asks--
		return nil
	}
	return &aaep.Rejection{Code: aaep.RateLimit, RetryAfter: asksAtOnce / asksPerSecond * time.Second,
		Message: fmt.Sprintf("At most %d changes of the terms a second are answered. Wait, then subscribe with the terms of your choice.", asksPerSecond)}
}

// judge says what comes of a renegotiation.
func (sub *subscription) judge(now *handshake.Terms, m *aaep.SubscriptionRenegotiate) (*handshake.Terms, *aaep.Rejection) {
	if m.SubscriptionID != sub.id {
		return now, &aaep.Rejection{Code: aaep.AuthorizationDenied, Message: "This is not the subscription's own id."}
	}
	terms, err := handshake.Renegotiate(*now, m.Capabilities, sub.offer())
	if err == nil {
		err = tooMuch(m.Capabilities)
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

// hand gives run what waits, as fast as changes may come, and ends when nothing is left.
func (sub *subscription) hand() {
	q := sub.changes.Load()
	for {
		if wait := time.Until(q.pace.Next(time.Now())); wait > 0 {
			select {
			case <-time.After(wait):
			case <-sub.ctx.Done():
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
			sub.wake()
		case <-sub.ctx.Done():
			return
		}
	}
}

// apply puts a change into effect and answers those who asked for it. New terms hold for every event after the
// answer; a refusal ends the subscription (§5.7).
func (sub *subscription) apply(c *change) *aaep.Rejection {
	if c.refusal != nil {
		sub.tell(rejected(c.refusal))
		return &aaep.Rejection{Code: c.refusal.Code} // without a message: the refusal was the last word
	}
	was, terms := sub.terms, c.terms
	accepted, err := sub.accepted(*terms)
	if err != nil {
		return &aaep.Rejection{Code: aaep.ManifestSignatureRequired} // which it was told
	}
	sub.p.putting.Lock() // a question that is being put sees the old terms, and is settled below, or the new ones
	sub.setTerms(terms)
	sub.p.putting.Unlock()
	sub.p.announce(sub)
	sub.p.changed() // it may be less, too
	sub.shaper.SetTerms(time.Now(), *terms)
	if c.quiet {
		sub.shaper.SetQuiet(time.Now().Add(terms.Quiet))
	}
	if was.ConfirmationReply && !terms.ConfirmationReply || was.ClarificationReply && !terms.ClarificationReply {
		sub.p.desk.unable(sub.id, !terms.ConfirmationReply, !terms.ClarificationReply)
	}
	for _, token := range c.more {
		if sub.p.moreTime(sub.id, sub.who(nil), token) && token == terms.MoreTime {
			accepted.HonoredCapabilities = terms.Granted()
		}
	}
	answer, err := aaep.Encode(accepted)
	if err != nil {
		return goneBecause(err)
	}
	if why := sub.answer(answer, c.answers); why != nil {
		return why
	}
	sub.putAnew(was)
	return nil
}

// answer sends the answer to a change of terms, as often as it was asked for. Where a stream is cut meanwhile it comes on the next.
func (sub *subscription) answer(msg []byte, times int) *aaep.Rejection {
	sub.unanswered = nil                                     // what is newer says it all
	ctx, cancel := context.WithTimeout(sub.ctx, sendTimeout) // all have as long as one event has
	defer cancel()
	for range times {
		err := sub.conn.Send(ctx, msg)
		_, again := sub.conn.(transports.Resumable)
		switch {
		case err == nil:
		case sub.ctx.Err() != nil: // it has left, or has to; run knows which
			return nil
		case again:
			sub.unanswered = msg
			return nil
		default:
			return sub.linkBroke(err)
		}
	}
	return nil
}
