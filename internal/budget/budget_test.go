package budget

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aaep-go/aaep"
)

var budgetStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// mostInOneSecond returns the largest number of times in any window of one second, whatever their
// order.
func mostInOneSecond(times []time.Time) (most int) {
	sorted := slices.SortedFunc(slices.Values(times), time.Time.Compare)
	first := 0
	for i, at := range sorted {
		for at.Sub(sorted[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// HS-064: what was spent comes back one by one, a second later, and not at ticks.
func TestBudget(t *testing.T) {
	b := New(2)
	for i, step := range []struct {
		at   time.Duration // since the start
		take bool
		next time.Duration // after Take
	}{
		{0, true, 0},
		{0, true, time.Second},
		{0, false, time.Second},
		{999_999_999, false, time.Second},
		{time.Second, true, time.Second},
		{1300 * time.Millisecond, true, 2 * time.Second},
		{1999 * time.Millisecond, false, 2 * time.Second},
		{2 * time.Second, true, 2300 * time.Millisecond},
		{time.Hour, true, time.Hour}, // idle time saves nothing up
		{time.Hour, true, time.Hour + time.Second},
		{time.Hour, false, time.Hour + time.Second},
	} {
		now := budgetStart.Add(step.at)
		if got := b.Take(now); got != step.take {
			t.Errorf("step %d: Take = %t", i, got)
		}
		if got := b.Next(now).Sub(budgetStart); got != step.next {
			t.Errorf("step %d: Next = %v, want %v", i, got, step.next)
		}
	}
}

// Without a rate a Budget always has a token.
func TestBudgetWithoutLimit(t *testing.T) {
	for name, b := range map[string]*Budget{"zero": {}, "0": New(0), "-1": New(-1)} {
		for range 1000 {
			if !b.Take(budgetStart) || !b.Next(budgetStart).Equal(budgetStart) {
				t.Errorf("%s: limited", name)
			}
		}
	}
}

// D-49: the rate is kept in every window, and used up wherever there is demand.
func TestBudgetLoads(t *testing.T) {
	loads := map[string]func(i int) time.Duration{ // when event i wants to leave
		"burst":           func(int) time.Duration { return 0 },
		"steady":          func(i int) time.Duration { return time.Duration(i) * 7 * time.Millisecond },
		"idle then burst": func(i int) time.Duration { return time.Duration(i/350) * 10 * time.Second },
		"just off beat":   func(i int) time.Duration { return time.Duration(i/150) * 999 * time.Millisecond },
	}
	for _, rate := range []int{1, 3, 100} {
		for name, arrives := range loads {
			t.Run(fmt.Sprintf("%s at %d", name, rate), func(t *testing.T) {
				b := New(rate)
				now := budgetStart
				var left []time.Time
				for i := range 1000 {
					if at := budgetStart.Add(arrives(i)); at.After(now) {
						now = at
					}
					next := b.Next(now)
					if next.After(now) {
						if b.Take(next.Add(-1)) {
							t.Fatalf("event %d left before Next", i)
						}
						// Nothing may wait but for rate events in the second before.
						if first := left[len(left)-rate]; next.Sub(first) != time.Second {
							t.Fatalf("event %d waits for %v after the event %d before it", i, next.Sub(first), rate)
						}
					}
					if now = next; !b.Take(now) {
						t.Fatalf("event %d: Take at Next failed", i)
					}
					left = append(left, now)
				}
				if most := mostInOneSecond(left); most != min(rate, 1000) && name != "steady" || most > rate {
					t.Errorf("%d in one second", most)
				}
			})
		}
	}
}

// No window of one second holds more than rate events, for any demand and for clocks that step back
// by less than a second.
func TestBudgetProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.SampledFrom([]int{1, 2, 3, 10, 100}).Draw(t, "rate")
		back := rapid.Bool().Draw(t, "steps back")
		b := New(rate)
		now, newest := budgetStart, budgetStart
		var left []time.Time
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			step := time.Duration(rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 1100), rapid.Just(0),
				rapid.Just(1000)).Draw(t, "ms")) * time.Millisecond
			if back && rapid.IntRange(0, 3).Draw(t, "back") == 0 {
				step = -min(step, 999*time.Millisecond-newest.Sub(now))
			}
			now = now.Add(step)
			if now.After(newest) {
				newest = now
			}
			next := b.Next(now)
			ok := b.Take(now)
			if ok != !next.After(now) {
				t.Fatalf("Take(%v) = %t, Next = %v", now, ok, next)
			}
			if ok {
				left = append(left, now)
			} else if len(left) < rate || next.Sub(now) > time.Second+newest.Sub(now) {
				t.Fatalf("after %d events the next waits %v", len(left), next.Sub(now))
			}
		}
		if most := mostInOneSecond(left); most > rate {
			t.Fatalf("%d events in one second at rate %d: %v", most, rate, left)
		}
	})
}

// Whatever the clock does, a token is there within two seconds of the time given, within one if it
// stepped back by a second or more, and Next keeps its word.
func TestBudgetClockSteps(t *testing.T) {
	for _, step := range []time.Duration{time.Nanosecond, 500 * time.Millisecond, time.Second - 1, time.Second,
		90 * time.Second, 24 * time.Hour} {
		b := New(3)
		for range 3 {
			b.Take(budgetStart)
		}
		now := budgetStart.Add(-step)
		next := b.Next(now)
		limit := time.Second
		if step < time.Second {
			limit += step
		}
		if wait := next.Sub(now); wait > limit || wait <= 0 {
			t.Errorf("step back of %v: wait of %v", step, wait)
		}
		if b.Take(next.Add(-1)) {
			t.Errorf("step back of %v: left before Next", step)
		}
		for i := range 3 {
			if !b.Take(next) {
				t.Errorf("step back of %v: event %d did not leave at Next", step, i)
			}
		}
		if b.Take(next) {
			t.Errorf("step back of %v: a fourth event left", step)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		b := New(rapid.IntRange(1, 5).Draw(t, "rate"))
		now := budgetStart
		for range 100 {
			now = now.Add(time.Duration(rapid.IntRange(-5000, 3000).Draw(t, "ms")) * time.Millisecond)
			b.Take(now)
			if wait := b.Next(now).Sub(now); wait >= 2*time.Second || wait < 0 {
				t.Fatalf("wait of %v", wait)
			}
			if next := b.Next(now); !b.Take(next) {
				t.Fatalf("Take at Next failed")
			} else {
				now = next
			}
		}
	})
}

// A window that reaches over a change of rate holds no more than the new rate; what was spent under
// no limit counts too.
func TestBudgetSetRate(t *testing.T) {
	at := func(ms int) time.Time { return budgetStart.Add(time.Duration(ms) * time.Millisecond) }
	spend := func(b *Budget, now time.Time) (n int) {
		for n < 1000 && b.Take(now) {
			n++
		}
		return n
	}
	for _, tt := range []struct {
		name     string
		from, to int
		ms, want int // events at ms after a burst at 0
		next     int
	}{
		{"up at once", 3, 10, 0, 7, 1000},
		{"up later", 3, 10, 999, 7, 1000},
		{"down", 10, 3, 500, 0, 1000},
		{"down and over", 10, 3, 1000, 3, 2000},
		{"to no limit", 3, 0, 1, 1000, 1},
		{"from no limit", 0, 5, 999, 0, 1000},
		{"from no limit and over", 0, 5, 1000, 5, 2000},
	} {
		b := New(tt.from)
		spend(b, at(0))
		b.SetRate(tt.to)
		if got := spend(b, at(tt.ms)); got != tt.want {
			t.Errorf("%s: %d events, want %d", tt.name, got, tt.want)
		}
		if got := b.Next(at(tt.ms)); !got.Equal(at(tt.next)) {
			t.Errorf("%s: Next = %v, want %v", tt.name, got, at(tt.next))
		}
	}
	b := New(100)
	spend(b, at(0))
	b.SetRate(1)
	b.Take(at(10))
	if b.SetRate(100); b.Take(at(20)) {
		t.Error("a lower rate in between made the Budget forget")
	}

	rapid.Check(t, func(t *rapid.T) {
		b, now, rate := New(5), budgetStart, 5
		var left []time.Time
		for range 200 {
			now = now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "ms")) * time.Millisecond)
			if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
				rate = rapid.IntRange(1, 12).Draw(t, "rate")
				b.SetRate(rate)
			}
			for rapid.Bool().Draw(t, "more") && b.Take(now) {
				left = append(left, now)
				recent := 0
				for _, at := range left {
					if now.Sub(at) < time.Second {
						recent++
					}
				}
				if recent > rate {
					t.Fatalf("%d events in the second before %v at rate %d", recent, now, rate)
				}
			}
		}
	})
}

// The history takes memory for the events of two seconds, not for those of a day.
func TestBudgetMemory(t *testing.T) {
	for _, rate := range []int{0, 100, 1 << 30} {
		b := New(rate)
		now := budgetStart
		for range 1_000_000 {
			b.Take(now)
			now = now.Add(500 * time.Microsecond)
		}
		if n := cap(b.spent); n > 20000 {
			t.Errorf("rate %d: room for %d", rate, n)
		}
	}
	b := New(0)
	for range 1_000_000 {
		b.Take(budgetStart)
	}
	if n := cap(b.spent); n > 8*aaep.MaxRate {
		t.Errorf("a burst of a million takes room for %d", n)
	}
	b = New(1 << 30)
	n := 0
	for b.Take(budgetStart) {
		n++
	}
	if n != aaep.MaxRate {
		t.Errorf("%d at once, want %d", n, aaep.MaxRate)
	}
}

func ExampleBudget() {
	b := New(2)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	fmt.Println(b.Take(now), b.Take(now), b.Take(now))
	now = b.Next(now)
	fmt.Println(now.Format(time.TimeOnly), b.Take(now))
	// Output:
	// true true false
	// 12:00:01 true
}

func BenchmarkBudget(b *testing.B) {
	for _, rate := range []int{0, 10, 100000} {
		b.Run(fmt.Sprint(rate), func(b *testing.B) {
			b.ReportAllocs()
			budget, now := New(rate), budgetStart
			for b.Loop() {
				if now = now.Add(10 * time.Microsecond); !budget.Take(now) {
					now = budget.Next(now)
				}
			}
		})
	}
}

// What several have spent together follows what one has spent before, also where Left has put that
// off.
func TestSpentAfter(t *testing.T) {
	now := budgetStart
	own, shared := New(9), New(9)
	own.Take(now)
	own.Postpone(now.Add(20*time.Millisecond), 1)
	before := shared.taken
	shared.Take(now.Add(time.Millisecond))
	if both := shared.SpentAfter(before, own); len(both.spent) != 2 || !slices.IsSorted(both.spent) {
		t.Errorf("spent at %v", both.spent)
	}
}
