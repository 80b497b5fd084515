package subscriber

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// A renegotiation is asked for and not answered yet. An answer does not say what it is an answer
// to, so they are asked for one by one, and those whose answers are late are kept in their order.
type renegotiation struct {
	change   aaep.Capabilities // what is asked for from now on
	expires  time.Time         // the answer is not waited for any longer
	done     chan struct{}     // closed with the two below
	accepted *aaep.SubscriptionAccepted
	err      error
}

// An answer may be late by this much; one that was lost is not to be found in those that come
// after. As one is asked for at a time, it also bounds how many are without an answer.
const lateAnswer = time.Minute

var (
	errNoAnswer = errors.New("subscriber: the producer did not answer the renegotiation in time")
	errCrowded  = errors.New("subscriber: the answer to the renegotiation is behind more events than may wait; " +
		"take some, and see Accepted")
)

// Renegotiate asks for other terms; what change leaves out stays as it is, and a list in it, such
// as SupportedExtensions, takes the place of the one before. It returns the producer's answer,
// which is waited for at most ten seconds; one that comes later still holds, and Accepted tells it.
// A refusal is an *aaep.Rejection and ends the subscription (§5.7); where it is about what was
// asked for, or who asked, a new one is begun with the terms of before. An answer that promises
// more than was asked for ends it for good. What is not valid is not sent, and the error is an
// *aaep.InvalidError. The new terms are asked for again whenever the subscription has to begin
// anew.
func (s *Subscription) Renegotiate(ctx context.Context, change aaep.Capabilities) (*aaep.SubscriptionAccepted, error) {
	return s.renegotiateTerms(ctx, change, change)
}

// renegotiateTerms renegotiates as Renegotiate does, for a change of which only a part, lasting, is
// requested again on a new subscription. One renegotiation is under way at a time; the next waits
// for its answer. The error is ctx's, errNoAnswer, errCrowded, the refusal, or why the subscription
// ended. A change that could not be written is forgotten.
func (s *Subscription) renegotiateTerms(ctx context.Context, change,
	lasting aaep.Capabilities) (*aaep.SubscriptionAccepted, error) {
	if !s.isDialed() {
		return nil, errNotDialed
	}
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.done:
		return nil, s.endReason()
	}
	if s.isEnded() {
		return nil, s.endReason()
	}
	select {
	case <-s.crowded: // of an earlier one
	default:
	}
	defer s.inbox.widenRoom()()

	if previous := s.newestPending(); previous != nil { // its caller stopped waiting for the answer
		if err := s.awaitSettled(ctx, previous); err != nil && err != errNoAnswer {
			return nil, err
		}
	}
	r, conn, msg, err := s.beginRenegotiation(change, lasting)
	if err != nil {
		return nil, err
	}
	if err := s.writeMessage(ctx, conn, msg); err != nil {
		if ctx.Err() == nil { // otherwise it may have left
			s.mu.Lock()
			s.pending = slices.DeleteFunc(s.pending, func(p *renegotiation) bool { return p == r })
			s.mu.Unlock()
		}
		return nil, err
	}
	if err := s.awaitSettled(ctx, r); err != nil {
		return nil, err
	}
	return r.accepted, r.err
}

// newestPending returns the renegotiation that was asked for last, if it was not settled, or nil.
func (s *Subscription) newestPending() *renegotiation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return nil
	}
	return s.pending[len(s.pending)-1]
}

// beginRenegotiation checks the request for a change, makes its renegotiation the newest of those
// that are pending, and returns that with the message to send and the link to send it over. It is
// refused, and nothing changes, if it is no valid message, has mistakes in an extension, or demands
// a proof without Config.Trust. It takes s.mu.
func (s *Subscription) beginRenegotiation(change, lasting aaep.Capabilities) (*renegotiation, transports.Conn, []byte,
	error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &aaep.SubscriptionRenegotiate{SubscriptionID: s.accepted.SubscriptionID, Capabilities: change}
	msg, err := aaep.Encode(m)
	if err == nil {
		err = checkCapabilities(s.wanted.With(change))
	}
	if err == nil && demandsProof(change) && s.cfg.Trust == nil {
		err = errNoTrust
	}
	if err != nil {
		return nil, nil, nil, err
	}
	for len(s.pending) > 0 && time.Since(s.pending[0].expires) > lateAnswer {
		s.settleLocked(1, errNoAnswer)
	}
	r := &renegotiation{change: lasting, expires: time.Now().Add(handshakeTimeout), done: make(chan struct{})}
	s.pending = append(s.pending, r)
	return r, s.conn, msg, nil
}

// awaitSettled waits until a renegotiation has its answer, which returns nil. Else the error is
// ctx's, errNoAnswer once it has expired, errCrowded while events that are not read keep the answer
// away, or why the subscription ended.
func (s *Subscription) awaitSettled(ctx context.Context, r *renegotiation) error {
	expired := time.NewTimer(time.Until(r.expires))
	defer expired.Stop()
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-expired.C:
		return errNoAnswer
	case <-s.crowded:
		return errCrowded
	case <-s.done:
		select {
		case <-r.done:
			return nil
		default:
			return s.endReason()
		}
	}
}

// isEnded reports whether the subscription is over and its goroutines have ended. It returns at
// once.
func (s *Subscription) isEnded() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// handleAccepted takes the answer to a renegotiation, also when no caller waits for it any more: it
// goes to the first that it fits, which leaves those before it without one. Only the reading
// goroutine calls it. The error ends the subscription: terms that do not fit, or an agent that is
// not verified.
func (s *Subscription) handleAccepted(m *aaep.SubscriptionAccepted) error {
	r, err := s.matchRenegotiation(m)
	if r == nil && err == nil {
		s.cfg.Logger.Warn("answer without a question", "type", m.MessageType())
		return nil
	}
	s.mu.Lock()
	wanted, requested, verified := s.wanted, s.requested, s.verified
	s.mu.Unlock()
	if err == nil {
		wanted = changeTerms(wanted, r.change, m.HonoredCapabilities)
		requested = changeTerms(requested, r.change, m.HonoredCapabilities)
	}
	// Who the agent is does not change with the terms, so one that was verified is not verified
	// again.
	if err == nil && verified == nil {
		ctx, cancel := context.WithTimeout(s.ctx, handshakeTimeout)
		defer cancel()
		verified, err = s.verifyAgent(ctx, m, demandsProof(wanted))
	}
	if err != nil {
		s.settleAll(err)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted, s.wanted, s.requested, s.verified = m, wanted, requested, verified
	if i := slices.Index(s.pending, r); i >= 0 { // otherwise it was given up meanwhile
		r.accepted = m
		s.settleLocked(i, errNoAnswer)
		s.settleLocked(1, nil)
	}
	return nil
}

// changeTerms returns the terms that a new subscription is to ask for after a producer honored a
// change of those wanted now. Where its answer names no language, it may have none of the new ones,
// and would refuse a request for those alone: the ones before are then asked for, too.
func changeTerms(wanted, change, honored aaep.Capabilities) aaep.Capabilities {
	before := wanted.Languages
	wanted = wanted.With(change)
	if change.Languages == nil || honored.Languages != nil {
		return wanted
	}
	for _, tag := range before {
		if !slices.Contains(wanted.Languages, tag) {
			wanted.Languages = append(slices.Clip(wanted.Languages), tag)
		}
	}
	return wanted
}

// matchRenegotiation returns the renegotiation that m answers, if there is any. It compares m with
// what the subscription asked for, which may be more than s.wanted: to go on after an event. It
// does so without the lock, for m may be long.
func (s *Subscription) matchRenegotiation(m *aaep.SubscriptionAccepted) (*renegotiation, error) {
	s.mu.Lock()
	pending, requested, id := slices.Clone(s.pending), s.requested, s.accepted.SubscriptionID
	s.mu.Unlock()
	if len(pending) > 0 && m.SubscriptionID != id {
		return nil, &aaep.Rejection{Code: aaep.PolicyViolation,
			Message: "the producer's answer is about another subscription"}
	}
	var err error
	for _, r := range pending {
		if err = checkAccepted(s.requestFor(requested.With(r.change)), m); err == nil {
			return r, nil
		}
	}
	return nil, err
}

// isRenegotiating reports whether renegotiations are under way.
func (s *Subscription) isRenegotiating() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending) > 0
}

// settleAll ends the renegotiations that are under way with an error, and reports whether there are
// any.
func (s *Subscription) settleAll(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	hadPending := len(s.pending) > 0
	s.settleLocked(len(s.pending), err)
	return hadPending
}

// settleLocked ends the n oldest renegotiations. It is called with s.mu held.
func (s *Subscription) settleLocked(n int, err error) {
	for _, r := range s.pending[:n] {
		r.err = err
		close(r.done)
	}
	s.pending = slices.Delete(s.pending, 0, n)
}
