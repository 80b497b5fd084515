package subscriber

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
)

// A cut that is mended at once disturbs nobody; of a longer one the user learns after three seconds, once however often the link is
// tried, and again when it is over. The end of the subscription, or of the context, ends it. P8
func TestOutages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sub, f, p := openFlaky(t, newStage(), Config{})
		type told struct {
			why   error
			after time.Duration
		}
		var all []told
		cut := time.Now()
		ended := make(chan bool)
		go func() {
			for why := range sub.Outages(t.Context()) {
				all = append(all, told{why, time.Since(cut)})
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
		if len(all) != 2 || all[0].after != 3*time.Second || all[0].why == nil || errors.Is(all[0].why, aaep.ProducerShutdown) || all[1].why != nil || all[1].after < 5*time.Second {
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

// An agent that ended in good order is not called cut off.
func TestEndedOutage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		st := newStage()
		sub, p := open(t, st, Config{})
		ended, back := make(chan error), make(chan error)
		go func() {
			to := ended
			for why := range sub.Outages(t.Context()) {
				to <- why
				to = back
			}
		}()
		p.say(t, closing("sub_1", "producer_shutdown"))
		_ = p.Close()
		if why := <-ended; !errors.Is(why, aaep.ProducerShutdown) {
			t.Errorf("it is told that %v", why)
		}
		p = st.next(t)
		p.accept(t, "sub_2")
		if why := <-back; why != nil {
			t.Errorf("it is back, and told is that %v", why)
		}
		leave(t, sub, p)
	})
}
