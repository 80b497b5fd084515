package eventlog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer/log"
)

var errOverdue = fmt.Errorf("log: the disk has not taken an event for more than %v", storeTimeout)

const (
	maxBatch = 256 // the most events that are given to the store, or read from it, at once
	// storeTimeout is how long the store may take for a batch before events are shown without it.
	storeTimeout = 2 * time.Second
	trimEvery    = time.Minute
)

// meta is what a store keeps for its log beside the events, as JSON.
type meta struct {
	Agent   string `json:"agent,omitempty"` // the agent's id; empty in one that an older version wrote
	Key     []byte `json:"key"`             // of the event ids
	Runs    []run  `json:"runs"`            // oldest first
	Settled uint64 `json:"settled"`         // a cursor: see Settle
	Ended   bool   `json:"ended,omitempty"` // the process that wrote it last ended in good order: see MarkEnded
}

// A persister gives a store what is appended to a log, in a goroutine of its own. Its fields below
// storeMu and meta are guarded by the log's mu.
type persister struct {
	store log.Store
	cache *readCache // what was read from the store lately
	// storeMu is held while the store is written to. The log's mu is never taken under it.
	storeMu sync.Mutex
	meta    meta // guarded by storeMu
	ended   bool // the run before ended in good order; set by Open

	wake   chan struct{} // holds one value while there is something to store
	done   chan struct{} // closed when persistLoop has returned
	failed chan struct{} // closed when the store has failed

	storedEnd uint64     // the newest position that the store has
	overdue   bool       // the store has not answered for too long
	closing   bool       // no more is kept after this
	err       error      // why nothing is stored any more
	progress  *sync.Cond // signalled when something was stored, or never will be
}

// Open returns a Log that goes on where the one before it in store ended, and has the newest size
// events in memory; an empty store begins a new one. It starts a goroutine that stores events:
// Close it before the store. A log that another agent wrote is refused, unless agent is empty.
func Open(store log.Store, size int, agent string) (*Log, error) {
	l := newLog(size)
	start, end := store.Bounds()
	p := &persister{store: store, cache: newReadCache(), storedEnd: end, wake: make(chan struct{}, 1),
		done:   make(chan struct{}),
		failed: make(chan struct{})}
	p.progress = sync.NewCond(&l.mu)
	if err := p.loadMeta(end, agent); err != nil {
		return nil, err
	}
	p.ended, p.meta.Ended = p.meta.Ended, false
	p.meta.beginRun(start, end)
	if err := p.setMeta(); err != nil {
		return nil, err
	}
	l.idCipher, l.persister = newIDs(p.meta.Key, slices.Clone(p.meta.Runs)), p
	l.end = end
	l.shown.Store(end)
	if err := l.loadNewest(end); err != nil {
		return nil, err
	}
	go p.persistLoop(l)
	return l, nil
}

// loadMeta reads into p.meta what the store keeps for its log, whose newest event is at end, or
// begins it for a store that is empty. It refuses the log of another agent. Open calls it.
func (p *persister) loadMeta(end uint64, agent string) error {
	data, err := p.store.Meta()
	switch {
	case err != nil:
		return err
	case data != nil:
		err = json.Unmarshal(data, &p.meta)
		if err != nil || len(p.meta.Key) != keySize || p.meta.Settled > end {
			return errors.New("log: what the log says of itself is not as it was written")
		}
	case end > 0:
		return errors.New("log: the key of the events' ids is missing, so none of its events can be named any more: name " +
			"another place for the log, or remove this one")
	default:
		p.meta.Key = newKey()
	}
	if p.meta.Agent != "" && agent != "" && p.meta.Agent != agent {
		return fmt.Errorf("log: it is the log of the agent %q, and this agent is %q: name another place for the log, "+
			"or give the agent its old name", p.meta.Agent, agent)
	}
	p.meta.Agent = cmp.Or(agent, p.meta.Agent)
	return nil
}

// loadNewest reads the newest events up to end into memory, as many as it has room for. Open calls
// it before the log is used by others. Where a store finds, in reading, that events are gone, it
// begins behind them.
func (l *Log) loadNewest(end uint64) error {
	for {
		start, _ := l.persister.store.Bounds()
		err := l.loadEvents(max(start, end-min(end, l.size)), end)
		if now, _ := l.persister.store.Bounds(); now == start || !errors.Is(err, log.ErrTrimmed) {
			return err
		}
	}
}

// loadEvents reads the events after cursor up to end into memory. loadNewest and Follow call it.
func (l *Log) loadEvents(cursor, end uint64) error {
	for l.base = cursor; cursor < end; {
		events, err := l.persister.readStore(cursor, maxBatch)
		if err != nil {
			return err
		}
		for _, ev := range events {
			cursor++
			l.putEvent(cursor, ev)
			l.dropOld()
		}
	}
	return nil
}

// beginRun adds the run of this process, which begins after end, and forgets the runs of which the
// store, whose oldest event is the one after start, has no event left.
func (m *meta) beginRun(start, end uint64) {
	tag := newTag()
	for slices.ContainsFunc(m.Runs, func(r run) bool { return r.Tag == tag }) {
		tag = newTag()
	}
	m.Runs = append(m.Runs, run{tag, end + 1})
	remaining := m.Runs[:0]
	for i, r := range m.Runs {
		if i == len(m.Runs)-1 || m.Runs[i+1].From > max(r.From, start+1) {
			remaining = append(remaining, r)
		}
	}
	m.Runs, m.Settled = remaining, max(m.Settled, start)
}

// setMeta writes p.meta to the store, as JSON. It takes storeMu, which guards both.
func (p *persister) setMeta() error {
	p.storeMu.Lock()
	defer p.storeMu.Unlock()
	data, err := json.Marshal(&p.meta)
	if err != nil {
		return err
	}
	return p.store.SetMeta(data)
}

// Settled returns the cursor that Settle was last called at, in this process or one before: no
// session that is open has an event up to there.
func (l *Log) Settled() uint64 {
	if l.persister == nil {
		return 0
	}
	l.persister.storeMu.Lock()
	defer l.persister.storeMu.Unlock()
	return l.persister.meta.Settled
}

// Settle records in the store that every session with an event in the log has ended, so that a
// restart need not read these events again to find out. It waits until all of them are in the
// store; the wait is bounded: see the package. The error is the store's, and nothing is recorded
// then.
func (l *Log) Settle() error {
	p := l.persister
	if p == nil {
		return nil
	}
	l.mu.Lock()
	end := l.end
	for p.storedEnd < end && !p.hasEnded() && !p.overdue {
		p.progress.Wait()
	}
	err := p.err
	if err == nil && p.storedEnd < end {
		err = errOverdue
	}
	l.mu.Unlock()
	if err != nil {
		return err
	}
	p.storeMu.Lock()
	p.meta.Settled = end
	p.storeMu.Unlock()
	return p.setMeta()
}

// MarkEnded records in the store that this process ends in good order, also where the store has
// failed since and lacks the newest events. The caller appends nothing after it, and calls it after
// Close. A store that does not answer is given up after storeTimeout; the error is that of one that
// has not failed before.
func (l *Log) MarkEnded() error {
	p := l.persister
	if p == nil {
		return nil
	}
	if !p.storeMu.TryLock() { // the store does not answer persistLoop, and Close has waited for it
		return nil
	}
	p.meta.Ended = true
	p.storeMu.Unlock()
	marked := make(chan error, 1)
	go func() { marked <- p.setMeta() }()
	timeout := time.NewTimer(storeTimeout)
	defer timeout.Stop()
	select {
	case err := <-marked:
		if l.Err() == nil {
			return err
		}
	case <-timeout.C:
	}
	return nil
}

// WasEnded reports whether the run before this one called MarkEnded.
func (l *Log) WasEnded() bool { return l.persister != nil && l.persister.ended }

// Failed returns a channel that is closed when the store has failed, and Err says why: from then on
// the log is in memory alone, and a restart loses what comes. The channel is nil where there is no
// store.
func (l *Log) Failed() <-chan struct{} {
	if l.persister == nil {
		return nil
	}
	return l.persister.failed
}

// Err returns why the store has failed; nil for a log without a store, or one that works.
func (l *Log) Err() error {
	if l.persister == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.persister.err
}

// Overdue reports whether the store has not answered for storeTimeout, so that events are shown
// before they are stored. It is false for a log without a store. Any goroutine may call it.
func (l *Log) Overdue() bool {
	if l.persister == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.persister.overdue
}

// Close waits until the store has everything that was appended, for storeTimeout at most, and ends
// the use of it. What is appended later is in memory alone.
func (l *Log) Close() error {
	if l.persister == nil {
		return nil
	}
	l.mu.Lock()
	l.persister.closing = true
	l.mu.Unlock()
	l.persister.wakeLoop()
	timeout := time.NewTimer(storeTimeout)
	defer timeout.Stop()
	select {
	case <-l.persister.done:
		return l.Err()
	case <-timeout.C:
		return errOverdue
	}
}

// wakeLoop wakes persistLoop, which looks for events to store. It never waits.
func (p *persister) wakeLoop() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// waitForRoom waits while as many events as the log's size are not stored yet. If the store is
// overdue by then, it gives the store up instead. Append calls it with the log's mu held, which is
// free while it waits.
func (p *persister) waitForRoom(l *Log) {
	for !p.hasEnded() && l.end-p.storedEnd >= l.size {
		if p.overdue {
			p.giveUp(l, errOverdue)
			return
		}
		p.progress.Wait()
	}
}

// hasEnded reports whether nothing is stored any more, because persistLoop has ended or the store
// has failed; the log's mu is held.
func (p *persister) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return p.err != nil
	}
}

// enqueueNewest wakes persistLoop for the newest event, and reports whether that event is to be
// shown only once it is stored: not where nothing is stored any more, or the store is overdue. The
// log's mu is held.
func (p *persister) enqueueNewest() bool {
	if p.hasEnded() {
		return false
	}
	p.wakeLoop()
	return !p.overdue
}

// giveUp ends the use of the store for the reason err, with the log's mu held. Everything appended
// is shown.
func (p *persister) giveUp(l *Log, err error) {
	if p.err == nil {
		p.err = err
		close(p.failed)
	}
	p.progress.Broadcast()
	l.showUpTo(l.end)
}

// readCached returns at most n events of the store after the cursor, through the cache. The error
// is log.ErrTrimmed if the store does not have the next one. The log's mu is not held.
func (p *persister) readCached(cursor uint64, n int) ([]*aaep.Event, error) {
	start, end := p.store.Bounds()
	if cursor < start || cursor >= end {
		return nil, log.ErrTrimmed
	}
	if n <= 0 {
		return nil, nil
	}
	events, err := p.cache.readThrough(cursor, start, p.readStore)
	return slices.Clip(events[:min(n, len(events))]), err
}

// decodedAtOnce is how many events are decoded, in half a millisecond or so, before other
// goroutines may run.
const decodedAtOnce = 16

// readStore reads and decodes at most n events after the cursor from the store. It returns those
// before one that cannot be decoded, and an error only if that is the first.
func (p *persister) readStore(cursor uint64, n int) (events []*aaep.Event, err error) {
	records, err := p.store.Read(cursor, n)
	for i, r := range records {
		if i%decodedAtOnce == decodedAtOnce-1 {
			runtime.Gosched()
		}
		ev, decodeErr := decodeRecord(r)
		if decodeErr != nil && i > 0 {
			break
		} else if decodeErr != nil {
			return nil, fmt.Errorf("log: event %d is not as it was written: %w", cursor+1, decodeErr)
		}
		events = append(events, ev)
	}
	return events, err
}
