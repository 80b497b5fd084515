package credentials

import (
	"context"
	"sync"
	"time"
)

const (
	FetchPace  = 10 * time.Second // the least time between two fetches, whatever peers ask for
	FetchAfter = 5 * time.Minute  // a value of that age is fetched again before it is returned
)

// Fetched is a value that another party publishes, such as a set of keys. It is fetched when it is
// first asked for, when it has not what is looked for, at most every ten seconds, and when it is
// half of five minutes old, in the background. While fetching fails, what was there before stays in
// force. A Fetched may be used by many goroutines at once.
type Fetched[T any] struct {
	Now func() time.Time // the clock, of which nil is the usual one

	fetch    func(context.Context) (T, error)
	fetching chan struct{} // holds one value while a goroutine fetches

	mu     sync.Mutex // never held while waiting
	value  T
	failed error     // why it could not be fetched when that was last tried
	read   time.Time // when value was fetched; zero if never
	tried  time.Time // when fetching it was last tried
}

// NewFetched makes a Fetched. Each fetch has to end by itself.
func NewFetched[T any](fetch func(context.Context) (T, error)) *Fetched[T] {
	return &Fetched[T]{fetch: fetch, fetching: make(chan struct{}, 1)}
}

// Get returns the value, which it fetches first where that is due. suits reports whether a value
// has what the caller looks for. If the value that is returned does not suit, retryAfter says in
// how long it may be fetched again; zero says that it was fetched just now, so that what is looked
// for does not exist. The error says why the value was never fetched, or is that of ctx.
func (f *Fetched[T]) Get(ctx context.Context, suits func(T) bool) (value T, retryAfter time.Duration, err error) {
	value, read, _ := f.snapshot()
	isSuitable, age := !read.IsZero() && suits(value), f.currentTime().Sub(read)
	switch {
	case isSuitable && age <= FetchAfter/2:
		return value, 0, nil
	case isSuitable: // one goroutine fetches it again, the others need not wait
		select {
		case f.fetching <- struct{}{}:
		default:
			return value, 0, nil
		}
		if age <= FetchAfter || f.Failed() != nil {
			// This one need not wait either: the publisher may hang, and an answer may wait for
			// Get.
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
	value, newRead, err := f.snapshot()
	if !fetched && newRead.Equal(read) && !isSuitable && err == nil {
		f.mu.Lock()
		retryAfter = max(f.tried.Add(FetchPace).Sub(f.currentTime()), time.Second)
		f.mu.Unlock()
	}
	return value, retryAfter, err
}

// currentTime returns the time by f.Now, which tests set, or else the real one.
func (f *Fetched[T]) currentTime() time.Time {
	if f.Now != nil {
		return f.Now()
	}
	return time.Now()
}

// snapshot returns the value and when it was fetched; if it never was, the zero time and why.
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

// claimFetch reports whether the caller, who holds fetching, may fetch the value, and notes that it
// is tried now: not within FetchPace of the last try, and not if another goroutine has fetched it
// since the caller saw the one read at read.
func (f *Fetched[T]) claimFetch(read time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.currentTime()
	if !f.read.Equal(read) || !f.tried.IsZero() && now.Sub(f.tried) < FetchPace {
		return false
	}
	f.tried = now
	return true
}

// fetchValue fetches the value and reports whether that went well; the old value stays where it did
// not. The caller holds f.fetching; it takes f.mu.
func (f *Fetched[T]) fetchValue(ctx context.Context) (ok bool) {
	value, err := f.fetch(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed = err; err == nil {
		if f.read.IsZero() {
			f.tried = time.Time{} // the first fetch was not for something that is missing: the next may be at once
		}
		f.value, f.read = value, f.currentTime()
	}
	return err == nil
}
