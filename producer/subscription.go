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
	conn         transports.Conn
	ctx          context.Context
	hangUp       context.CancelFunc

	shaper   *coalesce.Shaper
	terms    handshake.Terms
	start    uint64 // the cursor when the subscription began
	cursor   uint64 // the newest entry the shaper has had
	replayed uint64 // up to here the log tells what was before the subscription
	skip     int    // bytes of the next entry that the subscriber had before
	resumed  bool   // an event went out that can be resumed after
	first    []coalesce.Entry

	control chan aaep.Message // renegotiations
	lost    chan error        // one value, when receive ends

	confirms, clarifies atomic.Bool   // may be asked
	left                atomic.Uint64 // every event that is not output, up to here, has left
	watched             atomic.Bool   // somebody waits for left to grow

	mu        sync.Mutex
	honored   aaep.Capabilities
	stats     coalesce.Stats
	connected bool
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
	sub.confirms.Store(t.ConfirmationReply)
	sub.clarifies.Store(t.ClarificationReply)
	sub.mu.Lock()
	sub.honored = t.Capabilities()
	sub.mu.Unlock()
}

// receive reads what the subscriber says until the link ends.
func (sub *subscription) receive() {
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
				// The sender is never told whether a reply counted (§6.3.4).
				if err := sub.p.desk.reply(sub.id, sub.principal, m); err != nil {
					sub.p.cfg.Logger.Warn("reply without effect", "subscription_id", sub.id, "principal", sub.principal, "reason", err)
				}
			case *aaep.SubscriptionRenegotiate:
				select {
				case sub.control <- m:
				case <-sub.ctx.Done():
					return sub.ctx.Err()
				}
			case *aaep.SubscriptionClose:
				if m.SubscriptionID == sub.id {
					return errLeft
				}
			}
		}
	}()
}

var errLeft = errors.New("producer: the subscriber left")

// stream is where events go: a stream of a Resumable, or the link itself.
type plainStream struct{ transports.Conn }

func (plainStream) LastEventID() string   { return "" }
func (plainStream) Done() <-chan struct{} { return nil }
func (s plainStream) SendEvent(ctx context.Context, event []byte, _ string, _ bool) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return s.Send(ctx, event)
}

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
	wake := time.NewTimer(0)
	defer wake.Stop()
	opened := !canResume
	for {
		var changed <-chan struct{}
		var broken <-chan struct{}
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
			out, next := sub.shaper.Pop(time.Now())
			sub.publish(true)
			if out.Event != nil {
				if err := sub.send(stream, out); err != nil {
					if !canResume {
						return slow("the link did not take an event: " + err.Error())
					}
					stream = nil
					sub.detach(away)
				}
				if quit := sub.poll(); quit != nil {
					return quit
				}
				continue
			}
			if sub.p.isClosed() && changed != nil && sub.shaper.Idle() {
				return &aaep.Rejection{Code: aaep.ProducerShutdown, Message: "The agent is shutting down."}
			}
			if next.IsZero() {
				wake.Stop()
			} else {
				wake.Reset(time.Until(next))
			}
		}
		closing := sub.p.closing
		if sub.p.isClosed() {
			closing = nil
			if stream == nil {
				return &aaep.Rejection{Code: aaep.ProducerShutdown, Message: "The agent is shutting down."}
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
			return &aaep.Rejection{Code: aaep.SubscriberShutdown, Message: "The stream was not opened again in time."}
		case m := <-sub.control:
			if quit := sub.renegotiate(m); quit != nil {
				return quit
			}
		case err := <-sub.lost:
			return goneBecause(err)
		case <-sub.ctx.Done():
			return &aaep.Rejection{Code: aaep.ProducerShutdown, Message: "The agent is shutting down."}
		}
	}
}

// poll handles, between two events, what must not wait for a quiet moment.
func (sub *subscription) poll() *aaep.Rejection {
	select {
	case m := <-sub.control:
		return sub.renegotiate(m)
	case err := <-sub.lost:
		return goneBecause(err)
	case <-sub.ctx.Done():
		return &aaep.Rejection{Code: aaep.ProducerShutdown, Message: "The agent is shutting down."}
	default:
		return nil
	}
}

func goneBecause(err error) *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.SubscriberShutdown, Remote: true, Err: err}
}

func slow(why string) *aaep.Rejection {
	return &aaep.Rejection{Code: aaep.SlowSubscriber, Message: "This subscription cannot keep up: " + why + "."}
}

// attach points the cursor at what the subscriber has not seen.
func (sub *subscription) attach(stream transports.Stream, first bool) {
	sub.setConnected(true)
	if first {
		for _, e := range sub.first {
			sub.shaper.Push(time.Now(), e)
		}
		sub.first = nil
		return
	}
	sub.shaper.Reset()
	sub.skip = 0
	last := stream.LastEventID()
	pos, offset, ok := sub.p.log.Locate(last)
	switch {
	case last == "" && !sub.resumed: // it has seen nothing it could name: from the start
		sub.cursor = sub.start
	case !ok:
		sub.catchUp()
	case offset > 0:
		sub.cursor, sub.skip = pos-1, offset
	default:
		sub.cursor = pos
	}
	if _, _, err := sub.p.log.Read(sub.cursor, 0); err != nil {
		sub.catchUp()
	}
}

// catchUp goes on from now, and tells for each session what the agent is doing (§8.7, D-29).
func (sub *subscription) catchUp() {
	sub.skip = 0
	sub.cursor = sub.p.log.End()
	for _, e := range sub.p.situation(sub.cursor) {
		sub.shaper.Push(time.Now(), e)
	}
}

func (sub *subscription) detach(away *time.Timer) {
	sub.setConnected(false)
	away.Reset(max(sub.p.cfg.Grace, 0))
}

func (sub *subscription) setConnected(yes bool) {
	sub.mu.Lock()
	sub.connected = yes
	sub.mu.Unlock()
}

// fill hands the shaper everything the log has. The channel is closed when there is more.
func (sub *subscription) fill() (<-chan struct{}, *aaep.Rejection) {
	for {
		events, changed, err := sub.p.log.Read(sub.cursor, 64)
		if err != nil {
			return nil, slow("the events it has not seen are no longer kept")
		}
		if changed != nil {
			return changed, nil
		}
		now := time.Now()
		for _, ev := range events {
			sub.cursor++
			if sub.cursor <= sub.replayed && sub.p.stale(ev) {
				continue
			}
			sub.shaper.Push(now, coalesce.Entry{Pos: sub.cursor, Event: ev, Skip: sub.skip})
			sub.skip = 0
		}
	}
}

// publish says how far the stream has come. Sent is false while the newest event is on its way.
func (sub *subscription) publish(sent bool) {
	sub.mu.Lock()
	sub.stats = sub.shaper.Stats()
	sub.mu.Unlock()
	if !sent {
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

func (sub *subscription) send(stream transports.Stream, out coalesce.Out) error {
	msg, err := out.Event.MarshalJSON()
	if err != nil { // it was valid when it was appended
		sub.p.cfg.Logger.Error("event lost", "event_id", out.Event.EventID, "error", err)
		return nil
	}
	if err := stream.SendEvent(sub.ctx, msg, out.Event.EventID, out.Resumable); err != nil {
		return err
	}
	sub.resumed = sub.resumed || out.Resumable
	return nil
}

// renegotiate answers a subscriber that wants other terms. New terms hold for every event after the answer;
// a refusal ends the subscription (§5.7).
func (sub *subscription) renegotiate(m aaep.Message) *aaep.Rejection {
	ask := m.(*aaep.SubscriptionRenegotiate)
	var terms handshake.Terms
	var err error
	if ask.SubscriptionID != sub.id {
		err = &aaep.Rejection{Code: aaep.AuthorizationDenied, Message: "This is not the subscription's own id."}
	} else {
		terms, err = handshake.Renegotiate(sub.terms, ask.Capabilities, sub.p.offer)
	}
	if err != nil {
		var r *aaep.Rejection
		if !errors.As(err, &r) {
			r = &aaep.Rejection{Code: aaep.ReasonUnknown, Message: "The terms could not be changed."}
		}
		sub.tell(&aaep.SubscriptionRejected{ReasonCode: r.Code, ReasonMessage: r.Message})
		return &aaep.Rejection{Code: r.Code, Message: r.Message}
	}
	was := sub.terms
	sub.setTerms(terms)
	sub.shaper.SetTerms(terms)
	if was.ConfirmationReply && !terms.ConfirmationReply || was.ClarificationReply && !terms.ClarificationReply {
		sub.p.desk.unable(sub.id, !terms.ConfirmationReply, !terms.ClarificationReply)
	}
	if err := sub.tell(sub.p.accepted(sub.id, terms)); err != nil {
		return goneBecause(err)
	}
	if !was.ConfirmationReply && terms.ConfirmationReply || !was.ClarificationReply && terms.ClarificationReply {
		sub.p.join(sub, func(e coalesce.Entry) { sub.shaper.Push(time.Now(), e) })
	}
	return nil
}

// tell sends a message that is no event.
func (sub *subscription) tell(m aaep.Message) error {
	msg, err := aaep.Encode(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(sub.ctx), closeTimeout)
	defer cancel()
	return sub.conn.Send(ctx, msg)
}
