package eventlog

import (
	"runtime"
	"time"

	"github.com/aaep-go/aaep"
)

// write gives the store what was appended, until the log is closed or the store fails.
func (k *keeper) write(l *Log) {
	trim := time.NewTicker(trimEvery)
	defer trim.Stop()
	defer func() { // what came in between is not kept
		l.mu.Lock()
		close(k.done)
		k.freed.Broadcast()
		l.show(l.end)
		l.mu.Unlock()
	}()
	trimming := false
	for {
		k.gather(l)
		batch, last := k.batch(l)
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
		if !k.keep(l, batch) {
			return
		}
		now, _ := k.store.Bounds()
		trimming = batch == nil && now > start
	}
}

// gather lets whoever was just told that an event is kept go on first, as long as that brings more:
// what they append then is kept with the rest, instead of alone.
func (k *keeper) gather(l *Log) {
	for had := uint64(0); ; {
		l.mu.Lock()
		waiting := l.end - k.kept
		l.mu.Unlock()
		if waiting == had || waiting >= maxBatch {
			return
		}
		had = waiting
		runtime.Gosched()
	}
}

// batch returns the oldest events that are not kept. Last says that there are none and will be
// none.
func (k *keeper) batch(l *Log) (events []*aaep.Event, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.err != nil || k.kept == l.end {
		return nil, k.err != nil || k.closing
	}
	for pos := k.kept + 1; pos <= l.end && len(events) < maxBatch; pos++ {
		events = append(events, l.slot(pos).event)
	}
	return events, false
}

// keep gives events to the store and shows them, and reports whether that can go on.
func (k *keeper) keep(l *Log, events []*aaep.Event) bool {
	answered := false
	late := time.AfterFunc(patience, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if answered {
			return
		}
		k.overdue = true
		k.freed.Broadcast()
		l.show(l.end)
	})
	var records [][]byte
	var err error
	for _, ev := range events {
		var r []byte
		if r, err = encode(ev); err != nil {
			break
		}
		records = append(records, r)
	}
	if err == nil {
		k.using.Lock()
		err = k.store.Append(records)
		k.using.Unlock()
	}
	late.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	answered = true
	if err != nil || k.err != nil {
		k.fail(l, err)
		return false
	}
	k.overdue = false
	k.kept += uint64(len(events))
	k.freed.Broadcast()
	l.show(k.kept)
	return true
}
