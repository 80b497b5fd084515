package producer

import (
	"context"
	"errors"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/budget"
	"github.com/aaep-go/aaep/transports"
)

// manners are what is asked of who replies.
type manners struct {
	replies *budget.Budget
	refused refusals
}

// listen has what the subscriber says heard until the link ends. Where the link says that there is something, nobody waits
// for it.
func (sub *subscription) listen() {
	if link, ok := sub.conn.(transports.Notifier); ok {
		link.Notify(sub.notified)
		return
	}
	sub.p.loops.Go(func() { sub.hear(sub.ctx) })
}

// notified is called when there may be something to hear, or a stream.
func (sub *subscription) notified() {
	if _, ok := sub.conn.(transports.Resumable); ok { // there may be a stream
		sub.news.Store(true)
		sub.wake()
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.deaf {
		return
	}
	if sub.unheard++; sub.unheard == 1 {
		sub.p.loops.Go(sub.hearAll)
	}
}

// atOnce is for those who do not wait.
var atOnce = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// hearAll hears what there is, and what comes meanwhile.
func (sub *subscription) hearAll() {
	for heard := 0; ; {
		sub.mu.Lock()
		if sub.unheard == heard {
			sub.unheard = 0
			sub.mu.Unlock()
			return
		}
		heard = sub.unheard
		sub.mu.Unlock()
		if sub.hear(atOnce); len(sub.lost) > 0 {
			return
		}
	}
}

// hear hears what the subscriber says, until ctx is done or the link ends.
func (sub *subscription) hear(ctx context.Context) {
	err := sub.heed(ctx)
	if ctx == atOnce && err == ctx.Err() {
		return // that was all
	}
	sub.lost <- err
	sub.ctx.End() // a send that this is the end of finds lost filled
	sub.wake()
}

// heed deals with messages until there is an error.
func (sub *subscription) heed(ctx context.Context) error {
	for {
		data, err := sub.conn.Receive(ctx)
		if err != nil {
			return err
		}
		m, err := aaep.Decode(data)
		if err != nil { // one bad message costs one message
			sub.p.cfg.Logger.Debug("message ignored", "subscription_id", sub.id, "error", err)
			continue
		}
		switch m := m.(type) {
		case *aaep.ConfirmationReply, *aaep.ClarificationReply:
			// Who guesses tokens is slowed down, whether they guess right or not, and nobody else.
			if sub.manners == nil {
				sub.manners = &manners{budget.New(repliesPerSecond), refusals{pace: budget.New(refusalsPerSecond)}}
			}
			for !sub.manners.replies.Take(time.Now()) {
				select {
				case <-time.After(time.Until(sub.manners.replies.Next(time.Now()))):
				case <-sub.ctx.Done():
					return sub.ctx.Err()
				}
			}
			sub.reply(m)
		case *aaep.SubscriptionRenegotiate:
			sub.ask(m)
		case *aaep.SubscriptionClose:
			if m.SubscriptionID == sub.id {
				return errLeft
			}
		}
	}
}

// replyHold is how long whoever replied is not heard further while the effect of that is not settled: as long as a POST is
// answered after. Later, since the log does not answer, other replies and a goodbye are heard all the same.
const replyHold = 10 * time.Second

// reply hands in a reply, and returns when its effect is settled, or after replyHold. The sender is never told whether it
// counted (§6.3.4).
func (sub *subscription) reply(m aaep.Message) {
	by, effected := sub.who(nil), sub.p.cfg.Observer.Began(Reply)
	ended := func(err error) {
		if effected(err); err != nil {
			sub.p.cfg.Logger.Warn("reply without effect", "subscription_id", sub.id, "principal", sub.principal, "reason", err)
			sub.p.desk.trail.replied(by, m, err)
		}
	}
	w, err := sub.p.desk.reply(by, m)
	if w == nil {
		if refused := &sub.manners.refused; refused.pace.Take(time.Now()) {
			ended(refused.note(err))
		} else {
			refused.more++
			effected(err)
		}
		return
	}
	hold := time.NewTimer(replyHold)
	defer hold.Stop()
	select {
	case <-w.handed:
		ended(w.lost)
		return
	case <-hold.C:
	case <-sub.p.serving.Done():
	}
	sub.p.desk.claiming.Go(func() { <-w.handed; ended(w.lost) })
}

// How many replies of one subscription are looked at in a second: more than a person has questions.
const (
	repliesPerSecond  = 100
	refusalsPerSecond = 2 // that are recorded one by one
)

var errLeft = errors.New("producer: the subscriber left")
