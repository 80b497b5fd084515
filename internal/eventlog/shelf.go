package eventlog

import (
	"slices"
	"sync"

	"github.com/aaep-go/aaep"
)

// A shelf has what was read from a store lately, for thousands may catch up at once: a stretch of
// the log is read and decoded once for all of them, and one at a time, since what happens now needs
// the store and the processors too.
type shelf struct {
	turns chan struct{}

	mu    sync.Mutex
	all   []*stretch // oldest first
	bytes int        // their sum
}

// A stretch is some events after a cursor. All but from is for who has the shelf's mu, or knows
// that it was read.
type stretch struct {
	from   uint64
	read   chan struct{} // closed when it was
	events []*aaep.Event
	bytes  int
	err    error
}

const (
	stretchSize = 256 // events, at most; one begins at a multiple of it, where it can
	maxShelf    = 16 << 20
	atOnce      = 1 // stretches are read
)

func newShelf() *shelf { return &shelf{turns: make(chan struct{}, atOnce)} }

// get returns the events after the cursor that are in one stretch. Nothing before start is fetched.
func (s *shelf) get(cursor, start uint64,
	fetch func(cursor uint64, n int) ([]*aaep.Event, error)) ([]*aaep.Event, error) {
	for from := max(cursor-cursor%stretchSize, start); ; from = cursor {
		st, mine := s.find(from, cursor)
		if mine {
			s.turns <- struct{}{}
			events, err := fetch(from, stretchSize)
			<-s.turns
			s.put(st, events, err)
		}
		<-st.read
		if cursor < st.end() || from == cursor {
			return st.events[min(cursor-st.from, uint64(len(st.events))):], st.err
		}
	}
}

func (st *stretch) end() uint64 { return st.from + uint64(len(st.events)) }

// find returns a stretch with the event after the cursor, or the one after from; mine says that
// nobody reads that yet.
func (s *shelf) find(from, cursor uint64) (st *stretch, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.all {
		if st.from <= cursor && cursor < st.end() || st.from == from && st.bytes == 0 {
			return st, false
		}
	}
	st = &stretch{from: from, read: make(chan struct{})}
	s.all = append(s.all, st)
	return st, true
}

// put keeps what was read, for a while.
func (s *shelf) put(st *stretch, events []*aaep.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.events, st.err = events, err
	for _, ev := range events {
		st.bytes += size(ev)
	}
	s.bytes += st.bytes
	s.all = slices.DeleteFunc(s.all, func(old *stretch) bool {
		gone := old == st && len(events) == 0 || old != st && old.bytes > 0 && s.bytes > maxShelf
		if gone {
			s.bytes -= old.bytes
		}
		return gone
	})
	close(st.read)
}
