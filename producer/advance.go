package producer

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/transports"
)

// fill hands the shaper everything the log has, so that what is critical need not wait for what is held; but
// no more than most that could be sent at once, where nothing is held.
//
// The shaper lets a critical event overtake all others. Those that may leave now keep their place in front of
// it all the same, a few at most, so that nobody is asked something before the session has begun.
func (sub *subscription) fill(now time.Time, most int) error {
	sub.notice(now)
	for sub.cursor < sub.p.log.End() {
		room := most - sub.shaper.Ready(now)
		if sub.cursor < sub.replayed {
			if sub.shaper.Stats().Held >= maxHistory {
				sub.askEarly()
				return nil
			}
			room = min(room, int(sub.replayed-sub.cursor))
		}
		if room <= 0 {
			return nil
		}
		events, _, err := sub.p.log.Read(sub.cursor, room)
		if err != nil {
			return slow("the events it has not seen are no longer kept")
		}
		for _, ev := range events {
			if ev.Critical() {
				if sub.shaper.Ready(now) > 0 && sub.passed < mayPass {
					sub.passed++
					return nil
				}
				sub.passed = 0
			} else if sub.shaper.Ready(now) >= most { // one event may make hundreds for a small display
				return nil
			}
			sub.cursor++
			if sub.cursor <= sub.replayed && !sub.goesOn && sub.p.stale(ev) || sub.early[sub.cursor] {
				delete(sub.early, sub.cursor)
				continue
			}
			sub.shaper.Push(now, coalesce.Entry{Pos: sub.cursor, Event: ev, Skip: sub.skip})
			sub.skip = 0
		}
	}
	return nil
}

const (
	readAhead = 64 // events may wait for a link that is slower than the subscription's rate
	few       = 8  // need not wait until others have sent what they have
)

// mayPass is how many events may leave in front of a critical one.
const mayPass = 16

// A batch is what leaves at once: no more than is due, and on a slow link one event, since what is critical must not wait
// behind many.
type batch struct {
	events    []transports.Event
	critical  []*aaep.Event
	resumable bool // one of them is
}

var batches = sync.Pool{New: func() any { return new(batch) }}

const (
	maxBatch = 32 << 10              // bytes, or one event
	prompt   = 50 * time.Millisecond // is how long a batch takes, at most, on a link that is not slow
)

// A crowd lets as many at a time prepare long batches as there are processors to do so, and all others first: Go runs whoever
// is ready in turn, and what is critical to one listener would wait behind all that others have to be told.
type crowd chan struct{}

var longBatches = make(crowd, runtime.GOMAXPROCS(0)) // of all producers, for they share the processors

// enter waits for the turn of a long batch, which leave ends. Nothing may be waited for before that.
func (c crowd) enter() {
	c <- struct{}{}
	runtime.Gosched() // behind whoever is ready
}

func (c crowd) leave() { <-c }

// advance reads on and sends what is due. If nothing is, it says when something will be; the zero time is after the next
// event. An error that is an *aaep.Rejection ends the subscription, every other the stream.
func (sub *subscription) advance(stream transports.Stream) (sent bool, next time.Time, err error) {
	b := batches.Get().(*batch)
	defer func() {
		clear(b.events)
		clear(b.critical)
		*b = batch{events: b.events[:0], critical: b.critical[:0]}
		batches.Put(b)
	}()
	_, plain := stream.(plainStream)
	if sent, next, err = sub.load(b, time.Now(), plain); err != nil || len(b.events) == 0 {
		return sent, next, err
	}
	began := time.Now()
	if err := stream.SendEvents(sub.ctx, b.events); err != nil {
		return true, next, err
	}
	for _, ev := range b.critical {
		sub.delivered(ev)
	}
	sub.resumed = sub.resumed || b.resumable
	left := time.Now()
	sub.shaper.Left(left.Add(jitterGuard))
	sub.slow = left.Sub(began) > prompt
	return true, next, nil
}

// load takes what is due into b, and reports whether something was. If nothing was, it says when something will be.
func (sub *subscription) load(b *batch, now time.Time, plain bool) (due bool, next time.Time, err error) {
	batched, most := sub.many && !sub.slow, readAhead
	if batched {
		most = few
	}
	if err := sub.fill(now, most); err != nil {
		return false, next, err
	}
	if batched && sub.shaper.Ready(now) >= few {
		longBatches.enter()
		defer longBatches.leave()
		if err := sub.fill(now, readAhead); err != nil { // what is critical may have come
			return false, next, err
		}
	}
	if sub.shaper.Overflow() {
		return false, next, slow("too many events wait")
	}
	sub.publish() // before Pop: what that returns has not left yet
	out, next := sub.shaper.Pop(now)
	for size := 0; out.Event != nil; out, _ = sub.shaper.Pop(now) {
		due = true
		if plain && !out.Resumable {
			out = sub.overtaking(out)
		}
		msg, err := sub.p.encode(out)
		if err != nil { // it was valid when it was appended
			sub.p.cfg.Logger.Error("event lost", "event_id", out.Event.EventID, "error", err)
		} else {
			ev := transports.Event{Message: msg}
			if out.Resumable {
				ev.ID, b.resumable = out.Event.EventID, true
			}
			b.events = append(b.events, ev)
			if out.Event.Critical() {
				b.critical = append(b.critical, out.Event)
			}
		}
		if size += len(msg); size >= maxBatch || !batched {
			break
		}
		if sub.fill(now, readAhead) != nil || sub.shaper.Overflow() {
			break // the next round ends with that
		}
	}
	return due, next, nil
}

// publish says how far the stream has come.
func (sub *subscription) publish() {
	stats := sub.shaper.Stats()
	sub.mu.Lock()
	sub.stats = stats
	sub.mu.Unlock()
	left := sub.cursor
	if held := sub.shaper.Oldest(); held > 0 && held <= left {
		left = held - 1
	}
	if left > sub.left.Load() {
		sub.left.Store(left)
		if left >= sub.replayed {
			sub.behind.Store(false)
		}
		if sub.watched.CompareAndSwap(true, false) {
			sub.p.wake()
		}
	}
}

// jitterGuard keeps events a little further apart than the budget alone would, so that a listener who counts
// what arrives finds the rate kept too, although no two events are equally long on their way.
const jitterGuard = 20 * time.Millisecond

// plainStream sends events over the link itself.
type plainStream struct{ transports.Conn }

func (plainStream) LastEventID() string   { return "" }
func (plainStream) Done() <-chan struct{} { return nil }
func (s plainStream) SendEvents(ctx context.Context, events []transports.Event) error {
	if many, ok := s.Conn.(transports.EventSender); ok {
		return many.SendEvents(ctx, events)
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	for _, ev := range events {
		if err := s.Send(ctx, ev.Message); err != nil {
			return err
		}
	}
	return nil
}
