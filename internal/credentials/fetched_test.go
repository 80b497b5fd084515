package credentials

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// INV-42, T-SSRF: whatever is asked for that is not there, it is fetched at most every ten seconds;
// what is withdrawn is forgotten within five minutes; and while nothing can be fetched, what was
// there stays.
func TestFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		published, broken, fetched := 1, error(nil), 0
		f := NewFetched(func(context.Context) (int, error) { fetched++; return published, broken })
		begin := time.Now()
		later := time.Duration(0) // for what is not there
		get := func(want, wantFetched int, suits func(int) bool) {
			t.Helper()
			got, again, err := f.Get(t.Context(), suits)
			if err != nil || got != want || fetched != wantFetched || again != later {
				t.Errorf("after %v: %d, %v, fetched %d times, again in %v; want %d, fetched %d times, again in %v",
					time.Since(begin), got, err, fetched, again, want, wantFetched, later)
			}
		}
		is := func(n int) func(int) bool { return func(v int) bool { return v == n } }
		broken = errors.New("down")
		for range 3 {
			if _, _, err := f.Get(t.Context(), is(1)); err != broken || fetched != 1 {
				t.Errorf("never fetched: %v after %d", err, fetched)
			}
		}
		broken = nil
		time.Sleep(FetchPace)
		get(1, 2, is(1))
		get(1, 2, is(1))
		published = 2
		get(2, 3, is(2)) // it has changed
		later = FetchPace
		get(2, 3, is(9)) // too soon, and it may be there by now
		time.Sleep(FetchPace - time.Nanosecond)
		later = time.Second // and not at once
		get(2, 3, is(9))
		time.Sleep(time.Nanosecond)
		later = 0
		get(2, 4, is(9)) // it is not there
		broken = errors.New("down")
		time.Sleep(time.Minute)
		later = FetchPace
		get(2, 5, is(9))
		later = 0
		get(2, 5, is(2))
		time.Sleep(time.Hour)
		if got, _, err := f.Get(t.Context(), is(2)); got != 2 || err != nil {
			// it is looked at in the background, for the last time went wrong
			t.Errorf("what was there does not stay: %d, %v", got, err)
		}
		synctest.Wait()
		get(2, 6, is(2))
		broken, published = nil, 3
		time.Sleep(FetchPace)
		if got, _, err := f.Get(t.Context(), is(2)); got != 2 || err != nil {
			t.Errorf("what was there does not stay: %d, %v", got, err)
		}
		synctest.Wait()
		get(3, 7, is(3))
		published = 4
		time.Sleep(FetchAfter + 1)
		get(4, 8, is(3))
	})
}

// Who publishes it and hangs keeps no caller waiting for what is known: not once where it is asked
// for often, and where it is not, the first alone.
func TestFetchedHangs(t *testing.T) {
	for every, want := range map[time.Duration]time.Duration{time.Second: 0,
		FetchAfter + time.Second: 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			fetched := 0
			f := NewFetched(func(context.Context) (int, error) {
				if fetched++; fetched == 1 {
					return 1, nil
				}
				time.Sleep(5 * time.Second)
				return 0, errors.New("it hangs")
			})
			var waited time.Duration
			for range max(10, int(2*FetchAfter/every)) {
				begin := time.Now()
				if v, _, err := f.Get(t.Context(), func(int) bool { return true }); v != 1 || err != nil {
					t.Fatal(v, err)
				}
				waited += time.Since(begin)
				time.Sleep(every)
			}
			synctest.Wait()
			if waited != want || fetched < 3 {
				t.Errorf("asked every %v: waited %v in all, want %v; fetched %d times", every, waited, want, fetched)
			}
		})
	}
}

// Many who ask at once cause one fetch; who gives up does not end it for the others.
func TestFetchedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fetched := 0
		f := NewFetched(func(ctx context.Context) (int, error) {
			fetched++
			select {
			case <-time.After(time.Second):
				return 1, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		any := func(int) bool { return true }
		var all sync.WaitGroup
		all.Go(func() { f.Get(ctx, any) })
		synctest.Wait()
		for range 9 {
			all.Go(func() {
				if v, _, err := f.Get(t.Context(), any); v != 1 || err != nil {
					t.Error(v, err)
				}
			})
		}
		all.Go(func() {
			if _, _, err := f.Get(ctx, any); !errors.Is(err, context.Canceled) {
				t.Errorf("given up: %v", err)
			}
		})
		synctest.Wait()
		cancel()
		all.Wait()
		if fetched != 1 {
			t.Errorf("fetched %d times", fetched)
		}
		// What is old is looked at again by one, and the others get it as it is.
		time.Sleep(FetchAfter + 1)
		begin := time.Now()
		all.Go(func() { f.Get(t.Context(), any) })
		synctest.Wait()
		if v, _, err := f.Get(t.Context(), any); v != 1 || err != nil || time.Since(begin) != 0 || fetched != 2 {
			t.Errorf("%d, %v after %v, fetched %d times", v, err, time.Since(begin), fetched)
		}
		all.Wait()
	})
}
