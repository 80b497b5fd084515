package producer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/producer/audit"
)

// errFollows is returned by what only the agent itself can do, on a Producer with Config.Follow.
var errFollows = errors.New("producer: this process follows the agent's log; only the agent itself has sessions")

// profile is the part of the agent's Config that its replicas take over, as JSON in the shared log.
type profile struct {
	Agent       json.RawMessage `json:"agent"`
	Contact     string          `json:"contact,omitzero"`
	Languages   []string        `json:"languages"`
	AnyLanguage bool            `json:"any_language,omitzero"`
	FromStart   bool            `json:"from_start,omitzero"`
	MaxPerSec   int             `json:"max_events_per_second,omitzero"`
	Extensions  []string        `json:"extensions,omitzero"`
}

// agentProfile returns the profile of this agent. leadReplicas puts it into the shared log.
func (p *Producer) agentProfile() profile {
	agent, _ := jsonv2.Marshal(p.cfg.Agent) // it is valid
	all := profile{Agent: agent, Contact: p.cfg.Contact, Languages: p.offer.Languages,
		AnyLanguage: p.cfg.AnyLanguage, FromStart: p.cfg.FromStart, MaxPerSec: p.cfg.MaxEventsPerSecond}
	for _, ext := range p.cfg.Extensions {
		all.Extensions = append(all.Extensions, ext.URI)
	}
	return all
}

// readProfile fills in cfg from the profile of the agent that is followed, and drops the extensions
// that the agent does not have. applyDefaults calls it; it waits for the shared log, claimTime at
// most.
func (cfg *Config) readProfile() error {
	if cfg.Log != nil {
		return errors.New(
			"producer: Config.Log is for the agent itself, and Config.Follow for the others; give one of them")
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

// followLog applies what the agent's log has already, and starts the goroutines that follow it: one
// applies each event that the log gets, and runHeartbeat reports to the agent as long as that one
// runs. resumeOrFollow calls it, before any subscription is served.
func (p *Producer) followLog() error {
	if err := p.replayUnsettled(p.applyFollowedEvent); err != nil {
		return err
	}
	if err := p.shared.Claims(func(token string) { p.closeSettledElsewhere(aaep.ReplyToken(token)) }); err != nil {
		return err
	}
	following, end := context.WithCancel(p.serving)
	go p.follower.RunHeartbeat(following)
	go func() {
		defer end() // the agent must not wait for a process that receives nothing more
		err := p.log.Tail(p.serving, p.applyFollowedEvent, p.follower.SetLogLost)
		if p.serving.Err() == nil {
			p.cfg.Logger.Error("the agent's log cannot be followed any more", "error", err)
		}
	}()
	return nil
}

// applyFollowedEvent applies an event of the agent to its session and to the open questions, before
// the log shows the event to any subscription. It is called for one event at a time, holding no
// lock: first by followLog, then by its goroutine. It takes Producer.mu, the Session's mu and
// putting, and waits for the broker and, for recordSoon, for the audit log.
func (p *Producer) applyFollowedEvent(pos uint64, ev *aaep.Event) {
	s := p.followed[ev.SessionID]
	if s == nil {
		s = newReplayedSession(p, pos, ev)
		p.followed[s.id] = s
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
		delete(p.followed, s.id)
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

// longestDeadline returns how long a question that is put with this many seconds can be open at
// most, all the time that may be given in addition included. When it ends is decided by the agent,
// which claims the question then: what a replica claims later does not count.
func longestDeadline(seconds int64) int64 { return min(11*seconds, 86400) }

// openFollowedQuestion opens a question of the agent and puts it to the subscriptions here that can
// answer it. If its record is kept within recordSoon, they become its recipients before the log
// shows it. Otherwise it is withheld from them, and askLate puts it when the record is kept; the
// events after it do not wait. applyFollowedEvent calls it, holding no lock.
func (p *Producer) openFollowedQuestion(pos uint64, ev *aaep.Event, q *ledger.Question) {
	q.SessionID, q.Stamp = ev.SessionID, ev.Timestamp
	q.Recipients = []string{""} // the subscriptions at other processes; they keep it open
	put := &pendingQuestion{Entry: shaper.Entry{Pos: pos, Event: ev}, asked: audit.Question(ev)}
	left := time.Until(put.asked.Deadline)
	if pos > p.began { // it has just been put, whatever the clocks say
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
	p.mu.Lock() // what settles the question at once takes it from p.asked after it is there
	if put.Waiter, err = p.broker.Open(q, put.asked); err == nil {
		p.asked[q.Token] = put
	}
	p.mu.Unlock()
	p.putting.Unlock()
	if err != nil { // the agent used the token before, which it must not
		p.cfg.Logger.Error("a question cannot be asked here", "session_id", q.SessionID, "error", err)
		return
	}
	for _, sub := range able {
		sub.withhold(q.Token)
	}
	if len(able) > 0 && p.beginRecord() {
		defer p.recording.Done()
		p.recordFollowedQuestion(q.Token, put, able)
	}
}

// recordFollowedQuestion records that a question of the agent is put to the subscriptions in able,
// from which it is withheld, and makes them its recipients if that is on record within recordSoon.
// Otherwise the record goes on, and each subscription learns of its end with keeps.
// openFollowedQuestion calls it, holding no lock.
func (p *Producer) recordFollowedQuestion(token aaep.ReplyToken, put *pendingQuestion, able []*subscription) {
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
			sub.keeps(keptAsk{token, put.asked.Recipients[i].Language, err == nil})
		}
	})
	if !known {
		return
	}
	recorded(err)
	p.putting.Lock() // no terms change meanwhile
	defer p.putting.Unlock()
	for _, sub := range able { // the log has not shown it yet
		if err != nil || !sub.mayBeAsked(put.isConfirmation()) || !put.isRecordedAs(sub.auditIdentity(put.Event)) {
			sub.lookAgain() // its terms have changed
			continue
		}
		p.broker.AddRecipient(token, sub.id)
		p.mu.Lock()
		if p.asked[token] == put {
			put.subs = append(put.subs, sub)
			sub.release(token)
		}
		p.mu.Unlock()
		if sub.IsAborted() { // it ended before the broker knew it as a recipient
			p.broker.RemoveSubscription(sub.id)
		}
	}
}

// reopenFollowedQuestion opens a question again whose answer from here could not be handed to the
// agent, unless another process has settled it meanwhile: those that were asked here, and those
// that come, can still answer it. claimOutcome calls it, holding no lock.
func (p *Producer) reopenFollowedQuestion(settled *ledger.Question) {
	q := *settled
	p.mu.Lock()
	put := p.asked[q.Token]
	if put == nil {
		p.mu.Unlock()
		return
	}
	q.Recipients = []string{""}
	subs := put.subs
	for _, sub := range subs {
		q.Recipients = append(q.Recipients, sub.id)
	}
	again, err := p.broker.Reopen(&q, put.asked)
	if err != nil {
		delete(p.asked, q.Token)
	} else {
		put.Waiter = again
	}
	p.mu.Unlock()
	for _, sub := range subs {
		switch {
		case sub.IsAborted(): // it ended before the broker knew of it
			p.broker.RemoveSubscription(sub.id)
		case !sub.mayBeAsked(put.isConfirmation()):
			p.broker.NarrowAbilities(sub.id, put.isConfirmation(), !put.isConfirmation())
		}
	}
}

// closeSettledElsewhere closes a question that another process has settled. The shared log calls
// it, and applyFollowedEvent, holding no lock. It waits for the broker.
func (p *Producer) closeSettledElsewhere(token aaep.ReplyToken) {
	p.removeQuestion(token)
	p.broker.Withdraw(token, "")
}

// reportDelivered is a goroutine that reports to the agent when the tool call at pos has left for
// the subscriptions here that may be asked, and for which it has not: the agent's awaitDelivery
// waits for that. It tries until the agent has the report. applyFollowedEvent starts it; it ends
// with p.claims.
func (p *Producer) reportDelivered(pos uint64) {
	p.log.Wait(pos)
	asked := &pendingQuestion{}
	for _, sub := range *p.audience.Load() {
		if sub.mayBeAsked(true) {
			asked.subs = append(asked.subs, sub)
		}
	}
	untold := p.awaitDelivery(p.claims, pos, asked)
	p.follower.ReportDelivered(pos, untold)
}
