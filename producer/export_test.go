package producer

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep/internal/questions"
)

// ClockSetBack leaves the session as a clock does that is set back while it goes on.
func (s *Session) ClockSetBack(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now().UTC().Round(0).Add(by)
}

// Grouped returns how many members each group has, the largest first.
func (p *Producer) Grouped() (sizes []int) {
	for _, g := range *p.groups.all.Load() {
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
func (p *Producer) HoldGroup() (release func()) {
	g := (*p.groups.all.Load())[0]
	g.mu.Lock()
	return g.mu.Unlock
}

// Waits reports whether a subscription waits to be in step with a group.
func (p *Producer) Waits(id string) bool {
	return slices.ContainsFunc(*p.groups.all.Load(), func(g *group) bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return slices.ContainsFunc(g.waiting, func(sub *subscription) bool { return sub.id == id })
	})
}

// Suspending returns a function that has the machine sleep, as far as a Producer can tell: no clock
// of the test moves. It is called before anything is asked.
func (p *Producer) Suspending() (sleep func(time.Duration)) {
	var slept atomic.Int64
	was := p.broker
	p.broker = questions.NewBroker(was.Log, func() time.Duration { return time.Duration(slept.Load()) })
	p.broker.Claim, p.broker.Forget = was.Claim, was.Forget
	was.Close()
	return func(d time.Duration) { slept.Add(int64(d)) }
}

// HoldPastBatches takes all turns of subscriptions that catch up, until end is called. It is for a
// test that runs alone, and is called in its bubble.
func HoldPastBatches(cleanup func(func())) (end func()) {
	was, held := pastBatches, make(batchTurns, 1)
	pastBatches = held
	cleanup(func() { pastBatches = was })
	held.acquire()
	return held.release
}
