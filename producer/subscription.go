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
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/transports"
)

// A subscription is a cursor into the log and a Shaper. One goroutine, run, owns both and is the only one
// that sends events; another, receive, reads what the subscriber says, so that an answer is heard
// while a slow link is being written to.
type subscription struct {
	p            *Producer
	id           string
	subscriberID string
	principal    string
	rights       Rights
	offer        handshake.Offer // what of the producer's this subscriber may have
	conn         transports.Conn
	ctx          context.Context
	hangUp       context.CancelFunc
	sending      context.Context // ends when the subscriber is known to be gone
	stopSending  context.CancelFunc

	shaper   *coalesce.Shaper
	terms    handshake.Terms
	start    uint64 // the cursor when the subscription began
	cursor   uint64 // the newest entry the shaper has had
	replayed uint64 // up to here the log tells what was before the subscription
	skip     int    // bytes of the next entry that the subscriber had before
	resumed  bool   // an event went out that can be resumed after
	passed   int    // events that left in front of the critical one that is next in the log
	first    []coalesce.Entry
	attached time.Time // when the stream was there
	many     bool      // the link takes several events at once
	slow     bool      // it took long over the last

	// What run waits for besides time. Whoever puts something into one of the others puts it in woken as well.
	woken   chan struct{}          // holds one: there is something to look at, or in the log
	control chan change            // holds one: a renegotiation whose turn has come
	streams chan transports.Stream // holds one: a stream that the subscriber opened
	lost    chan error             // holds one: why receive ended
	changes changes

	confirms, clarifies atomic.Bool  // may be asked
	patience, least     atomic.Int64 // see slowest; 0 is as usual
	pace                atomic.Int64
	left                atomic.Uint64 // every event that is not output, up to here, has left
	watched             atomic.Bool   // somebody waits for left to grow

	mu        sync.Mutex
	honored   aaep.Capabilities
	stats     coalesce.Stats
	connected bool
}

// wake has run look at what there is. It never waits.
func (sub *subscription) wake() {
	select {
	case sub.woken <- struct{}{}:
	default:
	}
}

// canAnswer reports whether the question may be put to this subscription.
func (sub *subscription) canAnswer(q *ledger.Question) bool {
	if q.Confirmation != nil {
		return sub.confirms.Load()
	}
	return sub.clarifies.Load()
}

func (sub *subscription) status() SubscriptionStatus {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return SubscriptionStatus{sub.id, sub.subscriberID, sub.honored, sub.connected, sub.stats}
}

func (sub *subscription) setTerms(t handshake.Terms) {
	sub.terms = t
	sub.patience.Store(int64(t.TimeoutMultiplier * 1000))
	sub.least.Store(int64(t.MinTimeout / time.Second))
	sub.pace.Store(t.PaceWPM)
	sub.confirms.Store(t.ConfirmationReply)
	sub.clarifies.Store(t.ClarificationReply)
	sub.mu.Lock()
	sub.honored = t.Capabilities()
	sub.mu.Unlock()
}

// receive reads what the subscriber says until the link ends.
func (sub *subscription) receive() {
	defer sub.wake()        // after lost has its value
	defer sub.stopSending() // so that a send it is the end of is known to be that
	replies, refused := coalesce.NewBudget(repliesPerSecond), refusals{pace: coalesce.NewBudget(refusalsPerSecond)}
	sub.lost <- func() error {
		for {
			data, err := sub.conn.Receive(sub.ctx)
			if err != nil {
				return err
			}
			m, err := aaep.Decode(data)
			if err != nil { // one bad message costs one message
				sub.p.cfg.Logger.Debug("message ignored", "subscription_id", sub.id, "error", err)
				continue
			}
			switch m := m.(type) {
			case *aaep.ConfirmationReply, *aaep.ClarificationReply:
				// Who guesses tokens is slowed down, whether they guess right or not, and nobody else.
				for !replies.Take(time.Now()) {
					select {
					case <-time.After(time.Until(replies.Next(time.Now()))):
					case <-sub.ctx.Done():
						return sub.ctx.Err()
					}
				}
				// The sender is never told whether a reply counted (§6.3.4).
				effected := sub.p.cfg.Observer.Began(Reply)
				err := sub.p.desk.reply(sub.who(nil), m)
				effected(err)
				if err != nil {
					if !refused.pace.Take(time.Now()) {
						refused.more++
						continue
					}
					err = refused.note(err)
					sub.p.cfg.Logger.Warn("reply without effect", "subscription_id", sub.id, "principal", sub.principal, "reason", err)
					sub.p.desk.trail.replied(sub.who(nil), m, err)
				}
			case *aaep.SubscriptionRenegotiate:
				sub.ask(m)
			case *aaep.SubscriptionClose:
				if m.SubscriptionID == sub.id {
					return errLeft
				}
			}
		}
	}()
}

// How many replies of one subscription are looked at in a second: more than a person has questions.
const (
	repliesPerSecond  = 100
	refusalsPerSecond = 2 // that are recorded one by one
)

// jitterGuard keeps events a little further apart than the budget alone would, so that a listener who counts
// what arrives finds the rate kept too, although no two events are equally long on their way.
const jitterGuard = 20 * time.Millisecond

var errLeft = errors.New("producer: the subscriber left")

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

// follow hands run the streams that the subscriber opens, and tells it when they end.
func (sub *subscription) follow(conn transports.Resumable) {
	for {
		s, err := conn.NextStream(sub.ctx)
		if err != nil {
			return
		}
		select {
		case sub.streams <- s:
			sub.wake()
		case <-sub.ctx.Done():
			return
		}
		select {
		case <-s.Done():
			sub.wake()
		case <-sub.ctx.Done():
			return
		}
	}
}

// run serves the subscription until it ends, and returns why. A nil error is a clean end.
func (sub *subscription) run() *aaep.Rejection {
	var stream transports.Stream
	var away time.Time // until then the first stream, or the next one, has to be there
	resumable, canResume := sub.conn.(transports.Resumable)
	if canResume {
		away = time.Now().Add(openTimeout)
		sub.p.loops.Go(func() { sub.follow(resumable) })
	} else {
		_, sub.many = sub.conn.(transports.EventSender)
		stream = plainStream{sub.conn}
		sub.attach(stream, true)
	}
	detach := func() {
		stream, away = nil, time.Now().Add(max(sub.p.cfg.Grace, 0))
		sub.setConnected(false)
	}
	defer context.AfterFunc(sub.ctx, sub.wake)()
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
			var over *aaep.Rejection
			switch {
			case errors.As(err, &over):
				return over
			case err != nil && canResume:
				detach()
			case err != nil:
				select {
				case err := <-sub.lost:
					return goneBecause(err)
				default:
				}
				return slow("the link did not take an event: " + err.Error())
			}
			if sent {
				life.sent(time.Now())
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
		select {
		case stream = <-sub.streams:
			away = time.Time{}
			sub.attach(stream, !opened)
			opened = true
		default:
		}
		switch {
		case stream != nil:
			select {
			case <-stream.Done():
				detach()
			default:
			}
		case !time.Now().Before(away) && draining:
			return shuttingDown()
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
	if sub.ctx.Err() != nil { // which ends receive too
		return shuttingDown()
	}
	select {
	case err := <-sub.lost:
		return goneBecause(err)
	default:
	}
	select {
	case c := <-sub.control:
		if quit := sub.apply(c); quit != nil {
			return quit
		}
		life.set(sub.terms)
	default:
	}
	return life.over(time.Now())
}

// fill hands the shaper everything the log has, so that what is critical need not wait for what is held; but
// no more than can be sent at once, where nothing is held. The channel is closed when there is more.
//
// The shaper lets a critical event overtake all others. Those that may leave now keep their place in front of
// it all the same, a few at most, so that nobody is asked something before the session has begun.
func (sub *subscription) fill(now time.Time) error {
	for sub.cursor < sub.p.newest.Load() {
		room := readAhead - sub.shaper.Ready(now)
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
			} else if sub.shaper.Ready(now) >= readAhead { // one event may make hundreds for a small display
				return nil
			}
			sub.cursor++
			if sub.cursor <= sub.replayed && sub.p.stale(ev) {
				continue
			}
			sub.shaper.Push(now, coalesce.Entry{Pos: sub.cursor, Event: ev, Skip: sub.skip})
			sub.skip = 0
		}
	}
	return nil
}

// readAhead is how many events may wait for a link that is slower than the subscription's rate.
const readAhead = 64

// mayPass is how many events may leave in front of a critical one.
const mayPass = 16

// A batch is what leaves at once: no more than is due, and on a slow link one event, since what is critical must not wait
// behind many.
type batch struct {
	events   []transports.Event
	critical []*aaep.Event
}

var batches = sync.Pool{New: func() any { return new(batch) }}

const (
	maxBatch = 32 << 10              // bytes, or one event
	prompt   = 10 * time.Millisecond // is how long a batch takes on a link that is not slow
)

// advance reads on and sends what is due. If nothing is, it says when something will be; the zero time is after the next
// event. An error that is an *aaep.Rejection ends the subscription, every other the stream.
func (sub *subscription) advance(stream transports.Stream) (sent bool, next time.Time, err error) {
	now := time.Now()
	if err := sub.fill(now); err != nil {
		return false, next, err
	}
	if sub.shaper.Overflow() {
		return false, next, slow("too many events wait")
	}
	sub.publish() // before Pop: what that returns has not left yet
	out, next := sub.shaper.Pop(now)
	if out.Event == nil {
		return false, next, nil
	}
	b := batches.Get().(*batch)
	defer func() {
		clear(b.events)
		clear(b.critical)
		b.events, b.critical = b.events[:0], b.critical[:0]
		batches.Put(b)
	}()
	size, resumable := 0, false
	for {
		msg, err := sub.p.encode(out)
		if err != nil { // it was valid when it was appended
			sub.p.cfg.Logger.Error("event lost", "event_id", out.Event.EventID, "error", err)
		} else {
			ev := transports.Event{Message: msg}
			if out.Resumable {
				ev.ID, resumable = out.Event.EventID, true
			}
			b.events = append(b.events, ev)
			if out.Event.Critical() {
				b.critical = append(b.critical, out.Event)
			}
		}
		if size += len(msg); size >= maxBatch || sub.slow || !sub.many {
			break
		}
		if sub.fill(now) != nil || sub.shaper.Overflow() {
			break // the next round ends with that
		}
		if out, _ = sub.shaper.Pop(now); out.Event == nil {
			break
		}
	}
	if err := stream.SendEvents(sub.sending, b.events); err != nil {
		return true, next, err
	}
	for _, ev := range b.critical {
		sub.delivered(ev)
	}
	sub.resumed = sub.resumed || resumable
	left := time.Now()
	sub.shaper.Left(left.Add(jitterGuard))
	sub.slow = left.Sub(now) > prompt
	return true, next, nil
}

// publish says how far the stream has come.
func (sub *subscription) publish() {
	stats := sub.shaper.Stats()
	sub.mu.Lock()
	sub.stats = stats
	sub.mu.Unlock()
	if !sub.watched.Load() {
		return
	}
	left := sub.cursor
	if held := sub.shaper.Oldest(); held > 0 && held <= left {
		left = held - 1
	}
	if left > sub.left.Load() {
		sub.left.Store(left)
		if sub.watched.CompareAndSwap(true, false) {
			sub.p.wake()
		}
	}
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(sub.ctx), d)
	defer cancel()
	return sub.conn.Send(ctx, msg)
}
