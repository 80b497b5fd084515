package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/delivery"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/transports"
)

// Rights are what a subscriber may do besides listen, at the pace and in the language it asks for,
// now or later (§10.3.2). The zero Rights are those of a log viewer.
type Rights struct {
	// Reply lets it be asked, and answer.
	Reply bool
	// Withhold are event types that it does not receive, whatever it asks for, as patterns of a
	// filter: aaep:agent.output.* for a subscriber that may follow the work and not read its
	// results. Critical events go to every subscriber (§5.5.4), questions to those that may Reply.
	// An invalid pattern refuses the subscription.
	Withhold []string
}

// acceptSubscription reads and answers the first message on a link. It returns the subscription
// that this opened, or nil, and the link is closed then. startServing calls it on the link's own
// goroutine; it waits for the peer.
func (p *Producer) acceptSubscription(conn transports.Conn) *subscription {
	link, err := delivery.Accept(conn, p.shield)
	if err != nil {
		link.Close()
		return nil
	}
	sub := &subscription{p: p, id: newID("sub_"), began: time.Now()}
	sub.Subscription = p.delivery.NewSubscription(link, sub)
	sub.Recipient = p.board.NewRecipient(sub.id, sub)
	if !p.handleRequest(sub) {
		sub.Abort()
		link.Close()
		return nil
	}
	return sub
}

// handleRequest reads the first message on the link, negotiates, registers the subscription and
// answers. It reports whether the subscription is open. A peer that is refused is sent why; a link
// that broke first is sent nothing. If the answer cannot be sent, the subscription is unregistered
// again.
func (p *Producer) handleRequest(sub *subscription) bool {
	data, err := p.firstMessage(sub.Link)
	if err != nil {
		return false // the link is gone, and takes no answer
	}
	answered := p.cfg.Observer.Began(Subscribe)
	terms, err := p.negotiateRequest(sub, data)
	if err == nil {
		sub.setTerms(terms)
		err = p.registerSubscription(sub)
	}
	if err != nil {
		answered(err)
		sub.refuseRequest(err)
		return false
	}
	err = sub.sendAccepted(*terms)
	answered(err)
	if err != nil {
		p.unregisterSubscription(sub)
		p.loops.Done()
		return false
	}
	p.cfg.Logger.Info("subscription opened", "subscription_id", sub.id, "subscriber_id", sub.subscriberID,
		"principal", sub.Link.Principal, "peer", sub.Link.Peer, "may_reply", sub.rights.Reply)
	return true
}

// refuseRequest sends the peer why its request is refused, and logs it. err is an *aaep.Rejection,
// or else says what is wrong with the message. It waits for the link: for closeTimeout, or for
// abortTimeout when Shutdown waits for no request any more.
func (sub *subscription) refuseRequest(err error) {
	var r *aaep.Rejection
	if !errors.As(err, &r) {
		r = &aaep.Rejection{Code: aaep.ReasonUnknown, Message: err.Error()}
	}
	sub.p.cfg.Logger.Info("subscription refused", "subscriber_id", sub.subscriberID,
		"principal", sub.Link.Principal, "peer", sub.Link.Peer, "reason", string(r.Code), "error", r)
	timeout := closeTimeout
	if sub.p.waiting.Err() != nil {
		timeout = abortTimeout
	}
	sub.SendMessage(timeout, rejectionMessage(r))
}

// Ended unregisters the subscription, sends the subscriber why it has ended, closes the link and
// reports the end to Shutdown and to startServing. The owner calls it, once.
func (sub *subscription) Ended(why *aaep.Rejection) {
	sub.closeAnnounced(why)
	sub.p.loops.Done()
	sub.Link.Close()
	sub.over()
}

// closeAnnounced unregisters the subscription and sends the subscriber why it has ended, unless the
// subscriber has ended it or knows why already. Ended calls it.
func (sub *subscription) closeAnnounced(why *aaep.Rejection) {
	p := sub.p
	aborted := sub.IsAborted()    // before unregisterSubscription aborts it
	p.unregisterSubscription(sub) // before the last message: no question waits for that
	sub.StopReceiving()
	p.cfg.Logger.Info("subscription closed", "subscription_id", sub.id, "subscriber_id", sub.subscriberID,
		"principal", sub.Link.Principal, "peer", sub.Link.Peer, "reason", string(why.Code), "error", why)
	if p.isReplica() && why.Code == aaep.ProducerShutdown {
		why.Message = "" // the agent goes on, and its subscribers reconnect to another process
	}
	if why.Remote || why.Message == "" {
		return
	}
	timeout := closeTimeout
	if aborted {
		timeout = abortTimeout
	}
	sub.SendMessage(timeout, &aaep.SubscriptionClose{
		SubscriptionID: sub.id, ReasonCode: why.Code, ReasonMessage: why.Message})
}

// negotiateRequest decodes a subscription request, checks the limits, negotiates and asks
// Config.Admit. It fills in who the subscriber is and its rights. It returns the terms, or an
// *aaep.Rejection to send, or an *aaep.InvalidError where data is no subscription request.
func (p *Producer) negotiateRequest(sub *subscription, data []byte) (*negotiation.Terms, error) {
	if err := p.checkRequestRate(sub.Link.Principal); err != nil { // first of all, for a flood must cost little
		if p.isClosed() {
			err = tooLateRejection()
		}
		return nil, err
	}
	m, err := aaep.Decode(data)
	if err != nil {
		return nil, err
	}
	req, ok := m.(*aaep.SubscriptionRequest)
	if !ok {
		return nil, &aaep.InvalidError{Message: m.MessageType(), Violations: []aaep.Violation{{
			Problem: "The first message must be subscription.request."}}}
	}
	sub.subscriberID = req.SubscriberID
	if p.isClosed() && !p.isAwaited(sub) { // tryRegister looks again, with the lock held
		return nil, tooLateRejection()
	}
	terms, err := negotiation.Negotiate(req, p.offer)
	if err == nil {
		err = checkCapabilitySize(req.Capabilities)
	}
	if err == nil { // registerSubscription looks again, with the lock held
		err = p.checkRoomNow(sub.Link)
	}
	if err == nil {
		sub.rights, err = p.admitSubscriber(sub.Link.Principal, req)
	}
	if err == nil && (!sub.rights.Reply || sub.rights.Withhold != nil) {
		terms, err = negotiation.Negotiate(req, sub.currentOffer())
	}
	if err != nil {
		return nil, err
	}
	return p.agreements.shareTerms(req.Capabilities, sub.currentOffer(), terms), nil
}

// checkRoomNow calls checkRoom for the principal of a link, and logs a refusal, at most once a
// minute, since peers that find no room come again. It takes p.mu.
func (p *Producer) checkRoomNow(link *delivery.Link) error {
	p.mu.Lock()
	err := p.checkRoom(link.Principal)
	write := err != nil && time.Since(p.loggedFull) >= time.Minute
	if write {
		p.loggedFull = time.Now()
	}
	p.mu.Unlock()
	if write {
		p.cfg.Logger.Warn("somebody is turned away, for there is no room; for a minute nobody else is named",
			"principal", link.Principal, "peer", link.Peer, "error", err)
	}
	return err
}

// isInvalidPattern reports whether s is no valid pattern of an event filter, so that it would
// withhold nothing: it is neither a type with a prefix and a colon, nor the beginning of one with a
// * at its end, nor a * alone.
func isInvalidPattern(s string) bool {
	star := strings.IndexByte(s, '*')
	return s != "*" && !strings.Contains(s, ":") || star >= 0 && star < len(s)-1
}

// admitSubscriber asks Config.Admit for the rights of a subscriber. The error is an *aaep.Rejection
// that can be sent; an error of the application's own is hidden behind authorization_denied. It is
// called without any lock held and may wait for the application.
func (p *Producer) admitSubscriber(principal string, req *aaep.SubscriptionRequest) (Rights, error) {
	if p.cfg.Admit == nil {
		return Rights{Reply: true}, nil
	}
	rights, err := p.cfg.Admit(principal, req)
	if err == nil {
		i := slices.IndexFunc(rights.Withhold, isInvalidPattern)
		if i < 0 {
			return rights, nil
		}
		err = fmt.Errorf("producer: Rights.Withhold has %q, "+
			"which is no event type, no beginning of one with a * and no *", rights.Withhold[i])
		p.cfg.Logger.Error("nobody is let in with these Rights", "error", err)
	}
	denied := &aaep.Rejection{
		Code: aaep.AuthorizationDenied, Message: "You are not allowed to subscribe here.", Err: err}
	var r *aaep.Rejection
	if !errors.As(err, &r) || r == nil {
		return Rights{}, denied
	}
	if r.Message == "" {
		r = &aaep.Rejection{Code: r.Code, Message: denied.Message, RetryAfter: r.RetryAfter, Err: err}
	}
	if invalid := aaep.Validate(rejectionMessage(r)); invalid != nil { // it cannot be sent
		p.cfg.Logger.Error("Admit returned a rejection that cannot be sent", "error", invalid)
		return Rights{}, denied
	}
	return Rights{}, r
}

// rejectionMessage returns the message that tells the peer of a refusal: printable, at most 1000
// characters long and with a whole number of seconds.
func rejectionMessage(r *aaep.Rejection) *aaep.SubscriptionRejected {
	const most = 1000 // characters; a request can have a thousand faults
	m := &aaep.SubscriptionRejected{ReasonCode: r.Code, ReasonMessage: aaep.SafeText(r.Message)}
	if text := []rune(m.ReasonMessage); len(text) > most {
		m.ReasonMessage = string(text[:most-1]) + "…"
	}
	if r.RetryAfter > 0 {
		wait := (min(r.RetryAfter, 24*time.Hour) + time.Second - 1) / time.Second // rounded up
		m.RetryAfterSeconds = new(int64(wait))
	}
	return m
}

// firstMessage waits for the first message on a link: at most handshakeTimeout, and during a
// shutdown no longer than a subscription is served. A request that arrives at the last moment is
// still read (HS-043).
func (p *Producer) firstMessage(link *delivery.Link) ([]byte, error) {
	ctx, cancel := context.WithTimeout(p.waiting, handshakeTimeout)
	defer cancel()
	data, err := link.Receive(ctx)
	if err == nil || p.waiting.Err() == nil {
		return data, err
	}
	ctx, cancel = context.WithTimeout(context.Background(), abortTimeout)
	defer cancel()
	return link.Receive(ctx)
}

// isAwaited reports whether Shutdown waits for the stream of a subscription that the subscriber of
// sub had before the shutdown: with that id, and under the same principal. Any goroutine may call
// it, also with p.mu held.
func (p *Producer) isAwaited(sub *subscription) bool {
	return slices.ContainsFunc(*p.audience.Load(), func(away *subscription) bool {
		return !away.isLate && away.subscriberID == sub.subscriberID && away.Link.Principal == sub.Link.Principal &&
			!away.IsConnected()
	})
}

// tooLateRejection returns the refusal of a request that arrives during a shutdown, an
// *aaep.Rejection.
func tooLateRejection() error {
	return &aaep.Rejection{Code: aaep.TransportUnavailable, Message: "The agent is shutting down."}
}

// resumesExactly reports whether the subscription begins right after the event that its request
// names. If it named one and does not, note is a sentence for the subscriber that says why.
func (sub *subscription) resumesExactly() (exactly bool, note string) {
	terms := sub.terms.Load()
	_, lost, _ := sub.p.log.Locate(terms.ResumeAfter)
	switch {
	case terms.ResumeAfter == "":
		return false, ""
	case !sub.Resumes():
		note = "What came after the event in resume_after is not known here any more."
	case lost:
		note = "What came right after the event in resume_after was lost in a crash; you get what followed that."
	default:
		return true, ""
	}
	if language := phrase.Best(terms.Languages); !strings.HasPrefix(language, "en") { // for the user
		note, _ = phrase.In(language, phrase.MayBeLost, "")
	}
	return false, note
}

// sendAccepted sends the subscriber that its request is accepted, with the terms. A note in the
// answer says if it does not go on where it asked to, or if the agent does not answer at present.
func (sub *subscription) sendAccepted(t negotiation.Terms) error {
	exactly, note := sub.resumesExactly()
	if note != "" { // it comes first, for long notes are cut at the end
		t.Notes = slices.Insert(slices.Clone(t.Notes), 0, note)
	}
	if sub.p.follower.IsSilent() {
		away, _ := phrase.In(phrase.Best(t.Languages), phrase.NotRunning, "")
		t.Notes = slices.Insert(slices.Clone(t.Notes), 0, away)
	}
	accepted, err := sub.acceptedMessage(t)
	if err != nil {
		return err
	}
	if exactly {
		accepted.HonoredCapabilities = t.Resumed()
	}
	return sub.SendMessage(closeTimeout, accepted)
}

// acceptedMessage returns the answer to a subscription with these terms, with the signed manifest
// if there is one. It fails if the manifest cannot be signed and the terms demand it; the
// subscriber has been told then.
func (sub *subscription) acceptedMessage(t negotiation.Terms) (*aaep.SubscriptionAccepted, error) {
	p := sub.p
	m := &aaep.SubscriptionAccepted{SubscriptionID: sub.id, AAEPVersion: aaep.Version,
		Producer: p.cfg.Agent, ManifestURI: p.cfg.Agent.ManifestURI,
		HonoredCapabilities: t.Capabilities(), NegotiationNotes: t.Note()}
	signed, err := p.SignedManifest()
	if err == nil && signed == "" {
		err = errUnsigned
	}
	if err == nil {
		m.SignedManifest = signed
	} else if t.SignedOnly {
		p.cfg.Logger.Error("the manifest cannot be signed", "error", err)
		refused := &aaep.Rejection{Code: aaep.ManifestSignatureRequired,
			Message: "The manifest cannot be signed at the moment.", Err: err}
		sub.SendMessage(closeTimeout, rejectionMessage(refused))
		return nil, refused
	}
	return m, nil
}

// errUnsigned is logged if the terms demand a signed manifest and Config.Signers returns no key.
var errUnsigned = errors.New("producer: nobody signs the manifest")

// maxRegistrations is how often a registration is tried again because a session has changed its
// state meanwhile.
const maxRegistrations = 10

// registerSubscription adds the subscription to the audience, sets where its stream begins, and
// prepares what it receives before the log: what the agent is doing, the sessions that have ended
// meanwhile, and the open questions. It holds the recipients of questions, and takes p.mu; the
// caller holds no lock. The error is an *aaep.Rejection. Without one, p.loops counts the
// subscription until it has ended, and Shutdown waits for that.
func (p *Producer) registerSubscription(sub *subscription) error {
	p.log.AwaitShown(sub.terms.Load().ResumeAfter) // another process may have sent an event not yet here
	for tries := 0; ; tries++ {
		awaited, err := p.tryRegister(sub, tries == maxRegistrations)
		if err != nil {
			return err
		}
		if awaited == 0 {
			break
		}
		p.log.Wait(awaited)
	}
	if p.aborted.Err() != nil { // Shutdown may have aborted its audience just before
		sub.Abort()
	}
	p.delivery.Moved.Broadcast()
	after, _, _ := p.delivery.Locate(sub.terms.Load().ResumeAfter)
	if after > 0 && !sub.Resumes() { // it missed what came after that event
		sub.PrepareMissedEnds(after)
	}
	sub.PutOpenQuestions()
	p.follower.ReportNew(sub.includeIn)
	return nil
}

// tryRegister adds a subscription to those that are served, with the states that the sessions are
// in where it begins, and returns zero. It holds all sessions meanwhile, or an agent could change
// its state between the two, so it does nothing that takes long. Where the log does not show the
// newest state yet, or a session has just begun, it changes nothing and returns the position that
// the caller waits for before it tries again, unless must says that this is the last try. The error
// is an *aaep.Rejection. registerSubscription calls it, holding no lock.
func (p *Producer) tryRegister(sub *subscription, must bool) (awaited uint64, err error) {
	sessions, release := p.holdSessions()
	defer release()
	defer p.board.HoldRecipients()()
	p.mu.Lock()
	defer p.mu.Unlock()
	if sub.isLate = p.closed; p.closed && (!p.isAwaited(sub) || p.aborted.Err() != nil) {
		return 0, tooLateRejection()
	}
	if err = p.checkRoom(sub.Link.Principal); err != nil {
		return 0, err
	}
	begin, awaited := p.chooseBeginning(sessions, sub.terms.Load().ResumeAfter, must)
	switch {
	case awaited > 0:
		return awaited, nil
	case p.closed && !begin.Resumes:
		return 0, tooLateRejection()
	}
	p.loops.Add(1) // after the shutdown began, this is safe as the one that it awaits is counted
	sub.Begin(begin)
	p.delivery.Add(sub.Subscription)
	p.audience.Store(new(append(*p.audience.Load(), sub))) // a loaded slice does not show it
	return 0, nil
}

// chooseBeginning returns where a subscription begins that goes on after the event resumeAfter, if
// that is not empty, and in which states the sessions are there. held are the sessions that the
// caller holds, as it holds p.mu; awaited and must are those of tryRegister. On the last try a
// subscription begins before each session that is not held, so that it hears the start of that.
func (p *Producer) chooseBeginning(held []*Session, resumeAfter string, must bool) (b delivery.Beginning,
	awaited uint64) {
	end := p.log.End()
	b = delivery.Beginning{End: p.log.Appended(), Cursor: end}
	after, skip, resumes := p.delivery.Locate(resumeAfter)
	b.Skip, b.Resumes = skip, resumes
	for _, s := range p.sessions {
		if !resumes && (p.cfg.FromStart || must && !slices.Contains(held, s)) {
			b.Cursor = max(min(b.Cursor, s.start-1), p.log.Start())
		}
	}
	var changed uint64
	b.States, changed = statesAt(held, b.Cursor)
	hasNewSession := !slices.Equal(held, p.sessions) // a session that has just begun is not held
	if (changed > end || hasNewSession) && b.Cursor == end && !resumes && !must {
		return b, max(changed, 1)
	}
	if resumes {
		b.Cursor = after
	}
	return b, 0
}

// unregisterSubscription takes the subscription out of the audience and out of the questions that
// it was asked, adds its counts to the Producer's, and aborts what is under way. It takes p.mu; the
// caller holds no lock.
func (p *Producer) unregisterSubscription(sub *subscription) {
	last := sub.LastStats()
	last.Held = 0 // what was held will not leave
	p.mu.Lock()
	p.past.addSubscription(last)
	p.audience.Store(new(withoutSubscription(*p.audience.Load(), sub)))
	p.mu.Unlock()
	p.delivery.Remove(sub.Subscription)
	sub.Abort()
	p.broker.RemoveSubscription(sub.id)
	p.delivery.Moved.Broadcast()
	p.follower.RequestReport()
}

// withoutSubscription returns a copy of subs without removed. subs is not changed, for other
// goroutines read it.
func withoutSubscription(subs []*subscription, removed *subscription) []*subscription {
	return slices.DeleteFunc(slices.Clone(subs), func(sub *subscription) bool { return sub == removed })
}
