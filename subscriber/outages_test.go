package subscriber

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A cut that is mended at once disturbs nobody; of a longer one the user learns after three seconds, once however often the link is
// tried, and again when it is over. The end of the subscription, or of the context, ends it. P8
func TestOutages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sub, f, p := openFlaky(t, newStage(), Config{})
		type told struct {
			out   bool
			after time.Duration
		}
		var all []told
		cut := time.Now()
		ended := make(chan bool)
		go func() {
			for out := range sub.Outages(t.Context()) {
				all = append(all, told{out, time.Since(cut)})
			}
			close(ended)
		}()
		f.cut()
		time.Sleep(time.Minute)
		f.mu.Lock()
		f.reopen = func(int) error {
			if time.Since(cut) < 5*time.Second {
				return interrupted()
			}
			return nil
		}
		f.mu.Unlock()
		cut = time.Now()
		f.cut()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(all) != 2 || all[0] != (told{true, 3 * time.Second}) || all[1].out || all[1].after < 5*time.Second {
			t.Errorf("told %v, want that it was out of reach after 3s, and that it is back after 5s or more", all)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if more := slices.Collect(sub.Outages(over)); more != nil {
			t.Errorf("told %v after the end of its context", more)
		}
		leave(t, sub, p)
		<-ended
	})
}
