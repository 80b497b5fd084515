package bench

import (
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// residentBytes returns what a process has of the machine's memory, in bytes, or 0 where the system
// does not say.
func residentBytes(pid string) int64 {
	statm, _ := os.ReadFile("/proc/" + pid + "/statm")
	var total, pages int64
	fmt.Sscan(string(statm), &total, &pages)
	return pages * int64(os.Getpagesize())
}

// cpuOf returns how long a process has computed, to the hundredth of a second, or 0 where the
// system does not say.
func cpuOf(pid string) (used time.Duration) {
	stat, _ := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	if f := strings.Fields(rest); len(f) > 12 {
		for _, s := range f[11:13] {
			n, _ := strconv.ParseInt(s, 10, 64)
			used += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return used
}

// delays counts durations, each to about one in a hundred. Its methods may be called at once.
type delays struct {
	n      atomic.Int64
	counts [64 * 64]atomic.Int64 // 64 for each power of two
}

// addDelay counts one delay, in a slot that is right to about one part in 64. Any goroutine may
// call it.
func (d *delays) addDelay(delay time.Duration) {
	v, slot := max(int64(delay), 0), 0
	if v < 64 {
		slot = int(v)
	} else {
		e := bits.Len64(uint64(v)) - 7
		slot = (e+1)*64 + int(v>>e) - 64
	}
	d.counts[slot].Add(1)
	d.n.Add(1)
}

// quantile returns the delay that a share of all, from 0 to 1, is not above; 0 without any.
func (d *delays) quantile(share float64) time.Duration {
	left := int64(share * float64(d.n.Load()))
	for slot := range d.counts {
		if left -= d.counts[slot].Load(); left < 0 {
			if slot < 64 {
				return time.Duration(slot)
			}
			return time.Duration(slot%64+64) << (slot/64 - 1)
		}
	}
	return 0
}

// mergeFrom adds all delays of from to d, and empties from.
func (d *delays) mergeFrom(from *delays) {
	d.n.Add(from.n.Load())
	for i := range d.counts {
		d.counts[i].Add(from.counts[i].Load())
	}
	from.resetCounts()
}

// resetCounts forgets all delays.
func (d *delays) resetCounts() {
	d.n.Store(0)
	for i := range d.counts {
		d.counts[i].Store(0)
	}
}
