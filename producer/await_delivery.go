package producer

import (
	"context"
	"slices"
	"time"

	"github.com/aaep-go/aaep/producer/audit"
)

const (
	// toldTime is how long, at most, an accepted tool call waits until it has left for those that
	// were asked about it. A user who accepted an action is to hear of it before it has an effect,
	// but one slow link must not hold up every action (D-49).
	toldTime = 2 * time.Second
)

// awaitDelivery waits until the tool call at pos has left for the subscriptions and replicas that
// were asked about it, and returns those for which it has not. It waits until ctx is done or
// toldTime has passed, and not for a subscription that has no stream, has ended, is still sent what
// was before it, or whose link takes nothing, nor for a replica that has gone. invokeTool calls it
// on the agent's goroutine, and reportDelivered at a replica, with that replica's subscriptions;
// both hold no lock.
func (p *Producer) awaitDelivery(ctx context.Context, pos uint64, asked *pendingQuestion) (
	untold []audit.Subscription) {
	p.mu.Lock()
	subs, parties := slices.Clone(asked.subs), slices.Clone(asked.replicas)
	p.mu.Unlock()
	late := time.NewTimer(toldTime)
	defer late.Stop()
	timer := time.NewTimer(time.Hour) // set to when the next link counts as stalled
	defer timer.Stop()
	for waiting := true; waiting; {
		moved := p.delivery.Moved.Changed()
		waiting = false
		subs = slices.DeleteFunc(subs, func(sub *subscription) bool { return sub.HasLeft(pos) })
		var look time.Time
		for _, sub := range subs {
			takes, until := sub.TakesData(time.Now())
			waiting = waiting || takes
			if look.IsZero() || !until.IsZero() && until.Before(look) {
				look = until
			}
		}
		parties = slices.DeleteFunc(parties, func(id string) bool {
			there, told, unreached := p.leader.HasDelivered(id, pos)
			waiting = waiting || there && !told
			untold = append(untold, unreached...)
			return told
		})
		if !waiting {
			break
		}
		if !look.IsZero() {
			timer.Reset(time.Until(look))
		}
		select {
		case <-moved:
		case <-timer.C:
		case <-late.C:
			waiting = false
		case <-ctx.Done():
			waiting = false
		}
	}
	for _, sub := range subs {
		if !sub.HasLeft(pos) {
			untold = append(untold, sub.auditIdentity(nil))
		}
	}
	for _, id := range parties {
		untold = append(untold, p.leader.Identify(id))
	}
	return untold
}
