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

	shaper    *coalesce.Shaper
	terms     handshake.Terms
	start     uint64          // the cursor when the subscription began
	startSkip int             // and the skip
	goesOn    bool            // it begins where another subscription ended
	cursor    uint64          // the newest entry the shaper has had
	replayed  uint64          // up to here the log tells what was before the subscription
	skip      int             // bytes of the next entry that the subscriber had before
	resumed   bool            // an event went out that can be resumed after
	early     map[uint64]bool // questions that were put before their turn in the log
	passed    int             // events that left in front of the critical one that is next in the log
	first     []coalesce.Entry
	attached  time.Time // when the stream was there

	changes changes
	control chan change // renegotiations, when their turn has come
	lost    chan error  // one value, when receive ends

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
	honored   aaep.Capabilities
	stats     coalesce.Stats
	connected bool
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
	defer sub.stopSending() // after lost has its value
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

// run serves the subscription until it ends, and returns why. A nil error is a clean end.
func (sub *subscription) run() *aaep.Rejection {
	streams := make(chan transports.Stream)
	var stream transports.Stream
	away := time.NewTimer(openTimeout) // until the first stream, or the next one, has to be there
	defer away.Stop()
	resumable, canResume := sub.conn.(transports.Resumable)
	if canResume {
		sub.p.loops.Go(func() {
			for {
				s, err := resumable.NextStream(sub.ctx)
				if err != nil {
					return
				}
				select {
				case streams <- s:
				case <-sub.ctx.Done():
					return
				}
			}
		})
	} else {
		stream = plainStream{sub.conn}
		sub.attach(stream, true)
		away.Stop()
	}
	wake := time.NewTimer(never)
	defer wake.Stop()
	life := newLife(sub.terms)
	defer life.stop()
	opened, hurried := !canResume, false
	for {
		var changed <-chan struct{}
		var broken <-chan struct{}
		draining := sub.p.serving.Err() != nil // and so the log is at its end before it is read
		if draining {
			sub.shaper.SetQuiet(time.Time{})
		}
		if stream != nil {
			broken = stream.Done()
			more, err := sub.fill()
			if err != nil {
				return err
			}
			changed = more
			if sub.shaper.Overflow() {
				return slow("too many events wait")
			}
			sub.publish() // before Pop: what that returns has not left yet
			out, next := sub.shaper.Pop(time.Now())
			if out.Event != nil {
				if err := sub.send(stream, out); err != nil {
					if !canResume {
						select {
						case err := <-sub.lost:
							return goneBecause(err)
						default:
						}
						return slow("the link did not take an event: " + err.Error())
					}
					stream = nil
					sub.detach(away)
				} else {
					life.sent()
				}
				if quit := sub.poll(life); quit != nil {
					return quit
				}
				continue
			}
			if draining && sub.shaper.Idle() {
				return shuttingDown()
			}
			if next.IsZero() {
				wake.Stop()
			} else {
				wake.Reset(time.Until(next))
			}
		}
		closing := sub.p.serving.Done()
		if draining {
			closing = nil
			if stream == nil && !hurried { // it may be on its way to what it is owed
				hurried = true
				away.Reset(lastChance)
			}
		}
		select {
		case <-changed:
		case <-wake.C:
		case <-closing:
		case stream = <-streams:
			away.Stop()
			sub.attach(stream, !opened)
			opened = true
		case <-broken:
			stream = nil
			sub.detach(away)
		case <-away.C:
			if draining {
				return shuttingDown()
			}
			return &aaep.Rejection{Code: aaep.SubscriberShutdown, Message: "The stream was not opened again in time."}
		case c := <-sub.control:
			if quit := sub.apply(c); quit != nil {
				return quit
			}
			life.set(sub.terms)
		case <-life.idle.C:
			return &aaep.Rejection{Code: "idle_timeout", Message: "Nothing was sent for as long as the subscription was to wait."}
		case <-life.end.C:
			return tooOld()
		case err := <-sub.lost:
			return goneBecause(err)
		case <-sub.ctx.Done():
			return shuttingDown()
		}
	}
}

// poll handles, between two events, what must not wait for a quiet moment.
func (sub *subscription) poll(life *life) *aaep.Rejection {
	select {
	case c := <-sub.control:
		defer func() { life.set(sub.terms) }()
		return sub.apply(c)
	case err := <-sub.lost:
		return goneBecause(err)
	case <-life.end.C:
		return tooOld()
	case <-sub.ctx.Done():
		return shuttingDown()
	default:
		return nil
	}
}

// fill hands the shaper everything the log has, so that what is critical need not wait for what is held; but
// no more than can be sent at once, where nothing is held. The channel is closed when there is more.
//
// The shaper lets a critical event overtake all others. Those that may leave now keep their place in front of
// it all the same, a few at most, so that nobody is asked something before the session has begun.
func (sub *subscription) fill() (<-chan struct{}, *aaep.Rejection) {
	for {
		room := readAhead - sub.shaper.Ready(time.Now())
		if sub.cursor < sub.replayed {
			if sub.shaper.Stats().Held >= maxHistory {
				sub.askEarly()
				return nil, nil
			}
			room = min(room, int(sub.replayed-sub.cursor))
		}
		if room <= 0 {
			return nil, nil
		}
		events, changed, err := sub.p.log.Read(sub.cursor, room)
		if err != nil {
			return nil, slow("the events it has not seen are no longer kept")
		}
		if changed != nil {
			return changed, nil
		}
		now := time.Now()
		for _, ev := range events {
			if ev.Critical() {
				if sub.shaper.Ready(now) > 0 && sub.passed < mayPass {
					sub.passed++
					return nil, nil
				}
				sub.passed = 0
			} else if sub.shaper.Ready(now) >= readAhead { // one event may make hundreds for a small display
				return nil, nil
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
}

// readAhead is how many events may wait for a link that is slower than the subscription's rate.
const readAhead = 64

// mayPass is how many events may leave in front of a critical one.
const mayPass = 16

// publish says how far the stream has come.
func (sub *subscription) publish() {
	sub.mu.Lock()
	sub.stats = sub.shaper.Stats()
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

func (sub *subscription) send(stream transports.Stream, out coalesce.Out) error {
	if _, plain := stream.(plainStream); plain && !out.Resumable {
		out = sub.overtaking(out)
	}
	msg, err := sub.p.encode(out)
	if err != nil { // it was valid when it was appended
		sub.p.cfg.Logger.Error("event lost", "event_id", out.Event.EventID, "error", err)
		return nil
	}
	if err := stream.SendEvent(sub.sending, msg, out.Event.EventID, out.Resumable); err != nil {
		return err
	}
	sub.delivered(out.Event)
	sub.resumed = sub.resumed || out.Resumable
	sub.shaper.Left(time.Now().Add(jitterGuard))
	return nil
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
