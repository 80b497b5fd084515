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

	mu     sync.Mutex     // a leaf: no other lock is taken while it is held
	chunks []*cachedChunk // oldest first
	bytes  int            // the sum of the sizes of the chunks
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

// readThrough returns the events after the cursor up to the end of one chunk. If no chunk has the
// next event, it calls fetch, which returns at most n events after a cursor, not before start;
// other goroutines that need that chunk wait for it. A chunk that fetch returned short of the
// cursor is followed by one that begins at the cursor.
func (s *readCache) readThrough(cursor, start uint64,
	fetch func(cursor uint64, n int) ([]*aaep.Event, error)) ([]*aaep.Event, error) {
	for from := max(cursor-cursor%chunkSize, start); ; from = cursor {
		chunk, reserved := s.findOrReserve(from, cursor)
		if reserved {
			s.readTurns <- struct{}{}
			events, err := fetch(from, chunkSize)
			<-s.readTurns
			s.storeRead(chunk, events, err)
		}
		<-chunk.read
		if cursor < chunk.endCursor() || from == cursor {
			return chunk.events[min(cursor-chunk.from, uint64(len(chunk.events))):], chunk.err
		}
	}
}

// endCursor returns the cursor after the chunk's last event.
func (c *cachedChunk) endCursor() uint64 { return c.from + uint64(len(c.events)) }

// findOrReserve returns the chunk that has the event after the cursor, or one that begins at from
// and is being read. Otherwise it adds an empty chunk that begins at from: reserved says that the
// caller must fill it by storeRead.
func (s *readCache) findOrReserve(from, cursor uint64) (chunk *cachedChunk, reserved bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.chunks {
		if c.from <= cursor && cursor < c.endCursor() || c.from == from && c.bytes == 0 {
			return c, false
		}
	}
	chunk = &cachedChunk{from: from, read: make(chan struct{})}
	s.chunks = append(s.chunks, chunk)
	return chunk, true
}

// storeRead fills a reserved chunk with what was read, wakes the goroutines that wait for it, and
// drops the oldest chunks while the cache is too large. A chunk without events is not kept.
func (s *readCache) storeRead(chunk *cachedChunk, events []*aaep.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	chunk.events, chunk.err = events, err
	for _, ev := range events {
		chunk.bytes += sizeOf(ev)
	}
	s.bytes += chunk.bytes
	s.chunks = slices.DeleteFunc(s.chunks, func(c *cachedChunk) bool {
		// One that is still being read has no bytes yet, and stays.
		drop := c == chunk && len(events) == 0 || c != chunk && c.bytes > 0 && s.bytes > maxCacheBytes
		if drop {
			s.bytes -= c.bytes
		}
		return drop
	})
	close(chunk.read)
}
