package sse

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/internal/httpguard"
)

// serveSubscribe serves POST subscriptions: it makes a link and hands it to Accept, and the
// producer's answer is the response (B.1.2). A request that is not valid is answered here, with a
// rejection. principal is who the authenticator says sent it. ServeHTTP calls it.
func (s *Server) serveSubscribe(w http.ResponseWriter, r *http.Request, principal string) {
	refuse := func(status int, text string) {
		m := &aaep.SubscriptionRejected{ReasonCode: aaep.ReasonUnknown, ReasonMessage: text}
		if status == http.StatusServiceUnavailable {
			m.ReasonCode, m.RetryAfterSeconds = aaep.TransportUnavailable, new(retrySoon)
		}
		s.rejectRequest(w, status, m)
	}
	body, release, status, problem := s.readBody(w, r, principal)
	defer release()
	if status != 0 {
		refuse(status, problem)
		return
	}
	m, err := aaep.Decode(body)
	subscriber := ""
	if err == nil {
		if request, ok := m.(*aaep.SubscriptionRequest); ok {
			subscriber = request.SubscriberID
		} else {
			err = fmt.Errorf("this endpoint takes a subscription.request, not %s", m.MessageType())
		}
	}
	if err != nil {
		named := struct {
			ID string `json:"subscriber_id"`
		}{}
		_ = json.Unmarshal(body, &named) // a body that is no JSON names none
		s.refusals.Report(r, principal, httpguard.Malformed, err.Error(),
			"subscriber_id", shortenText(aaep.SafeText(named.ID), 256))
		refuse(http.StatusBadRequest, err.Error())
		return
	}
	_, a, refusal := s.openLink(r, principal, subscriber, body, nil)
	if refusal != nil {
		s.rejectRequest(w, credentials.Status(refusal.ReasonCode), refusal)
		return
	}
	s.writeAnswer(w, r, a, http.StatusCreated)
}

// openLink makes a link for request, hands it to Accept, and waits for the producer's answer. If
// the third result is not nil, the link is none: this transport refuses the request, because there
// are too many links, the Server is closed, or the producer did not answer in time. subscriber is
// what the peer calls itself, for the log. history is nil after a handshake.
func (s *Server) openLink(r *http.Request, principal, subscriber string, request []byte,
	history *sentHistory) (*link, answer, *aaep.SubscriptionRejected) {
	l, post := newLink(s, principal, request, history)
	l.peer, l.subscriberID = r.RemoteAddr, subscriber
	switch code := s.admitLink(l); code {
	case aaep.TransportUnavailable:
		full := &aaep.SubscriptionRejected{ReasonCode: code,
			ReasonMessage: "The producer takes no subscriptions at the moment.", RetryAfterSeconds: new(retrySoon)}
		if s.isClosed() { // to come again may be in vain, so no time is named
			full.ReasonMessage, full.RetryAfterSeconds = closedToNew, nil
		}
		return nil, answer{}, full
	case aaep.RateLimit:
		retry := int64(30) // a subscription without a stream is given up after 30 seconds (D-65)
		return nil, answer{},
			&aaep.SubscriptionRejected{ReasonCode: code,
				ReasonMessage: "The producer has as many subscriptions as it can serve.", RetryAfterSeconds: &retry}
	}
	ctx, cancel := s.withAnswerTimeout(r.Context())
	defer cancel()
	a, ok := l.awaitAnswer(ctx, post)
	if !ok {
		text := closedToNew // the Server was closed meanwhile
		if l.isAlive() {
			text = "The producer did not answer in time."
		}
		l.endLink(
			errors.New("sse: the subscription.request was not answered in time, and the subscriber was told so"))
		return nil, answer{}, &aaep.SubscriptionRejected{ReasonCode: aaep.TransportUnavailable, ReasonMessage: text}
	}
	return l, a, nil
}

// retrySoon is when to come again, in seconds, where many come at once.
const retrySoon int64 = 2

const closedToNew = "The agent is ending, and takes no new subscriptions."

// badReply is the answer to everything that is not a message for this endpoint. What is wrong with
// the message itself follows; it says nothing of any question (D-36).
const badReply = "not a valid AAEP reply, renegotiation or close"

// serveReply serves POST replies (B.1.4), to which subscribers also send renegotiations and the end
// of their subscription. A well-formed reply always gets the same 204, whatever subscription it
// names and whatever becomes of it (INV-10). ServeHTTP calls it with the principal that the
// authenticator named.
func (s *Server) serveReply(w http.ResponseWriter, r *http.Request, principal string) {
	body, release, status, problem := s.readBody(w, r, principal)
	defer release()
	if status != 0 {
		s.writeError(w, status, problem)
		return
	}
	m, err := aaep.Decode(body)
	if err != nil {
		s.refuseMalformed(w, r, principal, body, badReply, err)
		return
	}
	switch m := m.(type) {
	case *aaep.ConfirmationReply:
		s.forwardMessage(w, r, m.SubscriptionID, principal, body, false)
	case *aaep.ClarificationReply:
		s.forwardMessage(w, r, m.SubscriptionID, principal, body, false)
	case *aaep.SubscriptionClose:
		s.forwardMessage(w, r, m.SubscriptionID, principal, body, true)
	case *aaep.SubscriptionRenegotiate:
		s.serveRenegotiate(w, r, m.SubscriptionID, principal, body)
	default:
		s.refuseMalformed(w, r, principal, body, badReply, fmt.Errorf("it is a %s", m.MessageType()))
	}
}

// refuseMalformed answers with 400, and logs and counts, a body that is not a message for its
// endpoint. text is the answer; cause, which may be nil, is what is wrong with the body's own bytes
// and is added to it. Neither says anything of a question (D-36).
func (s *Server) refuseMalformed(w http.ResponseWriter, r *http.Request, principal string, body []byte, text string,
	cause error) {
	named := struct {
		ID string `json:"subscription_id"`
	}{}
	_ = json.Unmarshal(body, &named) // a body that is no JSON names none
	attrs := []any{"cause", cause}
	if l := s.lookupLink(named.ID, principal); l != nil {
		attrs = append(attrs, "subscription_id", named.ID, "subscriber_id", l.subscriberID)
	}
	s.refusals.Warn(r, "a message cannot be read, and does not count", principal, httpguard.Malformed, attrs...)
	if cause != nil {
		text += ": " + cause.Error()
	}
	s.writeError(w, http.StatusBadRequest, text)
}

// forwardMessage hands a message to the subscription id, if it belongs to the sender, and answers
// 204 in any case. last says that the message is the peer's subscription.close, after which the
// subscription is unknown.
func (s *Server) forwardMessage(w http.ResponseWriter, r *http.Request, id, principal string, body []byte, last bool) {
	l := s.lookupLink(id, principal)
	if l == nil && !last { // the sender is not told (INV-10), so the log must say it
		s.refusals.Warn(r, "a reply came for a subscription that is not here, and does not count; where several "+
			"processes serve an agent, each listener has to stay at one of them",
			principal, httpguard.UnknownSubscription)
	}
	if !s.deliverPosted(w, r, l, body, last) {
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	_ = http.NewResponseController(w).Flush() // now, not when the handler has returned
}

// deliverPosted queues a message for l's Receive and waits until the producer has dealt with it; it
// drops the message if l is nil or has ended. last says that it is the peer's subscription.close,
// after which the link can be found no more. It reports false where it has written the response
// itself, which it does only if the producer is too slow; otherwise the caller writes it.
func (s *Server) deliverPosted(w http.ResponseWriter, r *http.Request, l *link, body []byte, last bool) bool {
	if l == nil || !l.beginPost() {
		s.o.Logger.Debug("sse: message for a subscription the sender does not have")
		return true
	}
	defer l.posts.Done()
	ctx, cancel := s.withAnswerTimeout(r.Context())
	defer cancel()
	handled, err := l.queuePosted(ctx, body)
	switch {
	case err == errBusy: // this tells that the subscription exists, and is better than a reply lost in silence
		s.writeError(w, http.StatusServiceUnavailable, "the producer is too slow; send the message again later")
		return false
	case err == nil && last:
		s.unregisterID(l.subscriptionID(), l)
		l.closeHungUp.Do(func() { close(l.hungUp) })
		l.notifyOwner()
	case err == nil:
		// A sender that has the answer knows that replies sent from now on come later (INV-05).
		select {
		case <-handled:
		case <-l.done:
		case <-ctx.Done():
		}
	}
	return true
}

// serveRenegotiate hands a renegotiation to the subscription id, and the producer's answer is the
// response (D-55). This transport's own refusals are never a subscription.rejected, which would end
// the subscription. Without an answer within AnswerTimeout the status is 503, and the answer comes
// on the event stream; for a subscription that is unknown, or another's, 404.
func (s *Server) serveRenegotiate(w http.ResponseWriter, r *http.Request, id, principal string, body []byte) {
	const unknown = "there is no such subscription"
	l := s.lookupLink(id, principal)
	if l == nil {
		s.writeError(w, http.StatusNotFound, unknown)
		return
	}
	ctx, cancel := s.withAnswerTimeout(r.Context())
	defer cancel()
	post, err := l.postRenegotiation(ctx, body)
	var a answer
	ok := false
	if err == nil {
		a, ok = l.awaitAnswer(ctx, post)
	}
	switch {
	case ok:
		s.writeAnswer(w, r, a, http.StatusOK)
	case !l.isAlive() || err == errGone:
		s.writeError(w, http.StatusNotFound, unknown)
	default:
		s.writeError(w, http.StatusServiceUnavailable,
			"the producer did not answer in time; its answer, if any, comes on the event stream")
	}
}
