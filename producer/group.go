package producer

import (
	"crypto/sha256"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A group is a course that several subscriptions have in common: they asked for the same, and when they joined nothing waited for any
// of them but the same beginning of a sentence. Its goroutine shapes and encodes what comes once, and offers it to the links of all.
// A member whose link does not take all of it at once leaves with a copy of the Shaper and what it is owed, and goes on alone; so
// does a member that somebody wakes, for whatever is its affair alone. It joins again when it is where the group is.
type group struct {
	course
	key   groupKey
	plain bool // see course.load
	woken chan struct{}
	calls atomic.Bool // a member was woken

	mu      sync.Mutex // held by the goroutine while it does something, and by those who join, who do not wait for it
	members []*subscription
	size    atomic.Int32 // of members
	over    bool
	frames  []byte          // scratch
	delays  []time.Duration // likewise: of what is critical, to tell the observer
	sent    time.Time       // when events left last
	marks   uint64          // batches with an event to go on after
	waiting []*subscription // to be in step with it
}

// maxMembers is how many subscriptions a group has. The more, the less it matters what is done once for all of them; and the
// longer waits whatever is critical for all that is being told to the others.
const maxMembers = 128

// groupKey is equal for subscriptions that can be in one group.
type groupKey struct {
	terms   [sha256.Size]byte
	framing string
}

// groups are those of a producer.
type groups struct {
	mu  sync.Mutex
	of  map[groupKey][]*group
	all atomic.Pointer[[]*group] // never changed in place
}

// wake has run look at the log.
func (g *group) wake() {
	select {
	case g.woken <- struct{}{}:
	default:
	}
}

// call has run let those members go that somebody woke.
func (g *group) call() {
	g.calls.Store(true)
	g.wake()
}

// run serves the members until there are none.
func (g *group) run() {
	timer := time.NewTimer(never)
	defer timer.Stop()
	for {
		more, next := g.round()
		if g.ended() {
			return
		}
		if !more {
			wait(g.woken, timer, next)
		}
	}
}

// ended reports whether there are no members, after which there will be none.
func (g *group) ended() bool {
	gs := &g.p.groups
	g.mu.Lock()
	if g.over = len(g.members) == 0; !g.over {
		g.mu.Unlock()
		return false
	}
	g.mu.Unlock()
	not := func(x *group) bool { return x == g }
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if gs.of[g.key] = slices.DeleteFunc(gs.of[g.key], not); len(gs.of[g.key]) == 0 {
		delete(gs.of, g.key)
	}
	gs.all.Store(new(slices.DeleteFunc(slices.Clone(*gs.all.Load()), not)))
	return true
}

// round lets go whoever has to, and tells the others what is due. If nothing was, next says when something will be.
func (g *group) round() (more bool, next time.Time) {
	g.mu.Lock()
	defer func() {
		g.mu.Unlock()
		for _, d := range g.delays {
			g.p.cfg.Observer.Critical(d)
		}
		g.delays = g.delays[:0]
	}()
	draining := g.p.serving.Err() != nil
	if g.calls.Swap(false) || draining {
		g.drop(func(sub *subscription) *batch { return nil }, func(sub *subscription) bool { return draining || len(sub.woken) > 0 })
	}
	if len(g.members) == 0 {
		return false, next
	}
	b := batches.Get().(*batch)
	defer b.free()
	more, next, err := g.load(b, time.Now(), true, g.plain)
	switch {
	case err != nil: // each of them finds it out for itself
		g.drop(func(*subscription) *batch { return nil }, func(*subscription) bool { return true })
	case len(b.events) > 0:
		g.spread(b)
	}
	return more, next
}

// spread offers a batch to the link of each member.
func (g *group) spread(b *batch) {
	frames, err := g.members[0].link.AppendEvents(g.frames[:0], b.events)
	n, begun := 0, 0
	g.drop(func(sub *subscription) *batch { return b.owed(begun > 0) }, func(sub *subscription) bool {
		if n++; n%pace == 0 {
			runtime.Gosched() // others may have something critical to tell
		}
		if begun = 0; err == nil {
			begun = sub.link.TrySend(frames)
		}
		if begun < len(frames) || err != nil {
			return true
		}
		for _, ev := range b.critical {
			if delay, ok := sub.delay(ev); ok {
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
	g.tellWaiting()
}

// tellWaiting tells whoever waits for the group that it has let go of all it could.
func (g *group) tellWaiting() {
	if len(g.waiting) == 0 || !g.shaper.Paused(g.sent, g.cursor) {
		return
	}
	for _, sub := range g.waiting {
		if sub.group.Load() == nil { // else one that it is in by now would let it go
			sub.met.Store(true)
			sub.wake()
		}
	}
	clear(g.waiting)
	g.waiting = g.waiting[:0]
}

// pace is how many members are written to before others have their turn.
const pace = 16

// owed is what one subscription sends itself of a batch: nothing but what its link kept of it, where it has begun.
func (b *batch) owed(begun bool) *batch {
	own := &batch{critical: slices.Clone(b.critical), resumable: b.resumable}
	if !begun {
		own.events = slices.Clone(b.events)
	}
	return own
}

// drop lets those members go that match.
func (g *group) drop(owed func(*subscription) *batch, match func(*subscription) bool) {
	g.members = slices.DeleteFunc(g.members, func(sub *subscription) bool {
		if !match(sub) {
			return false
		}
		sub.owed = owed(sub)
		sub.cursor, sub.noticed = g.cursor, g.noticed
		sub.history.follow(&g.history, sub.shared)
		sub.resumed = sub.resumed || g.marks > sub.marked
		if g.sent.After(sub.joined) {
			sub.life.sent(g.sent)
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
		sub.stats = sub.past.Stats(g.counted())
		sub.past = nil
		sub.group.Store(nil)
		sub.mu.Unlock()
		go sub.goOnAlone()
		return true
	})
	g.size.Store(int32(len(g.members)))
}
