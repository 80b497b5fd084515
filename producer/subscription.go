package producer

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/internal/writer"
	"github.com/aaep-go/aaep/transports"
)

// A subscription is a course of its own, or follows that of a group. One goroutine, run, owns it and is the only one that sends
// events; where a group sends them there is none, and the group's owns it. Another, hear, is there while the subscriber says
// something, so that an answer is heard while a slow link is being written to.
type subscription struct {
	id           string
	subscriberID string
	principal    string
	rights       Rights
	conn         transports.Conn
	ctx          *writer.Context // ends with hangUp, or when the subscriber is known to be gone
	hungUp       atomic.Bool
	over         func()   // called when it is
	manners      *manners // hear's; nil before the first reply

	// For whoever owns it alone, but where the types say otherwise.
	course
	streaming
	membership
	start     uint64         // the cursor when the subscription began
	startSkip int            // and the skip
	first     []shaper.Entry // what is told before what the log has
	life      lifetime
	onRecord  map[aaep.ReplyToken]string      // in which language the trail says it was asked the open questions, and
	beside    map[aaep.ReplyToken]*aaep.Event // those it was asked when its terms had changed

	// What run waits for besides time. Whoever puts something into one of the others puts it in woken as well.
	woken   chan struct{}           // holds one: there is something to look at, or in the log
	news    atomic.Bool             // there may be a stream
	lost    chan error              // holds one: why nothing more is heard
	changes atomic.Pointer[changes] // of the terms; nil before the first

	confirms, clarifies atomic.Bool  // may be asked
	sending             atomic.Int64 // since when, after Producer.born, the link is being written to; 0: it is not
	patience, least     atomic.Int64 // see slowest; 0 is as usual
	pace                atomic.Int64

	mu        sync.Mutex // also held where the terms, the group or the counts change, which their owner reads without
	connected bool
	unheard   int  // times that notified has been called; 0: there is nothing to hear
	deaf      bool // nobody listens any more
}

// streaming is what a subscription knows of its stream, of which there may be several, one after the other.
type streaming struct {
	stream     transports.Stream // nil: there is none
	opened     bool              // there was one
	attached   time.Time         // since when it is there
	many       bool              // it takes several events at once
	slow       bool              // it took long over the last
	resumed    bool              // an event went out that can be resumed after
	unanswered []byte            // the answer to a change of terms, which one that was cut did not take

	apart time.Time // since when there is none
	grace time.Time // when it has to be back; see detach
	came  uint64    // how far it had come when that was set
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
	if g := sub.group.Load(); g != nil { // looked at last; see stays
		g.call()
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
	n := sub.counts()
	return SubscriptionStatus{sub.id, sub.subscriberID, sub.terms.Capabilities(), sub.connected, n.Delivered, n.Merged, n.Filtered, n.Held}
}

// run serves the subscription until it ends, and returns why, or until it joins a group. A nil error is a clean end.
func (sub *subscription) run() (why *aaep.Rejection, joined bool) {
	l := sub.newLone()
	timer := time.NewTimer(never)
	defer timer.Stop()
	for {
		draining := sub.p.serving.Err() != nil // and so the log is at its end before it is read
		if draining {
			sub.shaper.SetQuiet(time.Time{})
		}
		if draining || sub.met.Load() {
			sub.shaper.Hold(time.Time{})
		}
		sent, next, why := l.send()
		if why != nil {
			return why, false
		}
		if !sent {
			var again time.Time
			switch {
			case draining && sub.stream == nil:
				l.hurry()
			case draining && sub.idle():
				return shuttingDown(), false
			case !draining && sub.stream != nil && len(sub.woken) == 0:
				if joined, again = l.join(time.Now()); joined {
					return nil, true
				}
			}
			wait(sub.woken, timer, earliest(next, again, l.away, sub.life.ends()))
			l.takeStream()
			if why := l.look(draining); why != nil {
				return why, false
			}
		}
		if why := sub.poll(); why != nil {
			return why, false
		}
	}
}

// lone is a subscription that is in no group, as run sees it.
type lone struct {
	*subscription
	resumable transports.Resumable // nil for one that ends with its link
	away      time.Time            // until then the first stream, or the next one, has to be there
	hurried   bool
}

func (sub *subscription) newLone() lone {
	resumable, canResume := sub.conn.(transports.Resumable)
	l := lone{subscription: sub, resumable: resumable}
	l.settle(time.Now())
	switch {
	case sub.opened: // it was in a group
	case canResume:
		sub.apart = time.Now()
		l.away = sub.apart.Add(openTimeout)
	default:
		_, sub.many = sub.conn.(transports.EventSender)
		sub.stream, sub.opened = plainStream{sub.conn}, true
		sub.attach(sub.stream, true)
	}
	return l
}

// send sends what may leave now, or says when something may.
func (l *lone) send() (sent bool, next time.Time, why *aaep.Rejection) {
	if l.stream != nil && l.unanswered != nil {
		if l.answer(l.unanswered, 1); l.unanswered != nil {
			l.lose()
		}
	}
	if l.stream == nil {
		return false, time.Time{}, nil
	}
	sent, next, err := l.advance(l.stream)
	switch {
	case err != nil:
		why = l.notTaken(err)
	case sent:
		l.life.sent(time.Now())
	}
	return sent, next, why
}

// notTaken says what it means that the stream took nothing more: that it is lost, or why all is over.
func (l *lone) notTaken(err error) *aaep.Rejection {
	var over *aaep.Rejection
	if errors.As(err, &over) {
		return over
	}
	if l.resumable != nil {
		l.lose()
		return nil
	}
	return l.linkBroke(err)
}

// linkBroke says why it is over with a link that cannot be resumed and took something no more.
func (sub *subscription) linkBroke(err error) *aaep.Rejection {
	select {
	case err := <-sub.lost:
		return goneBecause(err)
	default:
	}
	return slow("the link took nothing more: " + err.Error())
}

func (l *lone) lose() { l.stream, l.away = nil, l.detach() }

// hurry gives the stream less time, once, when there is a shutdown: it may be on its way to what it is owed.
func (l *lone) hurry() {
	if !l.hurried {
		l.hurried, l.away = true, l.apart.Add(lastChance)
	}
}

// takeStream goes over to a newer stream, if there is one.
func (l *lone) takeStream() {
	if l.resumable == nil || !l.news.Swap(false) {
		return
	}
	if newest, err := l.resumable.NextStream(atOnce); err == nil {
		l.stream, l.away = newest, time.Time{}
		l.attach(newest, !l.opened)
		l.opened = true
	}
}

// look sees whether the stream has broken, or did not come in time.
func (l *lone) look(draining bool) *aaep.Rejection {
	if l.stream != nil {
		select {
		case <-l.stream.Done():
			l.lose()
		default:
		}
		return nil
	}
	switch late := !time.Now().Before(l.away); {
	case late && draining:
		return l.cutShort()
	case late:
		return &aaep.Rejection{Code: aaep.SubscriberShutdown, Message: "The stream was not opened again in time."}
	}
	return nil
}

// never is what a timer is made with that is set later. With 0 it would fire on the goroutine that makes it; in a
// synctest bubble two that do so at once bring down the race detector (golang/go#78156).
const never time.Duration = math.MaxInt64

// wait returns when there is something to look at, or at a time that is not zero.
func wait(woken <-chan struct{}, timer *time.Timer, until time.Time) {
	if until.IsZero() { // most of the time; one channel costs less than two
		<-woken
		return
	}
	d := time.Until(until)
	if d <= 0 {
		return
	}
	timer.Reset(d)
	select {
	case <-woken:
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
func (sub *subscription) poll() *aaep.Rejection {
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
		sub.life.set(sub.terms)
	}
	return sub.life.over(time.Now())
}

// tell sends a message that is no event.
func (sub *subscription) tell(m aaep.Message) error { return sub.tellWithin(closeTimeout, m) }

func (sub *subscription) tellWithin(d time.Duration, m aaep.Message) error {
	msg, err := aaep.Encode(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return sub.conn.Send(ctx, msg)
}
