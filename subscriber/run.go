package subscriber

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/transports"
)

// How long a subscription whose link broke waits before it tries again.
const (
	firstDelay   = 500 * time.Millisecond // between two attempts, doubled each time, with full jitter
	longestDelay = 60 * time.Second
	longestWait  = 5 * time.Minute  // that a producer may ask for
	healthyAfter = 30 * time.Second // of connection before the delay starts over
	lookAfter    = time.Second      // for newer credentials
)

// ErrEnded is why a subscription with Config.NoReconnect is over: the producer ended the link in
// order, but closed no subscription.
var ErrEnded = errors.New("subscriber: the producer ended the link")

// readUntilOver is the reading goroutine: it reads until the subscription is over, and reconnects
// where the link breaks. Config.NoReconnect, an end by the producer and a refusal that another try
// would not change end it. A link that lasted healthyAfter makes the next wait short again.
func (s *Subscription) readUntilOver(conn transports.Conn) {
	attempt := 0
	for {
		connectedAt := time.Now()
		err := s.readLink(conn)
		if time.Since(connectedAt) >= healthyAfter {
			attempt = 0
		}
		isOver := s.isFinal(err) && !s.isRefusedChange(err) || s.endedAsAsked(err)
		if s.ctx.Err() == nil && !isOver && !s.cfg.NoReconnect {
			s.cfg.Logger.Info("link broken", "error", err)
			s.setStatus(func(st *Status) { st.Connected, st.Err = false, err })
			if conn, err = s.reconnect(conn, err, &attempt); err == nil {
				continue
			}
		}
		s.endSubscription(conn, err)
		return
	}
}

// Reasons for a close that have no name in package aaep (D-54).
const (
	manifestNotVerified aaep.ReasonCode = "manifest_verification_failed"
	sessionEnded        aaep.ReasonCode = "session_ended"
	lifetimeOver        aaep.ReasonCode = "ttl"
	idleTooLong         aaep.ReasonCode = "idle_timeout"
)

// endedAsAsked reports whether the producer ended the subscription because it was asked to in the
// delivery extension: after so long, or so long without an event. readUntilOver then dials no more.
func (s *Subscription) endedAsAsked(end error) bool {
	var r *aaep.Rejection
	if !errors.As(end, &r) || r.Code != lifetimeOver && r.Code != idleTooLong {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wanted.Extensions[extensions.DeliveryVocabulary.Prefix] != nil
}

// withoutPresence returns what is asked for on a new subscription: whether the user was active when
// the old one broke is no longer known.
func withoutPresence(c aaep.Capabilities) aaep.Capabilities {
	delivery := extensions.DeliveryVocabulary
	var d extensions.Delivery
	if c.Extensions[delivery.Prefix] == nil || delivery.Read(c.Extensions[delivery.Prefix], &d) != nil ||
		d.Presence == "" {
		return c
	}
	d.Presence, d.PresenceExpiresIn = "", 0
	data, err := jsonv2.Marshal(d)
	if err != nil {
		return c
	}
	return c.With(aaep.Capabilities{Extensions: map[string]json.RawMessage{delivery.Prefix: data}})
}

// isFinal reports whether trying again cannot help. It may help after a reason that is not known
// here, since what is asked for was accepted before; and where credentials are refused whose file
// may have newer ones later, such as a token that expired while the link was cut.
func (s *Subscription) isFinal(err error) bool {
	var r *aaep.Rejection
	if !errors.As(err, &r) {
		return false
	}
	if s.mayRenewCredentials(err) {
		return false
	}
	switch r.Code {
	case aaep.VersionUnsupported, aaep.ManifestSignatureRequired, aaep.CapabilitiesIncompatible,
		aaep.AuthenticationRequired, aaep.AuthorizationDenied, aaep.PolicyViolation, manifestNotVerified, sessionEnded:
		return true
	}
	return false
}

// isRefusedChange reports whether a subscription ended over a refused change of terms (§5.7). What
// was agreed on before may be again: a key that asks for what the agent lacks does not cost the
// user the agent.
func (s *Subscription) isRefusedChange(err error) bool {
	return err == s.unchanged && (errors.Is(err, aaep.CapabilitiesIncompatible) ||
		errors.Is(err, aaep.AuthorizationDenied))
}

// mayRenewCredentials reports whether credentials were refused that came from a file.
func (s *Subscription) mayRenewCredentials(err error) bool {
	return errors.Is(err, aaep.AuthenticationRequired) && s.origin.File() != ""
}

// An unreached is why each way failed, first the one that worked last.
type unreached struct{ ways []error }

// Error returns why each way failed, a line each.
func (u *unreached) Error() string   { return errors.Join(u.ways...).Error() }
func (u *unreached) Unwrap() []error { return u.ways }

// decidingError returns the error that decides whether to try again, and when: of several ways that
// failed, that of the one that worked last. Another way may lead to another agent, whose error
// speaks for itself alone.
func decidingError(err error) error {
	var u *unreached
	if errors.As(err, &u) {
		return u.ways[0]
	}
	return err
}

// reconnect brings the link back, which broke with cause: by resuming the stream of conn where that
// can be done, else by a new subscription. attempt counts the attempts since the link was healthy.
// It returns the link to read on, or an error and the last link there was. The reading goroutine
// calls it.
func (s *Subscription) reconnect(conn transports.Conn, cause error, attempt *int) (transports.Conn, error) {
	resumed, tries, cause, err := s.resumeStream(conn, cause, attempt)
	if resumed || err != nil {
		return conn, err
	}
	if tries > 0 && s.isRenegotiating() { // a refusal may still be there to read, and says why it is over
		if cause = s.readLink(conn); s.isFinal(cause) && !s.isRefusedChange(cause) {
			return conn, cause
		}
	}

	// The old subscription is gone, or was out of reach for too long: begin a new one.
	s.mu.Lock()
	s.wanted = withoutPresence(s.wanted)
	s.mu.Unlock()
	s.settleAll(cause)
	s.inbox.awaitSent(s.ctx)
	s.keepPlace(conn)
	s.closeConn(conn)
	for mustWait := tries == 0; ; mustWait = true {
		if mustWait { // otherwise the way to the producer was free just now
			if err := s.waitBeforeAttempt(cause, attempt); err != nil {
				return conn, err
			}
		}
		fresh, err := s.subscribeWithFallback(s.ctx)
		if err == nil {
			if status, _ := s.Status(); !status.Resumed {
				s.reportLost(false)
			}
			return fresh, nil
		}
		cause = decidingError(err)
		if s.ctx.Err() != nil || s.isFinal(cause) || errors.Is(err, aaep.ManifestSignatureRequired) {
			return conn, err
		}
		s.noteFailedAttempt(err)
	}
}

// resumeStream tries to go on with the stream of conn, as long as it is only interrupted: for
// resumeFor, and leastResumes times at least. If that failed, why is the error of the last of
// tries. An err says that the subscription is over.
func (s *Subscription) resumeStream(conn transports.Conn, cause error, attempt *int) (
	resumed bool, tries int, why, err error) {
	r, canReopen := conn.(transports.Reopener)
	if !canReopen {
		return false, 0, cause, nil
	}
	broke := time.Now()
	for errors.Is(cause, transports.ErrInterrupted) && (tries < leastResumes || time.Since(broke) < resumeFor) {
		if err := s.waitBeforeAttempt(cause, attempt); err != nil {
			return false, tries, cause, err
		}
		var whole bool
		whole, cause = s.reopenStream(r)
		if cause == nil {
			if !whole {
				s.reportLost(false)
			}
			return true, tries, nil, nil
		}
		if s.ctx.Err() != nil {
			return false, tries, cause, cause
		}
		s.noteFailedAttempt(cause)
		tries++
	}
	return false, tries, cause, nil
}

// A subscription whose producer cannot be reached is given up after so long and so many attempts: a
// producer that can be, and has let it go, says so, and one that was out of reach for a moment
// still has our place.
const (
	resumeFor    = time.Minute
	leastResumes = 4
)

// noteFailedAttempt puts the error of an attempt into the status, together with that of a producer
// that said it would end.
func (s *Subscription) noteFailedAttempt(err error) {
	awaits := ""
	if s.mayRenewCredentials(err) {
		awaits = s.origin.File()
	}
	s.cfg.Logger.Debug("not reached", "error", err)
	s.setStatus(func(st *Status) {
		if errors.Is(st.Err, aaep.ProducerShutdown) {
			err = fmt.Errorf("%w; %w", aaep.ProducerShutdown, err)
		}
		st.Err, st.Awaits = err, awaits
	})
}

// reopenStream opens the stream of a link again, in at most handshakeTimeout, for reconnect. whole
// is false where events may be missing, because the producer gave none an id to go on from. After
// an error the link is as broken as before.
func (s *Subscription) reopenStream(r transports.Reopener) (whole bool, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, handshakeTimeout)
	defer cancel()
	whole = true
	if l, ok := r.(identifiedConn); ok && l.LastEventID() == "" {
		// A producer that numbers nothing cannot know where to go on, unless nothing came so far.
		s.mu.Lock()
		whole = len(s.seen) == 0
		s.mu.Unlock()
	}
	if err := s.callShielded("Conn.Reopen", func() error { return r.Reopen(ctx) }); err != nil {
		return false, err
	}
	s.texts.noteResumed()
	s.setStatus(func(st *Status) { st.Connected, st.Err, st.Awaits, st.Resumed = true, nil, "", whole })
	return whole, nil
}

// waitBeforeAttempt waits before the next attempt, for longer with each, and counts it in attempt.
// Where credentials were refused it waits only until there are others, if that is sooner; it looks
// once a second. The error is that of s.ctx.
func (s *Subscription) waitBeforeAttempt(cause error, attempt *int) error {
	wait := attemptDelay(*attempt, cause)
	t := time.NewTimer(wait)
	defer t.Stop()
	s.setStatus(func(st *Status) { st.Next = time.Now().Add(wait) })
	defer s.setStatus(func(st *Status) { st.Next = time.Time{} })
	*attempt++
	var look <-chan time.Time
	if s.mayRenewCredentials(cause) {
		ticker := time.NewTicker(lookAfter)
		defer ticker.Stop()
		look = ticker.C
	}
	for {
		select {
		case <-t.C:
			return nil
		case <-look:
			if s.origin.Changed() {
				return nil
			}
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// attemptDelay returns how long to wait before an attempt. It honors what the peer asked for,
// within bounds, and spreads the attempts of subscribers that were told the same.
func attemptDelay(attempt int, cause error) time.Duration {
	var r *aaep.Rejection
	if errors.As(cause, &r) && r.RetryAfter > 0 {
		return min(max(r.RetryAfter, time.Second)+randomDelay(attempt), longestWait)
	}
	return randomDelay(attempt)
}

// randomDelay returns the random part of the delay before the next attempt (INV-52).
func randomDelay(attempt int) time.Duration {
	longest := longestDelay
	if attempt < 8 {
		longest = min(firstDelay<<attempt, longestDelay)
	}
	return time.Duration(rand.Int64N(int64(longest))) + 1
}

// readLink handles the messages that come over one link until that breaks, and returns why:
// ErrEnded for a clean end, a *aaep.Rejection for a refusal or a close, or the link's error. A
// message that cannot be read is reported and dropped. readUntilOver and reconnect call it on the
// reading goroutine.
func (s *Subscription) readLink(conn transports.Conn) error {
	for {
		data, err := s.receiveFrom(s.ctx, conn)
		if err == io.EOF { // not errors.Is: an interrupted stream may have it inside
			return ErrEnded
		}
		if err != nil {
			return err
		}
		m, err := aaep.Decode(data)
		if err != nil { // one bad message costs one message
			s.cfg.Logger.Warn("message dropped", "error", err)
			s.reportUnreadable(err)
			continue
		}
		switch m := m.(type) {
		case *aaep.Event:
			if err = s.checkImpostor(m); err == nil {
				err = s.handleEvent(conn, m, len(data))
			}
		case *aaep.SubscriptionAccepted:
			err = s.handleAccepted(m)
		case *aaep.SubscriptionRejected:
			err = rejectionOf(m) // a refused renegotiation ends the subscription (§5.7)
			if s.settleAll(err) {
				s.unchanged = err
			}
		case *aaep.SubscriptionClose:
			err = s.closedBy(m)
		default:
			s.cfg.Logger.Warn("message ignored", "type", m.MessageType())
		}
		if err != nil {
			return err
		}
	}
}

// closedBy returns the reason that a subscription.close gives as a Rejection, with ReasonUnknown
// where it gives none; nil if it is about another subscription, which is logged.
func (s *Subscription) closedBy(m *aaep.SubscriptionClose) error {
	if m.SubscriptionID != s.Accepted().SubscriptionID {
		s.cfg.Logger.Warn("message ignored", "type", m.MessageType(), "subscription_id",
			fmt.Sprintf("%.100q", m.SubscriptionID))
		return nil
	}
	r := &aaep.Rejection{Code: m.ReasonCode, Message: m.ReasonMessage, Remote: true}
	if r.Code == "" {
		r.Code = aaep.ReasonUnknown
	}
	return r
}

// isGone reports whether a message was not sent because the link has no other end any more.
func isGone(err error) bool {
	return errors.Is(err, transports.ErrClosed) || errors.Is(err, transports.ErrInterrupted) ||
		errors.Is(err, io.ErrClosedPipe)
}
