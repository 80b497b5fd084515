package eventlog

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer/log"
)

// shelved is a store of one event for each position, and counts who reads it.
type shelved struct {
	mu     sync.Mutex
	reads  map[uint64]int // by the cursor
	few    int            // events that one read gives, or 0
	bad    map[uint64]error
	open   chan struct{} // nil: no reader waits
	inside atomic.Int32
	most   int32
}

// fetch returns n events after the cursor, and counts who reads.
func (s *shelved) fetch(cursor uint64, n int) (events []*aaep.Event, err error) {
	s.mu.Lock()
	s.reads[cursor]++
	s.most = max(s.most, s.inside.Add(1))
	if err = s.bad[cursor]; err == nil {
		if s.few > 0 {
			n = min(n, s.few)
		}
		for i := range n {
			events = append(events, placeAt(cursor+1+uint64(i)))
		}
	}
	s.mu.Unlock()
	if s.open != nil {
		<-s.open
	}
	s.inside.Add(-1)
	return events, err
}

func placeAt(pos uint64) *aaep.Event {
	return &aaep.Event{SequenceNumber: new(int64(pos))}
}

// INV-24, INV-26: however many read on where, a stretch is read once for all, and a few at a time.
func TestReadCacheIsShared(t *testing.T) {
	const readers, stretches = 300, 10
	synctest.Test(t, func(t *testing.T) {
		st := &shelved{reads: map[uint64]int{}, open: make(chan struct{})}
		s := newReadCache()
		var all sync.WaitGroup
		for i := range readers {
			all.Go(func() {
				for cursor := uint64(i % chunkSize); cursor < stretches*chunkSize; {
					events, err := s.readThrough(cursor, 0, st.fetch)
					if err != nil || len(events) == 0 || *events[0].SequenceNumber != int64(cursor)+1 {
						t.Errorf("after %d: %v, %v", cursor, events, err)
						return
					}
					cursor += uint64(len(events))
				}
			})
		}
		for i := range stretches { // the others begin in the middle
			all.Go(func() { s.readThrough(uint64(i*chunkSize+7), 0, st.fetch) })
		}
		synctest.Wait()
		if n := st.inside.Load(); n != maxReadsAtOnce {
			t.Errorf("%d read at once, want %d", n, maxReadsAtOnce)
		}
		close(st.open)
		all.Wait()
		for cursor, times := range st.reads {
			if times != 1 || cursor%chunkSize != 0 {
				t.Errorf("after %d was read %d times", cursor, times)
			}
		}
		if len(st.reads) != stretches || st.most != maxReadsAtOnce {
			t.Errorf("%d were read, want %d; %d at once", len(st.reads), stretches, st.most)
		}
	})
}

// What cannot be read, or is short, keeps no reader from what comes after it.
func TestReadCacheGoesOn(t *testing.T) {
	no := errors.New("no")
	st := &shelved{reads: map[uint64]int{}, few: 3, bad: map[uint64]error{0: no, 512: log.ErrTrimmed}}
	s := newReadCache()
	for _, c := range []struct {
		cursor, start uint64
		want          int
		err           error
	}{
		{cursor: 0, err: no}, {cursor: 0, err: no}, // it is asked again
		{cursor: 20, want: 3}, {cursor: 22, want: 1}, {cursor: 23, want: 3},
		{cursor: 256, want: 3}, {cursor: 300, want: 3},
		{cursor: 514, start: 500, want: 3}, {cursor: 600, start: 590, want: 3},
	} {
		events, err := s.readThrough(c.cursor, c.start, st.fetch)
		if err != c.err || len(events) != c.want {
			t.Errorf("after %d: %d events, %v; want %d, %v", c.cursor, len(events), err, c.want, c.err)
		}
		for i, ev := range events {
			if want := int64(c.cursor) + 1 + int64(i); *ev.SequenceNumber != want {
				t.Errorf("after %d comes %d, want %d", c.cursor, *ev.SequenceNumber, want)
			}
		}
	}
	if st.reads[0] < 2 {
		t.Error("what failed was not tried again")
	}
}

// P10: the shelf holds no more than so many bytes, and the newest stretch.
func TestReadCacheIsBounded(t *testing.T) {
	s := newReadCache()
	large := placeAt(1)
	large.Summary.Detailed = string(make([]byte, maxCacheBytes/4))
	for i := range uint64(20) {
		s.readThrough(i*chunkSize, 0, func(uint64, int) ([]*aaep.Event, error) { return []*aaep.Event{large}, nil })
		sum := 0
		for _, st := range s.chunks {
			sum += st.bytes
		}
		has := slices.ContainsFunc(s.chunks, func(st *cachedChunk) bool { return st.from == i*chunkSize })
		if s.bytes != sum || sum > maxCacheBytes || !has {
			t.Fatalf("%d: %d stretches of %d bytes, thought to be %d; the newest is there: %t", i, len(s.chunks), sum,
				s.bytes, has)
		}
	}
}
