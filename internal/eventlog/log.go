// Package eventlog is the log of a producer: an event is appended once, and every subscription
// reads it from a cursor of its own. Live delivery and resuming after a cut are the same read.
//
// A Log keeps the newest events in memory: as many as it was made for, and those that live readers
// have yet to read (see SetNeeded), but at most 64 MiB and a day of them. The oldest goes when the
// next event comes. With a log.Store it also keeps events for longer than the process lives, and
// reads older ones from there; package producer/log says what happens when the store is slow or
// fails. Append does not wait for the store, unless the store is behind by as many events as the
// log was made for.
//
// Any goroutine may call any method. With a store, one goroutine of the log writes to it, and
// readers share what was read from it. Begin reading at Log, Append and Read; persister is the
// store's side, idCipher makes event ids.
//
// The events in memory are in log.go, their size in size.go. Ids of events are made in id.go,
// records written in record.go, the store's side is in persister.go and persist_loop.go, and what
// it reads back is in read_cache.go, and another process's log is followed in follow.go.
package eventlog

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer/log"
)

// Log holds the newest events. All its methods may be called at once.
type Log struct {
	idCipher
	persister *persister // nil: the log is in memory alone
	feed      log.Feed   // what another process appends, if this log follows it

	mu            sync.Mutex
	size          uint64           // how many events are kept if no reader needs more
	pages         map[uint64]*page // by the first position of each, divided by pageSize
	neededFrom    func() uint64    // see SetNeeded; may be nil
	neededCache   uint64           // what neededFrom returned last
	neededAskedAt uint64           // the newest position when it was called
	bytes         int              // the sum of the sizes of the events in memory
	base          uint64           // no event up to here is in memory
	end           uint64           // the newest position; that of the first event is 1
	shown         atomic.Uint64    // the newest position that may be read; set with mu held
	changed       chan struct{}    // closed and replaced when shown grows
}

// New returns a Log in memory that keeps the newest size events.
func New(size int) *Log {
	l := newLog(size)
	l.idCipher = newIDs(newKey(), []run{{Tag: newTag(), From: 1}})
	return l
}

// newLog returns an empty Log of at least one event without ids.
func newLog(size int) *Log {
	size = max(size, 1)
	return &Log{size: uint64(size), pages: map[uint64]*page{}, changed: make(chan struct{})}
}

// A page holds the events of pageSize neighbouring positions. It is made when an event is put
// there: most agents say little, and a service may have a log for each of its users.
type page [pageSize]slot

const pageSize = 64

// A slot is the place of one event in memory.
type slot struct {
	event *aaep.Event
	size  int // see sizeOf
}

// slotAt returns the slot for the event at pos, and makes its page if there is none; mu is held.
func (l *Log) slotAt(pos uint64) *slot {
	p := l.pages[pos/pageSize]
	if p == nil {
		p = new(page)
		l.pages[pos/pageSize] = p
	}
	return &p[pos%pageSize]
}

// SetNeeded has the log keep, beyond its size, the events after the cursor that need returns: live
// readers have yet to read them. math.MaxUint64 stands for no reader. Append calls need at most
// once in pageSize events, with the log's lock held: need must neither wait nor call the log. Call
// SetNeeded before the log is used.
func (l *Log) SetNeeded(need func() uint64) { l.neededFrom = need }

// isUnneeded reports whether no live reader needs the event at pos any more, with mu held. It may
// decide by an answer of neededFrom that is up to pageSize events old, since cursors only move
// forward.
func (l *Log) isUnneeded(pos uint64) bool {
	if l.neededFrom == nil || pos <= l.neededCache {
		return true
	}
	if l.end-l.neededAskedAt >= min(pageSize, l.size) {
		// The answer cannot be beyond the end: a reader that joins later may need what is appended
		// next.
		l.neededCache, l.neededAskedAt = min(l.neededFrom(), l.end), l.end
	}
	return pos <= l.neededCache
}

// Append adds an event, gives it its event id, and returns its position. The event can be read once
// it is in the store, or at once where there is none. The caller must not change it afterwards. It
// waits only while the store is behind by the log's size.
func (l *Log) Append(ev *aaep.Event) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.persister != nil {
		l.persister.waitForRoom(l)
	}
	l.end++
	ev.EventID = l.EventID(Place{Pos: l.end})
	l.putEvent(l.end, ev)
	if l.persister == nil || !l.persister.enqueueNewest() {
		l.showUpTo(l.end)
	}
	l.dropOld()
	return l.end
}

// putEvent puts ev into the slot at pos, or empties the slot if ev is nil; mu is held.
func (l *Log) putEvent(pos uint64, ev *aaep.Event) {
	s := l.slotAt(pos)
	l.bytes -= s.size
	*s = slot{event: ev}
	if ev != nil {
		s.size = sizeOf(ev)
	}
	l.bytes += s.size
}

// Memory holds no more bytes than maxBytes, and no event older than maxAge, but always the newest
// event. An event's age is the time from its timestamp to that of the newest, so no clock is
// needed.
const (
	maxBytes = 64 << 20
	maxAge   = 24 * time.Hour
)

// dropOld drops the oldest events from memory while the events there have too many bytes, the
// oldest is too old, or there are more than size and no live reader needs the oldest; mu is held.
// An event that the store does not have yet stays, as does the newest.
func (l *Log) dropOld() {
	last := min(l.shown.Load(), max(l.end, 1)-1) // the newest that may be dropped
	if l.persister != nil && !l.persister.hasEnded() {
		last = min(last, l.persister.storedEnd)
	}
	for pos := l.base + 1; pos <= last; pos++ {
		oldest, newest := l.slotAt(pos).event, l.slotAt(l.end).event
		tooOld := oldest != nil && newest != nil && newest.Timestamp.Sub(oldest.Timestamp) > maxAge
		mustGo := l.bytes > maxBytes || tooOld
		if !mustGo && (l.end-l.base <= l.size || !l.isUnneeded(pos)) {
			return
		}
		l.putEvent(pos, nil)
		if l.base = pos; pos%pageSize == pageSize-1 {
			delete(l.pages, pos/pageSize)
		}
	}
}

// showUpTo lets the events up to pos be read, and wakes the readers that wait; mu is held.
func (l *Log) showUpTo(pos uint64) {
	if pos > l.shown.Load() {
		l.shown.Store(pos)
		close(l.changed)
		l.changed = make(chan struct{})
	}
}

// Wait waits until the event at pos can be read. The wait is bounded: see the package.
func (l *Log) Wait(pos uint64) {
	for {
		l.mu.Lock()
		shown, changed := l.shown.Load(), l.changed
		l.mu.Unlock()
		if shown >= pos {
			return
		}
		<-changed
	}
}

// Flush waits until everything that was appended can be read. The wait is bounded: see the package.
func (l *Log) Flush() {
	l.mu.Lock()
	end := l.end
	l.mu.Unlock()
	l.Wait(end)
}

// End returns the position of the newest event that can be read, zero if there is none.
func (l *Log) End() uint64 { return l.shown.Load() }

// Appended returns the position of the newest event that was appended, which a store may be yet to
// take: it can be beyond End.
func (l *Log) Appended() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Start returns the cursor before the oldest event that can be read: from the store where that goes
// on to what is in memory without a gap, else from memory.
func (l *Log) Start() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	start := l.base
	if l.persister != nil {
		oldest, newest := l.persister.store.Bounds()
		if newest >= start { // without a gap
			start = min(start, oldest)
		}
	}
	return start
}

// MemoryStart returns the cursor before the oldest event in memory.
func (l *Log) MemoryStart() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base
}

// InMemory reports whether Read after the cursor returns without waiting for the store.
func (l *Log) InMemory(cursor uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.persister == nil || cursor >= l.base
}

// Read returns at most n events after the cursor, and at least one if there is any and n is above
// zero. Where there is none yet, it returns a channel that is closed when there is. log.ErrTrimmed
// says that the next event is gone; other errors are the store's.
func (l *Log) Read(cursor uint64, n int) (events []*aaep.Event, changed <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cursor < l.base {
		if l.persister == nil {
			return nil, nil, log.ErrTrimmed
		}
		l.mu.Unlock() // while the store is read
		defer l.mu.Lock()
		events, err = l.persister.readCached(cursor, n)
		return events, nil, err
	}
	shown := l.shown.Load()
	if cursor >= shown {
		return nil, l.changed, nil
	}
	events = make([]*aaep.Event, min(uint64(max(n, 0)), shown-cursor))
	for i := range events {
		events[i] = l.slotAt(cursor + 1 + uint64(i)).event
	}
	return events, nil, nil
}
