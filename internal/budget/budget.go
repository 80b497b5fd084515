// Package budget counts how many events may leave in any window of one second (§5.3.1.1).
//
// It knows no clock: the caller passes now. A Budget has no lock; the goroutine that owns the
// subscription owns it. Begin reading at Budget and Take.
package budget

import (
	"math"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
)

// A Budget allows at most rate events in any window of one second (§5.3.1.1): a spent token comes
// back one second after it was spent, so a burst of rate events passes at once, also after a long
// silence, but never more than that. The zero Budget sets no limit.
//
// The promise is about the times it is given, and holds although they may step backwards: then it
// counts what it spent in the second around now, on both sides. A step back of d delays the next
// token by up to d. After a step of a second or more, what was spent counts as spent at the new
// now, so no step blocks for longer than two seconds, and a large one for no longer than one.
// (Times from time.Now carry a monotonic reading and never step back.)
//
// Memory grows with the events of the last two seconds. Not safe for concurrent use.
type Budget struct {
	rate  int             // events per second; 0 or less: no limit
	base  time.Time       // the time that spent is relative to
	spent []time.Duration // when tokens were spent, in ascending order
	head  int             // spent[:head] is no longer needed
	taken uint64          // how many tokens were ever spent
}

// retention is how long a spend is remembered: one second, and one more for a clock that steps
// back.
const retention = 2 * time.Second

// New returns a Budget of rate events per second, at most aaep.MaxRate; zero or less sets no limit.
func New(rate int) *Budget { return &Budget{rate: min(rate, aaep.MaxRate)} }

// SetRate changes the rate, as after a renegotiation (§5.7). What was spent stays spent, so that no
// window that reaches over the change holds more than the new rate allows.
func (b *Budget) SetRate(rate int) { b.rate = min(rate, aaep.MaxRate) }

// Limited reports whether there is a rate.
func (b *Budget) Limited() bool { return b.rate > 0 }

// Taken returns how many tokens were ever spent.
func (b *Budget) Taken() uint64 { return b.taken }

// Take spends a token at now and reports whether there was one to spend; if not, nothing changes.
// Tokens that are older than retention are forgotten.
func (b *Budget) Take(now time.Time) bool {
	t := b.offsetOf(now)
	if b.firstFree(t) > t {
		return false
	}
	if n := len(b.spent); n > b.head {
		t = max(t, b.spent[n-1]) // the clock may have stepped back
	}
	// Spends that no longer count are forgotten, and the room that they had is used again.
	for b.head < len(b.spent) && (b.spent[b.head] <= t-retention || len(b.spent)-b.head > 2*aaep.MaxRate) {
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
	t := b.offsetOf(now)
	return now.Add(max(b.firstFree(t)-t, 0))
}

// Free returns how many tokens there are at now; math.MaxInt without a limit.
func (b *Budget) Free(now time.Time) int {
	if b.rate <= 0 {
		return math.MaxInt
	}
	t := b.offsetOf(now)
	spent := b.spent[b.head:]
	old, _ := slices.BinarySearch(spent, t-time.Second+1) // how many were spent a second ago or longer
	return max(b.rate-(len(spent)-old), 0)
}

// Postpone moves the newest n spends to now, for events that left later than their tokens were
// taken.
func (b *Budget) Postpone(now time.Time, n int) {
	t := b.offsetOf(now)
	for i := max(len(b.spent)-n, b.head); i < len(b.spent); i++ {
		b.spent[i] = max(b.spent[i], t)
	}
}

// offsetOf returns now relative to base. Where now is a second or more before the newest spend, it
// moves the later spends to now, so that a step back of the clock blocks for no longer than that.
func (b *Budget) offsetOf(now time.Time) time.Duration {
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

// firstFree returns when the next token is free, relative to base: t itself where one is free at t.
func (b *Budget) firstFree(t time.Duration) time.Duration {
	if i := len(b.spent) - b.rate; b.rate > 0 && i >= b.head {
		return b.spent[i] + time.Second
	}
	return t
}

// Clone returns a copy that shares no memory with b.
func (b *Budget) Clone() *Budget {
	c := *b
	c.spent, c.head = slices.Clone(b.spent[b.head:]), 0
	return &c
}

// FullAt returns from when on every token is free; the zero time where nothing is remembered.
// Without a limit it is the time of the newest spend, because Postpone may still move that spend
// and the ones after it.
func (b *Budget) FullAt() (at time.Time) {
	n := len(b.spent)
	if n == b.head {
		return at
	}
	if at = b.base.Add(b.spent[n-1]); b.rate > 0 {
		at = at.Add(time.Second)
	}
	return at
}

// HasRecent reports whether a spend is remembered that would count against a rate set at now.
func (b *Budget) HasRecent(now time.Time) bool {
	n := len(b.spent)
	return n > b.head && now.Sub(b.base) < b.spent[n-1]+retention
}

// SpentAfter returns a Budget that has spent what before has, which may be nil, and after that what
// b has spent since it had taken as many tokens as taken says. A subscription that leaves a shared
// Shaper continues with it: before is its Budget of the time when it began to share.
func (b *Budget) SpentAfter(taken uint64, before *Budget) *Budget {
	c := &Budget{rate: b.rate, base: b.base}
	if before != nil {
		c = before.Clone()
	}
	for _, offset := range b.spent[max(b.head, len(b.spent)-int(b.taken-taken)):] {
		when := b.base.Add(offset).Sub(c.base)
		if n := len(c.spent); n > 0 {
			when = max(when, c.spent[n-1])
		}
		c.spent = append(c.spent, when)
	}
	c.taken = uint64(len(c.spent))
	return c
}

// Align makes b a copy of other, which has the same rate, and reports whether that could be done: b
// spent each of its tokens of the last second no later than other did, or later by at most
// tolerance. other's spends are then moved to those later times, so that neither exceeds the rate.
// Otherwise neither is changed.
func (b *Budget) Align(now time.Time, other *Budget, tolerance time.Duration) bool {
	later := map[int]time.Duration{} // by the index of a spend of other: to when it is moved
	for n := range min(b.rate, len(b.spent)-b.head) {
		spentAt := b.base.Add(b.spent[len(b.spent)-1-n])
		if now.Sub(spentAt) >= time.Second {
			break
		}
		i := len(other.spent) - 1 - n
		if i < other.head {
			return false
		}
		switch offset := spentAt.Sub(other.base); {
		case offset > other.spent[i]+tolerance:
			return false
		case offset > other.spent[i]:
			later[i] = offset
		}
	}
	for i, offset := range later {
		other.spent[i] = offset
	}
	*b = *other.Clone()
	return true
}
