package producer

import (
	"context"
	"time"

	"github.com/aaep-go/aaep"
)

// append adds an event to the log and wakes those who are told.
func (p *Producer) append(ev *aaep.Event) uint64 {
	pos := p.log.Append(ev)
	for was := p.newest.Load(); was < pos && !p.newest.CompareAndSwap(was, pos); was = p.newest.Load() {
	}
	for _, sub := range *p.audience.Load() {
		sub.wake()
	}
	return pos
}

// waitLeft waits until the event at pos has left on every live subscription, ctx is done, or limit is over; a zero
// limit is none (D-49). Who came after it and is told all of the session first (Config.FromStart) is not waited for.
func (p *Producer) waitLeft(ctx context.Context, pos uint64, limit time.Duration) error {
	var timeout <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		timeout = t.C
	}
	for {
		p.mu.Lock()
		moved, left := p.moved, true
		for _, sub := range p.subs {
			if sub.replayed >= pos {
				continue
			}
			watched := sub.watched.Swap(true) // before the look, or the step in between would wake nobody
			if sub.left.Load() < pos {
				if left = false; !watched {
					sub.wake()
				}
			}
		}
		p.mu.Unlock()
		if left {
			return nil
		}
		select {
		case <-moved:
		case <-timeout:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wake tells those in waitLeft to look again.
func (p *Producer) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.moved)
	p.moved = make(chan struct{})
}
