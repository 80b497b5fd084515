package producer

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
)

const (
	lastChance   = 2 * time.Second       // without a stream, during a shutdown
	closeTimeout = 2 * time.Second       // for the last words to a subscriber
	hurryTimeout = 50 * time.Millisecond // for them when Shutdown waits no longer
)

// A closing is how far Shutdown has come. Each of its contexts ends once:
//
//	serving   when the sessions have ended: subscriptions drain
//	waiting   when nobody is served any more: requests are no longer waited for
//	claims    when nothing is left to be settled with other processes
//	hurried   at any time, when a caller of Shutdown waits no longer; waiting and claims end with it
type closing struct {
	serving, waiting, claims, hurried context.Context
	drain, leave, noClaims            context.CancelFunc
	hurry                             context.CancelCauseFunc

	done   chan struct{}  // closed when Shutdown has ended
	loops  sync.WaitGroup // the subscriptions
	guests sync.WaitGroup // and those who have not been answered yet
}

func newClosing() *closing {
	c := &closing{done: make(chan struct{})}
	c.serving, c.drain = context.WithCancel(context.Background())
	c.hurried, c.hurry = context.WithCancelCause(context.Background())
	c.waiting, c.leave = context.WithCancel(c.hurried)
	c.claims, c.noClaims = context.WithCancel(c.hurried)
	return c
}

// Shutdown ends every session as cancelled by the system, or as Session.Failing said, lets each subscriber have what it is owed at
// its own rate, closes the subscriptions and waits for all that. Open questions are withdrawn: nothing
// runs because of a shutdown. Who asks for a subscription meanwhile is told that it is too late.
//
// At a low rate that may take minutes, and longer for whoever went on from long ago. When ctx is done Shutdown waits no longer:
// whoever is behind is told that it was not told all, and the error is ctx's. With a log on disk they can go on at the next start; a
// Config.Log that does not answer is given four seconds in any case.
//
// A program that catches Ctrl-C does so once, or its user cannot end that wait: "context.AfterFunc(ctx, stop)" with what
// signal.NotifyContext returned.
//
// Called again, it waits for the same, the most impatient caller's ctx counts, and the error is ErrClosed.
func (p *Producer) Shutdown(ctx context.Context) error {
	if !p.made() {
		return errNotMade
	}
	defer context.AfterFunc(ctx, func() { p.hurry(ctx.Err()) })()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		<-p.done
		return ErrClosed
	}
	p.closed = true
	sessions := slices.Clone(p.sessions)
	p.mu.Unlock()
	for _, s := range sessions {
		if p.cfg.Follow != nil {
			break // they are the agent's
		}
		s.abandon(aaep.CancelledBySystem)
	}
	done := make(chan struct{})
	go func() {
		p.log.Flush() // so that nobody is sent away before what is still being kept
		p.drain()
		for _, sub := range *p.audience.Load() {
			sub.wake()
		}
		p.loops.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-p.hurried.Done():
		err = context.Cause(p.hurried)
		for _, sub := range *p.audience.Load() {
			sub.hangUp()
		}
		<-done
	}
	p.leave()
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.guests.Wait()
	p.announce(nil)                                  // that nobody is here any more
	late := time.AfterFunc(closeTimeout, p.noClaims) // there may be nobody who answers
	p.desk.close()
	late.Stop()
	p.noClaims()
	p.closeLog()
	close(p.done)
	return err
}

// Done returns a channel that is closed when Shutdown has ended.
func (p *Producer) Done() <-chan struct{} { return p.done }
