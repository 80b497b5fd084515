package delivery

import (
	"crypto/sha256"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
)

// How subscriptions join and leave a group.
//
// Purpose. Many subscribers often get exactly the same stream. A group shapes, encodes and offers
// that stream once for all its members. While a subscription is a member, it has no Shaper and no
// goroutine of its own. The group's goroutine, run, reads the log and offers the same bytes to the
// link of each member with TrySend, which never waits.
//
// Invariant. A subscription has one owner at any time: its own goroutine, runUngrouped, or the run
// of its group. The owner has the only Shaper that makes the subscriber's stream. For each
// subscription, every event that its subscriber is to receive is in exactly one place: it has left,
// it is in pendingBatch, it is in the Shaper, or it is in the log after the cursor. Joining and
// leaving move a subscription between two owners, and move no event between these places.
//
// What must be equal to join. tryAdd admits a subscription only if its own Shaper would make the
// same stream from now on as the group's:
//   - The key: the same terms, and a link that frames the same events as the same bytes
//     (groupKey).
//   - The place: cursor and noticed, so that both have read the same events and notices.
//   - Nothing pending for this subscriber alone: nothing to send again, no loss to report,
//     nothing from before its time to read, no question shown early, no text to skip
//     (canBeGrouped).
//   - The Shapers: both are settled (they hold nothing and the whole rate is free), or both are
//     paused (they hold the same beginning of a sentence and nothing else, and one takes over what
//     the other has spent of the rate). Shaper.Share compares this, and the newest stamp of each
//     session: two that differ there are alike only if every later event has a later stamp, which
//     shareStream asks of the Session.
// Share then returns a Past: by how much the subscriber's counts, spent rate and known ids differ
// from those of the group's Shaper. The subscription's own Shaper is dropped.
//
// Who joins. Only the subscription's own goroutine does, when it has nothing to send and woken is
// empty. runUngrouped then returns, and the goroutine ends. Where no group fits, createGroup makes
// one with groups.mu held, so that two equal subscriptions do not make one each.
//
// Who leaves. Only run lets members go, in releaseMembers: those with something in woken (a change
// of terms, a new stream, the end of the lifetime, a question that must not be shown to this member
// yet), those whose link did not take the whole batch, and all of them at a shutdown or an error of
// the log. A goroutine that wakes a subscription fills woken first and looks for a group last;
// confirmJoin looks at woken after the group is set. One of the two sees the other, so no wake is
// lost while a subscription joins.
//
// Locks. run holds group.mu for a whole round. A joining subscription takes it with TryLock: it
// never waits for a round, but tries again later. group.mu guards the group, and the members'
// fields that are their owner's. A member's past and group also change under its own mu, for other
// goroutines read statistics there. groups.mu guards the table of groups. createGroup takes
// group.mu inside it; it is never taken while group.mu is held. A group without members is marked
// as over under group.mu before it is taken out of the table, and tryAdd refuses such a group. To
// compare stamps, a joining subscription takes Producer.mu and, with TryLock alone, a Session's mu
// while it holds group.mu.
//
// Why a member that leaves loses and doubles nothing. A batch is taken out of the group's Shaper
// before it is offered. A link that took none of it leaves its member with a copy of the batch as
// pendingBatch. A link that took a part keeps the rest itself, and pendingBatch has no events:
// sending it flushes the link. A member that leaves between two batches has no pendingBatch. In
// each case the Shaper that Split returns, cursor, noticed, left and urgent are those of the group
// right after the batch, and sendDue sends pendingBatch before it asks that Shaper for more.
// history receives what the group has sent since the member joined, so that a stream that breaks
// can be resumed after any of these events.
//
// Why there is a rejoin backoff. Where text never pauses, no Shaper is ever settled, and a member
// whose link was full for a moment would never get back. So it holds its own text back, at most
// longestHold, until a group pauses, and joins in step. That delays its subscriber and may fail.
// rejoinBackoff therefore allows an attempt only where there are crowdSize subscriptions, after
// quietStart, minPause after the last one that succeeded, and after failures at doubling distances
// up to maxPause. Without it, a link that is full now and then would join and leave all the time.

// group is a logCursor that several subscriptions share, its members. Its goroutine, run,
// reads the log, shapes and encodes once, and offers the result to every member's link. The comment
// above says how subscriptions join and leave.
type group struct {
	logCursor
	key   groupKey
	plain bool          // the members' links cannot be resumed; see logCursor.loadBatch
	woken chan struct{} // holds one: run is to look at the log or at calls
	calls atomic.Bool   // a member has something in its woken and is to be released

	mu      sync.Mutex      // guards the group and its members; run holds it for a round
	members []*Subscription // in the order in which they joined
	size    atomic.Int32    // the number of members, for a look without mu
	over    bool            // there are no members and will be none
	frames  []byte          // the encoded batch; kept to be used again
	delays  []time.Duration // of critical events, for the Observer; kept to be used again
	sent    time.Time       // when events left last
	marks   uint64          // how many batches had an event that can be resumed after
	waiting []*Subscription // subscriptions that wait until the group pauses, to join in step
}

// maxMembers is how many subscriptions a group has at most. More members share the work better, but
// a critical event waits longer until it has been offered to all of them.
const maxMembers = 128

// groupKey is equal for two subscriptions that may be in one group. The zero key is not known.
type groupKey struct {
	terms   [sha256.Size]byte // of everything in the terms that shapes a stream
	framing string            // how the link frames events
}

// groups is the table of a Dispatcher's groups.
type groups struct {
	mu    sync.Mutex               // guards byKey; taken before a group's mu, never after
	byKey map[groupKey][]*group    // in the order in which they were made
	all   atomic.Pointer[[]*group] // all groups; replaced with mu held, never changed in place
}

// wake makes run look at the log. Any goroutine may call it, with any lock held; it never waits.
func (g *group) wake() {
	select {
	case g.woken <- struct{}{}:
	default:
	}
}

// requestRelease makes run release the members that have something in woken. Any goroutine may call
// it, with any lock held; it never waits.
func (g *group) requestRelease() {
	g.calls.Store(true)
	g.wake()
}

// run is the goroutine of the group: createGroup starts it, and it serves the members until there
// are none. Shutdown waits for it.
func (g *group) run() {
	timer := time.NewTimer(never)
	defer timer.Stop()
	for {
		more, next := g.serveRound()
		if g.dissolveIfEmpty() {
			return
		}
		if !more {
			waitUntil(g.woken, timer, next)
		}
	}
}

// dissolveIfEmpty marks the group as over and takes it out of the table if it has no members, and
// reports that. Only run calls it, holding no lock. After that no subscription can join.
func (g *group) dissolveIfEmpty() bool {
	gs := &g.d.groups
	g.mu.Lock()
	if g.over = len(g.members) == 0; !g.over {
		g.mu.Unlock()
		return false
	}
	g.mu.Unlock()
	isThis := func(x *group) bool { return x == g }
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if gs.byKey[g.key] = slices.DeleteFunc(gs.byKey[g.key], isThis); len(gs.byKey[g.key]) == 0 {
		delete(gs.byKey, g.key)
	}
	gs.all.Store(new(slices.DeleteFunc(slices.Clone(*gs.all.Load()), isThis)))
	return true
}

// serveRound releases the members that have to leave, then reads the log and offers one batch to
// the members that remain. Only run calls it; it holds g.mu throughout. more reports that there may
// be more to send at once; otherwise next says when something will be due, and zero means after the
// next event. The Observer is called without the lock.
func (g *group) serveRound() (more bool, next time.Time) {
	g.mu.Lock()
	defer func() {
		g.mu.Unlock()
		for _, d := range g.delays {
			g.d.Critical(d)
		}
		g.delays = g.delays[:0]
	}()
	draining := g.d.Serving.Err() != nil // at a shutdown each subscription ends by itself
	if g.calls.Swap(false) || draining {
		g.releaseMembers(nothingOwed, func(sub *Subscription) bool { return draining || len(sub.woken) > 0 })
	}
	if len(g.members) == 0 {
		return false, next
	}
	b := batches.Get().(*batch)
	defer b.recycle()
	more, next, err := g.loadBatch(b, time.Now(), true, g.plain)
	switch {
	case err != nil: // each member meets the error again by itself, and its subscription ends
		g.releaseMembers(nothingOwed, func(*Subscription) bool { return true })
	case len(b.events) > 0:
		g.sendToMembers(b)
	}
	return more, next
}

// nothingOwed is for releaseMembers between two batches.
func nothingOwed(*Subscription) *batch { return nil }

// withholds reports that the group must not read a question yet, if one of its members must not be
// shown it. It wakes those members, so that run releases them first. It runs with g.mu held.
func (g *group) withholds(token aaep.ReplyToken) (omit, wait bool) {
	for _, sub := range g.members {
		if sub.subscriber.IsWithheld(token) {
			sub.Wake()
			wait = true
		}
	}
	return false, wait
}

// sendToMembers encodes a batch once and offers it to the link of each member, with g.mu held. A
// member whose link does not take all of it is released with the remainder. It also notes that the
// batch has left, and wakes waiting subscriptions if the group has paused.
func (g *group) sendToMembers(b *batch) {
	frames, err := g.members[0].sharer.AppendEvents(g.frames[:0], b.events)
	members, written := 0, 0 // so far, and how many bytes the link of the newest has taken
	owed := func(sub *Subscription) *batch { return b.remainder(written > 0) }
	g.releaseMembers(owed, func(sub *Subscription) bool {
		if members++; members%yieldEvery == 0 {
			runtime.Gosched() // another goroutine may have a critical event to send
		}
		if written = 0; err == nil {
			written = sub.sharer.TrySend(frames)
		}
		if written < len(frames) || err != nil {
			return true
		}
		for _, ev := range b.critical {
			if delay, ok := sub.criticalDelay(ev); ok {
				g.delays = append(g.delays, delay)
			}
		}
		return false
	})
	if g.frames = frames; cap(frames) > 2*maxBatch {
		g.frames = nil
	}
	g.sent = time.Now()
	g.shaper.Left(g.sent.Add(jitterGuard))
	if b.resumable {
		g.marks++
	}
	g.wakeWaiting()
}

// wakeWaiting wakes the subscriptions in g.waiting if the group's Shaper is paused, so that they
// can join in step. It runs with g.mu held.
func (g *group) wakeWaiting() {
	if len(g.waiting) == 0 || !g.shaper.Paused(g.sent, g.cursor) {
		return
	}
	for _, sub := range g.waiting {
		if sub.group.Load() == nil { // waking a member of another group would make it leave that
			sub.groupPaused.Store(true)
			sub.Wake()
		}
	}
	clear(g.waiting)
	g.waiting = g.waiting[:0]
}

// yieldEvery is how many members are written to before other goroutines get a turn.
const yieldEvery = 16

// remainder returns the part of a batch that a member has to send itself after it was released.
// isBegun reports that its link took some of the bytes: the link then keeps the rest, and the
// result has no events.
func (b *batch) remainder(isBegun bool) *batch {
	rest := &batch{critical: slices.Clone(b.critical), resumable: b.resumable}
	if !isBegun {
		rest.events = slices.Clone(b.events)
	}
	return rest
}

// releaseMembers releases the members that match, with g.mu held. Each gets a Shaper of its own and
// all the state of the group's cursor, and goes on in a new goroutine, serveUngrouped. owed is
// called after match for the same member, and returns what the group has taken out of its Shaper
// for it and its link has not taken; nil is nothing. Only run's goroutine calls it.
func (g *group) releaseMembers(owed func(*Subscription) *batch, match func(*Subscription) bool) {
	g.members = slices.DeleteFunc(g.members, func(sub *Subscription) bool {
		if !match(sub) {
			return false
		}
		// From here on sub has the state that the group has right after its newest batch.
		sub.pendingBatch = owed(sub)
		sub.cursor, sub.noticed = g.cursor, g.noticed
		sub.history.appendFrom(&g.history, sub.shared)
		sub.sentNamable = sub.sentNamable || g.marks > sub.marked
		if g.sent.After(sub.joined) { // its idle timeout counts from then
			sub.life.noteSent(g.sent)
		}
		if sub.alarm != nil {
			sub.alarm.Stop()
			sub.alarm = nil
		}
		sub.needs.Store(g.cursor)
		sub.shaper = g.shaper.Split(sub.past)
		sub.left.Store(g.left.Load())
		sub.urgent.Store(g.urgent.Load())
		sub.mu.Lock()
		sub.stats = sub.past.Stats(g.publishedStats())
		sub.past = nil
		sub.group.Store(nil)
		sub.mu.Unlock()
		go sub.serveUngrouped()
		return true
	})
	g.size.Store(int32(len(g.members)))
}
