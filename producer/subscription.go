package producer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/writer"
	"github.com/aaep-go/aaep/transports"
)

// A subscription is a cursor into the log and a Shaper. One goroutine, run, owns both and is the only one
// that sends events; another, hear, is there while the subscriber says something, so that an answer is heard
// while a slow link is being written to.
type subscription struct {
	p            *Producer
	id           string
	subscriberID string
	principal    string
	rights       Rights
	conn         transports.Conn
	ctx          *writer.Context // ends with hangUp, or when the subscriber is known to be gone
	hungUp       atomic.Bool

	shaper    *coalesce.Shaper
	terms     *handshake.Terms // changed with mu held
	start     uint64           // the cursor when the subscription began
	startSkip int              // and the skip
	goesOn    bool             // it begins where another subscription ended
	cursor    uint64           // the newest entry the shaper has had
	replayed  uint64           // up to here the log tells what was before the subscription
	skip      int              // bytes of the next entry that the subscriber had before
	resumed   bool             // an event went out that can be resumed after
	early     map[uint64]bool  // questions that were put before their turn in the log
	noticed   uint64           // notices that the shaper has had
	passed    int              // events that left in front of the critical one that is next in the log
	first     []coalesce.Entry
	attached  time.Time // when the stream was there
	many      bool      // the link takes several events at once
	slow      bool      // it took long over the last

	// What run waits for besides time. Whoever puts something into one of the others puts it in woken as well.
	woken   chan struct{}           // holds one: there is something to look at, or in the log
	news    atomic.Bool             // there may be a stream
	lost    chan error              // holds one: why nothing more is heard
	changes atomic.Pointer[changes] // nil before the first
	manners *manners                // nil before the first reply

	confirms, clarifies atomic.Bool  // may be asked
	patience, least     atomic.Int64 // see slowest; 0 is as usual
	pace                atomic.Int64
	left                atomic.Uint64 // every event that is not output, up to here, has left
	watched             atomic.Bool   // somebody waits for left to grow
	behind              atomic.Bool   // it goes on where another ended, and is not yet where it began itself

	onRecord map[aaep.ReplyToken]bool // the open questions that the trail says it was asked; used by join alone
	grace    time.Time                // when its stream has to be back; see detach
	came     uint64                   // how far it had come when that was set

	mu        sync.Mutex
	stats     coalesce.Stats
	connected bool
	unheard   int  // times that notified has been called; 0: there is nothing to hear
	over      bool // nobody listens any more
}

// hangUp ends the subscription at once, whatever is under way.
func (sub *subscription) hangUp() {
	sub.hungUp.Store(true)
	sub.ctx.End()
	sub.wake()
}

// wake has run look at what there is. It never waits.
func (sub *subscription) wake() {
	select {
	case sub.woken <- struct{}{}:
	default:
	}
}

// mayBeAsked reports whether a question may be put to this subscription.
func (sub *subscription) mayBeAsked(isConfirmation bool) bool {
	if isConfirmation {
		return sub.confirms.Load()
	}
	return sub.clarifies.Load()
}

func (sub *subscription) status() SubscriptionStatus {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return SubscriptionStatus{sub.id, sub.subscriberID, sub.terms.Capabilities(), sub.connected, sub.stats}
}

// run serves the subscription until it ends, and returns why. A nil error is a clean end.
func (sub *subscription) run() *aaep.Rejection {
	var stream transports.Stream
	var away time.Time // until then the first stream, or the next one, has to be there
	resumable, canResume := sub.conn.(transports.Resumable)
	if canResume {
		away = time.Now().Add(openTimeout)
	} else {
		_, sub.many = sub.conn.(transports.EventSender)
		stream = plainStream{sub.conn}
		sub.attach(stream, true)
	}
	timer := time.NewTimer(never)
	defer timer.Stop()
	life := newLife(sub.terms)
	opened, hurried := !canResume, false
	for {
		draining := sub.p.serving.Err() != nil // and so the log is at its end before it is read
		if draining {
			sub.shaper.SetQuiet(time.Time{})
		}
		var next time.Time
		if stream != nil {
			sent, at, err := sub.advance(stream)
			if err != nil {
				var over *aaep.Rejection // here it costs nothing where there is no error
				if errors.As(err, &over) {
					return over
				}
				if !canResume {
					select {
					case err := <-sub.lost:
						return goneBecause(err)
					default:
					}
					return slow("the link did not take an event: " + err.Error())
				}
				stream, away = nil, sub.detach()
			}
			if sent {
				if err == nil {
					life.sent(time.Now())
				}
				if quit := sub.poll(&life); quit != nil {
					return quit
				}
				continue
			}
			if draining && stream != nil && sub.shaper.Idle() {
				return shuttingDown()
			}
			next = at
		}
		if draining && stream == nil && !hurried { // it may be on its way to what it is owed
			hurried, away = true, time.Now().Add(lastChance)
		}
		sub.wait(timer, earliest(next, away, life.idle, life.end))
		if canResume && sub.news.Swap(false) {
			if newest, err := resumable.NextStream(atOnce); err == nil {
				stream, away = newest, time.Time{}
				sub.attach(stream, !opened)
				opened = true
			}
		}
		switch {
		case stream != nil:
			select {
			case <-stream.Done():
				stream, away = nil, sub.detach()
			default:
			}
		case !time.Now().Before(away) && draining:
			return sub.cutShort()
		case !time.Now().Before(away):
			return &aaep.Rejection{Code: aaep.SubscriberShutdown, Message: "The stream was not opened again in time."}
		}
		if quit := sub.poll(&life); quit != nil {
			return quit
		}
	}
}

// wait returns when there is something to look at, or at a time that is not zero.
func (sub *subscription) wait(timer *time.Timer, until time.Time) {
	if until.IsZero() { // most of the time; one channel costs less than two
		<-sub.woken
		return
	}
	d := time.Until(until)
	if d <= 0 {
		return
	}
	timer.Reset(d)
	select {
	case <-sub.woken:
	case <-timer.C:
	}
}

// earliest returns the first of the times that are not zero.
func earliest(times ...time.Time) (first time.Time) {
	for _, t := range times {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// poll handles, between two events, what must not wait for a quiet moment.
func (sub *subscription) poll(life *life) *aaep.Rejection {
	if sub.hungUp.Load() {
		return sub.cutShort()
	}
	select {
	case err := <-sub.lost:
		return goneBecause(err)
	default:
	}
	if q := sub.changes.Load(); q != nil && len(q.next) > 0 {
		if quit := sub.apply(<-q.next); quit != nil {
			return quit
		}
		life.set(sub.terms)
	}
	return life.over(time.Now())
}

// tell sends a message that is no event.
func (sub *subscription) tell(m aaep.Message) error { return sub.tellWithin(closeTimeout, m) }

func (sub *subscription) tellWithin(d time.Duration, m aaep.Message) error {
	msg, err := aaep.Encode(m)
	if err != nil {
		return err
	}
	return sub.sendWithin(d, msg)
}

func (sub *subscription) sendWithin(d time.Duration, msg []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return sub.conn.Send(ctx, msg)
}
