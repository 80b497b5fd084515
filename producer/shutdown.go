package producer

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
)

const (
	// closeTimeout is how long a message to a subscriber that is not an event may take.
	closeTimeout = 2 * time.Second
	// abortTimeout is how long the last message may take when Shutdown waits no longer.
	abortTimeout = 50 * time.Millisecond
)

// closing is how far Shutdown has come. Each of its contexts ends once:
//
//	serving   when the sessions have ended: subscriptions send what is left, and end
//	waiting   when no subscription is served any more: requests are no longer waited for
//	claims    when nothing is left to be settled with other processes
//	aborted   at any time, when a caller of Shutdown waits no longer; ends waiting and claims too
type closing struct {
	serving, waiting, claims, aborted context.Context
	drain, leave, noClaims            context.CancelFunc      // end serving, waiting and claims
	abort                             context.CancelCauseFunc // ends aborted

	done      chan struct{}  // closed when Shutdown has ended
	loops     sync.WaitGroup // subscriptions, and the goroutines that receive for them
	links     sync.WaitGroup // links that are served, and groups
	recording sync.WaitGroup // records that are being written; see beginRecord
}

// newClosing returns the state of a Producer that is not shut down. New calls it.
func newClosing() *closing {
	c := &closing{done: make(chan struct{})}
	c.serving, c.drain = context.WithCancel(context.Background())
	c.aborted, c.abort = context.WithCancelCause(context.Background())
	c.waiting, c.leave = context.WithCancel(c.aborted)
	c.claims, c.noClaims = context.WithCancel(c.aborted)
	return c
}

// Shutdown ends every session as cancelled by the system, or as Session.Failing said, lets each
// subscriber have what it is owed at its own rate, closes the subscriptions and waits for all that.
// Open questions are withdrawn: nothing runs because of a shutdown.
//
// A subscriber whose event stream is cut, as over SSE, and that is owed something is waited for as
// long as Config.Grace lasts for it since the cut; one whose link is the subscription, as over
// WebSocket, is not. It may also subscribe anew under its id and go on after an event that it has
// had. Any other peer that asks for a subscription meanwhile is told that it is too late.
//
// At a low rate that may take minutes, and longer for a subscriber that went on from long ago. When
// ctx is done Shutdown waits no longer: a subscriber that is behind is told that it was not told
// all, and the error is ctx's. With a log on disk it can go on at the next start; a Config.Log that
// does not answer is given four seconds in any case, and each of Config.Audit, Config.Admit and
// Config.Extensions that does not return two.
//
// A program that catches Ctrl-C does so once, or its user cannot end that wait:
// "context.AfterFunc(ctx, stop)" with what signal.NotifyContext returned.
//
// Called again, it waits for the same, the most impatient caller's ctx counts, and the error is
// ErrClosed.
func (p *Producer) Shutdown(ctx context.Context) error {
	if !p.isMade() {
		return errNotMade
	}
	defer context.AfterFunc(ctx, func() { p.abort(ctx.Err()) })()
	sessions, first := p.beginShutdown()
	if !first {
		<-p.done
		return ErrClosed
	}
	if !p.isReplica() { // the sessions of a replica are the agent's, and go on
		for _, s := range sessions {
			s.endUnfinished(aaep.CancelledBySystem)
		}
	}
	err := p.endSubscriptions()
	p.leave()
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	linksErr := p.waitToReturn("a link does not end: Config.Admit or Extension.Honor may not return", p.links.Wait)
	recordsErr := p.finishRecords()
	err = cmp.Or(err, linksErr, recordsErr)
	p.closeLog()
	close(p.done)
	return err
}

// beginShutdown marks the Producer as closed, so that no session, subscription or record begins any
// more, and returns the sessions that are under way. first is false where an earlier call of
// Shutdown has done that. It takes p.mu.
func (p *Producer) beginShutdown() (sessions []*Session, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, p.closed = !p.closed, true
	return slices.Clone(p.sessions), first
}

// endSubscriptions has every subscription send what is left and end, and returns when all have
// ended. Once a caller of Shutdown waits no longer it aborts them, and the error is that caller's.
// Shutdown calls it, after the last event was emitted.
func (p *Producer) endSubscriptions() (err error) {
	stop := context.AfterFunc(p.aborted, func() {
		for _, sub := range *p.audience.Load() {
			sub.Abort()
		}
	})
	err = p.waitToReturn("a subscription does not end: a function of Config.Extensions may not return", func() {
		p.log.Flush() // subscriptions end at the end of the log, so all events have to be readable
		p.drain()
		for _, sub := range *p.audience.Load() {
			sub.Wake()
		}
		p.loops.Wait()
	})
	if wasAborted := !stop(); wasAborted {
		err = context.Cause(p.aborted)
	}
	return err
}

// finishRecords waits for the records that are being written and closes the broker, which may have
// others written. The error is that of waitToReturn.
func (p *Producer) finishRecords() error {
	defer p.noClaims()
	return p.waitToReturn("Config.Audit does not return: what it was given last may not be on record", func() {
		p.recording.Wait()
		p.follower.Report()                                    // that there are no subscriptions here now
		claimTimer := time.AfterFunc(closeTimeout, p.noClaims) // the other processes may not answer
		p.broker.Close()
		claimTimer.Stop()
	})
}

// waitToReturn calls wait and returns when that does. Once a caller of Shutdown waits no longer, it
// gives wait closeTimeout more; then it logs problem, which says what does not end and why that may
// be, and returns that caller's error.
func (p *Producer) waitToReturn(problem string, wait func()) error {
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		wait()
	}()
	select {
	case <-returned:
		return nil
	case <-p.aborted.Done():
	}
	select {
	case <-returned:
		return nil
	case <-time.After(closeTimeout):
		p.cfg.Logger.Error(problem)
		return context.Cause(p.aborted)
	}
}

// beginRecord counts a record that is about to be written, so that Shutdown waits for it until
// recording.Done is called. It reports false if Shutdown has begun; then nothing is counted. It
// takes p.mu.
func (p *Producer) beginRecord() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.recording.Add(1)
	}
	return !p.closed
}

// Done returns a channel that is closed when Shutdown has ended, and for a Producer that New did
// not make.
func (p *Producer) Done() <-chan struct{} {
	if !p.isMade() {
		return over.Done()
	}
	return p.done
}
