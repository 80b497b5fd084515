package producer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// Serve accepts subscribers from l until ctx is done, l is closed or the Producer is shut down, and closes l. The error is ErrClosed
// after a shutdown and where l was closed, else what l says. It may be called for several listeners at once.
func (p *Producer) Serve(ctx context.Context, l transports.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.serving, cancel)()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	defer l.Close()
	for {
		conn, err := l.Accept(ctx)
		switch {
		case err == nil:
		case p.isClosed() || errors.Is(err, transports.ErrClosed):
			return ErrClosed
		default:
			return err
		}
		if done, open := p.answer(conn); !open {
			<-done
			return ErrClosed
		}
	}
}

// ServeConn serves one subscriber on a link that is there already, such as an end of
// transports.Pipe. It returns when the subscription is over, and closes conn. Once the Producer is shut
// down, a request is told so, and the error is ErrClosed.
func (p *Producer) ServeConn(conn transports.Conn) error {
	done, open := p.answer(conn)
	<-done
	if !open {
		return ErrClosed
	}
	return nil
}

// answer answers whoever comes on a link, in a goroutine that Shutdown waits for. It reports false if the
// Producer is closed: then the answer is no.
func (p *Producer) answer(conn transports.Conn) (done <-chan struct{}, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	served := make(chan struct{})
	serve := func() {
		sub := p.subscribe(conn)
		if sub == nil {
			close(served)
			return
		}
		p.guests.Add(1)
		sub.over = func() {
			close(served)
			p.guests.Done()
		}
		go sub.serve() // which needs a smaller stack than the answer
	}
	if p.ended { // the caller waits
		go serve()
	} else {
		p.guests.Go(serve)
	}
	return served, !p.closed
}

func (p *Producer) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Shutdown ends every session as cancelled by the system, or as Session.Failing said, lets each subscriber have what it is owed at
// its own rate, closes the subscriptions and waits for all that. Open questions are withdrawn: nothing
// runs because of a shutdown. Who asks for a subscription meanwhile is told that it is too late.
//
// At a low rate that may take minutes, and longer for whoever went on from long ago. When ctx is done Shutdown waits no longer:
// whoever is behind is told that it was not told all, and the error is ctx's. With a log on disk they can go on at the next start; a
// Config.Log that does not answer is given four seconds in any case.
//
// Called again, it waits for the same, the most impatient caller's ctx counts, and the error is ErrClosed.
func (p *Producer) Shutdown(ctx context.Context) error {
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
		p.leave()
		p.noClaims() // which replies wait for
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
