package producer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/questions"
	"github.com/aaep-go/aaep/internal/shaper"
)

// isReplica reports whether this Producer serves the subscribers of an agent in another process,
// with Config.Follow, and has no sessions of its own.
func (p *Producer) isReplica() bool { return p.cfg.Follow != nil }

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
// that the agent does not have. applyDefaults calls it; it waits for the shared log, at most
// questions.ClaimTime.
func (cfg *Config) readProfile() error {
	if cfg.Log != nil {
		return errors.New(
			"producer: Config.Log is for the agent itself, and Config.Follow for the others; give one of them")
	}
	ctx, cancel := context.WithTimeout(context.Background(), questions.ClaimTime)
	defer cancel()
	data, err := cfg.Follow.Profile(ctx)
	if err != nil {
		return err
	}
	if data == nil {
		return errors.New("producer: the agent that is followed has never said who it is; start it first")
	}
	var agent profile
	if err = jsonv2.Unmarshal(data, &agent); err == nil {
		err = jsonv2.Unmarshal(agent.Agent, &cfg.Agent)
	}
	if err == nil && len(agent.Languages) == 0 {
		err = errors.New("it names no language")
	}
	if err != nil {
		return fmt.Errorf("producer: what the agent says of itself cannot be read: %w", err)
	}
	cfg.Contact, cfg.Language, cfg.Languages = agent.Contact, agent.Languages[0], agent.Languages[1:]
	cfg.AnyLanguage, cfg.FromStart, cfg.MaxEventsPerSecond = agent.AnyLanguage, agent.FromStart, agent.MaxPerSec
	for i := len(cfg.Extensions) - 1; i >= 0; i-- {
		if !slices.Contains(agent.Extensions, cfg.Extensions[i].URI) {
			cfg.Extensions = slices.Delete(slices.Clone(cfg.Extensions), i, i+1)
		}
	}
	return nil
}

// followLog applies what the agent's log has already, and starts the goroutines that follow it: one
// applies each event that the log gets, and RunHeartbeat reports to the agent as long as that one
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
// lock: first by followLog, then by its goroutine. It takes Producer.mu, the Session's mu and the
// locks of the board, and waits for the broker and, for a moment, for the audit log.
func (p *Producer) applyFollowedEvent(pos uint64, ev *aaep.Event) {
	s := p.followed[ev.SessionID]
	if s == nil {
		s = newReplayedSession(p, pos, ev)
		p.followed[s.id] = s
		p.mu.Lock()
		p.sessions = append(p.sessions, s)
		p.mu.Unlock()
	}
	for _, token := range s.followEvent(pos, ev) {
		p.closeSettledElsewhere(token)
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
		question := *q // a copy, for the event stays as it is
		question.TimeoutSeconds = longestDeadline(q.TimeoutSeconds)
		p.openFollowedQuestion(pos, ev, &ledger.Question{Token: q.ReplyToken, Confirmation: &question})
	case *aaep.AwaitingClarification:
		question := *q
		question.TimeoutSeconds = longestDeadline(q.TimeoutSeconds)
		p.openFollowedQuestion(pos, ev, &ledger.Question{Token: q.ReplyToken, Clarification: &question})
	case *aaep.ToolInvoked:
		if pos > p.began && shaper.HighImpact(ev) {
			go p.reportDelivered(pos)
		}
	}
}

// followEvent applies an event of the agent, at pos in its log, to the session, and returns the
// questions that it settles. applyFollowedEvent alone calls it; it takes s.mu.
func (s *Session) followEvent(pos uint64, ev *aaep.Event) (settled []aaep.ReplyToken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.machine.OpenQuestions()
	s.replayEvent(ev)
	if _, changes := ev.Payload.(*aaep.StateChanged); changes {
		s.lastState = stateAt{ev, pos}
	}
	s.over = s.machine.Over()
	open := s.machine.OpenQuestions()
	return slices.DeleteFunc(before, func(token aaep.ReplyToken) bool { return slices.Contains(open, token) })
}

// longestDeadline returns for how many seconds a question can be open at most that is put with this
// many: it may be given as much ten times more, and a day in all. When its time ends is decided by
// the agent, which claims the question then: what a replica claims later does not count.
func longestDeadline(seconds int64) int64 { return min(11*seconds, 86400) }

// openFollowedQuestion opens a question of the agent and puts it to the subscriptions here that can
// answer it. applyFollowedEvent calls it, holding no lock.
func (p *Producer) openFollowedQuestion(pos uint64, ev *aaep.Event, q *ledger.Question) {
	if err := p.board.OpenFollowed(shaper.Entry{Pos: pos, Event: ev}, q, pos > p.began); err != nil {
		p.cfg.Logger.Error("a question cannot be asked here", "session_id", ev.SessionID, "error", err)
	}
}

// closeSettledElsewhere closes a question that another process has settled. The shared log calls
// it, and applyFollowedEvent, holding no lock. It waits for the broker.
func (p *Producer) closeSettledElsewhere(token aaep.ReplyToken) {
	p.board.Forget(token)
	p.broker.Withdraw(token, "")
}

// reportDelivered is a goroutine that reports to the agent when the tool call at pos has left for
// the subscriptions here that may be asked, and for which it has not: the agent's awaitDelivery
// waits for that. It tries until the agent has the report. applyFollowedEvent starts it; it ends
// with p.claims.
func (p *Producer) reportDelivered(pos uint64) {
	p.log.Wait(pos)
	var asked []*subscription
	for _, sub := range *p.audience.Load() {
		if sub.MayBeAsked(true) {
			asked = append(asked, sub)
		}
	}
	untold := p.awaitDelivery(p.claims, pos, asked, nil)
	p.follower.ReportDelivered(pos, untold)
}

// announceStuckReply announces, in the session of a question, that a reply received here waits to
// be kept: the user who gave it believes that it counts. A replica calls it on the goroutine of a
// timer, see questions.Claims; it takes Producer.mu and then the Session's.
func (p *Producer) announceStuckReply(session string) {
	p.cfg.Logger.Warn("a reply waits, for it cannot be handed to the agent", "session_id", session)
	p.mu.Lock()
	sessions := slices.DeleteFunc(slices.Clone(p.sessions), func(s *Session) bool { return s.id != session })
	p.mu.Unlock()
	p.announceOutsideLog(phrase.AnswerStuck, sessions)
}
