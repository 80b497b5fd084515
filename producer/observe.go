package producer

import (
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/shaper"
)

// Observer is told what an operator's instruments measure. Its methods are called from many
// goroutines at once, without any lock held, on the path of what they measure: they must not wait.
// Module producer/telemetry has one for OpenTelemetry.
type Observer interface {
	// Began is called when something begins, and what it returns when that has ended, with nil or
	// with why it failed. A reply that has no effect failed; its sender is not told (§6.3.4).
	Began(what Operation) (ended func(error))
	// Critical is called when a critical event was handed to the link of one subscription, with the
	// time since the agent said it. What was said before the stream was there is left out.
	Critical(delay time.Duration)
}

// Operation is something that an Observer is told of.
type Operation string

const (
	Subscribe Operation = "subscribe" // from the request's arrival to the answer
	Reply     Operation = "reply"     // from a reply's arrival to its effect
	Resume    Operation = "resume"    // of a stream that broke
)

// unobserved is the Observer that observes nothing.
type unobserved struct{}

// Began returns a function that does nothing.
func (unobserved) Began(Operation) func(error) { return func(error) {} }

// Critical does nothing.
func (unobserved) Critical(time.Duration) {}

// Stats are a producer's counts since it began.
type Stats struct {
	// Produced is how many events the agent has produced; Questions how many are open now;
	// Subscriptions how many are served now, of which Connected are not away.
	Produced, Questions, Subscriptions, Connected int
	// Delivered, Merged and Filtered count events over all subscriptions there have been; Held
	// those that wait now. See SubscriptionStatus.
	Delivered, Merged, Filtered, Held int
	// LogFailed says that Config.Log keeps nothing more, or Config.Follow brings nothing more: see
	// WaitLogFailed. Unrecorded counts the records that Config.Audit could not keep, and
	// LostReplies the replies that would have settled a question and could not be kept for the
	// agent's other processes, so that they do not count.
	LogFailed bool
	// LogAway says that the log does not answer for now, or, with Config.Follow, that the agent or
	// its log cannot be reached: subscribers of another process than the agent's hear nothing new.
	LogAway                 bool
	Unrecorded, LostReplies int
}

// Stats returns the counts as of now; those of a Producer that New did not make are zero.
func (p *Producer) Stats() Stats {
	if !p.isMade() {
		return Stats{}
	}
	p.mu.Lock()
	served := *p.audience.Load()
	all := p.past
	all.Produced, all.Questions, all.Subscriptions = int(p.log.End()-p.began), p.board.Count(), len(served)
	p.mu.Unlock()
	select {
	case <-p.log.Failed():
		all.LogFailed = true
	default:
	}
	all.LogAway = p.log.Overdue() || p.follower.IsAway()
	all.LostReplies = p.sharedClaims.Lost()
	all.Unrecorded = p.broker.Log.Failed()
	for _, sub := range served {
		n, connected := sub.Status()
		all.addSubscription(n)
		if connected {
			all.Connected++
		}
	}
	return all
}

// Ready reports whether it is of use to send subscribers here: the producer was not shut down, and
// with Config.Follow the agent's log can be reached. Where the agent itself is away no other
// process would do better, and subscribers that come hear that from here. An agent whose own log is
// away or failed goes on in memory.
func (p *Producer) Ready() bool {
	if !p.isMade() {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
	}
	return p.follower.HasLog()
}

// addSubscription adds the counts of one subscription to the sum.
func (s *Stats) addSubscription(more shaper.Stats) {
	s.Delivered += more.Delivered
	s.Merged += more.Merged
	s.Filtered += more.Filtered
	s.Held += more.Held
}

// SubscriptionStatus says how one subscription is doing.
type SubscriptionStatus struct {
	SubscriptionID string
	SubscriberID   string
	Terms          aaep.Capabilities
	// Connected is false while a broken stream may still be resumed.
	Connected bool
	// Delivered, Merged, Filtered and Held count the events that were for it. Delivered ones left.
	// Merged ones left inside another event or were superseded by it. Filtered ones were not
	// wanted. Held ones still wait.
	Delivered, Merged, Filtered, Held int
}

// Subscriptions returns how the subscriptions are doing, in the order of their ids.
func (p *Producer) Subscriptions() []SubscriptionStatus {
	if !p.isMade() {
		return nil
	}
	var all []SubscriptionStatus
	for _, sub := range *p.audience.Load() {
		n, connected := sub.Status()
		all = append(all, SubscriptionStatus{SubscriptionID: sub.id, SubscriberID: sub.subscriberID,
			Terms: sub.terms.Load().Capabilities(), Connected: connected,
			Delivered: n.Delivered, Merged: n.Merged, Filtered: n.Filtered, Held: n.Held})
	}
	slices.SortFunc(all, func(a, b SubscriptionStatus) int {
		return strings.Compare(a.SubscriptionID, b.SubscriptionID)
	})
	return all
}
