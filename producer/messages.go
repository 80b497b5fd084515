package producer

import (
	"errors"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/budget"
)

// replyLimits limit how fast one subscription may reply. They belong to the goroutine that
// receives.
type replyLimits struct {
	replies *budget.Budget // replies that are looked at
	refused refusals       // replies without effect
}

// HandleMessage handles a message of the subscriber, for the receiving goroutine of package
// delivery. It returns errLeft when the message closes the subscription. A reply may hold it up:
// for replyHold, and where replies come faster than repliesPerSecond. A message that cannot be read
// is logged.
func (sub *subscription) HandleMessage(data []byte) error {
	m, err := aaep.Decode(data)
	if err != nil { // a message that cannot be read costs only itself
		sub.refuseMalformed(err)
		return nil
	}
	switch m := m.(type) {
	case *aaep.ConfirmationReply, *aaep.ClarificationReply:
		if err := sub.paceReplies(); err != nil {
			return err
		}
		sub.handleReply(m)
	case *aaep.SubscriptionRenegotiate:
		sub.requestChange(m)
	case *aaep.SubscriptionClose:
		if m.SubscriptionID == sub.id {
			return errLeft
		}
	}
	return nil
}

// paceReplies waits until one more reply of the subscription may be looked at. A subscriber that
// guesses tokens is slowed down, whether it guesses right or not; no other one is. The error is
// that of the subscription's context, which has ended. HandleMessage calls it.
func (sub *subscription) paceReplies() error {
	if sub.replyLimits == nil {
		sub.replyLimits = &replyLimits{budget.New(repliesPerSecond), refusals{pace: budget.New(refusalsPerSecond)}}
	}
	for !sub.replyLimits.replies.Take(time.Now()) {
		select {
		case <-time.After(time.Until(sub.replyLimits.replies.Next(time.Now()))):
		case <-sub.Context().Done():
			return sub.Context().Err()
		}
	}
	return nil
}

// refuseMalformed logs a message that cannot be read, and reports it to the Observer as a Reply
// without effect: that is what a subscriber mostly sends. Its sender gets no answer.
func (sub *subscription) refuseMalformed(err error) {
	sub.p.cfg.Observer.Began(Reply)(err)
	if write, left := sub.p.malformed.countWarning(time.Now()); write {
		sub.p.cfg.Logger.Warn("a message cannot be read, and does not count", "subscription_id", sub.id,
			"subscriber_id", sub.subscriberID, "principal", sub.Link.Principal, "peer", sub.Link.Peer,
			"cause", err, "left_out_before", left)
	}
}

// replyHold is how long nothing more is received from a subscriber whose reply has no settled
// effect yet, where the agent is more than one process. A POST is answered after the same time.
// When it is over, the log does not answer, and further replies and the end of the subscription are
// received all the same.
const replyHold = 10 * time.Second

// handleReply hands a reply to the broker. Where the agent is more than one process it returns when
// the effect is settled, or after replyHold; it does not wait for the record. The receiving
// goroutine calls it, holding no lock. The effect is reported to the Observer, and a reply without
// effect also to the log and to the audit log. The sender is never told whether it counted
// (§6.3.4).
func (sub *subscription) handleReply(m aaep.Message) {
	sender, reportEffect := sub.AuditIdentity(nil), sub.p.cfg.Observer.Began(Reply)
	finish := func(err error) {
		if reportEffect(err); err != nil {
			sub.p.cfg.Logger.Warn("reply without effect",
				"subscription_id", sub.id, "principal", sub.Link.Principal, "reason", err)
			sub.p.broker.Log.RecordReply(sender, m, err)
		}
	}
	w, err := sub.p.broker.Reply(sender, m, finish)
	if w == nil {
		if refused := &sub.replyLimits.refused; refused.recording.Load() || !refused.pace.Take(time.Now()) {
			refused.unrecorded++
			reportEffect(err)
		} else {
			refused.recording.Store(true)
			described := refused.describe(err)
			sub.p.recording.Go(func() { // Shutdown waits for it after loops
				finish(described)
				refused.recording.Store(false)
			})
		}
		return
	}
	if sub.p.shared == nil {
		return
	}
	hold := time.NewTimer(replyHold)
	defer hold.Stop()
	select {
	case <-w.Settled:
	case <-hold.C:
	case <-sub.p.serving.Done():
	}
}

const (
	// repliesPerSecond is how many replies of one subscription are looked at in a second: many more
	// than a person gives.
	repliesPerSecond = 100
	// refusalsPerSecond is how many replies without effect are recorded one by one in a second.
	refusalsPerSecond = 2
)

// errLeft is why a subscription ends that the subscriber has closed.
var errLeft = errors.New("producer: the subscriber left")
