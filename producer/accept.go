package producer

import (
	"cmp"
	"context"
	"errors"

	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/transports"
)

// Serve accepts subscribers from l until ctx is done, l is closed or the Producer is shut down, and
// closes l. While Shutdown waits for subscribers it accepts, for requests are answered then too.
// The error is that of ctx where it is done, be it that a shutdown follows or came first; else
// ErrClosed after a shutdown or where l was closed, and else what l says. It may be called for
// several listeners at once.
func (p *Producer) Serve(ctx context.Context, l transports.Listener) error {
	if !p.isMade() {
		return errNotMade
	}
	if err := shield.CheckNil("producer: the Listener", l); err != nil {
		return err
	}
	callerCtx := ctx
	endError := func() error { return cmp.Or(callerCtx.Err(), ErrClosed) }
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.waiting, cancel)()
	stop := func() { _ = p.shield.Call("Listener.Close", l.Close) }
	defer context.AfterFunc(ctx, stop)()
	defer stop()
	for {
		var conn transports.Conn
		err := p.shield.Call("Listener.Accept", func() (err error) { conn, err = l.Accept(ctx); return err })
		switch {
		case err == nil:
		case callerCtx.Err() != nil, p.isClosed(), errors.Is(err, transports.ErrClosed):
			return endError()
		default:
			return err
		}
		if done, open := p.startServing(conn); !open && ctx.Err() != nil {
			<-done
			return endError()
		}
	}
}

// ServeConn serves one subscriber on a link that is there already, such as an end of
// transports.Pipe. It returns when the subscription is over, and closes conn. Once the Producer is
// shut down, a request is told so, and the error is ErrClosed.
func (p *Producer) ServeConn(conn transports.Conn) error {
	if !p.isMade() {
		return errNotMade
	}
	if err := shield.CheckNil("producer: the Conn", conn); err != nil {
		return err
	}
	done, open := p.startServing(conn)
	<-done
	if !open {
		return ErrClosed
	}
	return nil
}

// startServing serves a link on a goroutine of its own, which Shutdown waits for. done is closed
// when the link has been refused or its subscription has ended. open is false if the Producer is
// closed, and the peer is refused. It takes p.mu.
func (p *Producer) startServing(conn transports.Conn) (done <-chan struct{}, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	served := make(chan struct{})
	serve := func() {
		sub := p.acceptSubscription(conn)
		if sub == nil {
			close(served)
			return
		}
		p.links.Add(1)
		sub.over = func() {
			close(served)
			p.links.Done()
		}
		go sub.Serve() // it needs a smaller stack than the answer to the request
	}
	if p.ended { // Shutdown waits for no more links; the caller waits for this one
		go serve()
	} else {
		p.links.Go(serve)
	}
	return served, !p.closed
}

// isClosed reports whether Shutdown has begun. It takes p.mu.
func (p *Producer) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}
