package coalesce

import (
	"math"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
)

// A Budget allows at most rate events in any window of one second (§5.3.1.1): a spent token comes back
// one second after it was spent, so a burst of rate events passes at once, also after a long silence, but
// never more than that. The zero Budget sets no limit.
//
// The promise is about the times it is given, and holds although they may step backwards: then it counts
// what it spent in the second around now, on both sides. A step back of d delays the next token by up to
// d. After a step of a second or more, what was spent counts as spent at the new now, so no step blocks
// for longer than two seconds, and a large one for no longer than one. (Times from time.Now carry a
// monotonic reading and never step back.)
//
// Memory grows with the events of the last two seconds. Not safe for concurrent use.
type Budget struct {
	rate  int             // events per second; 0 or less: no limit
	base  time.Time       // what the times below are relative to
	spent []time.Duration // when tokens were spent, never falling, all of the last keep
	head  int             // spent[:head] is forgotten
	taken uint64          // tokens, ever
}

const noLimit = math.MaxInt

// keep is how long spends are remembered: a second, and a second more for a clock that steps back.
const keep = 2 * time.Second

// NewBudget returns a Budget of rate events per second, at most aaep.MaxRate; zero or less sets no limit.
func NewBudget(rate int) *Budget { return &Budget{rate: min(rate, aaep.MaxRate)} }

// setRate changes the rate, as after a renegotiation (§5.7). What was spent stays spent, so that no
// window that reaches over the change holds more than the new rate allows.
func (b *Budget) setRate(rate int) { b.rate = min(rate, aaep.MaxRate) }

// Take spends a token at now and reports whether there was one.
func (b *Budget) Take(now time.Time) bool {
	t := b.at(now)
	if b.free(t) > t {
		return false
	}
	if n := len(b.spent); n > b.head {
		t = max(t, b.spent[n-1])
	}
	for b.head < len(b.spent) && (b.spent[b.head] <= t-keep || len(b.spent)-b.head > 2*aaep.MaxRate) {
		b.head++
	}
	if 2*b.head >= len(b.spent) {
		b.spent = b.spent[:copy(b.spent, b.spent[b.head:])]
		b.head = 0
	}
	b.spent = append(b.spent, t)
	b.taken++
	return true
}

// Next returns when Take will next succeed: now, if it would at once.
func (b *Budget) Next(now time.Time) time.Time {
	t := b.at(now)
	return now.Add(max(b.free(t)-t, 0))
}

// Free returns how many tokens there are at now; without a limit, more than anybody can use.
func (b *Budget) Free(now time.Time) int {
	if b.rate <= 0 {
		return noLimit
	}
	t := b.at(now)
	spent := b.spent[b.head:]
	old, _ := slices.BinarySearch(spent, t-time.Second+1)
	return max(b.rate-(len(spent)-old), 0)
}

// left moves the newest n spends to now, for events that left later than their tokens were taken.
func (b *Budget) left(now time.Time, n int) {
	t := b.at(now)
	for i := max(len(b.spent)-n, b.head); i < len(b.spent); i++ {
		b.spent[i] = max(b.spent[i], t)
	}
}

// at returns now relative to base, having noted a large step back.
func (b *Budget) at(now time.Time) time.Duration {
	if len(b.spent) == b.head {
		b.base = now
		return 0
	}
	t := now.Sub(b.base)
	if last := len(b.spent) - 1; b.spent[last]-t >= time.Second {
		for i := last; i >= b.head && b.spent[i] > t; i-- {
			b.spent[i] = t
		}
	}
	return t
}

// free returns the first time, at t or not, when a token is there.
func (b *Budget) free(t time.Duration) time.Duration {
	if i := len(b.spent) - b.rate; b.rate > 0 && i >= b.head {
		return b.spent[i] + time.Second
	}
	return t
}
