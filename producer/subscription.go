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
)

// subscription is one subscriber's subscription. Its owner is the goroutine that runs runUngrouped
// or, while it is a member of a group, the group's run; only the owner sends events. What the
// subscriber sends is received by another goroutine, so that a reply is handled while a slow link
// is being written to.
type subscription struct {
	id           string
	subscriberID string // as the request says
	rights       Rights // as Config.Admit says
	link         *link
	ctx          *writer.Context // ends with abort, or when the subscriber is known to be gone
	aborted      atomic.Bool     // abort has been called
	over         func()          // called once, when the subscription has ended
	replyLimits  *replyLimits    // the receiving goroutine's; nil before the first reply

	// The following belong to the owner, except where their types say otherwise.
	deliveryCursor
	streaming
	membership
	start     uint64         // the cursor when the subscription began
	startSkip int            // skip when the subscription began
	first     []shaper.Entry // what is sent before what the log has; nil once a stream was attached
	life      lifetime
	asks      // what it is asked besides what it was asked from the first
	// woken is what runUngrouped waits for besides time. A goroutine that changes news, lost or
	// changes fills woken afterwards; see wake.
	woken   chan struct{}                  // holds one: there is something to look at, here or in the log
	news    atomic.Bool                    // the link may have a new stream
	lost    chan error                     // holds one: why nothing more is received
	changes atomic.Pointer[pendingChanges] // of the terms; nil before the first

	confirms, clarifies atomic.Bool // confirmations, and clarifications, may be put to it
	// sending is since when the link is being written to, in nanoseconds after Producer.born plus
	// one; zero: it is not.
	sending atomic.Int64
	// patience, least and pace are what its user needs to answer; see recipientNeeds for the units.
	patience, least atomic.Int64
	pace            atomic.Int64

	// mu guards what follows. The owner also holds it to change terms, group and past: other
	// goroutines read these with it held, and the owner reads them without.
	mu            sync.Mutex
	connected     bool // there is a stream
	notifications int  // how often onNotify was called since all messages were handled; 0: all are
	messagesEnded bool // the subscription has ended, and nothing more is received
}

// streaming is what a subscription knows of its stream. A link that can be resumed has several
// streams, one after the other. It belongs to the owner of the subscription.
type streaming struct {
	stream     *eventStream // nil: there is none
	opened     bool         // there is or was a stream
	attached   time.Time    // since when the stream is there
	slow       bool         // the link took longer than prompt over the last batch
	resumed    bool         // an event has left that the subscriber can resume after
	unanswered []byte       // an answer to a change of terms that a broken stream did not take

	apart time.Time // since when there is no stream
	grace time.Time // when a stream has to be back at the latest; see detachStream
	came  uint64    // the position of left when grace was set
}

// abort ends the subscription without delay, whatever is under way: a send that waits returns. Any
// goroutine may call it.
func (sub *subscription) abort() {
	sub.aborted.Store(true)
	sub.ctx.End()
	sub.wake()
}

// wake makes the owner look at woken, at the log and at what other goroutines left for it. A group
// releases the subscription for that. Any goroutine may call it, with any lock held; it never
// waits.
func (sub *subscription) wake() {
	select {
	case sub.woken <- struct{}{}:
	default:
	}
	if g := sub.group.Load(); g != nil { // after woken is filled; see confirmJoin
		g.requestRelease()
	}
}

// mayBeAsked reports whether a question of this kind may be put to the subscription: its terms and
// its rights allow the reply. Any goroutine may call it; the answer holds as long as
// Producer.putting is held.
func (sub *subscription) mayBeAsked(isConfirmation bool) bool {
	if isConfirmation {
		return sub.confirms.Load()
	}
	return sub.clarifies.Load()
}

// statusSnapshot returns what Subscriptions reports of this one. Any goroutine may call it that does not
// hold sub.mu.
func (sub *subscription) statusSnapshot() SubscriptionStatus {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	n := sub.currentStats()
	return SubscriptionStatus{sub.id, sub.subscriberID, sub.terms.Capabilities(), sub.connected, n.Delivered, n.Merged, n.Filtered, n.Held}
}

// runUngrouped is the goroutine of a subscription in no group, and its owner. It sends events, puts changes
// into effect and watches the stream, until the subscription ends or joins a group; joined says
// which. If it has ended, why says for what reason. serveUngrouped calls it.
func (sub *subscription) runUngrouped() (why *aaep.Rejection, joined bool) {
	l := sub.newUngrouped()
	timer := time.NewTimer(never)
	defer timer.Stop()
	for {
		draining := sub.p.serving.Err() != nil // before the log is read: nothing is appended then
		if draining {
			sub.shaper.SetQuiet(time.Time{})
		}
		if draining || sub.groupPaused.Load() {
			sub.shaper.Hold(time.Time{})
		}
		sent, next, why := l.sendOrSchedule()
		if why != nil {
			return why, false
		}
		if !sent {
			var again time.Time
			switch {
			case draining && sub.stream == nil:
				l.shortenGrace()
			case draining && sub.isIdle():
				return shutdownRejection(), false
			case !draining && sub.stream != nil && len(sub.woken) == 0:
				if joined, again = l.tryJoin(time.Now()); joined {
					return nil, true
				}
			}
			waitUntil(sub.woken, timer, earliestTime(next, again, l.away, sub.life.nextEnd()))
			l.adoptNewStream()
			if why := l.checkStream(draining); why != nil {
				return why, false
			}
		}
		if why := sub.handlePending(); why != nil {
			return why, false
		}
	}
}

// ungrouped is an ungrouped subscription as runUngrouped sees it: it exists for one call of that.
type ungrouped struct {
	*subscription
	away    time.Time // when a stream has to be there; zero: there is one
	hurried bool      // shortenGrace has been called
}

// newUngrouped prepares runUngrouped. It attaches the stream of a link that cannot be resumed. For one
// that can, it sets when the first stream has to be there; after a group, the stream is there
// already.
func (sub *subscription) newUngrouped() ungrouped {
	l := ungrouped{subscription: sub}
	l.beginUngrouped(time.Now())
	switch {
	case sub.opened: // a group has released it
	case sub.link.canResume():
		sub.apart = time.Now()
		l.away = sub.apart.Add(openTimeout)
	default:
		sub.stream, sub.opened = sub.link.onlyStream(), true
		sub.attachStream(sub.stream, true)
	}
	return l
}

// sendOrSchedule sends one batch of what may leave now. If nothing may, sent is false and next says when
// something may; zero is after the next event, or when there is a stream. why ends the
// subscription. Before that it sends an answer to a change of terms that an earlier stream did not
// take.
func (l *ungrouped) sendOrSchedule() (sent bool, next time.Time, why *aaep.Rejection) {
	if l.stream != nil && l.unanswered != nil {
		if l.sendAnswer(l.unanswered, 1); l.unanswered != nil {
			l.loseStream()
		}
	}
	if l.stream == nil {
		return false, time.Time{}, nil
	}
	sent, next, err := l.sendDue(l.stream)
	switch {
	case err != nil:
		why = l.explainSendError(err)
	case sent:
		l.life.noteSent(time.Now())
	}
	return sent, next, why
}

// explainSendError decides what an error of sendDue means. It returns why the subscription ends; nil means
// that only the stream is lost, and may come back.
func (l *ungrouped) explainSendError(err error) *aaep.Rejection {
	var over *aaep.Rejection
	if errors.As(err, &over) {
		return over
	}
	if l.link.canResume() {
		l.loseStream()
		return nil
	}
	return l.linkLostRejection(err)
}

// linkLostRejection returns why a subscription ends whose link cannot be resumed and failed with err: the
// subscriber has gone, if the receiving goroutine says so, or it is too slow.
func (sub *subscription) linkLostRejection(err error) *aaep.Rejection {
	select {
	case err := <-sub.lost:
		return peerGone(err)
	default:
	}
	return slowRejection("the link took nothing more: " + err.Error())
}

// loseStream notes that the stream is lost, and until when another one has to be there; see detachStream.
func (l *ungrouped) loseStream() { l.stream, l.away = nil, l.detachStream() }

// shortenGrace shortens, during a shutdown, the time in which a lost stream has to be back. The first call
// counts. The subscriber may be coming back for events that it has not had.
func (l *ungrouped) shortenGrace() {
	if !l.hurried {
		l.hurried, l.away = true, l.apart.Add(lastChance)
	}
}

// adoptNewStream makes the newest stream of the link the subscription's, if the link has a new one, and
// continues on it where the subscriber is. It does not wait for one.
func (l *ungrouped) adoptNewStream() {
	if !l.link.canResume() || !l.news.Swap(false) {
		return
	}
	if newest, err := l.link.newestStream(); err == nil {
		l.stream, l.away = newest, time.Time{}
		l.attachStream(newest, !l.opened)
		l.opened = true
	}
}

// checkStream notes that the stream has broken, or returns why the subscription ends if a stream did not
// come in time.
func (l *ungrouped) checkStream(draining bool) *aaep.Rejection {
	if l.stream != nil {
		select {
		case <-l.stream.Done():
			l.loseStream()
		default:
		}
		return nil
	}
	switch late := !time.Now().Before(l.away); {
	case late && draining:
		return l.incompleteShutdown()
	case late:
		return &aaep.Rejection{Code: aaep.SubscriberShutdown, Message: "The stream was not opened again in time."}
	}
	return nil
}

// never is the time of a timer that is set later. A timer made with 0 would fire on the goroutine
// that makes it; in a synctest bubble two that do so at once bring down the race detector
// (golang/go#78156).
const never time.Duration = math.MaxInt64

// waitUntil returns when woken was filled, which it empties, or at until; zero is no time. timer belongs
// to the caller and is used again. The owner of a subscription and of a group waits here alone.
func waitUntil(woken <-chan struct{}, timer *time.Timer, until time.Time) {
	if until.IsZero() { // the usual case; one channel costs less than a select of two
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

// earliestTime returns the first of the times that are not zero, or zero if all are.
func earliestTime(times ...time.Time) (first time.Time) {
	for _, t := range times {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// handlePending handles, between two batches, what must not wait until nothing is left to send: abort, the
// end of the link, a change of terms, the end of the lifetime. runUngrouped calls it, holding no
// lock. The result says why the subscription ends, or is nil.
func (sub *subscription) handlePending() *aaep.Rejection {
	if sub.aborted.Load() {
		return sub.incompleteShutdown()
	}
	select {
	case err := <-sub.lost:
		return peerGone(err)
	default:
	}
	if sub.askAgain.Swap(false) {
		sub.askLate()
	}
	if sub.overfull {
		return slowRejection("too many questions could not be put to it before they were settled")
	}
	if q := sub.changes.Load(); q != nil && len(q.next) > 0 {
		if quit := sub.applyChange(<-q.next); quit != nil {
			return quit
		}
		sub.life.applyTerms(sub.terms)
	}
	return sub.life.reasonToEnd(time.Now())
}

// sendMessage sends a message that is not an event, and waits at most closeTimeout. Any goroutine may call
// it.
func (sub *subscription) sendMessage(m aaep.Message) error {
	return sub.sendMessageWithin(closeTimeout, m)
}

// sendMessageWithin sends a message that is not an event, and waits at most d. Any goroutine may call it.
func (sub *subscription) sendMessageWithin(d time.Duration, m aaep.Message) error {
	msg, err := aaep.Encode(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return sub.link.send(ctx, msg)
}
