package delivery

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/transports"
)

// logCursor is a cursor into the log and a Shaper: the stream of one subscription, or of a group.
// Only the owner of the subscription or of the group uses it, except for the fields that are atomic
// or have a lock.
type logCursor struct {
	d        *Dispatcher
	owner    withholder         // the subscription or the group
	terms    *negotiation.Terms // replaced with the subscription's mu held; see subscription
	shaper   *shaper.Shaper     // nil for a member of a group
	cursor   uint64             // the newest entry of the log that the Shaper has been given
	replayed uint64             // what was appended when the subscription was registered: history
	before   uint64             // the end of the log when the stream was attached
	// changedAt is what was appended when the language, or what may be answered, changed last; zero
	// if neither has. What a slow store is yet to take counts: it was asked before.
	changedAt      uint64
	continuesOther bool            // it begins where another subscription ended
	skip           int             // how many bytes of text of the next entry the subscriber has already
	early          map[uint64]bool // positions of entries that were pushed before the cursor got there
	noticed        uint64          // how many of the Dispatcher's notices the Shaper has been given
	ahead          []*aaep.Event   // entries after the cursor that have been read from a store already
	history        sentHistory     // what left lately
	resend         []sentEvent     // what of the history is to be sent again, before anything else
	noWait         bool            // it holds a turn of batchTurns, and must not wait, even for a disk
	full           bool            // the link was slow with two batches in a row; false for a group
	gap            bool            // the next event has to say that events were lost; false for a group

	// needs is the cursor, below which the log need keep nothing for this stream, or math.MaxUint64
	// while there is no stream; see Dispatcher.lowestCursor.
	needs atomic.Uint64
	// left is the position up to which every event that is not output has left.
	left atomic.Uint64
	// urgent is the position up to which every event that does not wait for the rate has left.
	urgent atomic.Uint64
	// watched is set by a goroutine that waits for urgent to grow, and cleared when
	// Dispatcher.Moved has been broadcast for that.
	watched atomic.Bool
	// behind is true for a stream that begins with history, until left has reached replayed.
	behind atomic.Bool

	counting sync.Mutex   // a leaf; guards stats
	stats    shaper.Stats // as of the last publishProgress
}

// isHistoryFull reports whether the Shaper holds so many events, maxHistory, that no more from
// before the subscription are read for now. It is false where all that is held is text that waits
// for the end of its sentence: that end is further on in the log.
func (c *logCursor) isHistoryFull() bool {
	return !c.shaper.Idle() && c.shaper.Stats().Held >= maxHistory
}

// withholder is the subscription or the group that a logCursor serves. withholds reports whether
// the question with this token must not be shown yet, because it is not on record that it is put to
// the subscriber: if omit, it is left out of the stream; if wait, nothing is read on for now.
type withholder interface {
	withholds(token aaep.ReplyToken) (omit, wait bool)
}

// fillShaper pushes the notices, and the log's events after the cursor, into the Shaper, and moves
// the cursor on. It reads on although events wait for the rate, so that a critical event need not
// wait behind them. It stops, without an error, where as many events as most could leave at once,
// where isHistoryFull is true before the end of the history, and before a question that the owner
// has it wait for. The error is an *aaep.Rejection: the log no longer has the next entry. Only the
// owner calls it; unless noWait is set, it may wait for the log's store.
func (c *logCursor) fillShaper(now time.Time, most int) error {
	c.pushNotices(now)
	for c.cursor < c.d.Log.End() {
		room := most - c.shaper.Ready(now)
		if c.cursor < c.replayed {
			if c.isHistoryFull() {
				if !c.noWait { // otherwise loadBatch did it before the turn began
					c.askOpenEarly()
				}
				return nil
			}
			room = min(room, int(c.replayed-c.cursor))
		}
		if room <= 0 {
			return nil
		}
		events, err := c.readLog(room)
		if err != nil {
			return SlowRejection("the events it has not seen are no longer kept")
		}
		if len(events) == 0 {
			return nil
		}
		for _, ev := range events {
			if !ev.Critical() && c.shaper.Ready(now) >= most { // an entry may make many events
				return nil
			}
			omit, wait := c.withholds(ev)
			if wait { // the group first releases the members that must not be shown it
				return nil
			}
			c.cursor++
			c.ahead = c.ahead[min(1, len(c.ahead)):]
			isOver := c.isPast(c.cursor) && c.d.Agent.IsSettled(ev)
			if wasPushed := c.early[c.cursor]; omit || isOver || wasPushed {
				delete(c.early, c.cursor)
				continue
			}
			c.shaper.Push(now, shaper.Entry{Pos: c.cursor, Event: ev, Skip: c.skip})
			c.skip = 0
		}
	}
	return nil
}

// isPast reports whether the question at pos is shown only if it is still open. That is so up to
// changedAt, for it is not on record as asked under the terms agreed on since, and in the history
// before the subscription. A subscriber that goes on from another subscription is shown the history
// as it was; for it only what an earlier process of the agent put in the log is past.
func (c *logCursor) isPast(pos uint64) bool {
	if pos <= c.changedAt {
		return true
	}
	return pos <= c.replayed && (!c.continuesOther || pos <= max(c.d.began, c.d.Log.RunStart()))
}

// withholds asks the owner whether an entry is a question that must not be shown yet; see
// withholder. It is false for an entry that asks nothing.
func (c *logCursor) withholds(ev *aaep.Event) (omit, wait bool) {
	token, asks := closes.Token(ev)
	if !asks {
		return false, false
	}
	return c.owner.withholds(token)
}

// readLog returns at most n entries after the cursor: those in ahead, as long as there are some,
// and then those of the log. It returns none where noWait is set and they are not in memory.
func (c *logCursor) readLog(n int) (events []*aaep.Event, err error) {
	switch {
	case len(c.ahead) > 0:
		return c.ahead[:min(n, len(c.ahead))], nil
	case c.noWait && !c.d.Log.InMemory(c.cursor):
		return nil, nil
	}
	events, _, err = c.d.Log.Read(c.cursor, n)
	return events, err
}

const (
	// readAhead is how many events may wait for a link that is slower than the subscription's rate.
	readAhead = 64
	// shortBatch is how many events a batch may have without waiting for a turn of batchTurns.
	shortBatch = 8
)

// batch is what is sent in one call. It holds no more than is due. On a slow link it holds one
// event, since a critical event that comes meanwhile must not wait behind many.
type batch struct {
	events    []transports.Event
	critical  []*aaep.Event // those of the events that are critical, for the Observer
	resumable bool          // one of the events can be resumed after
}

// batches keeps batches that are no longer used.
var batches = sync.Pool{New: func() any { return new(batch) }}

const (
	// maxBatch is how many bytes a batch has, unless one event alone has more.
	maxBatch = 32 << 10
	// slowSend is how long a link may take over a batch and not count as slow.
	slowSend = 50 * time.Millisecond
)

// batchTurns is a semaphore: it lets only so many goroutines at a time prepare long batches, and
// has every other goroutine that is ready go first. Go runs goroutines in the order in which they
// became ready, so a critical event for one subscriber would otherwise wait behind all that is to
// be sent to the rest.
type batchTurns chan struct{}

var (
	// longBatches are the turns of streams that are near the end of the log, in all Producers of
	// the process: they share its processors.
	longBatches = make(batchTurns, runtime.GOMAXPROCS(0))
	// pastBatches are the turns of streams that catch up. They have at most half of the processors,
	// so that new events wait neither for such a turn nor long for a processor.
	pastBatches = make(batchTurns, max(1, runtime.GOMAXPROCS(0)/2))
)

// pastDistance is how many entries a stream is behind the end of the log, at least, to count as one
// that catches up with what was there before it.
const pastDistance = 256

// acquire waits for a turn, which release ends. Between the two the caller must not wait for a
// link, a disk or another turn. loadBatch calls it.
func (t batchTurns) acquire() {
	t <- struct{}{}
	runtime.Gosched() // every goroutine that is ready runs first
}

// release ends the turn that acquire began, so that the next goroutine has one.
func (t batchTurns) release() { <-t }

// sendDue sends the batch that a group has left to it, or loads one and sends that. It notes when
// the batch left, and whether the link was slow. Only runUngrouped calls it, holding no lock; it
// waits while the link is slow. If nothing was due, sent is false and next says when something will
// be; zero is after the next event. An error that is an *aaep.Rejection ends the subscription,
// every other the stream.
func (sub *Subscription) sendDue(stream *eventStream) (sent bool, next time.Time, err error) {
	b := sub.pendingBatch // from the group that it has left
	if sub.pendingBatch = nil; b == nil {
		b = batches.Get().(*batch)
		defer b.recycle()
		batched := (sub.Link.canResume() || sub.Link.many != nil) && !sub.slow
		sent, next, err = sub.loadBatch(b, time.Now(), batched, !stream.resumable)
		if err != nil || len(b.events) == 0 {
			return sent, next, err
		}
	}
	began := time.Now()
	sub.sending.Store(int64(began.Sub(sub.d.born)) + 1)
	err = stream.sendEvents(sub.ctx, b.events)
	sub.sending.Store(0)
	if sub.untaken = err != nil; err != nil {
		return true, next, err
	}
	for _, ev := range b.critical {
		if delay, ok := sub.criticalDelay(ev); ok {
			sub.d.Critical(delay)
		}
	}
	sub.sentNamable = sub.sentNamable || b.resumable
	left := time.Now()
	sub.shaper.Left(left.Add(jitterGuard))
	slow := left.Sub(began) > slowSend
	sub.slow, sub.full = slow, slow && sub.slow
	return true, next, nil
}

// recycle gives a batch back to batches. The caller must not use it afterwards.
func (b *batch) recycle() {
	clear(b.events)
	clear(b.critical)
	*b = batch{events: b.events[:0], critical: b.critical[:0]}
	batches.Put(b)
}

// loadBatch takes what is due out of the Shaper and into b, after it has given the Shaper what the
// log has. The owner calls it: runUngrouped, or run with the group's mu held. batched allows more
// than one event. plain says that the link cannot be resumed: events then say themselves whether
// one can go on after them. due reports whether b has events. If not, next says when something will
// be due; zero is after the next event. The error is an *aaep.Rejection that ends the subscription.
// It may wait for a turn of batchTurns, and for the log's store.
func (c *logCursor) loadBatch(b *batch, now time.Time, batched, plain bool) (due bool, next time.Time, err error) {
	c.shaper.SetFull(c.full)
	// A stream that catches up reads nothing before it has a turn; one near the end of the log
	// takes a turn only for a long batch. It keeps the turn until b is loaded.
	catchesUp := c.cursor < c.before && c.d.Log.End()-c.cursor > pastDistance
	if !catchesUp {
		most := readAhead
		if batched {
			most = shortBatch
		}
		if err := c.fillShaper(now, most); err != nil {
			return false, next, err
		}
	}
	if catchesUp || batched && c.shaper.Ready(now) >= shortBatch {
		defer c.beginTurn(catchesUp)()
		if err := c.fillShaper(now, readAhead); err != nil { // a critical event may have come meanwhile
			return false, next, err
		}
	}
	if c.shaper.Overflow() {
		return false, next, SlowRejection("too many events wait")
	}
	c.publishProgress() // before Pop: what that returns has not left yet
	for size := 0; ; {  // until nothing more may leave now, or the batch is full
		ev, wake := c.nextEvent(b, now, plain)
		if ev.message == nil {
			next = wake
			break
		}
		due = true
		b.addEvent(ev)
		if size += len(ev.message); size >= maxBatch || !batched {
			break
		}
		if c.fillShaper(now, readAhead) != nil || c.shaper.Overflow() {
			break // the next call returns the error
		}
	}
	return due, next, nil
}

// beginTurn waits for a turn of pastBatches or, near the end of the log, of longBatches, and has
// nothing wait for a disk until end is called. Before that it does what may wait: it reads what is
// not in memory into ahead and, where the history is full, brings open questions forward.
func (c *logCursor) beginTurn(catchesUp bool) (end func()) {
	if catchesUp && c.cursor < c.replayed && c.isHistoryFull() {
		c.askOpenEarly()
	}
	if !c.d.Log.InMemory(c.cursor) {
		c.ahead, _ = c.readLog(readAhead) // fillShaper meets an error again
	}
	turns := longBatches
	if catchesUp {
		turns = pastBatches
	}
	turns.acquire()
	c.noWait = true
	return func() {
		turns.release()
		c.noWait, c.ahead = false, nil
	}
}

// nextEvent returns the event that leaves next, encoded. First come the events to send again, and
// then what the Shaper lets go, which it notes in the history and in b.critical, and marks where
// the terms have the delivery extension: events were lost before it, or the stream cannot go on
// after it. An event that cannot be encoded is logged and skipped. The message is empty where
// nothing may leave now; wake is then when to ask again, as for shaper.Shaper.Pop. loadBatch calls
// it.
func (c *logCursor) nextEvent(b *batch, now time.Time, plain bool) (ev sentEvent, wake time.Time) {
	for {
		if len(c.resend) > 0 {
			ev, wake, shaperFirst := c.nextResent(now)
			if !shaperFirst {
				return ev, wake
			}
		}
		out, wake := c.shaper.Pop(now)
		if out.Event == nil {
			return ev, wake
		}
		if len(c.resend) > 0 { // it overtakes events that are to be sent again
			out.Resumable = false
		}
		if c.gap {
			c.gap, out = false, c.withDeliveryTag(out, "lost", "true", lostForm)
		}
		// The subscriber cannot go on after this event. A link that can be resumed shows that by
		// sending no id with it (D-82).
		if plain && !out.Resumable {
			out = c.withDeliveryTag(out, "resumable", "false", overtakingForm)
		}
		msg, err := c.d.encodeShaped(out)
		if err != nil { // it was valid when it was appended
			c.d.Logger.Error("event lost", "event_id", out.Event.EventID, "error", err)
			continue
		}
		ev = newSentEvent(msg, out)
		c.history.add(ev)
		if ev.critical {
			b.critical = append(b.critical, out.Event)
		}
		return ev, wake
	}
}

// nextResent takes the next of the events to send again, of which there are some, out of resend.
// The first leaves if it is critical or the rate has a token for it, which it takes. Otherwise the
// one leaves that nextCritical finds or, where the Shaper holds an urgent event, the first of the
// same session, which that must not overtake. Where resend has none of that session, shaperFirst
// is true: the Shaper's is next. With no message and shaperFirst false, nothing may leave before
// at, which is as for shaper.Shaper.Spend.
func (c *logCursor) nextResent(now time.Time) (ev sentEvent, at time.Time, shaperFirst bool) {
	due := c.resend[0].critical
	if !due {
		due, at = c.shaper.Spend(now)
	}
	if due {
		ev, c.resend = c.resend[0], c.resend[1:]
		return ev, at, false
	}
	next := nextCritical(c.resend)
	if next < 0 {
		session, urgent := c.shaper.Urgent()
		if !urgent {
			return ev, at, false
		}
		next = slices.IndexFunc(c.resend, func(ev sentEvent) bool { return ev.session == session })
	}
	if next < 0 {
		return ev, at, true
	}
	ev = c.resend[next]
	ev.resumable = ev.resumable && next == 0 // otherwise it overtakes the events before it
	c.resend = slices.Delete(c.resend, next, next+1)
	return ev, at, false
}

// isIdle reports whether nothing waits to leave. An unfinished sentence does not count. The owner
// calls it.
func (c *logCursor) isIdle() bool { return len(c.resend) == 0 && c.shaper.Idle() }

// addEvent appends an event to the batch, with its id if a stream can be resumed after it.
// loadBatch calls it for every event that leaves.
func (b *batch) addEvent(ev sentEvent) {
	out := transports.Event{Message: ev.message}
	if ev.resumable {
		out.ID, b.resumable = ev.id, true
	}
	b.events = append(b.events, out)
}

// publishProgress shows other goroutines how far the stream has come: the counts, needs, left and
// urgent. It is called before events are taken from the Shaper, for those have not left yet. It
// wakes the goroutines that wait for urgent to grow.
func (c *logCursor) publishProgress() {
	stats := c.shaper.Stats()
	c.counting.Lock()
	c.stats = stats
	c.counting.Unlock()
	c.needs.Store(c.cursor)
	if raiseProgress(&c.left, c.cursor, c.shaper.Oldest()) && c.left.Load() >= c.replayed {
		c.behind.Store(false)
	}
	if raiseProgress(&c.urgent, c.cursor, c.shaper.OldestUrgent()) && c.watched.CompareAndSwap(true, false) {
		c.d.Moved.Broadcast()
	}
}

// raiseProgress raises upTo to the position before held, that of the oldest event that has not
// left, or to the cursor where held is zero, for none, or after the cursor. It reports whether that
// is more than upTo was; upTo never falls. publishProgress calls it, for the owner of the stream.
func raiseProgress(upTo *atomic.Uint64, cursor, held uint64) bool {
	if held > 0 && held <= cursor {
		cursor = held - 1
	}
	if cursor <= upTo.Load() {
		return false
	}
	upTo.Store(cursor)
	return true
}

// publishedStats returns the counts as of the last publishProgress. Any goroutine may call it; it
// takes counting.
func (c *logCursor) publishedStats() shaper.Stats {
	c.counting.Lock()
	defer c.counting.Unlock()
	return c.stats
}

// jitterGuard keeps events a little further apart than the rate alone would. The time on the way
// differs from event to event, and a subscriber that counts what arrives must find the rate kept
// too.
const jitterGuard = 20 * time.Millisecond

// pushNotices gives the Shaper the notices that it has not been given, and counts them in noticed.
// Those that are older than the keptNotices newest are lost to it. The owner calls it before it
// reads the log.
func (c *logCursor) pushNotices(now time.Time) {
	n := c.d.notices.Load()
	if n.last == c.noticed {
		return
	}
	unread := int(min(n.last-c.noticed, uint64(len(n.all))))
	for _, ev := range n.all[len(n.all)-unread:] {
		c.shaper.Push(now, shaper.Entry{Event: ev})
	}
	c.noticed = n.last
}
