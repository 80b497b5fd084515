package producer

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/transports"
)

// A course is a cursor into the log and a Shaper: what one listener hears, or several who hear the same.
type course struct {
	p        *Producer
	terms    *handshake.Terms // changed with the subscription's mu held
	shaper   *coalesce.Shaper
	cursor   uint64          // the newest entry the shaper has had
	replayed uint64          // up to here the log tells what was before the subscription
	goesOn   bool            // it begins where another subscription ended
	skip     int             // bytes of the next entry that the subscriber had before
	early    map[uint64]bool // questions that were put before their turn in the log
	noticed  uint64          // notices that the shaper has had
	passed   int             // events that left in front of the critical one that is next in the log
	ahead    []*aaep.Event   // what comes next in the log, where that has been read already
	hurries  bool            // nothing is waited for, not even a disk

	left    atomic.Uint64 // every event that is not output, up to here, has left
	watched atomic.Bool   // somebody waits for left to grow
	behind  atomic.Bool   // it goes on where another ended, and is not yet where it began itself

	counting sync.Mutex
	stats    coalesce.Stats
}

// fill hands the shaper everything the log has, so that what is critical need not wait for what is held; but
// no more than most that could be sent at once, where nothing is held.
//
// The shaper lets a critical event overtake all others. Those that may leave now keep their place in front of
// it all the same, a few at most, so that nobody is asked something before the session has begun.
func (c *course) fill(now time.Time, most int) error {
	c.notice(now)
	for c.cursor < c.p.log.End() {
		room := most - c.shaper.Ready(now)
		if c.cursor < c.replayed {
			if !c.shaper.Idle() && c.shaper.Stats().Held >= maxHistory { // text that waits for its end ends further on
				c.askEarly()
				return nil
			}
			room = min(room, int(c.replayed-c.cursor))
		}
		if room <= 0 {
			return nil
		}
		events, err := c.read(room)
		if err != nil {
			return slow("the events it has not seen are no longer kept")
		}
		if len(events) == 0 {
			return nil
		}
		for _, ev := range events {
			if ev.Critical() {
				if c.shaper.Ready(now) > 0 && c.passed < mayPass {
					c.passed++
					return nil
				}
				c.passed = 0
			} else if c.shaper.Ready(now) >= most { // one event may make hundreds for a small display
				return nil
			}
			c.cursor++
			c.ahead = c.ahead[min(1, len(c.ahead)):]
			// What a process before this one asked is put to nobody any more, wherever they go on.
			past := c.cursor <= c.replayed && (!c.goesOn || c.cursor <= max(c.p.began, c.p.log.Began()))
			if past && c.p.stale(ev) || c.early[c.cursor] {
				delete(c.early, c.cursor)
				continue
			}
			c.shaper.Push(now, coalesce.Entry{Pos: c.cursor, Event: ev, Skip: c.skip})
			c.skip = 0
		}
	}
	return nil
}

// read returns at most n events after the cursor; none where it would have to wait for them and must not.
func (c *course) read(n int) (events []*aaep.Event, err error) {
	switch {
	case len(c.ahead) > 0:
		return c.ahead[:min(n, len(c.ahead))], nil
	case c.hurries && !c.p.log.InMemory(c.cursor):
		return nil, nil
	}
	events, _, err = c.p.log.Read(c.cursor, n)
	return events, err
}

const (
	readAhead = 64 // events may wait for a link that is slower than the subscription's rate
	few       = 8  // need not wait until others have sent what they have
)

// mayPass is how many events may leave in front of a critical one.
const mayPass = 16

// A batch is what leaves at once: no more than is due, and on a slow link one event, since what is critical must not wait
// behind many.
type batch struct {
	events    []transports.Event
	critical  []*aaep.Event
	resumable bool // one of them is
}

var batches = sync.Pool{New: func() any { return new(batch) }}

const (
	maxBatch = 32 << 10              // bytes, or one event
	prompt   = 50 * time.Millisecond // is how long a batch takes, at most, on a link that is not slow
)

// A crowd lets as many at a time prepare long batches as there are processors to do so, and all others first: Go runs whoever
// is ready in turn, and what is critical to one listener would wait behind all that others have to be told.
type crowd chan struct{}

var longBatches = make(crowd, runtime.GOMAXPROCS(0)) // of all producers, for they share the processors

// enter waits for the turn of a long batch, which leave ends. Nothing may be waited for before that.
func (c crowd) enter() {
	c <- struct{}{}
	runtime.Gosched() // behind whoever is ready
}

func (c crowd) leave() { <-c }

// advance reads on and sends what is due. If nothing is, it says when something will be; the zero time is after the next
// event. An error that is an *aaep.Rejection ends the subscription, every other the stream.
func (sub *subscription) advance(stream transports.Stream) (sent bool, next time.Time, err error) {
	b := sub.owed // by the group that it has left
	if sub.owed = nil; b == nil {
		b = batches.Get().(*batch)
		defer b.free()
		_, plain := stream.(plainStream)
		if sent, next, err = sub.load(b, time.Now(), sub.many && !sub.slow, plain); err != nil || len(b.events) == 0 {
			return sent, next, err
		}
	}
	began := time.Now()
	if err := stream.SendEvents(sub.ctx, b.events); err != nil {
		return true, next, err
	}
	for _, ev := range b.critical {
		if delay, ok := sub.delay(ev); ok {
			sub.p.cfg.Observer.Critical(delay)
		}
	}
	sub.resumed = sub.resumed || b.resumable
	left := time.Now()
	sub.shaper.Left(left.Add(jitterGuard))
	sub.slow = left.Sub(began) > prompt
	return true, next, nil
}

func (b *batch) free() {
	clear(b.events)
	clear(b.critical)
	*b = batch{events: b.events[:0], critical: b.critical[:0]}
	batches.Put(b)
}

// load takes what is due into b, and reports whether something was. If nothing was, it says when something will be. Batched, it
// takes many; on a plain link, events say themselves whether one can go on after them.
func (c *course) load(b *batch, now time.Time, batched, plain bool) (due bool, next time.Time, err error) {
	most := readAhead
	if batched {
		most = few
	}
	if err := c.fill(now, most); err != nil {
		return false, next, err
	}
	if batched && c.shaper.Ready(now) >= few {
		if !c.p.log.InMemory(c.cursor) {
			c.ahead, _ = c.read(readAhead) // an error comes again
		}
		longBatches.enter()
		c.hurries = true
		defer func() {
			longBatches.leave()
			c.hurries, c.ahead = false, nil
		}()
		if err := c.fill(now, readAhead); err != nil { // what is critical may have come
			return false, next, err
		}
	}
	if c.shaper.Overflow() {
		return false, next, slow("too many events wait")
	}
	c.publish() // before Pop: what that returns has not left yet
	out, next := c.shaper.Pop(now)
	for size := 0; out.Event != nil; out, _ = c.shaper.Pop(now) {
		due = true
		if plain && !out.Resumable {
			out = c.overtaking(out)
		}
		msg, err := c.p.encode(out)
		if err != nil { // it was valid when it was appended
			c.p.cfg.Logger.Error("event lost", "event_id", out.Event.EventID, "error", err)
		} else {
			ev := transports.Event{Message: msg}
			if out.Resumable {
				ev.ID, b.resumable = out.Event.EventID, true
			}
			b.events = append(b.events, ev)
			if out.Event.Critical() {
				b.critical = append(b.critical, out.Event)
			}
		}
		if size += len(msg); size >= maxBatch || !batched {
			break
		}
		if c.fill(now, readAhead) != nil || c.shaper.Overflow() {
			break // the next round ends with that
		}
	}
	return due, next, nil
}

// publish says how far the stream has come.
func (c *course) publish() {
	stats := c.shaper.Stats()
	c.counting.Lock()
	c.stats = stats
	c.counting.Unlock()
	left := c.cursor
	if held := c.shaper.Oldest(); held > 0 && held <= left {
		left = held - 1
	}
	if left > c.left.Load() {
		c.left.Store(left)
		if left >= c.replayed {
			c.behind.Store(false)
		}
		if c.watched.CompareAndSwap(true, false) {
			c.p.moved.give()
		}
	}
}

// counted is what publish said.
func (c *course) counted() coalesce.Stats {
	c.counting.Lock()
	defer c.counting.Unlock()
	return c.stats
}

// jitterGuard keeps events a little further apart than the budget alone would, so that a listener who counts
// what arrives finds the rate kept too, although no two events are equally long on their way.
const jitterGuard = 20 * time.Millisecond

// plainStream sends events over the link itself.
type plainStream struct{ transports.Conn }

func (plainStream) LastEventID() string   { return "" }
func (plainStream) Done() <-chan struct{} { return nil }
func (s plainStream) SendEvents(ctx context.Context, events []transports.Event) error {
	if many, ok := s.Conn.(transports.EventSender); ok {
		return many.SendEvents(ctx, events)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	for _, ev := range events {
		if err := s.Send(ctx, ev.Message); err != nil {
			return err
		}
	}
	return nil
}
