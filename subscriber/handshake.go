package subscriber

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/transports"
)

// currentRequest returns the request for the terms that the user wants now.
func (s *Subscription) currentRequest() *aaep.SubscriptionRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requestFor(s.wanted)
}

// requestFor returns the request for some terms.
func (s *Subscription) requestFor(c aaep.Capabilities) *aaep.SubscriptionRequest {
	return &aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: s.cfg.ID, SubscriberName: s.cfg.Name,
		SubscriberVersion: s.cfg.Version, Capabilities: c}
}

// subscribeWithFallback dials and shakes hands. A request that is refused as incompatible is made
// once more without its extensions, of which two may have one prefix there (§7.3.1): a person is
// better served without them than not.
func (s *Subscription) subscribeWithFallback(ctx context.Context) (transports.Conn, error) {
	conn, err := s.subscribeAnyWay(ctx)
	s.mu.Lock()
	hadExtensions := s.extended
	s.mu.Unlock()
	if hadExtensions && errors.Is(err, aaep.CapabilitiesIncompatible) && isRemote(err) {
		s.cfg.Logger.Warn("subscribing again without extensions", "error", err)
		s.mu.Lock()
		s.wanted.SupportedExtensions, s.wanted.Extensions, s.place = nil, nil, ""
		s.mu.Unlock()
		return s.subscribeAnyWay(ctx)
	}
	return conn, err
}

// subscribeAnyWay tries the way that led to the producer last, then the others in their order, and
// returns the link of the first that accepts. It stops with the error where the producer itself
// refuses, other than because of the transport, or ctx or s.ctx is done. If no way leads there, the
// error is *unreached. Dial and reconnect call it.
func (s *Subscription) subscribeAnyWay(ctx context.Context) (transports.Conn, error) {
	status, _ := s.Status()
	order := []int{status.Way} // of the indexes in s.ways
	for way := range s.ways {
		if way != status.Way {
			order = append(order, way)
		}
	}
	var failed []error
	for i, way := range order {
		conn, err := s.subscribeOnce(ctx, way)
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
		isRefused := isRemote(err) && !errors.Is(err, aaep.TransportUnavailable)
		if isRefused || ctx.Err() != nil || s.ctx.Err() != nil {
			return nil, err
		}
		if i+1 < len(order) {
			s.cfg.Logger.Info("trying another way", "failed", way, "error", err)
		}
	}
	return nil, &unreached{failed}
}

// hasExtensions reports whether capabilities name an extension.
func hasExtensions(c aaep.Capabilities) bool { return len(c.SupportedExtensions)+len(c.Extensions) > 0 }

// isRemote reports whether an error is a rejection that the producer sent.
func isRemote(err error) bool {
	var r *aaep.Rejection
	return errors.As(err, &r) && r.Remote
}

// subscribeOnce dials the way with an index in s.ways, shakes hands and verifies the agent, and
// makes the link the current one. Where the agent has accepted, and its terms are not those asked
// for or it is not believed, it is told so before the link is closed. Questions of another
// subscription lapse, and renegotiations that were not answered are settled with an error. Only
// Dial and then the reading goroutine call it.
func (s *Subscription) subscribeOnce(ctx context.Context, way int) (transports.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	s.origin = new(credentials.Origin)
	ctx = s.origin.Attach(ctx)
	var conn transports.Conn
	err := s.callShielded("Dialer.Dial", func() (err error) {
		conn, err = s.ways[way].Dial(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("subscriber: the producer was not reached: %w", err)
	}
	requested := s.requestedTerms()
	accepted, err := s.requestTerms(ctx, conn, requested)
	var verified *Verified
	if err == nil {
		verified, err = s.verifyAgent(ctx, accepted, demandsProof(s.currentRequest().Capabilities))
	}
	if err != nil {
		if accepted != nil { // the producer has accepted, and this side does not agree or believe it
			_ = s.sendClose(ctx, conn, accepted.SubscriptionID, err)
		}
		s.closeConn(conn)
		return nil, err
	}
	resumed := goesOnAfter(requested, accepted.HonoredCapabilities)
	s.adoptLink(conn, requested, accepted, verified, resumed)
	if resumed {
		s.texts.noteResumed()
	}
	if notes := accepted.NegotiationNotes; notes != "" {
		s.cfg.Logger.Info("not all is served as it was asked for", "subscription_id", accepted.SubscriptionID,
			"notes", aaep.SafeText(notes))
	}
	s.setStatus(func(st *Status) {
		st.Connected, st.Err, st.Awaits, st.Way, st.Resumed = true, nil, "", way, resumed
		st.Subscribed++
	})
	return conn, nil
}

// adoptLink makes a link the current one, with what was requested, agreed and proven on it.
// Questions of another subscription lapse, but where subscriptions have no id none does. resumed
// says that the producer goes on after s.place, which is forgotten otherwise. It takes s.mu.
func (s *Subscription) adoptLink(conn transports.Conn, requested aaep.Capabilities,
	accepted *aaep.SubscriptionAccepted, verified *Verified, resumed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accepted == nil || s.accepted.SubscriptionID != accepted.SubscriptionID {
		s.lapseQuestions()
	}
	s.conn, s.requested, s.accepted, s.verified = conn, requested, accepted, verified
	s.generation++
	if !resumed {
		s.place = ""
	}
	s.settleLocked(len(s.pending),
		errors.New("subscriber: the subscription began anew before its new terms were answered"))
}

// requestTerms sends the request for a subscription on some terms over conn, and returns the
// producer's acceptance, with an error beside it if that cannot be agreed to. A refusal is an
// *aaep.Rejection and no acceptance. It notes in s.extended whether the terms have extensions.
func (s *Subscription) requestTerms(ctx context.Context, conn transports.Conn,
	requested aaep.Capabilities) (*aaep.SubscriptionAccepted, error) {
	s.mu.Lock()
	s.extended = hasExtensions(requested)
	s.mu.Unlock()
	req := s.requestFor(requested)
	msg, err := aaep.Encode(req)
	if err != nil {
		return nil, err
	}
	if err := s.callShielded("Conn.Send", func() error { return conn.Send(ctx, msg) }); err != nil {
		return nil, fmt.Errorf("subscriber: the request was not sent: %w", err)
	}
	data, err := s.receiveFrom(ctx, conn)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("subscriber: the producer did not answer the request: %w", err)
	}
	m, err := aaep.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("subscriber: the producer's answer cannot be read: %w", err)
	}
	switch m := m.(type) {
	case *aaep.SubscriptionAccepted:
		return m, checkAccepted(req, m)
	case *aaep.SubscriptionRejected:
		if m.ReasonCode == aaep.ManifestSignatureRequired && s.cfg.Trust != nil {
			if err := s.unsignedError(); errors.Is(err, manifest.ErrProvedBefore) {
				return nil, err
			}
		}
		return nil, rejectionOf(m)
	}
	return nil, &aaep.Rejection{Code: aaep.ReasonUnknown,
		Message: "the producer answered with " + m.MessageType() + " instead of subscription.accepted"}
}

// rejectionOf returns a rejection of the producer as an error that is marked as remote; the wait
// that it asks for is bounded to a day.
func rejectionOf(m *aaep.SubscriptionRejected) *aaep.Rejection {
	r := &aaep.Rejection{Code: m.ReasonCode, Message: m.ReasonMessage, Remote: true}
	if m.RetryAfterSeconds != nil {
		r.RetryAfter = time.Duration(min(max(*m.RetryAfterSeconds, 0), 86400)) * time.Second
	}
	return r
}
