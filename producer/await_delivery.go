package producer

import (
	"context"
	"slices"
	"time"

	"github.com/aaep-go/aaep/internal/questions"
	"github.com/aaep-go/aaep/producer/audit"
)

// maxDeliveryWait is how long, at most, an accepted tool call waits until its event has left for
// the subscriptions that were asked about it. A user who accepted an action is to hear of it before
// it has an effect, but one slow link must not hold up every action (D-49).
const maxDeliveryWait = 2 * time.Second

// awaitAskedDelivery waits until the tool call at pos has left for the subscriptions and replicas
// that were asked about it; see awaitDelivery. invokeTool calls it on the agent's goroutine,
// holding no lock.
func (p *Producer) awaitAskedDelivery(ctx context.Context, pos uint64, asked *questions.Pending) (
	untold []audit.Subscription) {
	recipients, replicas := p.board.AskedRecipients(asked)
	var subs []*subscription
	for _, r := range recipients {
		subs = append(subs, r.Subscription.(*subscription)) // every Recipient is of one; see acceptSubscription
	}
	return p.awaitDelivery(ctx, pos, subs, replicas)
}

// awaitDelivery waits until the tool call at pos has left for the subscriptions and replicas, and
// returns those for which it has not. It waits until ctx is done or maxDeliveryWait has passed, and
// not for a subscription that has no stream, has ended, is still sent what was before it, or whose
// link takes nothing, nor for a replica that has gone. It changes both lists. invokeTool calls it
// through awaitAskedDelivery, and at a replica reportDelivered does; the caller holds no lock.
func (p *Producer) awaitDelivery(ctx context.Context, pos uint64, subs []*subscription, replicas []string) (
	untold []audit.Subscription) {
	ctx, cancel := context.WithTimeout(ctx, maxDeliveryWait)
	defer cancel()
	stalled := time.NewTimer(time.Hour) // set to when the next link counts as stalled
	defer stalled.Stop()
waiting:
	for {
		moved := p.delivery.Moved.Changed()
		subs = slices.DeleteFunc(subs, func(sub *subscription) bool { return sub.HasLeft(pos) })
		anyTakes, nextStall := findTakingLinks(subs)
		anyAwaited := false // of the replicas
		replicas = slices.DeleteFunc(replicas, func(id string) bool {
			present, delivered, unreached := p.leader.HasDelivered(id, pos)
			anyAwaited = anyAwaited || present && !delivered
			untold = append(untold, unreached...)
			return delivered
		})
		if !anyTakes && !anyAwaited {
			break
		}
		if !nextStall.IsZero() {
			stalled.Reset(time.Until(nextStall))
		}
		select {
		case <-moved:
		case <-stalled.C:
		case <-ctx.Done():
			break waiting
		}
	}
	for _, sub := range subs {
		if !sub.HasLeft(pos) {
			untold = append(untold, sub.AuditIdentity(nil))
		}
	}
	for _, id := range replicas {
		untold = append(untold, p.leader.Identify(id))
	}
	return untold
}

// findTakingLinks reports whether the link of any subscription takes data, and when the first of
// them counts as stalled if nothing leaves; zero if none does.
func findTakingLinks(subs []*subscription) (anyTakes bool, nextStall time.Time) {
	for _, sub := range subs {
		takes, until := sub.TakesData(time.Now())
		anyTakes = anyTakes || takes
		if nextStall.IsZero() || !until.IsZero() && until.Before(nextStall) {
			nextStall = until
		}
	}
	return anyTakes, nextStall
}
