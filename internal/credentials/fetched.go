package credentials

import (
	"context"
	"sync"
	"time"
)

const (
	FetchPace  = 10 * time.Second // least time between two fetches, whatever strangers ask for
	FetchAfter = 5 * time.Minute  // what was withdrawn is good for so long
)

// Fetched is a value that another party publishes, such as a set of keys. It is fetched when it is
// first asked for, when it has not what is looked for, at most every ten seconds, and when it is
// half of five minutes old, in the background. While fetching fails, what was there before stays in
// force. A Fetched may be used by many goroutines at once.
type Fetched[T any] struct {
	Now func() time.Time // the clock, of which nil is the usual one

	fetch    func(context.Context) (T, error)
	fetching chan struct{} // held by who fetches

	mu     sync.Mutex // never held while waiting
	value  T
	failed error     // why it could not be fetched when that was last tried
	read   time.Time // when value was fetched; zero if never
	tried  time.Time
}

// NewFetched makes a Fetched. Each fetch has to end by itself.
func NewFetched[T any](fetch func(context.Context) (T, error)) *Fetched[T] {
	return &Fetched[T]{fetch: fetch, fetching: make(chan struct{}, 1)}
}

// Get returns the value. Suits reports whether it has what is looked for; what is returned may
// still have not. Then again says in how long it may be fetched again, or is zero if it was fetched
// since Get was called, so that what is looked for is not there. The error says why nothing was
// ever fetched.
func (f *Fetched[T]) Get(ctx context.Context, suits func(T) bool) (value T, again time.Duration, err error) {
	value, read, _ := f.snapshot()
	known, age := !read.IsZero() && suits(value), f.currentTime().Sub(read)
	switch {
	case known && age <= FetchAfter/2:
		return value, 0, nil
	case known: // one goroutine looks whether it is still so, the others need not wait
		select {
		case f.fetching <- struct{}{}:
		default:
			return value, 0, nil
		}
		if age <= FetchAfter || f.Failed() != nil {
			// nor that one: who publishes it may hang, and what waits may be an answer
			if !f.claimFetch(read) {
				<-f.fetching
				return value, 0, nil
			}
			go func() {
				defer func() { <-f.fetching }()
				f.fetchValue(context.WithoutCancel(ctx))
			}()
			return value, 0, nil
		}
	default:
		select {
		case f.fetching <- struct{}{}:
		case <-ctx.Done():
			return value, 0, context.Cause(ctx)
		}
	}
	defer func() { <-f.fetching }()
	// A caller that gives up meanwhile must not end the fetch for the others.
	fetched := f.claimFetch(read) && f.fetchValue(context.WithoutCancel(ctx))
	value, now, err := f.snapshot()
	if !fetched && now.Equal(read) && !known && err == nil {
		f.mu.Lock()
		again = max(f.tried.Add(FetchPace).Sub(f.currentTime()), time.Second)
		f.mu.Unlock()
	}
	return value, again, err
}

// currentTime returns the time by Now.
func (f *Fetched[T]) currentTime() time.Time {
	if f.Now != nil {
		return f.Now()
	}
	return time.Now()
}

// snapshot returns the value, when it was fetched, and why it was never fetched.
func (f *Fetched[T]) snapshot() (T, time.Time, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read.IsZero() {
		return f.value, f.read, f.failed
	}
	return f.value, f.read, nil
}

// Failed says why the value could not be fetched when that was last tried; nil where it was, or
// that was never tried.
func (f *Fetched[T]) Failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// claimFetch reports whether the value may be fetched again, and was not since seen; that counts as
// tried.
func (f *Fetched[T]) claimFetch(seen time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.currentTime()
	if !f.read.Equal(seen) || !f.tried.IsZero() && now.Sub(f.tried) < FetchPace {
		return false
	}
	f.tried = now
	return true
}

// fetchValue fetches the value and reports whether that went well. The caller holds fetching.
func (f *Fetched[T]) fetchValue(ctx context.Context) (ok bool) {
	value, err := f.fetch(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed = err; err == nil {
		if f.read.IsZero() {
			f.tried = time.Time{} // nothing was asked for that is missing
		}
		f.value, f.read = value, f.currentTime()
	}
	return err == nil
}
