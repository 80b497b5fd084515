package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/internal/writer"
	"github.com/aaep-go/aaep/transports"
)

// Rights are what a subscriber may do besides listen, at the pace and in the language it asks for, now or later (§10.3.2). The
// zero Rights are those of a log viewer.
type Rights struct {
	// Reply lets it be asked, and answer.
	Reply bool
	// Withhold are event types that it is not told of, whatever it asks for, as patterns of a filter: aaep:agent.output.* for
	// who may follow the work and not read its results. What is critical is told everybody (§5.5.4), questions those who may
	// Reply. An invalid pattern refuses the subscription.
	Withhold []string
}

// subscribe answers the first message on a link. It returns nil, the link being closed, unless that opened a subscription.
func (p *Producer) subscribe(conn transports.Conn) *subscription {
	sub := &subscription{course: course{p: p}, id: newID("sub_"), conn: conn, ctx: writer.NewContext(), streaming: streaming{many: true},
		woken: make(chan struct{}, 1), lost: make(chan error, 1)}
	if who, ok := conn.(transports.Identified); ok {
		sub.principal = who.Principal()
	}
	if !p.welcomes(sub) {
		sub.ctx.End()
		conn.Close()
		return nil
	}
	return sub
}

// welcomes answers the first message.
func (p *Producer) welcomes(sub *subscription) bool {
	data, err := p.firstMessage(sub.conn)
	if err != nil {
		return false // the link is gone; there is nobody to tell
	}
	answered := p.cfg.Observer.Began(Subscribe)
	terms, err := p.greet(sub, data)
	if err == nil {
		sub.setTerms(terms)
		sub.shaper = shaper.New(*terms, p.eventID)
		sub.shaper.SetQuiet(time.Now().Add(terms.Quiet))
		err = p.register(sub)
	}
	if err != nil {
		answered(err)
		var r *aaep.Rejection
		if !errors.As(err, &r) {
			return false
		}
		p.cfg.Logger.Info("subscription refused", "subscriber_id", sub.subscriberID, "principal", sub.principal, "reason", string(r.Code), "error", r)
		if p.waiting.Err() != nil {
			sub.tellWithin(hurryTimeout, rejected(r))
		} else {
			sub.tell(rejected(r))
		}
		return false
	}
	err = sub.accept(*terms)
	answered(err)
	if err != nil {
		p.unregister(sub)
		p.loops.Done()
		return false
	}
	p.cfg.Logger.Info("subscription opened", "subscription_id", sub.id, "subscriber_id", sub.subscriberID, "principal", sub.principal, "may_reply", sub.rights.Reply)
	return true
}

// serve serves a subscription until it is over, or in a group.
func (sub *subscription) serve() {
	sub.life = newLifetime(sub.terms)
	sub.listen()
	sub.goOnAlone()
}

// goOnAlone serves a subscription on that was in no group, or is no longer.
func (sub *subscription) goOnAlone() {
	why, joined := sub.run()
	if joined {
		return
	}
	sub.bury(why)
	sub.p.loops.Done()
	sub.conn.Close()
	sub.over()
}

// bury says that the subscription is over, and why. It is not part of serve, whose stack is there for as long as the
// subscription.
func (sub *subscription) bury(why *aaep.Rejection) {
	p := sub.p
	hurry := sub.hungUp.Load()
	p.unregister(sub) // before the last words, which may take a while: nobody is to wait for them
	sub.mu.Lock()
	sub.deaf = true
	sub.mu.Unlock()
	p.cfg.Logger.Info("subscription closed", "subscription_id", sub.id, "subscriber_id", sub.subscriberID, "principal", sub.principal, "reason", string(why.Code), "error", why)
	if p.cfg.Follow != nil && why.Code == aaep.ProducerShutdown {
		why.Message = "" // the agent goes on, and its listeners find another way to it
	}
	if !why.Remote && why.Message != "" {
		last := &aaep.SubscriptionClose{SubscriptionID: sub.id, ReasonCode: why.Code, ReasonMessage: why.Message}
		if hurry {
			sub.tellWithin(hurryTimeout, last)
		} else {
			sub.tell(last)
		}
	}
}

// greet reads the request and negotiates. The error is an *aaep.Rejection.
func (p *Producer) greet(sub *subscription, data []byte) (*handshake.Terms, error) {
	if p.isClosed() { // register looks again
		return nil, tooLate()
	}
	if err := p.mayAsk(sub.principal); err != nil { // before anything is done with what may be a flood
		return nil, err
	}
	m, err := aaep.Decode(data)
	if err != nil {
		return nil, &aaep.Rejection{Code: aaep.ReasonUnknown, Message: err.Error()}
	}
	req, ok := m.(*aaep.SubscriptionRequest)
	if !ok {
		return nil, &aaep.Rejection{Code: aaep.ReasonUnknown,
			Message: "The first message must be subscription.request."}
	}
	sub.subscriberID = req.SubscriberID
	terms, err := handshake.Negotiate(req, p.offer)
	if err == nil {
		err = tooMuch(req.Capabilities)
	}
	if err == nil { // register looks again
		p.mu.Lock()
		err = p.hasRoom(sub.principal)
		tell := err != nil && time.Since(p.toldFull) >= time.Minute
		if tell {
			p.toldFull = time.Now()
		}
		p.mu.Unlock()
		if tell { // whoever meets it comes again, and so do others
			p.cfg.Logger.Warn("somebody is turned away, for there is no room; for a minute nobody else is named", "principal", sub.principal, "error", err)
		}
	}
	if err == nil {
		sub.rights, err = p.admit(sub.principal, req)
	}
	if err == nil && (!sub.rights.Reply || sub.rights.Withhold != nil) {
		terms, err = handshake.Negotiate(req, sub.offer())
	}
	if err != nil {
		return nil, err
	}
	return p.agreements.share(req.Capabilities, sub.offer(), terms), nil
}

// notAPattern finds what would withhold nothing.
func notAPattern(s string) bool {
	star := strings.IndexByte(s, '*')
	return s != "*" && !strings.Contains(s, ":") || star >= 0 && star < len(s)-1
}

// admit asks the application. The error is an *aaep.Rejection that can be sent.
func (p *Producer) admit(principal string, req *aaep.SubscriptionRequest) (Rights, error) {
	if p.cfg.Admit == nil {
		return Rights{Reply: true}, nil
	}
	rights, err := p.cfg.Admit(principal, req)
	if err == nil {
		i := slices.IndexFunc(rights.Withhold, notAPattern)
		if i < 0 {
			return rights, nil
		}
		err = fmt.Errorf("producer: Rights.Withhold has %q, which is no event type, no beginning of one with a * and no *", rights.Withhold[i])
		p.cfg.Logger.Error("nobody is let in with these Rights", "error", err)
	}
	denied := &aaep.Rejection{Code: aaep.AuthorizationDenied, Message: "You are not allowed to subscribe here.", Err: err}
	var r *aaep.Rejection
	if !errors.As(err, &r) || r == nil {
		return Rights{}, denied
	}
	if r.Message == "" {
		r = &aaep.Rejection{Code: r.Code, Message: denied.Message, RetryAfter: r.RetryAfter, Err: err}
	}
	if invalid := aaep.Validate(rejected(r)); invalid != nil { // no answer at all would be worse
		p.cfg.Logger.Error("Admit returned a rejection that cannot be sent", "error", invalid)
		return Rights{}, denied
	}
	return Rights{}, r
}

// rejected writes a refusal as the message that tells it.
func rejected(r *aaep.Rejection) *aaep.SubscriptionRejected {
	const most = 1000 // as many as anybody reads; a request can have a thousand faults
	m := &aaep.SubscriptionRejected{ReasonCode: r.Code, ReasonMessage: aaep.SafeText(r.Message)}
	if text := []rune(m.ReasonMessage); len(text) > most {
		m.ReasonMessage = string(text[:most-1]) + "…"
	}
	if r.RetryAfter > 0 {
		wait := (min(r.RetryAfter, 24*time.Hour) + time.Second - 1) / time.Second // whole seconds, never too few
		m.RetryAfterSeconds = new(int64(wait))
	}
	return m
}

// firstMessage waits for what a guest has to say: a while, but no longer than somebody else is served. A request
// that comes at the last moment is still answered (HS-043).
func (p *Producer) firstMessage(conn transports.Conn) ([]byte, error) {
	ctx, cancel := context.WithTimeout(p.waiting, handshakeTimeout)
	defer cancel()
	data, err := conn.Receive(ctx)
	if err == nil || p.waiting.Err() == nil {
		return data, err
	}
	ctx, cancel = context.WithTimeout(context.Background(), hurryTimeout)
	defer cancel()
	return conn.Receive(ctx)
}

func tooLate() error {
	return &aaep.Rejection{Code: aaep.TransportUnavailable, Message: "The agent is shutting down."}
}

// accept tells the subscriber that it is accepted.
func (sub *subscription) accept(t handshake.Terms) error {
	there, note := sub.atPlace()
	if note != "" { // first, for a long note is cut at its end
		t.Notes = slices.Insert(slices.Clone(t.Notes), 0, note)
	}
	if sub.p.isSilent() {
		away, _ := phrase.In(phrase.Best(t.Languages), phrase.NotRunning, "")
		t.Notes = slices.Insert(slices.Clone(t.Notes), 0, away)
	}
	accepted, err := sub.accepted(t)
	if err != nil {
		return err
	}
	if there {
		accepted.HonoredCapabilities = t.Resumed()
	}
	return sub.tell(accepted)
}

// accepted is the answer to a subscription that may listen on terms. It brings the signed manifest where there is one; the
// error says that there is none, and that the terms demand it, which the subscriber has then been told.
func (sub *subscription) accepted(t handshake.Terms) (*aaep.SubscriptionAccepted, error) {
	p := sub.p
	m := &aaep.SubscriptionAccepted{SubscriptionID: sub.id, AAEPVersion: aaep.Version, Producer: p.cfg.Agent, ManifestURI: p.cfg.Agent.ManifestURI,
		HonoredCapabilities: t.Capabilities(), NegotiationNotes: t.Note()}
	signed, err := p.SignedManifest()
	if err == nil && signed == "" {
		err = errUnsigned
	}
	if err == nil {
		m.SignedManifest = signed
	} else if t.SignedOnly {
		p.cfg.Logger.Error("the manifest cannot be signed", "error", err)
		sub.tell(rejected(&aaep.Rejection{Code: aaep.ManifestSignatureRequired, Message: "The manifest cannot be signed at the moment."}))
		return nil, err
	}
	return m, nil
}

var errUnsigned = errors.New("producer: nobody signs the manifest")

// register makes the subscription one of those that are served, from the newest event on. It is told first
// what the agent is doing and what it is waiting for. The error is an *aaep.Rejection; without one, Shutdown
// waits until p.loops has it as done.
func (p *Producer) register(sub *subscription) error {
	p.log.Await(sub.terms.ResumeAfter)
	p.putting.Lock()
	p.mu.Lock()
	err := p.hasRoom(sub.principal)
	if p.closed {
		err = tooLate()
	}
	if err != nil {
		p.mu.Unlock()
		p.putting.Unlock()
		return err
	}
	p.loops.Add(1)
	sub.replayed = p.log.End()
	sub.cursor = sub.replayed
	after, skip, ok := p.place(sub.terms.ResumeAfter)
	if cursor := after; ok {
		sub.beginAt(cursor, skip)
	} else if p.cfg.FromStart {
		for _, s := range p.sessions {
			sub.cursor = min(sub.cursor, s.start-1)
		}
		sub.cursor = max(sub.cursor, p.log.Start())
	}
	sub.start = sub.cursor
	sub.left.Store(sub.cursor)
	sub.urgent.Store(sub.cursor)
	sub.behind.Store(sub.cursor < sub.replayed)
	sub.needs.Store(sub.cursor)
	sub.noticed = p.notices.Load().last
	p.audience.Store(new(append(*p.audience.Load(), sub))) // behind what others see of it
	p.mu.Unlock()
	p.putting.Unlock()
	p.moved.give()
	if !sub.goesOn {
		if after > 0 { // it was here before, and missed what came next
			p.endsSince(after, sub.cursor, func(e shaper.Entry) { sub.first = append(sub.first, e) })
		}
		now, _ := p.situation(sub.cursor)
		sub.first = append(sub.first, now...)
	}
	p.putOpen(sub, nil, func(e shaper.Entry) { sub.first = append(sub.first, e) })
	p.announce(sub)
	return nil
}

func (p *Producer) unregister(sub *subscription) {
	last := sub.shaper.Stats()
	last.Held = 0 // nobody waits for it any more
	p.mu.Lock()
	p.past.add(last)
	p.audience.Store(new(without(*p.audience.Load(), sub)))
	p.mu.Unlock()
	sub.hangUp()
	p.desk.gone(sub.id)
	p.moved.give()
	p.changed()
}

// without returns a copy without one.
func without(subs []*subscription, gone *subscription) []*subscription {
	return slices.DeleteFunc(slices.Clone(subs), func(sub *subscription) bool { return sub == gone })
}
