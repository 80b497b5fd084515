package delivery

import "context"

// startReceiving begins to receive what the subscriber sends, until the link ends. A link that
// notifies needs no goroutine while there is nothing to receive; for any other, this starts one. A
// link that panics counts as lost. Serve calls it once.
func (sub *Subscription) startReceiving() {
	if sub.Link.notifier != nil {
		if err := sub.Link.callOnNews(sub.onNotify); err != nil {
			sub.lost <- err
		}
		return
	}
	sub.d.Receivers.Go(func() { sub.receiveUntilDone(sub.ctx) })
}

// onNotify is called by the link, on any goroutine, when there may be a message or a new stream. It
// does not wait. It wakes the owner for a stream and, unless StopReceiving was called, counts the
// notification, for which it starts drainMessages where that does not run.
func (sub *Subscription) onNotify() {
	if sub.Link.canResume() {
		sub.news.Store(true)
		sub.Wake()
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.messagesEnded {
		return
	}
	if sub.notifications++; sub.notifications == 1 {
		sub.d.Receivers.Go(sub.drainMessages)
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
// more or has ended. After the end notifications stays above zero, so that no other one starts.
func (sub *Subscription) drainMessages() {
	for handled := 0; ; {
		sub.mu.Lock()
		if sub.notifications == handled {
			sub.notifications = 0
			sub.mu.Unlock()
			return
		}
		handled = sub.notifications
		sub.mu.Unlock()
		if sub.receiveUntilDone(atOnce); len(sub.lost) > 0 {
			return
		}
	}
}

// receiveUntilDone hands messages to the Subscriber until the link ends, ctx is done, or the
// Subscriber returns an error. It hands the reason to the owner of the subscription, through lost,
// and ends a send that is under way. Where ctx is atOnce, it returns without that when the link has
// no more messages. Only the receiving goroutine calls it.
func (sub *Subscription) receiveUntilDone(ctx context.Context) {
	err := sub.receiveMessages(ctx)
	if ctx == atOnce && err == ctx.Err() {
		return // the link has no more messages for now
	}
	sub.lost <- err
	sub.ctx.End() // after lost is filled, so that a send that this ends finds the reason there
	sub.Wake()
}

// receiveMessages receives messages and hands each to the Subscriber, until there is an error,
// which it returns.
func (sub *Subscription) receiveMessages(ctx context.Context) error {
	for {
		data, err := sub.Link.Receive(ctx)
		if err == nil {
			err = sub.subscriber.HandleMessage(data)
		}
		if err != nil {
			return err
		}
	}
}

// StopReceiving has no goroutine started any more when the link notifies. One that receives already
// goes on. It is called when the subscription has ended.
func (sub *Subscription) StopReceiving() {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.messagesEnded = true
}
