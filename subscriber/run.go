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

// ErrEnded is why a subscription with Config.NoReconnect is over: the producer ended the link in order, but closed no subscription.
var ErrEnded = errors.New("subscriber: the producer ended the link")

// run reads until the subscription is over, mending the link where it breaks.
func (s *Subscription) run(conn transports.Conn) {
	attempt := 0
	for {
		since := time.Now()
		err := s.read(conn)
		if time.Since(since) >= healthyAfter {
			attempt = 0
		}
		if s.ctx.Err() == nil && (!s.final(err) || s.kept(err)) && !s.asked(err) && !s.cfg.NoReconnect {
			s.cfg.Logger.Info("link broken", "error", err)
			s.setStatus(func(st *Status) { st.Connected, st.Err = false, err })
			if conn, err = s.mend(conn, err, &attempt); err == nil {
				continue
			}
		}
		s.end(conn, err)
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

// asked reports whether the producer ended the subscription because it was asked to: after so long, or so long without
// an event.
func (s *Subscription) asked(end error) bool {
	var r *aaep.Rejection
	if !errors.As(end, &r) || r.Code != lifetimeOver && r.Code != idleTooLong {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wanted.Extensions[extensions.DeliveryVocabulary.Prefix] != nil
}

// awake is what is asked for on a new subscription: what the user did when the old one broke is no longer known.
func awake(c aaep.Capabilities) aaep.Capabilities {
	delivery := extensions.DeliveryVocabulary
	var d extensions.Delivery
	if c.Extensions[delivery.Prefix] == nil || delivery.Read(c.Extensions[delivery.Prefix], &d) != nil || d.Presence == "" {
		return c
	}
	d.Presence, d.PresenceExpiresIn = "", 0
	data, err := jsonv2.Marshal(d)
	if err != nil {
		return c
	}
	return c.With(aaep.Capabilities{Extensions: map[string]json.RawMessage{delivery.Prefix: data}})
}

// final reports whether trying again cannot help. For a reason that nobody can name it may: what is asked
// for was accepted before. So it may where credentials are refused and their file may have newer ones later, as of a token that
// expired while the link was cut.
func (s *Subscription) final(err error) bool {
	var r *aaep.Rejection
	if !errors.As(err, &r) {
		return false
	}
	if s.renewable(err) {
		return false
	}
	switch r.Code {
	case aaep.VersionUnsupported, aaep.ManifestSignatureRequired, aaep.CapabilitiesIncompatible,
		aaep.AuthenticationRequired, aaep.AuthorizationDenied, aaep.PolicyViolation, manifestNotVerified, sessionEnded:
		return true
	}
	return false
}

// kept reports whether a subscription ended over a change of terms (§5.7) to something that was agreed on before, and may be again:
// a key that asks for what the agent lacks costs nobody the agent.
func (s *Subscription) kept(err error) bool {
	return err == s.unchanged && (errors.Is(err, aaep.CapabilitiesIncompatible) || errors.Is(err, aaep.AuthorizationDenied))
}

// renewable reports whether credentials were refused that came from a file.
func (s *Subscription) renewable(err error) bool {
	return errors.Is(err, aaep.AuthenticationRequired) && s.origin.File() != ""
}

// unreached says what each way came to, first the one that worked last.
type unreached struct{ ways []error }

func (u *unreached) Error() string   { return errors.Join(u.ways...).Error() }
func (u *unreached) Unwrap() []error { return u.ways }

// judged is what decides whether to try again, and when: what the way that worked last came to. What another leads to may be
// something else, and speaks for itself alone.
func judged(err error) error {
	var u *unreached
	if errors.As(err, &u) {
		return u.ways[0]
	}
	return err
}

// mend brings the link back: by resuming the stream where that can be done, else by a new subscription.
// With an error it returns the last link there was.
func (s *Subscription) mend(conn transports.Conn, cause error, attempt *int) (transports.Conn, error) {
	r, _ := conn.(transports.Reopener)
	tries := 0
	for broke := time.Now(); r != nil && errors.Is(cause, transports.ErrInterrupted) && (tries < leastResumes || time.Since(broke) < resumeFor); tries++ {
		if err := s.pause(cause, attempt); err != nil {
			return conn, err
		}
		var whole bool
		if whole, cause = s.reopen(r); cause == nil {
			if !whole {
				s.tellLost()
			}
			return conn, nil
		}
		if s.ctx.Err() != nil {
			return conn, cause
		}
		s.missed(cause)
	}
	if tries > 0 && s.changing() { // a refusal that waits there says why it is over
		if cause = s.read(conn); s.final(cause) && !s.kept(cause) {
			return conn, cause
		}
	}
	// The old subscription is gone, or was away for longer than it may be.
	s.mu.Lock()
	s.wanted = awake(s.wanted)
	s.mu.Unlock()
	s.settle(cause)
	s.inbox.settled(s.ctx)
	s.keepPlace(conn)
	s.hangUp(conn)
	for ; ; tries = 0 {
		if tries == 0 { // otherwise the way to the producer was free just now
			if err := s.pause(cause, attempt); err != nil {
				return conn, err
			}
		}
		fresh, err := s.subscribe(s.ctx)
		if err == nil {
			if status, _ := s.Status(); !status.Resumed {
				s.tellLost()
			}
			return fresh, nil
		}
		cause = judged(err)
		if s.ctx.Err() != nil || s.final(cause) || errors.Is(err, aaep.ManifestSignatureRequired) {
			return conn, err
		}
		s.missed(err)
	}
}

// A subscription whose producer cannot be reached is given up after so long and so many attempts: a producer that
// can be, and has let it go, says so, and one that was out of reach for a moment still has our place.
const (
	resumeFor    = time.Minute
	leastResumes = 4
)

// missed tells that an attempt failed. That the producer said it would end is told too.
func (s *Subscription) missed(err error) {
	awaits := ""
	if s.renewable(err) {
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

// reopen opens the stream again. Whole is false where it cannot go on where it was.
func (s *Subscription) reopen(r transports.Reopener) (whole bool, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, handshakeTimeout)
	defer cancel()
	whole = true
	if l, ok := r.(placed); ok && l.LastEventID() == "" { // a producer that numbers nothing cannot know where to go on
		s.mu.Lock()
		whole = len(s.seen) == 0
		s.mu.Unlock()
	}
	if err := s.shield("Conn.Reopen", func() error { return r.Reopen(ctx) }); err != nil {
		return false, err
	}
	s.texts.resumed()
	s.setStatus(func(st *Status) { st.Connected, st.Err, st.Awaits, st.Resumed = true, nil, "", whole })
	return whole, nil
}

// pause waits before the next attempt; where credentials were refused, until there are others, if that is sooner.
func (s *Subscription) pause(cause error, attempt *int) error {
	wait := delay(*attempt, cause)
	t := time.NewTimer(wait)
	defer t.Stop()
	s.setStatus(func(st *Status) { st.Next = time.Now().Add(wait) })
	defer s.setStatus(func(st *Status) { st.Next = time.Time{} })
	*attempt++
	var look <-chan time.Time
	if s.renewable(cause) {
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

// delay honors what the peer asked for, within bounds. Nobody comes earlier than told, and those who were
// told the same do not come all at once.
func delay(attempt int, cause error) time.Duration {
	var r *aaep.Rejection
	if errors.As(cause, &r) && r.RetryAfter > 0 {
		return min(max(r.RetryAfter, time.Second)+jitter(attempt), longestWait)
	}
	return jitter(attempt)
}

// jitter is a random part of the delay before the next attempt (INV-52).
func jitter(attempt int) time.Duration {
	longest := longestDelay
	if attempt < 8 {
		longest = min(firstDelay<<attempt, longestDelay)
	}
	return time.Duration(rand.Int64N(int64(longest))) + 1
}

// read hands on what comes over one link until that breaks.
func (s *Subscription) read(conn transports.Conn) error {
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
			s.unreadable(err)
			continue
		}
		switch m := m.(type) {
		case *aaep.Event:
			if err = s.impostor(m); err == nil {
				err = s.receive(conn, m, len(data))
			}
		case *aaep.SubscriptionAccepted:
			err = s.agree(m)
		case *aaep.SubscriptionRejected:
			err = rejection(m) // a refused renegotiation ends the subscription (§5.7)
			if s.settle(err) {
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

// closedBy takes the producer's leave, if it is for this subscription.
func (s *Subscription) closedBy(m *aaep.SubscriptionClose) error {
	if m.SubscriptionID != s.Accepted().SubscriptionID {
		s.cfg.Logger.Warn("message ignored", "type", m.MessageType(), "subscription_id", fmt.Sprintf("%.100q", m.SubscriptionID))
		return nil
	}
	r := &aaep.Rejection{Code: m.ReasonCode, Message: m.ReasonMessage, Remote: true}
	if r.Code == "" {
		r.Code = aaep.ReasonUnknown
	}
	return r
}

// gone reports whether a message was not sent because there is nobody to send it to.
func gone(err error) bool {
	return errors.Is(err, transports.ErrClosed) || errors.Is(err, transports.ErrInterrupted) || errors.Is(err, io.ErrClosedPipe)
}
