package producer

import (
	"context"
	"errors"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/budget"
)

// replyLimits limit how fast one subscription may reply. They belong to the goroutine that receives.
type replyLimits struct {
	replies *budget.Budget // replies that are looked at
	refused refusals       // replies without effect
}

// startReceiving begins to receive what the subscriber sends, until the link ends. A link that notifies
// needs no goroutine while there is nothing to receive; for any other, this starts one.
// serveSubscription calls it once.
func (sub *subscription) startReceiving() {
	if sub.link.notifier != nil {
		if err := sub.link.notify(sub.onNotify); err != nil {
			sub.lost <- err
		}
		return
	}
	sub.p.loops.Go(func() { sub.handleUntilDone(sub.ctx) })
}

// onNotify is called by the link, on any goroutine, when there may be a message or a new stream. It
// does not wait. Where no goroutine receives at the moment, it starts one, drainMessages.
func (sub *subscription) onNotify() {
	if sub.link.canResume() {
		sub.news.Store(true)
		sub.wake()
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.messagesEnded {
		return
	}
	if sub.notifications++; sub.notifications == 1 {
		sub.p.loops.Go(sub.drainMessages)
	}
}

// atOnce is a context that is done: a call with it does not wait.
var atOnce = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// drainMessages handles the messages that the link has, and those that arrive meanwhile. It is a
// goroutine that onNotify starts, at most one a subscription; it ends when the link has nothing
// more.
func (sub *subscription) drainMessages() {
	for heard := 0; ; {
		sub.mu.Lock()
		if sub.notifications == heard {
			sub.notifications = 0
			sub.mu.Unlock()
			return
		}
		heard = sub.notifications
		sub.mu.Unlock()
		if sub.handleUntilDone(atOnce); len(sub.lost) > 0 {
			return
		}
	}
}

// handleUntilDone handles messages until ctx is done or the link ends. In the second case it tells the owner
// of the subscription why, and ends a send that is under way. Only the receiving goroutine calls
// it.
func (sub *subscription) handleUntilDone(ctx context.Context) {
	err := sub.handleMessages(ctx)
	if ctx == atOnce && err == ctx.Err() {
		return // the link has no more messages for now
	}
	sub.lost <- err
	sub.ctx.End() // after lost is filled, so that a send that this ends finds the reason there
	sub.wake()
}

// handleMessages receives messages and handles each, until there is an error, which it returns. It returns
// errLeft when the subscriber closes the subscription. A reply may hold it up; see replyHold.
func (sub *subscription) handleMessages(ctx context.Context) error {
	for {
		data, err := sub.link.receive(ctx)
		if err != nil {
			return err
		}
		m, err := aaep.Decode(data)
		if err != nil { // a message that cannot be read costs only itself
			sub.p.cfg.Logger.Debug("message ignored", "subscription_id", sub.id, "error", err)
			continue
		}
		switch m := m.(type) {
		case *aaep.ConfirmationReply, *aaep.ClarificationReply:
			// A subscriber that guesses tokens is slowed down, whether it guesses right or not. No
			// other one is.
			if sub.replyLimits == nil {
				sub.replyLimits = &replyLimits{budget.New(repliesPerSecond), refusals{pace: budget.New(refusalsPerSecond)}}
			}
			for !sub.replyLimits.replies.Take(time.Now()) {
				select {
				case <-time.After(time.Until(sub.replyLimits.replies.Next(time.Now()))):
				case <-sub.ctx.Done():
					return sub.ctx.Err()
				}
			}
			sub.handleReply(m)
		case *aaep.SubscriptionRenegotiate:
			sub.requestChange(m)
		case *aaep.SubscriptionClose:
			if m.SubscriptionID == sub.id {
				return errLeft
			}
		}
	}
}

// replyHold is how long nothing more is received from a subscriber whose reply has no settled
// effect yet, where the agent is more than one process. A POST is answered after the same time.
// When it is over, the log does not answer, and further replies and the end of the subscription are
// received all the same.
const replyHold = 10 * time.Second

// handleReply hands a reply to the broker. Where the agent is more than one process it returns when the
// effect is settled, or after replyHold; it does not wait for the record. The receiving goroutine
// calls it, holding no lock. The effect is reported to the Observer, and a reply without effect
// also to the log and to the audit log. The sender is never told whether it counted (§6.3.4).
func (sub *subscription) handleReply(m aaep.Message) {
	by, effected := sub.auditIdentity(nil), sub.p.cfg.Observer.Began(Reply)
	ended := func(err error) {
		if effected(err); err != nil {
			sub.p.cfg.Logger.Warn("reply without effect", "subscription_id", sub.id, "principal", sub.link.principal, "reason", err)
			sub.p.broker.Log.RecordReply(by, m, err)
		}
	}
	w, err := sub.p.broker.Reply(by, m, ended)
	if w == nil {
		if refused := &sub.replyLimits.refused; refused.recording.Load() || !refused.pace.Take(time.Now()) {
			refused.more++
			effected(err)
		} else {
			refused.recording.Store(true)
			why := refused.describe(err)
			sub.p.recording.Go(func() { // Shutdown waits for it after loops
				ended(why)
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
