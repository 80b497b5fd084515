package producer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/producer/audit"
)

// errFollows is returned by what only the agent itself can do, on a Producer that has Config.Follow.
var errFollows = errors.New("producer: this process follows the agent's log; only the agent itself has sessions")

// A follower is what a process is that serves the listeners of an agent elsewhere. To the agent it is a party.
type follower struct {
	id              string              // of the process
	sessions        map[string]*Session // of the agent, those under way; see's
	presenceChanged chan struct{}       // holds one: who is here has changed
	link            agentLink           // to the agent
	lost            atomic.Int64        // replies that could not be handed to it

	reporting   sync.Mutex // held while the agent is told who is here, and for the two below
	reported    presence   // what it was told last, and
	contactedAt time.Time  // when
}

func newFollower() follower {
	return follower{id: newID("node_"), sessions: map[string]*Session{}, presenceChanged: make(chan struct{}, 1)}
}

// profile is what an agent says of itself to those who serve its listeners elsewhere.
type profile struct {
	Agent       json.RawMessage `json:"agent"`
	Contact     string          `json:"contact,omitzero"`
	Languages   []string        `json:"languages"`
	AnyLanguage bool            `json:"any_language,omitzero"`
	FromStart   bool            `json:"from_start,omitzero"`
	MaxPerSec   int             `json:"max_events_per_second,omitzero"`
	Extensions  []string        `json:"extensions,omitzero"`
}

func (p *Producer) agentProfile() profile {
	agent, _ := jsonv2.Marshal(p.cfg.Agent) // it is valid
	all := profile{Agent: agent, Contact: p.cfg.Contact, Languages: p.offer.Languages, AnyLanguage: p.cfg.AnyLanguage, FromStart: p.cfg.FromStart,
		MaxPerSec: p.cfg.MaxEventsPerSecond}
	for _, ext := range p.cfg.Extensions {
		all.Extensions = append(all.Extensions, ext.URI)
	}
	return all
}

// readProfile fills in what the agent says of itself.
func (cfg *Config) readProfile() error {
	if cfg.Log != nil {
		return errors.New("producer: Config.Log is for the agent itself, and Config.Follow for the others; give one of them")
	}
	ctx, cancel := context.WithTimeout(context.Background(), claimTime)
	defer cancel()
	data, err := cfg.Follow.Profile(ctx)
	if err != nil {
		return err
	}
	if data == nil {
		return errors.New("producer: the agent that is followed has never said who it is; start it first")
	}
	var is profile
	if err = jsonv2.Unmarshal(data, &is); err == nil {
		err = jsonv2.Unmarshal(is.Agent, &cfg.Agent)
	}
	if err == nil && len(is.Languages) == 0 {
		err = errors.New("it names no language")
	}
	if err != nil {
		return fmt.Errorf("producer: what the agent says of itself cannot be read: %w", err)
	}
	cfg.Contact, cfg.Language, cfg.Languages = is.Contact, is.Languages[0], is.Languages[1:]
	cfg.AnyLanguage, cfg.FromStart, cfg.MaxEventsPerSecond = is.AnyLanguage, is.FromStart, is.MaxPerSec
	for i := len(cfg.Extensions) - 1; i >= 0; i-- {
		if !slices.Contains(is.Extensions, cfg.Extensions[i].URI) {
			cfg.Extensions = slices.Delete(slices.Clone(cfg.Extensions), i, i+1)
		}
	}
	return nil
}

// followLog learns what the agent did before, and then follows what it does.
func (p *Producer) followLog() error {
	if err := p.replayUnsettled(p.applyFollowedEvent); err != nil {
		return err
	}
	if err := p.shared.Claims(func(token string) { p.closeSettledElsewhere(aaep.ReplyToken(token)) }); err != nil {
		return err
	}
	following, end := context.WithCancel(p.serving)
	go p.runHeartbeat(following)
	go func() {
		defer end() // a process that hears nothing more is nobody to wait for
		err := p.log.Tail(p.serving, p.applyFollowedEvent, p.setLogLost)
		if p.serving.Err() == nil {
			p.cfg.Logger.Error("the agent's log cannot be followed any more", "error", err)
		}
	}()
	return nil
}

// applyFollowedEvent takes an event of the agent that nobody here has been shown yet. It is called for one event at a time.
func (p *Producer) applyFollowedEvent(pos uint64, ev *aaep.Event) {
	s := p.follower.sessions[ev.SessionID]
	if s == nil {
		s = newReplayedSession(p, pos, ev)
		p.follower.sessions[s.id] = s
		p.mu.Lock()
		p.sessions = append(p.sessions, s)
		p.mu.Unlock()
	}
	s.mu.Lock()
	before := s.machine.OpenQuestions()
	s.replayEvent(ev)
	if _, changes := ev.Payload.(*aaep.StateChanged); changes {
		s.lastState = stateAt{ev, pos}
	}
	after := s.machine.OpenQuestions()
	s.over = s.machine.Over()
	s.mu.Unlock()
	for _, token := range before {
		if !slices.Contains(after, token) {
			p.closeSettledElsewhere(token)
		}
	}
	if s.over {
		delete(p.follower.sessions, s.id)
		p.mu.Lock()
		p.sessions = slices.DeleteFunc(p.sessions, func(x *Session) bool { return x == s })
		p.mu.Unlock()
		s.end()
		return
	}
	switch q := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		own := *q
		own.TimeoutSeconds = longestDeadline(q.TimeoutSeconds)
		p.openFollowedQuestion(pos, ev, &ledger.Question{Token: q.ReplyToken, Confirmation: &own})
	case *aaep.AwaitingClarification:
		own := *q
		own.TimeoutSeconds = longestDeadline(q.TimeoutSeconds)
		p.openFollowedQuestion(pos, ev, &ledger.Question{Token: q.ReplyToken, Clarification: &own})
	case *aaep.ToolInvoked:
		if pos > p.began && shaper.HighImpact(ev) {
			go p.reportDelivered(pos)
		}
	}
}

// longestDeadline is how long a question can be open at most, more time for the asking included. When it ends is for the agent to
// say: it claims the question then, and what is claimed later does not count.
func longestDeadline(seconds int64) int64 { return min(11*seconds, 86400) }

// openFollowedQuestion puts a question of the agent to those here who can answer it: before it is shown
// it, or, where its record takes longer, by askLate when that is kept. What follows it does not
// wait for that.
func (p *Producer) openFollowedQuestion(pos uint64, ev *aaep.Event, q *ledger.Question) {
	q.SessionID, q.Stamp = ev.SessionID, ev.Timestamp
	q.Recipients = []string{""} // those elsewhere: that all leave who are here settles nothing
	put := &pendingQuestion{Entry: shaper.Entry{Pos: pos, Event: ev}, asked: audit.Question(ev)}
	left := time.Until(put.asked.Deadline)
	if pos > p.began { // it has just been put, whatever the agent's clock says
		left = closes.Given(ev)
	}
	put.deadline = p.broker.Now().Add(left)
	p.putting.Lock()
	var able []*subscription
	for _, sub := range *p.audience.Load() {
		if sub.mayBeAsked(put.isConfirmation()) {
			able = append(able, sub)
			put.recording = append(put.recording, sub.auditIdentity(ev))
		}
	}
	put.asked.Recipients = put.recording
	var err error
	if put.Waiter, err = p.broker.Open(q, put.asked); err == nil {
		p.mu.Lock()
		p.asked[q.Token] = put
		p.mu.Unlock()
	}
	p.putting.Unlock()
	if err != nil { // the token was used before: its agent has not kept the rules
		p.cfg.Logger.Error("a question cannot be asked here", "session_id", q.SessionID, "error", err)
		return
	}
	for _, sub := range able {
		sub.withhold(q.Token)
	}
	if len(able) == 0 || !p.beginRecord() {
		return
	}
	defer p.recording.Done()
	recorded := func(err error) {
		p.mu.Lock()
		if err == nil {
			put.recorded = put.recording
		}
		put.recording = nil
		p.mu.Unlock()
	}
	err, known := p.recordSoon(put.asked, func(err error) {
		recorded(err)
		for i, sub := range able {
			sub.keeps(keptAsk{q.Token, put.asked.Recipients[i].Language, err == nil})
		}
	})
	if !known {
		return
	}
	if recorded(err); err != nil {
		return
	}
	for _, sub := range able { // the log has not shown it yet
		p.broker.AddRecipient(q.Token, sub.id)
		p.mu.Lock()
		if p.asked[q.Token] == put {
			put.subs = append(put.subs, sub)
			sub.release(q.Token)
		}
		p.mu.Unlock()
		if sub.aborted.Load() { // it left before it was in the book
			p.broker.RemoveSubscription(sub.id)
		}
	}
}

// closeSettledElsewhere closes a question here.
func (p *Producer) closeSettledElsewhere(token aaep.ReplyToken) {
	p.removeQuestion(token)
	p.broker.Withdraw(token, "")
}

// reportDelivered tells the agent when the tool call at pos has left here for those who may be asked, and for whom it has not, for it waits
// for that.
func (p *Producer) reportDelivered(pos uint64) {
	p.log.Wait(pos)
	asked := &pendingQuestion{}
	for _, sub := range *p.audience.Load() {
		if sub.mayBeAsked(true) {
			asked.subs = append(asked.subs, sub)
		}
	}
	untold := p.awaitDelivery(p.claims, pos, asked)
	for p.sendToAgent(replicaMessage{Left: pos, Untold: untold, ID: p.follower.id}) != nil {
		select {
		case <-time.After(presenceEvery / 4):
		case <-p.claims.Done():
			return
		}
	}
}

var errNo = errors.New("producer: the agent said no")

func (p *Producer) sendToAgent(n replicaMessage) error {
	msg, err := json.Marshal(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(p.claims, presenceEvery/2)
	defer cancel()
	answer, err := p.shared.Send(ctx, msg)
	if err == nil && string(answer) != "yes" {
		err = errNo
	}
	return err
}

// runHeartbeat tells the agent who is here, every now and then and when that has changed.
func (p *Producer) runHeartbeat(following context.Context) {
	tick := time.NewTicker(presenceEvery)
	defer tick.Stop()
	for {
		p.reportPresence(nil)
		select {
		case <-tick.C:
		case <-p.follower.presenceChanged:
		case <-following.Done():
			return
		}
	}
}

// requestPresenceReport has the agent told soon that who is here has changed.
func (p *Producer) requestPresenceReport() {
	select {
	case p.follower.presenceChanged <- struct{}{}:
	default:
	}
}

// spokenLately is how long ago the agent may have answered for somebody who comes to be told that it runs.
const spokenLately = presenceEvery / 8

// reportPresence tells the agent who is here; or, where only somebody who has come matters, maybe not.
func (p *Producer) reportPresence(newcomer *subscription) {
	if p.cfg.Follow == nil {
		return
	}
	if newcomer == nil {
		p.follower.reporting.Lock()
	} else if !p.follower.reporting.TryLock() {
		p.requestPresenceReport() // nobody waits in line for an agent that does not answer
		return
	}
	defer p.follower.reporting.Unlock()
	if known := p.follower.reported; newcomer != nil && known.Listeners > 0 && time.Since(p.follower.contactedAt) < spokenLately && !known.includeListener(newcomer) {
		return // thousands may come at once: the others are not looked at for each of them
	}
	now := presence{ID: p.follower.id, Node: p.shared.Node(), From: p.began, Patience: 1000, Pace: usualPace}
	for _, sub := range *p.audience.Load() {
		now.includeListener(sub)
		now.Listeners++
	}
	p.follower.contactedAt = time.Now()
	if now.Listeners == 0 && p.follower.reported.Listeners == 0 { // an agent is not told of those whom it does not concern
		p.noteContact(p.sendToAgent(replicaMessage{}) == nil)
		return
	}
	err := p.sendToAgent(replicaMessage{Presence: &now})
	p.noteContact(err == nil)
	if err != nil {
		p.cfg.Logger.Debug("the agent does not know who listens here", "error", err)
		return
	}
	p.follower.reported = now
}

// includeListener adds what one more listener can and needs, and reports whether that is more.
func (now *presence) includeListener(sub *subscription) bool {
	was, need := *now, recipientNeeds{now.Patience, now.Least, now.Pace}
	need.include(sub.patience.Load(), sub.least.Load(), sub.pace.Load())
	now.Patience, now.Least, now.Pace = need.patience, need.least, need.pace
	now.Confirm, now.Clarify = now.Confirm || sub.mayBeAsked(true), now.Clarify || sub.mayBeAsked(false)
	return *now != was
}
