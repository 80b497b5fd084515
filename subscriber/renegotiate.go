package subscriber

import (
	"context"
	"errors"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
)

// A renegotiation is asked for and not answered yet. There is one at a time, for an answer does not say
// what it is an answer to.
type renegotiation struct {
	change   aaep.Capabilities // what is asked for from now on
	expires  time.Time         // the answer is not waited for any longer
	done     chan struct{}     // closed with the two below
	accepted *aaep.SubscriptionAccepted
	err      error
}

var (
	errNoAnswer = errors.New("subscriber: the producer did not answer the renegotiation in time")
	errCrowded  = errors.New("subscriber: the answer to the renegotiation is behind more events than may wait; take some, and see Accepted")
)

// Renegotiate asks for other terms; what change leaves out stays as it is. It returns the producer's answer,
// which is waited for at most ten seconds; one that comes later still holds, and Accepted tells it.
// A refusal is an *aaep.Rejection and ends the subscription (§5.7), and so does an answer that promises
// more than was asked for. What is not valid is not sent, and the error is an *aaep.InvalidError. The new terms are asked for again whenever the subscription has to begin anew.
func (s *Subscription) Renegotiate(ctx context.Context, change aaep.Capabilities) (*aaep.SubscriptionAccepted, error) {
	return s.renegotiate(ctx, change, change)
}

// renegotiate is Renegotiate for a change of which only a part lasts.
func (s *Subscription) renegotiate(ctx context.Context, change, lasting aaep.Capabilities) (*aaep.SubscriptionAccepted, error) {
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.done:
		return nil, s.why()
	}
	if s.ended() {
		return nil, s.why()
	}
	select {
	case <-s.crowded: // of an earlier one
	default:
	}
	defer s.inbox.widen()()
	s.mu.Lock()
	before := s.pending
	s.mu.Unlock()
	if before != nil { // somebody stopped waiting for its answer
		if err := s.await(ctx, before); err != nil && err != errNoAnswer {
			return nil, err
		}
	}
	s.mu.Lock()
	conn, m := s.conn, &aaep.SubscriptionRenegotiate{SubscriptionID: s.accepted.SubscriptionID, Capabilities: change}
	msg, err := encode(m)
	if err == nil {
		err = extensions.Check(s.wanted.With(change))
	}
	if err == nil && demands(change) && s.cfg.Trust == nil {
		err = errNoTrust
	}
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	r := &renegotiation{change: lasting, expires: time.Now().Add(handshakeTimeout), done: make(chan struct{})}
	s.pending = r
	s.mu.Unlock()
	if err := s.write(ctx, conn, msg); err != nil {
		return nil, err
	}
	if err := s.await(ctx, r); err != nil {
		return nil, err
	}
	return r.accepted, r.err
}

// await waits until a renegotiation is settled.
func (s *Subscription) await(ctx context.Context, r *renegotiation) error {
	late := time.NewTimer(time.Until(r.expires))
	defer late.Stop()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return errNoAnswer
	case <-s.crowded:
		return errCrowded
	case <-s.done:
		select {
		case <-r.done:
			return nil
		default:
			return s.why()
		}
	}
}

// ended reports whether the subscription is over, to the last goroutine.
func (s *Subscription) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// agree takes the answer to a renegotiation, even if nobody waits for it any more.
func (s *Subscription) agree(m *aaep.SubscriptionAccepted) error {
	s.mu.Lock()
	r := s.pending
	if r == nil {
		s.mu.Unlock()
		s.cfg.Logger.Warn("answer without a question", "type", m.MessageType())
		return nil
	}
	wanted := s.wanted.With(r.change)
	verified := s.verified // who it is does not change with the terms, though its key may meanwhile
	s.mu.Unlock()
	var err error
	if verified == nil {
		ctx, cancel := context.WithTimeout(s.ctx, handshakeTimeout)
		defer cancel()
		verified, err = s.verify(ctx, m, demands(wanted))
	}
	s.mu.Lock()
	if err == nil {
		err = checkAccepted(s.requestLocked(wanted), m)
	}
	if err == nil && m.SubscriptionID != s.accepted.SubscriptionID {
		err = &aaep.Rejection{Code: aaep.PolicyViolation, Message: "the producer's answer is about another subscription"}
	}
	if err == nil {
		s.accepted, s.wanted, s.verified = m, wanted, verified
		r.accepted = m
	}
	s.mu.Unlock()
	s.settle(err)
	return err
}

// settle ends the renegotiation that is under way, if there is one.
func (s *Subscription) settle(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settleLocked(err)
}

func (s *Subscription) settleLocked(err error) {
	if r := s.pending; r != nil {
		s.pending, r.err = nil, err
		close(r.done)
	}
}
