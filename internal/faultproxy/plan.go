package faultproxy

import (
	"math/rand/v2"
	"time"
)

// Weather is how bad a Random plan is.
type Weather struct {
	Bytes int           // how many go on before a connection is ended, on average; zero is that none is
	Wait  time.Duration // the longest that bytes are left to pile up
	Stall time.Duration // the longest that a connection stands still before it is reset; zero is that none does
}

// Random draws, from a seed, what happens to each connection. The same seed and weather give the
// same plan.
func Random(seed uint64, w Weather) Plan {
	return func(n int) (up, down Line) {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		up, down = w.drawLine(r), w.drawLine(r)
		if w.Bytes > 0 {
			// Most bytes come down, and some connections say little upwards: each ends in that
			// direction at the latest.
			w.drawEnd(r, &down)
			if r.IntN(4) == 0 {
				w.drawEnd(r, &up)
			}
		}
		return up, down
	}
}

// drawEnd draws from r where and how a direction ends its connection, and writes that into l.
func (w Weather) drawEnd(r *rand.Rand, l *Line) {
	l.End = []End{Close, Reset, Close, Reset, Stall}[r.IntN(5)]
	if l.End == Stall && w.Stall == 0 {
		l.End = Reset
	}
	l.After = int(r.ExpFloat64() * float64(w.Bytes))
	if w.Stall > 0 {
		l.Stall = 1 + time.Duration(r.Int64N(int64(w.Stall)))
	}
}

// drawLine draws how one direction handles its bytes. Each has a random source of its own, so that
// what one does changes nothing in the other. The result is the same for the same seed.
func (w Weather) drawLine(r *rand.Rand) Line {
	kind, lineRand := r.IntN(4), rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
	return Line{Next: func() (wait time.Duration, most int) {
		if w.Wait > 0 && lineRand.IntN(4) == 0 {
			wait = time.Duration(lineRand.Int64N(int64(w.Wait)))
		}
		switch kind {
		case 0: // as it comes
			return 0, 32 << 10
		case 1: // in crumbs
			return 0, 1 + lineRand.IntN(16)
		case 2: // late, in lumps
			return wait, 32 << 10
		}
		return wait, 1 + lineRand.IntN(1<<uint(lineRand.IntN(13)))
	}}
}
