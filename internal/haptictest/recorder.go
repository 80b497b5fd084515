// Package haptictest is a device for tests of what is felt: it keeps what it was asked to play, and
// when.
//
//	device := &haptictest.Recorder{}
//	out := cue.New(device)
//	…
//	device.Played()
//
// It works in a testing/synctest bubble.
package haptictest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/subscriber/cue"
)

// Recorder is a cue.Device. The zero Recorder has the five patterns by meaning and
// plays each in no time. Its methods may be called from any goroutine.
type Recorder struct {
	// Names are the patterns that it has, instead of the five.
	Names []string
	// Length is how long each takes.
	Length time.Duration
	// Err is what Play returns, if anything.
	Err error

	mu     sync.Mutex
	played []Played
}

// Played is a pattern that was begun.
type Played struct {
	At time.Time
	extensions.HapticData
}

// Patterns returns Names, or all patterns there are where Names is nil.
func (r *Recorder) Patterns() []string {
	if r.Names != nil {
		return r.Names
	}
	return []string{cue.NeedsYou, cue.Started, cue.Working, cue.Done, cue.Failed, cue.Lost}
}

// Play keeps what is felt, and returns after Length with Err, or when ctx ends with its error.
func (r *Recorder) Play(ctx context.Context, felt extensions.HapticData) error {
	r.mu.Lock()
	r.played = append(r.played, Played{At: time.Now(), HapticData: felt})
	r.mu.Unlock()
	timer := time.NewTimer(r.Length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return r.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Played returns what was played so far.
func (r *Recorder) Played() []Played {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.played)
}

// Close does nothing.
func (r *Recorder) Close() error { return nil }
