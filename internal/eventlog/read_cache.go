package eventlog

import (
	"slices"
	"sync"

	"github.com/aaep-go/aaep"
)

// A readCache has what was read from a store lately, for thousands may catch up at once: a stretch of
// the log is read and decoded once for all of them, and one at a time, since what happens now needs
// the store and the processors too.
type readCache struct {
	readTurns chan struct{}

	mu     sync.Mutex
	chunks []*cachedChunk // oldest first
	bytes  int            // their sum
}

// A cachedChunk is some events after a cursor. All but from is for who has the shelf's mu, or knows
// that it was read.
type cachedChunk struct {
	from   uint64
	read   chan struct{} // closed when it was
	events []*aaep.Event
	bytes  int
	err    error
}

const (
	chunkSize      = 256 // events, at most; one begins at a multiple of it, where it can
	maxCacheBytes  = 16 << 20
	maxReadsAtOnce = 1 // stretches are read
)

func newReadCache() *readCache { return &readCache{readTurns: make(chan struct{}, maxReadsAtOnce)} }

// readThrough returns the events after the cursor that are in one stretch. Nothing before start is fetched.
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

func (st *cachedChunk) endCursor() uint64 { return st.from + uint64(len(st.events)) }

// findOrReserve returns a stretch with the event after the cursor, or the one after from; mine says that
// nobody reads that yet.
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

// storeRead keeps what was read, for a while.
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
