package subscriber

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/transports"
)

// A cut that is mended at once disturbs no user; of a longer one the user learns after three
// seconds, once however often the link is tried, and again when it is over. The end of the
// subscription, or of the context, ends it. P8
func TestOutages(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
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
		f.cutAll()
		time.Sleep(time.Minute)
		f.mu.Lock()
		f.reopen = func(int) error {
			if time.Since(cut) < 5*time.Second {
				return interruptedError()
			}
			return nil
		}
		f.mu.Unlock()
		cut = time.Now()
		f.cutAll()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(all) != 2 || all[0].after != 3*time.Second || all[0].why == nil ||
			errors.Is(all[0].why, aaep.ProducerShutdown) || all[1].why != nil || all[1].after < 5*time.Second {
			t.Errorf("told %v, want that it was out of reach after 3s, and that it is back after 5s or more", all)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if more := slices.Collect(sub.Outages(over)); more != nil {
			t.Errorf("told %v after the end of its context", more)
		}
		closeBoth(t, sub, p)
		<-ended
	})
}

// An agent that ended in good order is not called cut off.
func TestEndedOutage(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{})
		ended, back := make(chan error), make(chan error)
		go func() {
			to := ended
			for why := range sub.Outages(t.Context()) {
				to <- why
				to = back
			}
		}()
		p.sendRaw(t, closeMessage("sub_1", "producer_shutdown"))
		_ = p.Close()
		if why := <-ended; !errors.Is(why, aaep.ProducerShutdown) {
			t.Errorf("it is told that %v", why)
		}
		p = st.nextPeer(t)
		p.acceptRequest(t, "sub_2")
		if why := <-back; why != nil {
			t.Errorf("it is back, and told is that %v", why)
		}
		closeBoth(t, sub, p)
	})
}

// Whose credentials are refused when the agent is back learns that, once: what is waited for is not
// the agent any more. INV-52
func TestRefusedOutage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("good"), 0o600); err != nil {
		t.Fatal(err)
	}
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		var answers atomic.Pointer[error] // a link otherwise
		dial := dialer(func(ctx context.Context) (transports.Conn, error) {
			if _, err := credentials.FromFile(ctx, path); err != nil {
				return nil, err
			}
			if no := answers.Load(); no != nil {
				return nil, *no
			}
			return st.Dial(ctx)
		})
		var p *peer
		done := make(chan struct{})
		go func() { defer close(done); p = st.nextPeer(t); p.acceptRequest(t, "sub_1") }()
		sub, err := Dial(t.Context(), dial, Config{ID: "reader"})
		if err != nil {
			t.Fatal(err)
		}
		<-done
		var all []error
		ended := make(chan bool)
		go func() {
			defer close(ended)
			for why := range sub.Outages(t.Context()) {
				all = append(all, why)
			}
		}()
		var away, refuses error = errors.New("nobody is there"),
			&aaep.Rejection{Code: aaep.AuthenticationRequired, Remote: true}
		for _, no := range []*error{&away, &refuses, &away, &refuses} {
			answers.Store(no)
			_ = p.Close()
			time.Sleep(time.Hour)
		}
		answers.Store(nil)
		p = st.nextPeer(t)
		p.acceptRequest(t, "sub_2")
		synctest.Wait()
		if len(all) != 3 || errors.Is(all[0], aaep.AuthenticationRequired) ||
			!errors.Is(all[1], aaep.AuthenticationRequired) || all[2] != nil {
			t.Errorf("told %v, want that it is out of reach, that credentials are refused, and that it is back", all)
		}
		closeBoth(t, sub, p)
		<-ended
	})
}
