package delivery

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/internal/writer"
)

// Subscriber is what package producer knows of a subscription: who it is for, what it is asked, and
// which changes of its terms wait. A Subscription calls it.
type Subscriber interface {
	// HandleMessage handles a message of the subscriber. An error ends the subscription. It is
	// called by one goroutine at a time, and may wait.
	HandleMessage(data []byte) error
	// HandlePending does what must not wait until nothing is left to send. The result says why the
	// subscription ends, or is nil. The owner calls it between two batches, holding no lock.
	HandlePending() *aaep.Rejection
	// IsWithheld reports whether the question with this token must not be shown yet, because it is
	// not on record that it is put to the subscriber. It is called with a group's mu held, and must
	// not wait.
	IsWithheld(token aaep.ReplyToken) bool
	// PutOpenQuestions gives the open questions that the cursor has passed to Push. RepeatQuestions
	// gives it those that were put outside the log: the stream may have broken before they arrived.
	// The owner calls both, holding no lock.
	PutOpenQuestions()
	RepeatQuestions()
	// Ended is called once, when the subscription has ended, by its owner. It closes the link.
	Ended(why *aaep.Rejection)
}

// Subscription is the delivery to one subscriber: a cursor into the log, a Shaper and a link. Its
// owner is the goroutine that runs runUngrouped or, while it is a member of a group, the group's
// run; only the owner sends events. What the subscriber sends is received by another goroutine, so
// that a reply is handled while a slow link is being written to.
type Subscription struct {
	Link       *Link
	subscriber Subscriber
	ctx        *writer.Context // ends with Abort, or when the subscriber is known to be gone
	aborted    atomic.Bool     // Abort has been called

	// The following belong to the owner, except where their types say otherwise.
	logCursor
	streaming
	membership
	start     uint64         // the cursor when the subscription began
	startSkip int            // skip when the subscription began
	first     []shaper.Entry // events to send before those of the log; nil once a stream was attached
	life      lifetime
	// woken is what runUngrouped waits for besides time. A goroutine that changes news, lost or
	// what the Subscriber has pending fills woken afterwards; see Wake.
	woken chan struct{} // holds one: there is something to look at, here or in the log
	news  atomic.Bool   // the link may have a new stream
	lost  chan error    // holds one: why nothing more is received

	// sending is since when the link is being written to, in nanoseconds after Dispatcher.born plus
	// one; zero: it is not.
	sending atomic.Int64

	// mu guards what follows. The owner also holds it to change group and past: other goroutines
	// read these with it held, and the owner reads them without. It is taken while a group's mu is
	// held, and a logCursor's counting while it is.
	mu            sync.Mutex
	connected     bool // there is a stream
	notifications int  // how often onNotify was called since all messages were handled; 0: all are
	messagesEnded bool // the subscription has ended, and nothing more is received
}

// NewSubscription returns a subscription that is not served yet. SetTerms, Begin, Dispatcher.Add
// and Serve follow, in this order.
func (d *Dispatcher) NewSubscription(link *Link, subscriber Subscriber) *Subscription {
	sub := &Subscription{Link: link, subscriber: subscriber, logCursor: logCursor{d: d}, ctx: writer.NewContext(),
		woken: make(chan struct{}, 1), lost: make(chan error, 1)}
	sub.owner = sub
	return sub
}

// SetTerms makes t, which must not change afterwards, the terms of the subscription. The first ones
// take effect at once, and their quiet time begins; ShapeBy puts later ones into effect. The group
// key is computed anew. The owner calls it.
func (sub *Subscription) SetTerms(t *negotiation.Terms) {
	sub.terms, sub.key = t, groupKey{}
	if sub.shaper == nil { // the subscription begins
		sub.shaper = shaper.New(*t, sub.d.eventID)
		sub.shaper.SetQuiet(time.Now().Add(t.Quiet))
	}
}

// ShapeBy has the terms hold for every event that leaves from now on; quiet says that the quiet
// time that they declare begins now. The owner calls it.
func (sub *Subscription) ShapeBy(t *negotiation.Terms, quiet bool) {
	sub.shaper.SetTerms(time.Now(), *t)
	if quiet {
		sub.shaper.SetQuiet(time.Now().Add(t.Quiet))
	}
}

// Beginning is where a subscription begins.
type Beginning struct {
	End     uint64         // what was appended to the log, shown or not: up to there it is from before the subscription
	Cursor  uint64         // the newest entry that it is not sent
	Skip    int            // how many bytes of the next entry's text it has already
	Resumes bool           // it goes on right after an event that another subscription was sent
	States  []shaper.Entry // events to send first; not used if it resumes
}

// Begin sets where in the log the subscription begins. One that resumes skips b.Skip bytes of the
// first event's text; any other first gets b.States. The registration calls it once, after SetTerms
// and before Dispatcher.Add, so it needs no lock.
func (sub *Subscription) Begin(b Beginning) {
	sub.replayed, sub.start, sub.cursor = b.End, b.Cursor, b.Cursor
	if b.Resumes {
		sub.beginAt(b.Cursor, b.Skip)
	} else {
		sub.first = b.States
	}
	sub.left.Store(b.Cursor)
	sub.urgent.Store(b.Cursor)
	sub.needs.Store(b.Cursor)
	sub.behind.Store(b.Cursor < b.End)
	sub.noticed = sub.d.notices.Load().last
}

// PrepareMissedEnds has the last events of the sessions that ended after the entry at since sent
// before anything else. It is called after Begin and before Serve, and may read the log.
func (sub *Subscription) PrepareMissedEnds(since uint64) {
	states := sub.first
	sub.first = nil
	sub.d.pushEndsSince(since, sub.cursor, sub.Push)
	sub.first = append(sub.first, states...)
}

// Resumes reports whether the subscription goes on after an event that another one was sent.
func (sub *Subscription) Resumes() bool { return sub.continuesOther }

// Push has an entry sent, before what the log has after the cursor. The owner calls it, or the
// goroutine that calls Begin, before Serve.
func (sub *Subscription) Push(e shaper.Entry) {
	if !sub.opened {
		sub.first = append(sub.first, e)
		return
	}
	sub.shaper.Push(time.Now(), e)
}

// Discard takes out the events for which match is true that were pushed, or read from the log, and
// have not left. From now on a question that is in the log already is only shown while it is open;
// see logCursor.isPast. The owner calls it.
func (sub *Subscription) Discard(match func(*aaep.Event) bool) {
	sub.changedAt = sub.d.Log.Appended()
	if !sub.opened {
		sub.first = slices.DeleteFunc(sub.first, func(e shaper.Entry) bool { return match(e.Event) })
		return
	}
	sub.shaper.Discard(match)
}

// HasStream reports whether there is or was a stream, so that what is pushed may have left. The
// owner calls it.
func (sub *Subscription) HasStream() bool { return sub.opened }

// HasPassed reports whether the cursor has passed the entry at pos, so that the log will not show
// it. The owner calls it.
func (sub *Subscription) HasPassed(pos uint64) bool { return pos <= sub.cursor }

// HasShown reports whether the entry at pos was given to the Shaper, in its order or earlier. The
// owner calls it.
func (sub *Subscription) HasShown(pos uint64) bool { return pos <= sub.cursor || sub.early[pos] }

// Serve serves the subscription until it ends. It is the first goroutine of the subscription, and
// ends when another takes over.
func (sub *Subscription) Serve() {
	sub.life = newLifetime(sub.terms)
	sub.startReceiving()
	sub.serveUngrouped()
}

// serveUngrouped serves the subscription as long as it is in no group, on a goroutine of its own:
// the first one, or one that a group starts when it releases the subscription.
func (sub *Subscription) serveUngrouped() {
	if why, joined := sub.runUngrouped(); !joined {
		sub.subscriber.Ended(why)
	}
}

// streaming is what a subscription knows of its stream. A link that can be resumed has several
// streams, one after the other. It belongs to the owner of the subscription.
type streaming struct {
	stream      *eventStream // nil: there is none
	opened      bool         // there is or was a stream
	attached    time.Time    // since when the stream is there
	slow        bool         // the link took longer than slowSend over the last batch
	sentNamable bool         // an event has left that the subscriber can name to resume after
	untaken     bool         // the last stream broke while it was being written to
	unanswered  []byte       // an answer to a change of terms that a broken stream did not take

	detached    time.Time // since when there is no stream
	grace       time.Time // when a stream has to be back at the latest; see detachStream
	leftAtGrace uint64    // the value of left when grace was set
}

// Abort ends the subscription without delay, whatever is under way: a send that waits returns. Any
// goroutine may call it.
func (sub *Subscription) Abort() {
	sub.aborted.Store(true)
	sub.ctx.End()
	sub.Wake()
}

// IsAborted reports whether Abort has been called. Any goroutine may call it.
func (sub *Subscription) IsAborted() bool { return sub.aborted.Load() }

// Context returns a context that ends with Abort, or when the subscriber is known to be gone.
func (sub *Subscription) Context() context.Context { return sub.ctx }

// Wake makes the owner look at woken, at the log and at what other goroutines left for it. A group
// releases the subscription for that. Any goroutine may call it, with any lock held; it never
// waits.
func (sub *Subscription) Wake() {
	select {
	case sub.woken <- struct{}{}:
	default:
	}
	if g := sub.group.Load(); g != nil { // after woken is filled; see confirmJoin
		g.requestRelease()
	}
}

// Status returns the counts of the subscription, with those of its group where it has one, and
// whether a stream is attached. Any goroutine may call it.
func (sub *Subscription) Status() (n shaper.Stats, connected bool) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if g := sub.group.Load(); g != nil { // the group's counts, and what its own differ from those by
		return sub.past.Stats(g.publishedStats()), sub.connected
	}
	return sub.publishedStats(), sub.connected
}

// IsConnected reports whether there is a stream. Any goroutine may call it.
func (sub *Subscription) IsConnected() bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.connected
}

// LastStats returns the counts of a subscription that has ended. The owner calls it.
func (sub *Subscription) LastStats() shaper.Stats { return sub.shaper.Stats() }

// criticalDelay returns how long ago a critical event, handed to the link now, was emitted. ok is
// false if that was before the stream was there, or if it is not measured. The owner calls it.
func (sub *Subscription) criticalDelay(ev *aaep.Event) (d time.Duration, ok bool) {
	if sub.d.Critical == nil {
		return 0, false
	}
	hadStream := !ev.Timestamp.Before(sub.attached.Truncate(time.Millisecond)) // stamps have milliseconds
	return max(time.Since(ev.Timestamp), 0), hadStream
}

// withholds makes a subscription in no group a withholder: a question that is withheld is left out
// of its stream, and nothing waits for that.
func (sub *Subscription) withholds(token aaep.ReplyToken) (omit, wait bool) {
	return sub.subscriber.IsWithheld(token), false
}

// HasLeft reports whether the event at pos, which does not wait for the rate, has left for the
// subscription. It has Dispatcher.Moved broadcast when more has left. Any goroutine may call it.
func (sub *Subscription) HasLeft(pos uint64) bool {
	sub.watched.Store(true) // before urgent is read, or a step in between would go unnoticed
	c := &sub.logCursor
	if g := sub.group.Load(); g != nil {
		c = &g.logCursor
		c.watched.Store(true)
	}
	return c.urgent.Load() >= pos
}

// stalledAfter is how long a link may take over one write and still count as one that takes data.
const stalledAfter = time.Second

// TakesData reports whether the link takes what is sent, so that it is worth waiting for: there is
// a stream, the subscription is not aborted, history is not still being sent, and no write has
// taken stalledAfter. until is when a link that is being written to counts as stalled; zero: it is
// not being written to. Any goroutine may call it.
func (sub *Subscription) TakesData(now time.Time) (takes bool, until time.Time) {
	if !sub.IsConnected() || sub.aborted.Load() || sub.behind.Load() {
		return false, until
	}
	if since := sub.sending.Load(); since != 0 {
		until = sub.d.born.Add(time.Duration(since) + stalledAfter)
		return now.Before(until), until
	}
	return true, until
}

// runUngrouped is the goroutine of a subscription in no group, and its owner. It sends events, puts
// changes into effect and watches the stream, until the subscription ends or joins a group; joined
// says which. If it has ended, why says for what reason. serveUngrouped calls it.
func (sub *Subscription) runUngrouped() (why *aaep.Rejection, joined bool) {
	l := sub.newUngrouped()
	timer := time.NewTimer(never)
	defer timer.Stop()
	for {
		draining := sub.d.Serving.Err() != nil // before the log is read: nothing is appended then
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
			var joinAgain time.Time
			switch {
			case draining && sub.stream == nil:
				l.deadline = earliestTime(l.deadline, l.detached.Add(l.graceAtShutdown()))
			case draining && sub.isIdle():
				return shutdownRejection(), false
			case !draining && sub.stream != nil && len(sub.woken) == 0:
				if joined, joinAgain = l.tryJoin(time.Now()); joined {
					return nil, true
				}
			}
			waitUntil(sub.woken, timer, earliestTime(next, joinAgain, l.deadline, sub.life.nextEnd()))
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
	*Subscription
	deadline time.Time // when a stream has to be there; zero: there is one
	// withdrawn is why the last stream was ended, where its credentials were withdrawn.
	withdrawn *aaep.Rejection
}

// newUngrouped prepares runUngrouped. It attaches the stream of a link that cannot be resumed. For
// one that can, it sets when the first stream has to be there; after a group, the stream is there
// already.
func (sub *Subscription) newUngrouped() ungrouped {
	l := ungrouped{Subscription: sub}
	l.beginUngrouped(time.Now())
	switch {
	case sub.opened: // a group has released it
	case sub.Link.canResume():
		sub.detached = time.Now()
		l.deadline = sub.detached.Add(openTimeout)
	default:
		sub.stream = sub.Link.onlyStream()
		sub.attachStream(sub.stream)
	}
	return l
}

// sendOrSchedule sends one batch of what may leave now. If nothing may, sent is false and next says
// when something may; zero is after the next event, or when there is a stream. why ends the
// subscription. Before that it sends an answer to a change of terms that an earlier stream did not
// take.
func (l *ungrouped) sendOrSchedule() (sent bool, next time.Time, why *aaep.Rejection) {
	if l.stream != nil && l.unanswered != nil {
		if l.SendAnswer(l.unanswered, 1); l.unanswered != nil {
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

// explainSendError decides what an error of sendDue means. It returns why the subscription ends;
// nil means that only the stream is lost, and may come back.
func (l *ungrouped) explainSendError(err error) *aaep.Rejection {
	var rejection *aaep.Rejection
	if errors.As(err, &rejection) {
		return rejection
	}
	if l.Link.canResume() {
		l.loseStream()
		return nil
	}
	return l.linkLostRejection(err)
}

// linkLostRejection returns why a subscription ends whose link cannot be resumed and failed with
// err: what lost says, if the receiving goroutine has put something there, and otherwise that the
// subscriber is too slow.
func (sub *Subscription) linkLostRejection(err error) *aaep.Rejection {
	select {
	case err := <-sub.lost:
		return peerGone(err)
	default:
	}
	return SlowRejection("the link took nothing more: " + err.Error())
}

// loseStream handles that the stream has broken, notes whether the transport withdrew it, and sets
// by when another one has to come; see detachStream.
func (l *ungrouped) loseStream() {
	if s, ok := l.stream.Stream.(interface{ Withdrawn() *aaep.Rejection }); ok {
		l.withdrawn = s.Withdrawn()
	}
	l.stream, l.deadline = nil, l.detachStream()
}

// graceAtShutdown returns how long, during a shutdown, the subscription may be without a stream:
// Grace where the subscriber is owed something, and otherwise lastChance.
func (l *ungrouped) graceAtShutdown() time.Duration {
	if l.isOwed() {
		return l.d.Grace
	}
	return lastChance
}

// adoptNewStream makes the newest stream of the link the subscription's, if the link has a new one,
// and continues on it where the subscriber is. It does not wait for one.
func (l *ungrouped) adoptNewStream() {
	if !l.Link.canResume() || !l.news.Swap(false) {
		return
	}
	if newest, err := l.Link.newestStream(); err == nil {
		l.stream, l.deadline, l.withdrawn = newest, time.Time{}, nil
		l.attachStream(newest)
	}
}

// checkStream calls loseStream if the stream has broken. Where there was none, and none came until
// l.deadline, it returns why the subscription ends; else nil. draining says that the producer shuts
// down. runUngrouped calls it where nothing was sent.
func (l *ungrouped) checkStream(draining bool) *aaep.Rejection {
	if l.stream != nil {
		select {
		case <-l.stream.Done():
			l.loseStream()
		default:
		}
		return nil
	}
	switch isLate := !time.Now().Before(l.deadline); {
	case isLate && draining:
		return l.incompleteShutdown()
	case isLate && l.withdrawn != nil:
		return l.withdrawn
	case isLate:
		return &aaep.Rejection{Code: aaep.SubscriberShutdown, Message: "The stream was not opened again in time."}
	}
	return nil
}

// never is the time of a timer that is set later. A timer made with 0 would fire on the goroutine
// that makes it; in a synctest bubble two that do so at once bring down the race detector
// (golang/go#78156).
const never time.Duration = math.MaxInt64

// waitUntil returns when woken was filled, which it empties, or at until; zero is no time. timer
// belongs to the caller and is used again. The owner of a subscription and of a group waits here
// alone.
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

// handlePending handles, between two batches, what must not wait until nothing is left to send:
// abort, the end of the link, a change of terms, the end of the lifetime. runUngrouped calls it,
// holding no lock. The result says why the subscription ends, or is nil.
func (sub *Subscription) handlePending() *aaep.Rejection {
	if sub.aborted.Load() {
		return sub.incompleteShutdown()
	}
	select {
	case err := <-sub.lost:
		return peerGone(err)
	default:
	}
	terms := sub.terms
	if why := sub.subscriber.HandlePending(); why != nil {
		return why
	}
	if sub.terms != terms {
		sub.life.applyTerms(sub.terms)
	}
	return sub.life.reasonToEnd(time.Now())
}

// SendMessage sends a message that is not an event, and waits at most d. Any goroutine may call it.
func (sub *Subscription) SendMessage(d time.Duration, m aaep.Message) error {
	msg, err := aaep.Encode(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return sub.Link.Send(ctx, msg)
}

// SendAnswer sends the answer to a change of terms as often as renegotiations wait for it, and
// forgets an older one that was kept. If the stream breaks meanwhile, the answer is kept, once, for
// the next stream. The result says why the subscription ends, or is nil, also where handlePending
// is about to find that out. The owner calls it.
func (sub *Subscription) SendAnswer(msg []byte, times int) *aaep.Rejection {
	sub.unanswered = nil                                     // this answer has the newer terms
	ctx, cancel := context.WithTimeout(sub.ctx, sendTimeout) // for all the answers together
	defer cancel()
	for range times {
		err := sub.Link.Send(ctx, msg)
		switch {
		case err == nil:
		case sub.ctx.Err() != nil:
			return nil
		case sub.Link.canResume():
			sub.unanswered = msg
			return nil
		default:
			return sub.linkLostRejection(err)
		}
	}
	return nil
}
