package delivery

import (
	"crypto/sha256"
	"slices"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/transports"
)

// membership is what a subscription knows of the group that it is in or may join. It belongs to the
// owner of the subscription: its goroutine, or the goroutine that holds the group's mu.
type membership struct {
	key    groupKey              // zero: not computed for these terms and this stream
	group  atomic.Pointer[group] // nil: in no group; changed with the subscription's mu held
	sharer transports.Sharer     // what the group sends to
	past   *shaper.ShareRecord   // how its counts and ids differ from the group's; nil in no group
	joined time.Time             // when it joined
	shared uint64                // the number, in the group's history, of the next event when it joined
	marked uint64                // the group's marks when it joined
	alarm  *time.Timer           // wakes it at the end of its lifetime
	rejoinBackoff
	groupPaused  atomic.Bool // set by a group that it waits for, when that has paused
	pendingBatch *batch      // taken out of the group's Shaper and not sent; nil is nothing
}

// joinSettledGroup lets a settled subscription join a group that is settled at the same place, or
// makes a group of it for those that come later: where no group has room for it, and no more than
// maxUnlike make another stream. tryJoin calls it, holding no lock. If the subscription does not
// join, again is when to try again: zero is after the next event, soon where a group was busy or
// elsewhere in the log.
func (sub *Subscription) joinSettledGroup(now time.Time) (joined bool, again time.Time) {
	if settled, settles := sub.shaper.Settled(now, sub.cursor); !settled {
		return false, settles
	}
	if !sub.canBeGrouped() {
		return false, again
	}
	var all []*group // the groups of its key that were tried; createGroup returns them
	for {
		unlike, later := 0, false
		for _, g := range all {
			switch g.tryAdd(sub, now, false) {
			case taken:
				return sub.confirmJoin(g), again
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
		g, others := sub.createGroup(all, now, false)
		switch {
		case g != nil:
			return sub.confirmJoin(g), again
		case others == nil:
			return false, now.Add(time.Second)
		}
		all = others
	}
}

// canBeGrouped reports whether the link can be handed shared bytes and nothing is pending for this
// subscriber alone: no loss to report, nothing to send again, no text to skip, no question shown
// early, and nothing of the history to read. Where that is so it sets sharer and key. Only the
// goroutine of runUngrouped calls it.
func (sub *Subscription) canBeGrouped() bool {
	if sub.stream == nil || sub.stream.sharer == nil {
		return false
	}
	readsHistory := sub.cursor < max(sub.replayed, sub.changedAt)
	if sub.gap || len(sub.resend) > 0 || readsHistory || sub.skip > 0 || len(sub.early) > 0 {
		return false
	}
	framing := sub.stream.sharer.Framing()
	if framing == "" || sub.key.framing == "" && !sub.computeKey() {
		return false
	}
	sub.sharer, sub.key.framing = sub.stream.sharer, framing
	return true
}

// createGroup makes a group whose only member is the subscription, enters it in the table and
// starts its goroutine. It makes none, and returns the groups of the same key, if those are not the
// ones in asked, which have refused the subscription already. Both results are nil if the
// subscription cannot even be in a group with itself. step is as for tryAdd. groups.mu must not be
// held.
func (sub *Subscription) createGroup(asked []*group, now time.Time, step bool) (g *group, others []*group) {
	gs := &sub.d.groups
	gs.mu.Lock()
	defer gs.mu.Unlock()
	if all := gs.byKey[sub.key]; !slices.Equal(all, asked) { // the caller is to try these first
		return nil, slices.Clone(all)
	}
	g = &group{key: sub.key, plain: !sub.stream.resumable, woken: make(chan struct{}, 1)}
	g.owner, g.d, g.terms, g.shaper = g, sub.d, sub.terms, sub.shaper.Split(new(shaper.ShareRecord))
	g.cursor, g.noticed = sub.cursor, sub.noticed
	g.left.Store(sub.left.Load())
	g.urgent.Store(sub.urgent.Load())
	g.needs.Store(g.cursor)
	g.stats = g.shaper.Stats()
	if g.tryAdd(sub, now, step) != taken { // its Shaper is not even like a copy of itself
		return nil, nil
	}
	if gs.byKey == nil {
		gs.byKey = map[groupKey][]*group{}
	}
	gs.byKey[g.key] = append(gs.byKey[g.key], g)
	gs.all.Store(new(append(slices.Clone(*gs.all.Load()), g)))
	g.d.Groups.Go(g.run)
	return g, nil
}

const (
	// soon is when to try again a group that has not read as far as the subscription, or is busy.
	soon = 20 * time.Millisecond
	// maxUnlike is how many groups of one key may have a Shaper that differs from the
	// subscription's before no further group is made.
	maxUnlike = 16
)

// computeKey fills in the part of the key that stands for the terms. It reports false if there is
// none, for the terms cannot be encoded.
func (sub *Subscription) computeKey() bool {
	shaping := []any{sub.terms.Capabilities(), sub.terms.MaxChunk, []byte(sub.terms.Profile())}
	terms, err := jsonv2.Marshal(shaping, jsonv2.Deterministic(true))
	if err != nil {
		return false
	}
	sub.key.terms = sha256.Sum256(terms)
	return true
}

// confirmJoin catches up with other goroutines that acted on the subscription while it joined g: it
// wakes one that waits for the subscription to progress, and has the group release the subscription
// if that was woken. It always returns true. The group may have released it by then.
func (sub *Subscription) confirmJoin(g *group) bool {
	if sub.watched.Load() { // by a goroutine that looked at the subscription's own cursor
		g.d.Moved.Broadcast()
	}
	if len(sub.woken) > 0 {
		g.requestRelease()
	}
	return true
}

// addResult is what came of tryAdd.
type addResult int

const (
	taken     addResult = iota // it is a member now
	full                       // the group has no room, or is over
	elsewhere                  // the group has read up to another event, holds something, or is busy
	different                  // the two Shapers would not make the same stream
)

// tryAdd makes sub a member if the group has read as far and both Shapers are settled and alike;
// with step, if both are paused and alike. With step, a subscription that is not taken, though the
// group has room, is woken when the group next pauses, and one that is taken makes no other attempt
// for minPause. The goroutine that owns sub calls it. It takes g.mu with TryLock and does not wait.
func (g *group) tryAdd(sub *Subscription, now time.Time, step bool) (result addResult) {
	if g.size.Load() >= maxMembers {
		return full
	}
	if !g.mu.TryLock() { // to wait would keep the subscriber from hearing anything
		return elsewhere
	}
	defer g.mu.Unlock()
	if g.over || len(g.members) >= maxMembers {
		return full
	}
	if step {
		defer func() {
			if result != taken {
				g.addWaiting(sub)
			}
		}()
	}
	if g.cursor != sub.cursor || g.noticed != sub.noticed {
		return elsewhere
	}
	ready, _ := g.shaper.Settled(now, g.cursor) // the caller has looked at the subscription's own
	if step {
		ready = g.shaper.Paused(now, g.cursor) && sub.shaper.Paused(now, sub.cursor)
	}
	if !ready {
		return elsewhere
	}
	memberPast, certain := sub.shareStream(now, g.shaper, step)
	switch {
	case memberPast == nil && certain:
		return different
	case memberPast == nil:
		return elsewhere
	case step:
		sub.rejoinBackoff = rejoinBackoff{next: now.Add(minPause)}
	}
	g.addMember(sub, now, memberPast)
	return taken
}

// addMember makes sub a member, whose stream was handed over with past, and with that the group's
// goroutine its owner. tryAdd calls it, with g.mu held; releaseMembers undoes it.
func (g *group) addMember(sub *Subscription, now time.Time, past *shaper.ShareRecord) {
	sub.shaper = nil
	sub.joined, sub.marked, sub.shared = now, g.marks, g.history.nextNumber()
	if end := sub.life.nextEnd(); !end.IsZero() {
		sub.alarm = time.AfterFunc(time.Until(end), sub.Wake)
	}
	sub.mu.Lock()
	sub.past = past
	sub.group.Store(g)
	sub.mu.Unlock()
	g.members = append(g.members, sub)
	g.size.Add(1)
}

// shareStream hands the subscription's stream over to another Shaper that makes the same stream. It
// returns nil if the two are not alike. Then certain is false if they may prove alike a moment
// later: a Session was just stamping an event, and this does not wait for a Session's mu.
//
// The newest stamp given to an event of a session may differ in both, as long as the next event is
// stamped no earlier than either: a session stamps its events in order. This does not hold for
// events that were republished or that another process stamps. It runs with the group's mu held,
// and takes Producer.mu.
func (sub *Subscription) shareStream(now time.Time, other *shaper.Shaper, step bool) (
	past *shaper.ShareRecord, certain bool) {
	agent := sub.d.Agent
	if !agent.StampsInOrder() {
		return sub.shaper.Share(now, other, nil, step), true
	}
	certain = true
	past = sub.shaper.Share(now, other, func(session string) time.Time {
		stamp, known := agent.LastStamp(session, sub.cursor)
		certain = certain && known
		return stamp
	}, step)
	return past, certain
}

// addWaiting enters sub among those that are woken when the group pauses, with g.mu held. Where
// there are too many, the one that has waited longest is dropped: its attempt ends by itself after
// longestHold.
func (g *group) addWaiting(sub *Subscription) {
	if slices.Contains(g.waiting, sub) {
		return
	}
	if len(g.waiting) >= maxMembers {
		g.waiting = slices.Delete(g.waiting, 0, 1)
	}
	g.waiting = append(g.waiting, sub)
}
