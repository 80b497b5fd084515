package eventlog

import (
	"runtime"
	"time"

	"github.com/aaep-go/aaep"
)

// persistLoop gives the store what was appended, until the log is closed or the store fails. It is
// the persister's goroutine, which Open starts.
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
	trimming := false
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
		now, _ := k.store.Bounds()
		trimming = batch == nil && now > start
	}
}

// awaitBatch yields to the callers who were just told that an event is stored, as long as that
// brings more events: what they append then is stored in one batch instead of one by one.
func (k *persister) awaitBatch(l *Log) {
	for had := uint64(0); ; {
		l.mu.Lock()
		waiting := l.end - k.storedEnd
		l.mu.Unlock()
		if waiting == had || waiting >= maxBatch {
			return
		}
		had = waiting
		runtime.Gosched()
	}
}

// nextBatch returns the oldest events that are not stored. last says that there are none and will
// be none.
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

// persist gives events to the store and shows them, and reports whether the loop can go on. If the
// store takes longer than storeTimeout, everything appended is shown without it.
func (k *persister) persist(l *Log, events []*aaep.Event) bool {
	answered := false
	late := time.AfterFunc(storeTimeout, func() {
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
	late.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	answered = true
	if err != nil || k.err != nil {
		k.giveUp(l, err)
		return false
	}
	k.overdue = false
	k.storedEnd += uint64(len(events))
	k.progress.Broadcast()
	l.showUpTo(k.storedEnd)
	return true
}
