package delivery

import "slices"

// The functions of this file are for the tests of package producer, which see delivery from
// outside.

// GroupSizes returns how many members each group has, the largest first; groups without members are
// left out. Tests of package producer call it, from any goroutine.
func (d *Dispatcher) GroupSizes() (sizes []int) {
	for _, g := range *d.groups.all.Load() {
		g.mu.Lock()
		if len(g.members) > 0 {
			sizes = append(sizes, len(g.members))
		}
		g.mu.Unlock()
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	return sizes
}

// HoldGroup has the first group busy until release is called.
func (d *Dispatcher) HoldGroup() (release func()) {
	g := (*d.groups.all.Load())[0]
	g.mu.Lock()
	return g.mu.Unlock
}

// WaitsForGroup reports whether the subscription waits to be in step with a group. Any goroutine
// may call it.
func (sub *Subscription) WaitsForGroup() bool {
	return slices.ContainsFunc(*sub.d.groups.all.Load(), func(g *group) bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return slices.Contains(g.waiting, sub)
	})
}

// HoldPastBatches takes all turns of subscriptions that catch up, until end is called. restore
// undoes the change. Meanwhile no other code uses the package.
func HoldPastBatches() (end, restore func()) {
	previous, held := pastBatches, make(batchTurns, 1)
	pastBatches = held
	held.acquire()
	return held.release, func() { pastBatches = previous }
}
