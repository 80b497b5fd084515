package eventlog

import (
	"slices"
	"sync"

	"github.com/aaep-go/aaep"
)

// A readCache holds what was read from a store lately. Thousands of subscriptions may catch up at
// once: each chunk of the log is read and decoded once for all of them, and one chunk at a time,
// since live delivery needs the store and the processors too.
type readCache struct {
	readTurns chan struct{} // holds one value for each read under way

	mu     sync.Mutex
	chunks []*cachedChunk // oldest first
	bytes  int            // the sum of theirs
}

// A cachedChunk is some events after a cursor. All fields but from and read may be used with the
// cache's mu held, or once read is closed.
type cachedChunk struct {
	from   uint64
	read   chan struct{} // closed once the events were read
	events []*aaep.Event
	bytes  int
	err    error
}

const (
	// the most events of a chunk; it begins at a multiple of this where it can
	chunkSize     = 256
	maxCacheBytes = 16 << 20
	// how many chunks are read at once
	maxReadsAtOnce = 1
)

// newReadCache returns an empty cache.
func newReadCache() *readCache { return &readCache{readTurns: make(chan struct{}, maxReadsAtOnce)} }

// readThrough returns the events after the cursor that are in one chunk, and fetches the chunk if
// it is not there. Nothing before start is fetched.
func (s *readCache) readThrough(cursor, start uint64,
	fetch func(cursor uint64, n int) ([]*aaep.Event, error)) ([]*aaep.Event, error) {
	for from := max(cursor-cursor%chunkSize, start); ; from = cursor {
		st, mine := s.findOrReserve(from, cursor)
		if mine {
			s.readTurns <- struct{}{}
			events, err := fetch(from, chunkSize)
			<-s.readTurns
			s.storeRead(st, events, err)
		}
		<-st.read
		if cursor < st.endCursor() || from == cursor {
			return st.events[min(cursor-st.from, uint64(len(st.events))):], st.err
		}
	}
}

// endCursor returns the cursor after the chunk's last event.
func (st *cachedChunk) endCursor() uint64 { return st.from + uint64(len(st.events)) }

// findOrReserve returns the chunk with the event after the cursor, or the one that begins at from.
// mine says that it is new, and the caller is to read it.
func (s *readCache) findOrReserve(from, cursor uint64) (st *cachedChunk, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.chunks {
		if st.from <= cursor && cursor < st.endCursor() || st.from == from && st.bytes == 0 {
			return st, false
		}
	}
	st = &cachedChunk{from: from, read: make(chan struct{})}
	s.chunks = append(s.chunks, st)
	return st, true
}

// storeRead fills a chunk with what was read, wakes those who wait for it, and drops the oldest
// chunks where the cache is too large.
func (s *readCache) storeRead(st *cachedChunk, events []*aaep.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.events, st.err = events, err
	for _, ev := range events {
		st.bytes += sizeOf(ev)
	}
	s.bytes += st.bytes
	s.chunks = slices.DeleteFunc(s.chunks, func(old *cachedChunk) bool {
		gone := old == st && len(events) == 0 || old != st && old.bytes > 0 && s.bytes > maxCacheBytes
		if gone {
			s.bytes -= old.bytes
		}
		return gone
	})
	close(st.read)
}
