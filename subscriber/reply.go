package subscriber

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
)

// noteQuestion remembers what may be answered, and forgets what no longer can. With s.mu held.
func (s *Subscription) noteQuestion(ev *aaep.Event) {
	var token aaep.ReplyToken
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		token = p.ReplyToken
	case *aaep.AwaitingClarification:
		token = p.ReplyToken
	default:
		if ev.Type().Terminal() {
			for t, q := range s.open {
				if q.event.SessionID == ev.SessionID {
					delete(s.open, t)
				}
			}
		}
		return
	}
	s.open[token] = &question{event: ev, received: time.Now(), sub: s.accepted.SubscriptionID}
}

// Reply sends the user's decision about a confirmation. A nil error means that it was handed to the producer,
// not that it counted: what comes of it is told by events. A question takes one decision; after an
// error that says the link failed, the same decision may be sent again.
//
// Reply must follow from something the user did. Nothing in this package replies by itself.
func (s *Subscription) Reply(ctx context.Context, ev *aaep.Event, d aaep.Decision) error {
	p, ok := ev.Payload.(*aaep.AwaitingConfirmation)
	if !ok {
		return ErrUnknownEvent
	}
	if d != aaep.Accept && d != aaep.Reject {
		return fmt.Errorf("subscriber: decision %q must be accept or reject", d)
	}
	if p.AllowedReplies != nil && !slices.Contains(p.AllowedReplies, d) {
		return fmt.Errorf("subscriber: this question does not allow %q; it allows %q", d, p.AllowedReplies)
	}
	return s.answer(ctx, ev, p.ReplyToken, d, func(sub string, at time.Time) aaep.Message {
		return &aaep.ConfirmationReply{ReplyToken: p.ReplyToken, Decision: d, SubscriptionID: sub, Timestamp: at}
	})
}

// Answer sends the user's answer to a clarification: a string, a bool or a float64. What Reply says holds
// here too.
func (s *Subscription) Answer(ctx context.Context, ev *aaep.Event, response any) error {
	p, ok := ev.Payload.(*aaep.AwaitingClarification)
	if !ok {
		return ErrUnknownEvent
	}
	switch r := response.(type) {
	case int:
		response = float64(r)
	case json.Number:
		f, err := r.Float64()
		if err != nil {
			return err
		}
		response = f
	}
	return s.answer(ctx, ev, p.ReplyToken, response, func(sub string, at time.Time) aaep.Message {
		return &aaep.ClarificationReply{ReplyToken: p.ReplyToken, Response: response, SubscriptionID: sub, Timestamp: at}
	})
}

// answer sends the one reply to a question. One whose fate is unknown may be sent again, as it was.
func (s *Subscription) answer(ctx context.Context, ev *aaep.Event, token aaep.ReplyToken, value any, reply func(string, time.Time) aaep.Message) error {
	s.mu.Lock()
	q, conn := s.open[token], s.conn
	switch {
	case q == nil || q.event != ev || q.answered:
		s.mu.Unlock()
		return ErrUnknownEvent
	case q.reply != nil && q.value != value:
		s.mu.Unlock()
		return fmt.Errorf("subscriber: this question was answered with %v, and that may have arrived; it cannot be changed", q.value)
	case q.reply == nil:
		q.reply, q.value = reply(q.sub, q.stamp(time.Now())), value
	}
	m := q.reply
	q.answered = true
	s.mu.Unlock()
	err := s.send(ctx, conn, m)
	if err != nil {
		s.mu.Lock()
		q.answered = false
		s.mu.Unlock()
	}
	return err
}

// stamp is the moment of the decision on the producer's clock: ours, unless the two differ by more than
// two seconds (D-35).
func (q *question) stamp(now time.Time) time.Time {
	theirs := q.event.Timestamp.Add(now.Sub(q.received))
	if d := now.Sub(theirs); d > 2*time.Second || d < -2*time.Second {
		return theirs
	}
	return now
}

// Renegotiate asks for other terms; what change leaves out stays as it is. It returns the producer's answer.
// A refusal is an *aaep.Rejection and ends the subscription (§5.7). The new terms are asked for again
// whenever the subscription has to begin anew.
func (s *Subscription) Renegotiate(ctx context.Context, change aaep.Capabilities) (*aaep.SubscriptionAccepted, error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	s.mu.Lock()
	conn, id := s.conn, s.accepted.SubscriptionID
	s.mu.Unlock()
	select {
	case <-s.answers: // an answer to somebody who stopped waiting
	default:
	}
	if err := s.send(ctx, conn, &aaep.SubscriptionRenegotiate{SubscriptionID: id, Capabilities: change}); err != nil {
		return nil, err
	}
	var m aaep.Message
	select {
	case m = <-s.answers:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.done:
		select {
		case m = <-s.answers:
		default:
			s.mu.Lock()
			defer s.mu.Unlock()
			return nil, s.err
		}
	}
	switch m := m.(type) {
	case *aaep.SubscriptionAccepted:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.accepted, s.wanted = m, merge(s.wanted, change)
		return m, nil
	case *aaep.SubscriptionRejected:
		return nil, rejection(m)
	}
	return nil, fmt.Errorf("subscriber: unexpected answer %s", m.MessageType())
}
