package eventlog

import (
	"runtime"
	"time"

	"github.com/aaep-go/aaep"
)

// persistLoop is the persister's goroutine, which Open starts: it gives the store what was
// appended, until the log is closed or the store fails. With nothing to give, it has the store trim
// itself from time to time by an empty append, again and again as long as that frees something.
func (k *persister) persistLoop(l *Log) {
	trim := time.NewTicker(trimEvery)
	defer trim.Stop()
	defer func() { // what is appended from here on is not stored
		l.mu.Lock()
		close(k.done)
		k.progress.Broadcast()
		l.showUpTo(l.end)
		l.mu.Unlock()
	}()
	trimming := false // the last append was empty, and freed something
	for {
		k.awaitBatch(l)
		batch, last := k.nextBatch(l)
		if last {
			return
		}
		if batch == nil && !trimming {
			select {
			case <-k.wake:
				continue
			case <-trim.C:
			}
		}
		start, _ := k.store.Bounds()
		if !k.persist(l, batch) {
			return
		}
		newStart, _ := k.store.Bounds()
		trimming = batch == nil && newStart > start
	}
}

// awaitBatch yields to the goroutines that waited until an event was stored, as long as that brings
// more events: what they append next is then stored in one batch instead of one by one.
func (k *persister) awaitBatch(l *Log) {
	for previous := uint64(0); ; {
		l.mu.Lock()
		waiting := l.end - k.storedEnd
		l.mu.Unlock()
		if waiting == previous || waiting >= maxBatch {
			return
		}
		previous = waiting
		runtime.Gosched()
	}
}

// nextBatch returns the oldest events that are not stored, at most maxBatch; nil if there are none.
// last says that nothing is to be stored any more: the log is closed, or the store has failed.
func (k *persister) nextBatch(l *Log) (events []*aaep.Event, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.err != nil || k.storedEnd == l.end {
		return nil, k.err != nil || k.closing
	}
	for pos := k.storedEnd + 1; pos <= l.end && len(events) < maxBatch; pos++ {
		events = append(events, l.slotAt(pos).event)
	}
	return events, false
}

// persist gives events to the store and shows them, and reports whether the loop can go on: after
// an error of the store it cannot. If the store takes longer than storeTimeout, everything appended
// is shown before it is stored.
func (k *persister) persist(l *Log, events []*aaep.Event) bool {
	answered := false // guarded by the log's mu
	timeout := time.AfterFunc(storeTimeout, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if answered {
			return
		}
		k.overdue = true
		k.progress.Broadcast()
		l.showUpTo(l.end)
	})
	var records [][]byte
	var err error
	for _, ev := range events {
		var r []byte
		if r, err = encodeRecord(ev); err != nil {
			break
		}
		records = append(records, r)
	}
	if err == nil {
		k.storeMu.Lock()
		err = k.store.Append(records)
		k.storeMu.Unlock()
	}
	timeout.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	answered = true
	if err != nil || k.err != nil { // k.err: the store was given up meanwhile
		k.giveUp(l, err)
		return false
	}
	k.overdue = false
	k.storedEnd += uint64(len(events))
	k.progress.Broadcast()
	l.showUpTo(k.storedEnd)
	return true
}
