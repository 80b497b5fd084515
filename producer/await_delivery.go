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
	// stalledAfter is how long a link may take over one write and still count as one that takes
	// data.
	stalledAfter = time.Second
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
	timer := time.NewTimer(never) // set to when the next link counts as stalled
	defer timer.Stop()
	for waiting := true; waiting; {
		moved := p.moved.changed()
		waiting = false
		subs = slices.DeleteFunc(subs, func(sub *subscription) bool { return sub.hasLeft(pos) })
		var look time.Time
		for _, sub := range subs {
			takes, until := sub.takesData(time.Now())
			waiting, look = waiting || takes, earliestTime(look, until)
		}
		parties = slices.DeleteFunc(parties, func(id string) bool {
			there, told, unreached := p.replicaDelivered(id, pos)
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
		if !sub.hasLeft(pos) {
			untold = append(untold, sub.auditIdentity(nil))
		}
	}
	for _, id := range parties {
		who := audit.Subscription{SubscriptionID: id}
		p.mu.Lock()
		if party := p.replicas[id]; party != nil {
			who = party.auditIdentity()
		}
		p.mu.Unlock()
		untold = append(untold, who)
	}
	return untold
}

// hasLeft reports whether the tool call at pos, which does not wait for the rate, has left for the
// subscription. It has Producer.moved broadcast when more has left. Any goroutine may call it.
func (sub *subscription) hasLeft(pos uint64) bool {
	sub.watched.Store(true) // before urgent is read, or a step in between would go unnoticed
	c := &sub.deliveryCursor
	if g := sub.group.Load(); g != nil {
		c = &g.deliveryCursor
		c.watched.Store(true)
	}
	return c.urgent.Load() >= pos
}

// takesData reports whether the link takes what is sent, so that it is worth waiting for. until is
// when a link that is being written to counts as stalled; zero: it is not being written to. Any
// goroutine may call it that does not hold sub.mu.
func (sub *subscription) takesData(now time.Time) (yes bool, until time.Time) {
	sub.mu.Lock()
	connected := sub.connected
	sub.mu.Unlock()
	if !connected || sub.aborted.Load() || sub.behind.Load() {
		return false, until
	}
	if since := sub.sending.Load(); since != 0 {
		until = sub.p.born.Add(time.Duration(since) + stalledAfter)
		return now.Before(until), until
	}
	return true, until
}

// replicaDelivered reports whether the replica with this id is there, whether it is done with the
// tool call at pos, and for which of its subscriptions that has not left. A replica that began
// after the call has nothing to deliver. It takes Producer.mu.
func (p *Producer) replicaDelivered(id string, pos uint64) (there, told bool, untold []audit.Subscription) {
	p.mu.Lock()
	defer p.mu.Unlock()
	party := p.replicas[id]
	if party == nil {
		return false, false, nil
	}
	for _, who := range party.told[pos] {
		who.Node = party.Node
		untold = append(untold, who)
	}
	_, told = party.told[pos]
	return true, told || pos <= party.From, untold
}
