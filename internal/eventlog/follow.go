package eventlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer/log"
)

// awaitTimeout is how long AwaitShown waits for an event that another process has shown and this
// one does not have yet.
const awaitTimeout = 2 * time.Second

// Follow returns a Log that shows what another process appends to its own, and has the newest size
// events in memory. What comes later is shown while Tail runs. Nothing is appended to it here.
func Follow(feed log.Feed, size int) (*Log, error) {
	l := newLog(size)
	l.feed = feed
	l.persister = &persister{store: feedStore{feed}, cache: newReadCache(), done: make(chan struct{}),
		failed: make(chan struct{})}
	l.persister.progress = sync.NewCond(&l.mu)
	close(l.persister.done)
	err := log.ErrTrimmed
	for errors.Is(err, log.ErrTrimmed) {
		start, end := feed.Bounds()
		l.end = end
		l.shown.Store(end)
		err = l.loadEvents(max(start, end-min(end, l.size)), end)
	}
	if err != nil {
		return nil, err
	}
	// Read after the events: a run that is not in it yet begins after them.
	data, err := feed.Meta()
	if err != nil {
		return nil, err
	}
	m := meta{Key: newKey(), Runs: []run{{}}} // the agent has not begun
	if data != nil {
		if err := m.decode(data); err != nil {
			return nil, err
		}
	}
	l.idCipher, l.persister.meta = newIDs(m.Key, m.Runs), m
	return l, nil
}

// A feedStore lets the persister read a log.Feed as a log.Store. Writing to it is an error.
type feedStore struct{ log.Feed }

var errFollows = errors.New("log: nothing is appended to a log that is followed")

// Append returns errFollows.
func (feedStore) Append([][]byte) error { return errFollows }

// SetMeta returns errFollows.
func (feedStore) SetMeta([]byte) error { return errFollows }

// Tail shows what the other process appends, until ctx is done or there will be no more. It calls
// beforeShown with each event before the event can be read, and setAway with true when the other
// process cannot be reached and with false when it can again; both in the caller's goroutine, with
// no lock held. The error says why there is no more; it is also in Err, unless ctx is done.
func (l *Log) Tail(ctx context.Context, beforeShown func(pos uint64, ev *aaep.Event), setAway func(bool)) error {
	isAway := false
	for {
		err := l.showNext(ctx, beforeShown)
		if away := errors.Is(err, log.ErrAway); away != isAway && (away || err == nil) {
			isAway = away
			setAway(away)
		}
		if err == nil || errors.Is(err, log.ErrAway) {
			continue
		}
		if ctx.Err() == nil {
			l.mu.Lock()
			l.persister.giveUp(l, err)
			l.mu.Unlock()
		}
		return err
	}
}

// showNext waits for the next records of the feed and shows them, each after beforeShown was called
// with it. Tail calls it in a loop. The error is log.ErrAway while the other process cannot be
// reached, and any other ends the following.
func (l *Log) showNext(ctx context.Context, beforeShown func(uint64, *aaep.Event)) error {
	records, err := l.feed.Next(ctx, l.End())
	if err != nil {
		return err
	}
	for _, r := range records {
		pos := l.End() + 1
		ev, err := decodeRecord(r)
		if err != nil {
			return fmt.Errorf("log: event %d is not as it was written: %w", pos, err)
		}
		if l.EventID(Place{Pos: pos}) != ev.EventID { // another run has begun, or it is another log
			if err := l.reloadRuns(); err != nil {
				return err
			}
			if l.EventID(Place{Pos: pos}) != ev.EventID {
				return fmt.Errorf("log: event %d is of another log", pos)
			}
		}
		beforeShown(pos, ev)
		l.mu.Lock()
		l.end = pos
		l.putEvent(pos, ev)
		l.showUpTo(pos)
		l.dropOld()
		l.mu.Unlock()
	}
	return nil
}

// AwaitShown waits until Locate finds the event id, which another process may have shown before
// this one has it, for awaitTimeout at most. For other ids, and in a log that is not followed, it
// does not wait.
func (l *Log) AwaitShown(id string) {
	if l.feed == nil {
		return
	}
	timeout := time.NewTimer(awaitTimeout)
	defer timeout.Stop()
	for {
		place, _, ok := l.locateAny(id)
		if !ok || place.Pos == 0 {
			return
		}
		_, changed, _ := l.Read(place.Pos-1, 0)
		if changed == nil { // the event can be read
			return
		}
		select {
		case <-changed:
		case <-timeout.C:
			return
		}
	}
}

// reloadRuns reads from the feed which runs have begun since, and makes their event ids known. It
// is an error if one of them gives its events positions that others had that were shown here: the
// other process has lost those.
func (l *Log) reloadRuns() error {
	data, err := l.feed.Meta()
	if err != nil {
		return err
	}
	var m meta
	if err := m.decode(data); err != nil {
		return err
	}
	for _, r := range m.Runs {
		isKnown := slices.ContainsFunc(l.current.Load().runs, func(k run) bool { return k.Tag == r.Tag })
		if end := l.End(); !isKnown && r.From <= end {
			return fmt.Errorf(
				"log: events %d to %d were kept and are lost, and others have their places: start this again",
				r.From, end)
		}
	}
	l.idCipher.setKeys(m.Key, m.Runs)
	return nil
}

// decode reads into m the data that a store keeps for its log. Data that no Log can have written is
// an error.
func (m *meta) decode(data []byte) error {
	err := json.Unmarshal(data, m)
	if err != nil || len(m.Key) != keySize || len(m.Runs) == 0 {
		return errors.New("log: what the log says of itself is not as it was written")
	}
	return nil
}
