package producer

import (
	"sync"
	"time"
)

// warnings counts the warnings of one kind, of which ten are written in a minute: an agent that
// asks in a loop must not fill the log. The zero warnings is ready, and any goroutine may use it.
type warnings struct {
	mu          sync.Mutex // a leaf; guards what follows
	began       time.Time  // when the minute began
	wrote, left int        // how many were written in it, and left out since one was written
}

// countWarning counts a warning, and reports whether to write it: ten are written in a minute. left
// is how many were left out since the last one that was written. Any goroutine may call it.
func (f *warnings) countWarning(now time.Time) (write bool, left int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.began) >= time.Minute {
		f.began, f.wrote = now, 0
	}
	if f.wrote == 10 {
		f.left++
		return false, 0
	}
	f.wrote++
	left, f.left = f.left, 0
	return true, left
}
