package producer

import (
	"time"

	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/transports"
)

// attach points the cursor at what the subscriber has not seen.
func (sub *subscription) attach(stream transports.Stream, first bool) {
	sub.setConnected(true)
	sub.attached = time.Now()
	if first {
		for _, e := range sub.first {
			if !sub.p.stale(e.Event) { // the stream may have been long in coming
				sub.shaper.Push(time.Now(), e)
			}
		}
		sub.first = nil
		return
	}
	resumed := sub.p.cfg.Observer.Began(Resume)
	defer func() { resumed(nil) }()
	sub.shaper.Reset()
	sub.skip = 0
	last := stream.LastEventID()
	pos, offset, ok := sub.p.log.Locate(last)
	switch {
	case last == "" && !sub.resumed: // it has seen nothing it could name: from the start
		sub.cursor = sub.start
		entries, _ := sub.p.situation(sub.cursor)
		sub.situate(entries)
	case !ok:
		sub.catchUp()
	case offset > 0:
		sub.cursor, sub.skip = pos-1, offset
	default:
		sub.cursor = pos
	}
	if sub.cursor < sub.start { // it was shown a question from before its time
		sub.cursor, sub.skip = sub.start, 0
	}
	if _, _, err := sub.p.log.Read(sub.cursor, 0); err != nil {
		sub.catchUp()
	}
}

// catchUp goes on from now, and tells first for each session what the agent is doing (§8.7, D-29) and what it is
// waiting for.
func (sub *subscription) catchUp() {
	sub.skip = 0
	var entries []coalesce.Entry
	current := false
	for tries := 0; !current && tries < 10; tries++ { // a state that changes in between would not come first
		sub.cursor = sub.p.log.End()
		entries, current = sub.p.situation(sub.cursor)
	}
	sub.situate(entries)
}

// situate tells what the agent is doing and waiting for at the cursor.
func (sub *subscription) situate(situation []coalesce.Entry) {
	push := func(e coalesce.Entry) { sub.shaper.Push(time.Now(), e) }
	for _, e := range situation {
		push(e)
	}
	sub.p.join(sub, true, true, push)
}

func (sub *subscription) setConnected(yes bool) {
	sub.mu.Lock()
	sub.connected = yes
	sub.mu.Unlock()
}
