// Package cue tells without words what happens, by patterns of one meaning each: six that a
// wristband, a telephone or a controller makes felt, or that are heard as short sounds. It decides
// which pattern an utterance has and when it may be played; a Device plays it. Package
// subscriber/haptic has a device that is felt, package subscriber/sound one that is heard.
//
// A pattern is never the only way in which a person learns of something: use it beside speech,
// braille or text. That is why it is no error where no pattern can be felt, as with a device
// without a motor, or one that its owner switched off.
//
// A band that buzzes all the time is taken off. So there is at most one pattern a second, that of
// work going on at most one in ten seconds, and an event that is told in several sentences is felt
// once. What is Critical is felt at once.
//
// An agent that knows better chooses a pattern for its event with the extension of
// extensions.HapticVocabulary. If the device has it, it is that which is felt. Declare the device's
// patterns so that the agent knows them:
//
//	caps.AddExtension(extensions.HapticVocabulary, extensions.Haptic{PatternsSupported: device.Patterns()})
package cue

import (
	"context"
	"slices"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// The patterns by meaning. A device may have others besides, and need not have all.
const (
	Started  = "started"   // an agent has begun
	Working  = "working"   // it goes on
	NeedsYou = "needs_you" // it waits for the person, or something is urgent
	Done     = "done"      // it is over, and nothing went wrong
	Failed   = "failed"    // it did not succeed
	Lost     = "lost"      // the agent is out of reach; a device without it plays Failed
)

// Device makes patterns felt or heard. Play is called by one goroutine at a time, the others by
// any.
type Device interface {
	// Patterns are the names of those it has. The first is felt with what is critical where nothing
	// else fits.
	Patterns() []string
	// Play plays one of them and returns when it is over. When ctx ends first, it stops it and
	// returns ctx's error.
	Play(ctx context.Context, felt extensions.HapticData) error
	Close() error
}

// Output presents through a device. Present is for one goroutine at a time; the other methods may
// be called from any.
type Output struct {
	device Device
	closed chan struct{}
	close  func() error

	// Only Present uses these.
	last    time.Time // when the last pattern began
	working time.Time // when Working was last felt
	event   string    // the id of the event that was last felt
	felt    time.Time // when that was
}

// New returns an Output that plays the patterns of device, which it owns from now on and closes.
func New(device Device) *Output {
	o := &Output{device: device, closed: make(chan struct{})}
	o.close = sync.OnceValue(func() error {
		close(o.closed)
		return device.Close()
	})
	return o
}

// Present makes u felt, if there is a pattern for it and the person was not just disturbed, and
// returns when that is over. It returns nil for what is not felt, ctx's error if ctx ended first,
// and the device's if that failed.
func (o *Output) Present(ctx context.Context, u announce.Utterance) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-o.closed:
		return announce.ErrClosed
	default:
	}
	felt, ok := o.choosePattern(u)
	if !ok || o.wasJustFelt(u.Event, felt.Pattern) {
		return nil
	}
	if wait := hearing.CuesApart - time.Since(o.last); wait > 0 && !u.Critical && !o.last.IsZero() {
		if felt.Pattern == Working {
			return nil // late it would mean nothing
		}
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-o.closed:
			return announce.ErrClosed
		}
	}
	o.last = time.Now()
	if felt.Pattern == Working {
		o.working = o.last
	}
	if u.Event != nil {
		o.event, o.felt = u.Event.EventID, o.last
	}
	return o.device.Play(ctx, felt)
}

// Wordless reports that no words are told: a person who felt that there is a question has not had
// it.
func (o *Output) Wordless() bool { return true }

// choosePattern returns what an utterance feels like on this device: what the agent chose for the
// event, if the device has that, else the pattern of its meaning. Where the device has none for a
// lost link, that is felt as a failure; what is critical and has none is felt by the first pattern.
// ok is false where nothing is felt.
func (o *Output) choosePattern(u announce.Utterance) (felt extensions.HapticData, ok bool) {
	patterns := o.device.Patterns()
	if u.Event != nil {
		data := u.Event.Extensions[extensions.HapticVocabulary.Prefix]
		if data != nil && jsonv2.Unmarshal(data, &felt) == nil && slices.Contains(patterns, felt.Pattern) {
			// The first on a critical event is what a producer puts where the agent chose none, and
			// says less than our own.
			isDefault := felt.Pattern == patterns[0] && u.Event.Critical()
			if meaning := meaningOf(u); isDefault && slices.Contains(patterns, meaning) {
				felt.Pattern = meaning
			}
			return felt, true
		}
	}
	felt = extensions.HapticData{Pattern: meaningOf(u)}
	if felt.Pattern == Lost && !slices.Contains(patterns, Lost) {
		felt.Pattern = Failed
	}
	if !slices.Contains(patterns, felt.Pattern) && u.Critical && u.Link != announce.LinkBack && len(patterns) > 0 {
		felt.Pattern = patterns[0]
	}
	return felt, slices.Contains(patterns, felt.Pattern)
}

// wasJustFelt reports whether the person has just felt a pattern for this event, or, of work that
// goes on, for any.
func (o *Output) wasJustFelt(ev *aaep.Event, pattern string) bool {
	isSameEvent := ev != nil && ev.EventID != "" && ev.EventID == o.event
	worksOn := pattern == Working && !o.working.IsZero()
	return isSameEvent && time.Since(o.felt) < hearing.CueAgain ||
		worksOn && time.Since(o.working) < hearing.CueAgain
}

// meaningOf returns the pattern for what an utterance means, or "" for one that has no more to it
// than its words. The link comes before the event, and the event before the Kind.
func meaningOf(u announce.Utterance) string {
	switch u.Link {
	case announce.LinkLost:
		return Lost
	case announce.LinkBack:
		return Working
	}
	if u.Event != nil {
		switch p := u.Event.Payload.(type) {
		case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification, *aaep.HandoffRequested:
			return NeedsYou
		case *aaep.SessionErrored:
			return Failed
		case *aaep.SessionCompleted, *aaep.SessionCancelled:
			return Done
		case *aaep.SessionStarted:
			return Started
		case *aaep.StateChanged:
			if !u.Critical && (p.ToState == aaep.StateIdle || p.ToState == aaep.StateAwaitingInput) {
				return ""
			}
		}
	}
	switch {
	case u.Kind == announce.Question:
		return NeedsYou
	case u.Kind == announce.Problem:
		return Failed
	case u.Critical:
		return NeedsYou
	case u.Kind == announce.News, u.Kind == announce.Progress:
		return Working
	}
	return ""
}

// Speaks returns true: what is felt is in no language.
func (o *Output) Speaks(string) bool { return true }

// Close closes the device too. A Present that waits for its turn returns announce.ErrClosed.
func (o *Output) Close() error { return o.close() }
