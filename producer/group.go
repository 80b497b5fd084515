package producer

import (
	"crypto/sha256"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/transports"
)

// A group is a course that several subscriptions have in common: they asked for the same, have had the same, and nothing waits for
// any of them. Its goroutine shapes and encodes what comes once, and offers it to the links of all. A member whose link does not
// take all of it at once leaves with a copy of the Shaper and what it is owed, and goes on alone; so does a member that somebody
// wakes, for whatever is its affair alone. It joins again when it is where the group is.
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

// membership is what a subscription has of its group.
type membership struct {
	key    groupKey // zero: not known
	group  atomic.Pointer[group]
	link   transports.Sharer
	past   *coalesce.Past
	joined time.Time
	marked uint64      // the group's marks then
	alarm  *time.Timer // for the end of its life
	stepper
	met  atomic.Bool // a group that it waits for has let go of all it could
	owed *batch      // what the group took out for it and the link has not
}

// join lets a group serve the subscription, where nothing waits for it and there are others like it or may be. If not, again is
// when to try again; zero is after the next event.
func (sub *subscription) join(now time.Time) (joined bool, again time.Time) {
	if settled, at := sub.shaper.Settled(now, sub.cursor); !settled {
		return false, at
	}
	if !sub.sociable() {
		return false, again
	}
	var all []*group
	for {
		unlike, later := 0, false
		for _, g := range all {
			switch g.take(sub, now, false) {
			case taken:
				return sub.stays(g), again
			case elsewhere:
				later = true
			case different:
				unlike++
			}
		}
		switch {
		case later:
			return false, now.Add(soon)
		case unlike >= maxUnlike:
			return false, now.Add(time.Second)
		}
		g, others := sub.found(all, now, false)
		switch {
		case g != nil:
			return sub.stays(g), again
		case others == nil:
			return false, now.Add(time.Second)
		}
		all = others
	}
}

// sociable reports whether a group could serve the subscription.
func (sub *subscription) sociable() bool {
	link := sharer(sub.stream)
	if link == nil || sub.cursor < sub.replayed || sub.skip > 0 || len(sub.early) > 0 || sub.key.framing == "" && !sub.findKey() {
		return false
	}
	sub.link, sub.key.framing = link, link.Framing()
	return true
}

// found makes a group of the subscription, unless there are others than those it has asked already, or it cannot be in any.
func (sub *subscription) found(asked []*group, now time.Time, step bool) (g *group, others []*group) {
	gs := &sub.p.groups
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if all := gs.of[sub.key]; !slices.Equal(all, asked) {
		return nil, slices.Clone(all)
	}
	_, plain := sub.stream.(plainStream)
	g = &group{key: sub.key, plain: plain, woken: make(chan struct{}, 1)}
	g.p, g.terms, g.shaper = sub.p, sub.terms, sub.shaper.Split(new(coalesce.Past))
	g.cursor, g.noticed, g.passed = sub.cursor, sub.noticed, sub.passed
	g.left.Store(sub.left.Load())
	g.stats = g.shaper.Stats()
	if g.take(sub, now, step) != taken { // it is not even like itself: then it stays alone
		return nil, nil
	}
	if gs.of == nil {
		gs.of = map[groupKey][]*group{}
	}
	gs.of[g.key] = append(gs.of[g.key], g)
	gs.all.Store(new(append(slices.Clone(*gs.all.Load()), g)))
	g.p.guests.Go(g.run)
	return g, nil
}

const (
	soon      = 20 * time.Millisecond // a group that is a few events behind is where the subscription is
	maxUnlike = 16                    // groups of one key, with other pasts that still matter
)

// sharer is the link of a stream if a group can write to it, or nil.
func sharer(stream transports.Stream) transports.Sharer {
	var s any = stream
	if plain, ok := stream.(plainStream); ok {
		s = plain.Conn
	}
	if link, ok := s.(transports.Sharer); ok && link.Framing() != "" {
		return link
	}
	return nil
}

// findKey finds the key for the terms.
func (sub *subscription) findKey() bool {
	terms, err := jsonv2.Marshal([]any{sub.terms.Capabilities(), sub.terms.MaxChunk, []byte(sub.terms.Profile())}, jsonv2.Deterministic(true))
	if err != nil {
		return false
	}
	sub.key.terms = sha256.Sum256(terms)
	return true
}

// stays sees to those who did something to the subscription while it joined. It may have been let go already.
func (sub *subscription) stays(g *group) bool {
	if sub.watched.Load() { // by somebody who saw it where it was
		g.p.wake()
	}
	if len(sub.woken) > 0 {
		g.call()
	}
	return true
}

const (
	taken = iota
	full
	elsewhere // the group is at another event, or not done with it, or busy
	different // the two are not alike
)

// take makes sub a member if it is where the group is and as it is; or in step with it, if that is enough. If it is not now, it will
// be told when it may be.
func (g *group) take(sub *subscription, now time.Time, step bool) (result int) {
	if g.size.Load() >= maxMembers {
		return full
	}
	if !g.mu.TryLock() { // whoever waits hears nothing meanwhile
		return elsewhere
	}
	defer g.mu.Unlock()
	if g.over || len(g.members) >= maxMembers {
		return full
	}
	if step {
		defer func() {
			if result != taken {
				g.await(sub)
			}
		}()
	}
	if g.cursor != sub.cursor || g.noticed != sub.noticed || g.passed != sub.passed {
		return elsewhere
	}
	ready, _ := g.shaper.Settled(now, g.cursor)
	if step {
		ready = g.shaper.Paused(now, g.cursor) && sub.shaper.Paused(now, sub.cursor)
	}
	if !ready {
		return elsewhere
	}
	if alike, certain := sub.alike(g.shaper); !alike && certain {
		return different
	} else if !alike {
		return elsewhere
	}
	if step && !sub.shaper.Step(now, g.shaper) {
		return different
	}
	if step {
		sub.stepper = stepper{next: now.Add(minPause)}
	}
	past := sub.shaper.Share(now, g.shaper)
	sub.shaper = nil
	sub.joined, sub.marked = now, g.marks
	if end := sub.life.ends(); !end.IsZero() {
		sub.alarm = time.AfterFunc(time.Until(end), sub.wake)
	}
	sub.mu.Lock()
	sub.past = past
	sub.group.Store(g)
	sub.mu.Unlock()
	g.members = append(g.members, sub)
	g.size.Add(1)
	return taken
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
	g.meet()
}

// await has sub told when the group has let go of all it could. Of more than it could take, the newest wait: where it never lets go,
// those that came first have given up, or are gone.
func (g *group) await(sub *subscription) {
	if slices.Contains(g.waiting, sub) {
		return
	}
	if len(g.waiting) >= maxMembers {
		g.waiting = slices.Delete(g.waiting, 0, 1)
	}
	g.waiting = append(g.waiting, sub)
}

// meet tells whoever waits for the group that it has let go of all it could.
func (g *group) meet() {
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
		sub.cursor, sub.noticed, sub.passed = g.cursor, g.noticed, g.passed
		sub.resumed = sub.resumed || g.marks > sub.marked
		if g.sent.After(sub.joined) {
			sub.life.sent(g.sent)
		}
		if sub.alarm != nil {
			sub.alarm.Stop()
			sub.alarm = nil
		}
		sub.shaper = g.shaper.Split(sub.past)
		sub.left.Store(g.left.Load())
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
