package bridge

import (
	"sync"
	"time"
)

// A Window is the time in which news is gathered after some were told. Its zero value is closed.
// The lock of its owner guards it: every method is called with that held.
type Window struct{ timer *time.Timer }

// IsOpen reports whether news is gathered.
func (w *Window) IsOpen() bool { return w.timer != nil }

// Open opens the window for a time, after which ended is called with lock held, unless the window
// was closed or opened again before.
func (w *Window) Open(lasts time.Duration, lock sync.Locker, ended func()) {
	w.Close()
	var timer *time.Timer
	timer = time.AfterFunc(lasts, func() {
		lock.Lock()
		defer lock.Unlock()
		if w.timer == timer {
			ended()
		}
	})
	w.timer = timer
}

// Close closes the window.
func (w *Window) Close() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}
