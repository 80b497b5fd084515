// Package faultproxy stands between two ends of a stream and does to their bytes what bad networks
// do: it buffers, delays, splits, joins and cuts them. Everything it does to a connection follows
// from the connection's number and the plan, so a failure can be had again from its seed. It is for
// tests; nothing that users compile imports it.
package faultproxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// End is how a connection ends.
type End int

const (
	Never End = iota // as its two ends wish
	Close            // each side is told that the other has finished
	Reset            // each side is told that the connection is lost
	Stall            // neither side is told anything, and nothing moves any more
)

// Line is what happens to one direction of a connection. The zero Line hands on every byte at once.
type Line struct {
	End   End
	After int           // so many bytes have been handed on in this direction when the connection ends
	Stall time.Duration // a stalled connection is reset after so long; zero is when the Proxy is closed
	// Next says, piece by piece, how long the bytes are left to pile up and how many of them, at
	// most, go on in one write. Nil is at once and 32 KiB.
	Next func() (wait time.Duration, most int)
}

// Plan says what happens to the connection with number n, counted from zero: to what is sent up to
// the target, and to what comes down from it. It is called by one goroutine.
type Plan func(n int) (up, down Line)

// Proxy is a running proxy.
type Proxy struct {
	ln     net.Listener
	dial   func() (net.Conn, error)
	plan   Plan
	closed chan struct{}
	all    sync.WaitGroup

	mu       sync.Mutex
	links    map[*link]bool
	ends     map[End]int
	up, down chan struct{} // closed while that direction is open
}

// lingerTime is how long two ends that were told of a close have to leave.
const lingerTime = time.Second

// New hands on what is accepted from ln to a connection of its own that dial makes. The Proxy
// closes ln.
func New(ln net.Listener, dial func() (net.Conn, error), plan Plan) *Proxy {
	open := make(chan struct{})
	close(open)
	p := &Proxy{ln: ln, dial: dial, plan: plan, closed: make(chan struct{}), links: map[*link]bool{},
		ends: map[End]int{}, up: open, down: open}
	p.all.Go(p.acceptAll)
	return p
}

// Addr is where the Proxy listens.
func (p *Proxy) Addr() net.Addr { return p.ln.Addr() }

// Ends returns how many connections the plan has ended in each way, in a map of the caller's.
func (p *Proxy) Ends() map[End]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	ends := map[End]int{}
	for e, n := range p.ends {
		ends[e] = n
	}
	return ends
}

// Hold lets nothing through in the directions that it is given, up to the target and down from it,
// as a network does that is torn: neither side is told, and connections, new ones too, go on where
// they were when Hold is called with false.
func (p *Proxy) Hold(up, down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for gate, hold := range map[*chan struct{}]bool{&p.up: up, &p.down: down} {
		select {
		case <-*gate:
			if hold {
				*gate = make(chan struct{})
			}
		default:
			if !hold {
				close(*gate)
			}
		}
	}
}

// awaitOpen waits until a direction, which gate is of, is open; it reports false once the link is
// gone.
func (p *Proxy) awaitOpen(l *link, gate *chan struct{}) bool {
	p.mu.Lock()
	open := *gate
	p.mu.Unlock()
	select {
	case <-open:
		return true
	case <-l.gone:
		return false
	}
}

// Cut resets every connection there is.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.resetBoth()
	}
}

// Close ends every connection and waits until nothing of the Proxy is left. A second Close does the
// same.
func (p *Proxy) Close() error {
	p.mu.Lock()
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	for l := range p.links {
		l.closeBoth()
	}
	p.mu.Unlock()
	err := p.ln.Close()
	p.all.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// acceptAll serves each connection, by its number, from 0, until the Proxy is closed. It is a
// goroutine of its own.
func (p *Proxy) acceptAll() {
	for n := 0; ; n++ {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		up, down := p.plan(n)
		p.all.Go(func() { p.serveConn(c, up, down) })
	}
}

// serveConn dials the target for a connection and copies both directions until they have ended.
func (p *Proxy) serveConn(subscriber net.Conn, up, down Line) {
	target, err := p.dial()
	if err != nil {
		subscriber.Close()
		return
	}
	l := &link{a: subscriber, b: target, gone: make(chan struct{}), stalled: make(chan struct{})}
	p.mu.Lock()
	select {
	case <-p.closed:
		l.closeBoth()
	default:
		p.links[l] = true
	}
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.copyDirection(l, subscriber, target, up, &p.up) })
	both.Go(func() { p.copyDirection(l, target, subscriber, down, &p.down) })
	both.Wait()
	l.closeBoth()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// link is one connection through the Proxy.
type link struct {
	a, b    net.Conn
	gone    chan struct{} // closed with both of them
	stalled chan struct{} // closed when nothing is to move any more
	end     sync.Once     // the plan's
	closing sync.Once
}

// closeBoth closes both connections of the link, as a clean end; later calls do nothing.
func (l *link) closeBoth() {
	l.closing.Do(func() {
		close(l.gone)
		l.a.Close()
		l.b.Close()
	})
}

// resetBoth closes both so that each peer sees a loss, where the kind of connection knows the
// difference.
func (l *link) resetBoth() {
	for _, c := range []net.Conn{l.a, l.b} {
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
	}
	l.closeBoth()
}

// closeWrite ends the writing on c; it reports false if that can only be done by closing it.
func closeWrite(c net.Conn) bool {
	half, ok := c.(interface{ CloseWrite() error })
	return ok && half.CloseWrite() == nil
}

// sleepOrGone sleeps for d, or reports false as soon as the link is gone.
func (l *link) sleepOrGone(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.gone:
		return false
	}
}

// copyDirection hands on one direction of a link until its plan, or one of the ends, ends it. While
// gate, that of the direction, is held, nothing passes.
func (p *Proxy) copyDirection(l *link, from, to net.Conn, line Line, gate *chan struct{}) {
	buf := make([]byte, 32<<10)
	for left := line.After; ; {
		if line.End != Never && left == 0 {
			p.endByPlan(l, line)
			return
		}
		wait, most := time.Duration(0), len(buf)
		if line.Next != nil {
			wait, most = line.Next()
		}
		if !l.sleepOrGone(wait) {
			return
		}
		most = min(max(most, 1), len(buf))
		if line.End != Never {
			most = min(most, left)
		}
		n, err := from.Read(buf[:most])
		select {
		case <-l.stalled: // the other direction's doing
			<-l.gone
			return
		default:
		}
		if !p.awaitOpen(l, gate) {
			return
		}
		if n > 0 {
			left -= n
			if _, err := to.Write(buf[:n]); err != nil {
				l.resetBoth()
				return
			}
		}
		switch {
		case err == nil:
		case err == io.EOF && closeWrite(to): // the other half goes on
			return
		case err == io.EOF:
			l.closeBoth()
			return
		default:
			l.resetBoth()
			return
		}
	}
}

// endByPlan ends the link as the line says: closed, reset or stalled. Where the other direction has
// ended it, nothing is done.
func (p *Proxy) endByPlan(l *link, line Line) {
	l.end.Do(func() {
		if line.End == Stall {
			close(l.stalled)
		}
		p.mu.Lock()
		p.ends[line.End]++
		p.mu.Unlock()
		switch line.End {
		case Close:
			if closeWrite(l.a) && closeWrite(l.b) { // and whatever they still say is read, or they would see a loss
				var both sync.WaitGroup
				stop := time.AfterFunc(lingerTime, l.closeBoth)
				both.Go(func() { io.Copy(io.Discard, l.a) })
				both.Go(func() { io.Copy(io.Discard, l.b) })
				both.Wait()
				stop.Stop()
			}
			l.closeBoth()
		case Reset:
			l.resetBoth()
		case Stall:
			if line.Stall > 0 {
				l.sleepOrGone(line.Stall)
				l.resetBoth()
			} else {
				<-l.gone
			}
		}
	})
}
