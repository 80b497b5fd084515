package eventlog

import (
	"runtime"
	"time"

	"github.com/aaep-go/aaep"
)

// persistLoop is the persister's goroutine, which Open starts: it gives the store what was
// appended, until the log is closed or the store fails. With nothing to give, it has the store trim
// itself from time to time by an empty append, again and again as long as that frees something.
func (p *persister) persistLoop(l *Log) {
	trim := time.NewTicker(trimEvery)
	defer trim.Stop()
	defer func() { // what is appended from here on is not stored
		l.mu.Lock()
		close(p.done)
		p.progress.Broadcast()
		l.showUpTo(l.end)
		l.mu.Unlock()
	}()
	trimming := false // the last append was empty, and freed something
	for {
		p.awaitBatch(l)
		batch, last := p.nextBatch(l)
		if last {
			return
		}
		if batch == nil && !trimming {
			select {
			case <-p.wake:
				continue
			case <-trim.C:
			}
		}
		start, _ := p.store.Bounds()
		if !p.persist(l, batch) {
			return
		}
		newStart, _ := p.store.Bounds()
		trimming = batch == nil && newStart > start
	}
}

// awaitBatch yields to the goroutines that waited until an event was stored, as long as that brings
// more events: what they append next is then stored in one batch instead of one by one.
func (p *persister) awaitBatch(l *Log) {
	for previous := uint64(0); ; {
		l.mu.Lock()
		waiting := l.end - p.storedEnd
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
func (p *persister) nextBatch(l *Log) (events []*aaep.Event, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.err != nil || p.storedEnd == l.end {
		return nil, p.err != nil || p.closing
	}
	for pos := p.storedEnd + 1; pos <= l.end && len(events) < maxBatch; pos++ {
		events = append(events, l.slotAt(pos).event)
	}
	return events, false
}

// persist gives events to the store and shows them, and reports whether the loop can go on: after
// an error of the store it cannot. If the store takes longer than storeTimeout, everything appended
// is shown before it is stored.
func (p *persister) persist(l *Log, events []*aaep.Event) bool {
	answered := false // guarded by the log's mu
	timeout := time.AfterFunc(storeTimeout, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if answered {
			return
		}
		p.overdue = true
		p.progress.Broadcast()
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
		p.storeMu.Lock()
		err = p.store.Append(records)
		p.storeMu.Unlock()
	}
	timeout.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	answered = true
	if err != nil || p.err != nil { // p.err: the store was given up meanwhile
		p.giveUp(l, err)
		return false
	}
	p.overdue = false
	p.storedEnd += uint64(len(events))
	p.progress.Broadcast()
	l.showUpTo(p.storedEnd)
	return true
}
