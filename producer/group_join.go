package producer

import (
	"crypto/sha256"
	"slices"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/transports"
)

// membership is what a subscription has of its group.
type membership struct {
	key    groupKey // zero: not known
	group  atomic.Pointer[group]
	link   transports.Sharer
	past   *shaper.Past
	joined time.Time
	shared uint64      // how many events the group had sent then
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
	if link == nil || sub.gap || len(sub.again) > 0 || sub.cursor < sub.replayed || sub.skip > 0 || len(sub.early) > 0 || sub.key.framing == "" && !sub.findKey() {
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
	g.p, g.terms, g.shaper = sub.p, sub.terms, sub.shaper.Split(new(shaper.Past))
	g.cursor, g.noticed = sub.cursor, sub.noticed
	g.left.Store(sub.left.Load())
	g.urgent.Store(sub.urgent.Load())
	g.needs.Store(g.cursor)
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
		g.p.moved.give()
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
	if g.cursor != sub.cursor || g.noticed != sub.noticed {
		return elsewhere
	}
	ready, _ := g.shaper.Settled(now, g.cursor)
	if step {
		ready = g.shaper.Paused(now, g.cursor) && sub.shaper.Paused(now, sub.cursor)
	}
	if !ready {
		return elsewhere
	}
	past, certain := sub.share(now, g.shaper, step)
	switch {
	case past == nil && certain:
		return different
	case past == nil:
		return elsewhere
	case step:
		sub.stepper = stepper{next: now.Add(minPause)}
	}
	sub.shaper = nil
	sub.joined, sub.marked, sub.shared = now, g.marks, g.history.end()
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

// share hands the stream over to another Shaper that makes the same, knowing that a session's events are stamped one after the other.
// It is not certain that the two differ while somebody stamps one: nobody is waited for here.
func (sub *subscription) share(now time.Time, with *shaper.Shaper, step bool) (past *shaper.Past, certain bool) {
	p := sub.p
	if p.cfg.Follow != nil || p.republished.Load() {
		return sub.shaper.Share(now, with, nil, step), true
	}
	certain = true
	past = sub.shaper.Share(now, with, func(session string) (since time.Time) {
		p.mu.Lock()
		i := slices.IndexFunc(p.sessions, func(s *Session) bool { return s.id == session })
		var s *Session
		if i >= 0 {
			s = p.sessions[i]
		}
		p.mu.Unlock()
		if s == nil {
			return since
		}
		if !s.mu.TryLock() {
			certain = false
			return since
		}
		defer s.mu.Unlock()
		if s.pos <= sub.cursor {
			since = s.last
		}
		return since
	}, step)
	return past, certain
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
