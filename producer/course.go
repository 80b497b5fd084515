package producer

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/transports"
)

// A course is a cursor into the log and a Shaper: what one listener hears, or several who hear the same.
type course struct {
	p        *Producer
	terms    *handshake.Terms // changed with the subscription's mu held
	shaper   *shaper.Shaper
	cursor   uint64          // the newest entry the shaper has had
	replayed uint64          // up to here the log tells what was before the subscription
	before   uint64          // up to here the log tells what was before the stream
	goesOn   bool            // it begins where another subscription ended
	skip     int             // bytes of the next entry that the subscriber had before
	early    map[uint64]bool // questions that were put before their turn in the log
	noticed  uint64          // notices that the shaper has had
	ahead    []*aaep.Event   // what comes next in the log, where that has been read already
	history  sent            // what left lately,
	again    []sentEvent     // and what of it has to be sent once more, before what the shaper has
	hurries  bool            // nothing is waited for, not even a disk
	full     bool            // the link took long over the last, though that was one event; a group's never is
	gap      bool            // the next event is to say that others were lost before it; a group's never is

	needs   atomic.Uint64 // the cursor, or math.MaxUint64 without a stream; see Producer.needed
	left    atomic.Uint64 // every event that is not output, up to here, has left
	urgent  atomic.Uint64 // every event that does not wait for the rate, up to here, has left
	watched atomic.Bool   // somebody waits for urgent to grow
	behind  atomic.Bool   // it begins with what was before it, and has not come to where it began itself

	counting sync.Mutex
	stats    shaper.Stats
}

// fill hands the shaper everything the log has, so that what is critical need not wait for what is held; but
// no more than most that could be sent at once, where nothing is held.
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
			if !ev.Critical() && c.shaper.Ready(now) >= most { // one event may make hundreds for a small display
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
			c.shaper.Push(now, shaper.Entry{Pos: c.cursor, Event: ev, Skip: c.skip})
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

// batchTurns lets only so many subscriptions at a time prepare long batches, and every other goroutine go first. Go runs goroutines in
// the order in which they became ready: what is critical to one listener would wait behind all that the others have to be sent.
type batchTurns chan struct{}

var (
	// longBatches are the turns of those that read what happens now, in all producers: they share the processors.
	longBatches = make(batchTurns, runtime.GOMAXPROCS(0))
	// pastBatches are the turns of those that catch up. They have at most half of the processors, so that what happens now waits
	// neither for a turn of theirs nor long for a processor.
	pastBatches = make(batchTurns, max(1, runtime.GOMAXPROCS(0)/2))
)

// pastDistance is how many events a stream is behind the newest one where it catches up with what was before it.
const pastDistance = 256

// acquire waits for a turn, which release ends. The caller waits for nothing else in between.
func (t batchTurns) acquire() {
	t <- struct{}{}
	runtime.Gosched() // behind every goroutine that is ready
}

func (t batchTurns) release() { <-t }

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
	sub.sending.Store(int64(began.Sub(sub.p.born)) + 1)
	err = stream.SendEvents(sub.ctx, b.events)
	sub.sending.Store(0)
	if err != nil {
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
	slow := left.Sub(began) > prompt
	sub.slow, sub.full = slow, slow && sub.slow
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
	c.shaper.SetFull(c.full)
	past := c.cursor < c.before && c.p.log.End()-c.cursor > pastDistance
	if !past {
		most := readAhead
		if batched {
			most = few
		}
		if err := c.fill(now, most); err != nil {
			return false, next, err
		}
	}
	if past || batched && c.shaper.Ready(now) >= few {
		if !c.p.log.InMemory(c.cursor) {
			c.ahead, _ = c.read(readAhead) // an error comes again
		}
		turns := longBatches
		if past {
			turns = pastBatches
		}
		turns.acquire()
		c.hurries = true
		defer func() {
			turns.release()
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
	for size := 0; ; {
		ev, at := c.takeNext(b, now, plain)
		if ev.message == nil {
			next = at
			break
		}
		due = true
		b.add(ev)
		if size += len(ev.message); size >= maxBatch || !batched {
			break
		}
		if c.fill(now, readAhead) != nil || c.shaper.Overflow() {
			break // the next round ends with that
		}
	}
	return due, next, nil
}

// takeNext takes the event that leaves next: what is sent once more, at the rate of the subscription, and then what the shaper lets go.
// What is critical overtakes what the rate holds, but nothing of its own session, which leaves past the rate. The message is empty
// where there is none now; at is when to ask again, as of shaper.Shaper.Pop.
func (c *course) takeNext(b *batch, now time.Time, plain bool) (ev sentEvent, at time.Time) {
	for {
		if len(c.again) > 0 {
			due, at := true, time.Time{}
			if !c.again[0].critical {
				due, at = c.shaper.Spend(now)
			}
			if due {
				ev, c.again = c.again[0], c.again[1:]
				return ev, at
			}
			session, urgent := c.shaper.Urgent()
			if !urgent {
				return ev, at
			}
			if next := slices.IndexFunc(c.again, func(ev sentEvent) bool { return ev.session == session }); next >= 0 {
				ev = c.again[next]
				ev.resumable, c.again = ev.resumable && next == 0, slices.Delete(c.again, next, next+1)
				return ev, at
			}
		}
		out, at := c.shaper.Pop(now)
		if out.Event == nil {
			return ev, at
		}
		if len(c.again) > 0 { // it overtakes what has left before it
			out.Resumable = false
		}
		if c.gap {
			c.gap, out = false, c.tagged(out, "lost", "true", lostForm)
		}
		if plain && !out.Resumable { // it is no place to go on after; a stream that can be resumed says it without (D-82)
			out = c.tagged(out, "resumable", "false", overtakingForm)
		}
		msg, err := c.p.encode(out)
		if err != nil { // it was valid when it was appended
			c.p.cfg.Logger.Error("event lost", "event_id", out.Event.EventID, "error", err)
			continue
		}
		ev = sentEvent{msg, out.Event.EventID, out.Event.SessionID, out.Resumable, out.Event.Critical()}
		c.history.add(ev)
		if ev.critical {
			b.critical = append(b.critical, out.Event)
		}
		return ev, at
	}
}

// idle reports whether nothing waits to leave.
func (c *course) idle() bool { return len(c.again) == 0 && c.shaper.Idle() }

func (b *batch) add(ev sentEvent) {
	out := transports.Event{Message: ev.message}
	if ev.resumable {
		out.ID, b.resumable = ev.id, true
	}
	b.events = append(b.events, out)
}

// publish says how far the stream has come.
func (c *course) publish() {
	stats := c.shaper.Stats()
	c.counting.Lock()
	c.stats = stats
	c.counting.Unlock()
	c.needs.Store(c.cursor)
	if grow(&c.left, c.cursor, c.shaper.Oldest()) && c.left.Load() >= c.replayed {
		c.behind.Store(false)
	}
	if grow(&c.urgent, c.cursor, c.shaper.OldestUrgent()) && c.watched.CompareAndSwap(true, false) {
		c.p.moved.give()
	}
}

// grow notes that everything up to the cursor has left, or up to what is held; zero is nothing. It reports whether that is more.
func grow(upTo *atomic.Uint64, cursor, held uint64) bool {
	if held > 0 && held <= cursor {
		cursor = held - 1
	}
	if cursor <= upTo.Load() {
		return false
	}
	upTo.Store(cursor)
	return true
}

// counted is what publish said.
func (c *course) counted() shaper.Stats {
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
