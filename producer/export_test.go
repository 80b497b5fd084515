package producer

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep/internal/delivery"
	"github.com/aaep-go/aaep/internal/questions"
)

// ClockSetBack leaves the session as a clock does that is set back while it goes on.
func (s *Session) ClockSetBack(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now().UTC().Round(0).Add(by)
}

// Grouped returns how many members each group has, the largest first.
func (p *Producer) Grouped() (sizes []int) { return p.delivery.GroupSizes() }

// HoldGroup has the first group busy until release is called.
func (p *Producer) HoldGroup() (release func()) { return p.delivery.HoldGroup() }

// Waits reports whether a subscription waits to be in step with a group.
func (p *Producer) Waits(id string) bool {
	return slices.ContainsFunc(*p.audience.Load(), func(sub *subscription) bool { return sub.id == id && sub.WaitsForGroup() })
}

// Suspending returns a function that has the machine sleep, as far as a Producer can tell: no clock
// of the test moves. It is called before anything is asked.
func (p *Producer) Suspending() (sleep func(time.Duration)) {
	var slept atomic.Int64
	was := p.broker
	p.broker = questions.NewBroker(was.Log, func() time.Duration { return time.Duration(slept.Load()) })
	p.broker.Claim, p.broker.Forget = was.Claim, was.Forget
	p.board.Broker = p.broker
	was.Close()
	return func(d time.Duration) { slept.Add(int64(d)) }
}

// HoldPastBatches takes all turns of subscriptions that catch up, until end is called. It is for a
// test that runs alone, and is called in its bubble.
func HoldPastBatches(cleanup func(func())) (end func()) {
	end, restore := delivery.HoldPastBatches()
	cleanup(restore)
	return end
}
