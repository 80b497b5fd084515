package producer

import (
	"context"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
)

// resumeOrFollow continues where the process before this one ended, or follows the agent in another
// process. New calls it before any subscription is served.
func (p *Producer) resumeOrFollow() error {
	if p.cfg.Follow != nil {
		p.shared, p.broker.Claim = p.cfg.Follow, p.claimOutcome
		return p.followLog()
	}
	p.broker.Forget = p.removeQuestion
	shared, leads := p.cfg.Log.(log.Shared)
	if leads {
		p.shared, p.broker.Claim = shared, p.claimOutcome
		if err := p.leadReplicas(); err != nil {
			return err
		}
	}
	if err := p.recoverSessions(); err != nil {
		return err
	}
	if leads {
		go p.watchReplicas()
	}
	return nil
}

// recoverSessions ends the sessions that were open when the process before this one died, so that
// no subscriber that resumes waits for them. Their open questions are closed as rejected: whether
// an action waited for its acceptance can no longer be known. Where the audit log has a call as
// accepted and not begun, it is announced that the action was not done. Before that the questions
// are withdrawn for all processes. resumeOrFollow calls it; an error means that the log cannot be
// read or written, or a claim not be kept.
func (p *Producer) recoverSessions() error {
	began := map[string]*Session{}
	var order []*Session
	err := p.replayUnsettled(func(pos uint64, ev *aaep.Event) {
		s := began[ev.SessionID]
		if s == nil {
			s = newReplayedSession(p, pos, ev)
			began[s.id], order = s, append(order, s)
		}
		s.replayEvent(ev)
	})
	if err != nil {
		return err
	}
	end := func() aaep.Payload {
		return &aaep.SessionErrored{
			ErrorCategory: aaep.ErrorUnknown, ErrorCode: "PRODUCER_RESTARTED", Recoverable: new(false)}
	}
	undone := p.broker.Log.Unfinished()
	for _, s := range order {
		if s.machine.Over() {
			continue
		}
		if err := p.withdrawEverywhere(s); err != nil {
			return err
		}
		if err := s.announceUndone(undone); err != nil {
			p.cfg.Logger.Error("what was accepted and not done was not told", "session_id", s.id, "error", err)
		}
		err := s.endSession(aaep.Text{}, phrase.AgentStopped, end)
		found := p.cfg.Logger.With("session_id", s.id)
		if err != nil {
			found = found.With("error", err)
		}
		found.Error("ended a session that a crash left open")
		if ev, failed := s.buildEvent(
			p.speechOrPhrase(aaep.Text{}, phrase.AgentStopped, ""), end()); err != nil && failed == nil {
			p.log.Append(ev) // unchecked: a bridge may have republished events in any order
		}
	}
	return p.log.Settle()
}

// announceUndone announces that a call was accepted in this session, whose process died before the
// action began: as the end of the call if tool.invoked was emitted, and as a change of state
// otherwise. It takes s.mu, and deletes what it has announced from undone, which is by tool call.
func (s *Session) announceUndone(undone map[string]audit.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, open := range s.machine.OpenTools() {
		if _, ok := undone[open.ToolCallID]; ok {
			s.completeTool(toolCall{open, open.Tool, nil}, aaep.ToolCompleted{Status: aaep.ToolError},
				phrase.ActionNotBegun, phrase.Failed)
			delete(undone, open.ToolCallID)
		}
	}
	if s.lastAsked == nil {
		return nil
	}
	ask := s.lastAsked.Payload.(*aaep.AwaitingConfirmation)
	if _, ok := undone[closes.CallOf(s.lastAsked)]; !ok {
		return nil
	}
	if slices.Contains(s.machine.OpenQuestions(), ask.ReplyToken) {
		if err := s.machine.Settled(ask.ReplyToken, aaep.Reject); err != nil {
			return err
		}
	}
	return s.enterStateSaying(aaep.StateThinking,
		s.p.phraseSpeech(phrase.ActionNotBegun, func(tag string) (string, bool) {
			for _, t := range s.lastAsked.Translations {
				if q, ok := t.Payload.(*aaep.AwaitingConfirmation); ok && t.Language() == tag {
					return q.Action, true
				}
			}
			return ask.Action, tag == s.lastAsked.Language() || tag == ""
		}))
}

// replayUnsettled calls f with every event that the log had at New since it last noted that no
// session was open. The error is that of the log, which may have a store.
func (p *Producer) replayUnsettled(f func(pos uint64, ev *aaep.Event)) error {
	for cursor := max(p.log.Settled(), p.log.Start()); cursor < p.began; {
		events, _, err := p.log.Read(cursor, 256)
		if err != nil {
			return err
		}
		for _, ev := range events {
			cursor++
			f(cursor, ev)
		}
	}
	return nil
}

// withdrawEverywhere withdraws the open questions of a session for all processes. One of these may
// still be the agent, where it was cut off, and must not act on a late acceptance after it has been
// announced that nothing was done. It waits for the shared log, claimTime at most.
func (p *Producer) withdrawEverywhere(s *Session) error {
	if p.shared == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), claimTime)
	defer cancel()
	for _, token := range s.machine.OpenQuestions() {
		data, _ := json.Marshal(claim{Node: p.shared.Node(), Cause: ledger.Withdrawn})
		if _, mine, err := p.shared.Claim(ctx, string(token), data); err != nil {
			return err
		} else if !mine {
			p.cfg.Logger.Warn("a question was settled just before this agent took over; what came of it is not known",
				"session_id", s.id)
		}
	}
	return nil
}

// newReplayedSession returns a session that another process began; ev, at pos, is the first event
// of it that the log has. The caller replays the events, ev included.
func newReplayedSession(p *Producer, pos uint64, ev *aaep.Event) *Session {
	s := &Session{p: p, id: ev.SessionID, began: ev.Timestamp, start: pos}
	s.ctx, s.end = context.WithCancel(context.Background())
	if ev.Type() != aaep.TypeSessionStarted { // the log no longer has how it began
		s.machine.Join(s.id)
	}
	return s
}

// replayEvent applies an event that the log has of the session. One that is out of order, as a
// bridge may republish it, only settles questions. The caller holds s.mu, or is the only one that
// knows s.
func (s *Session) replayEvent(ev *aaep.Event) {
	s.machine.Infer(ev)
	switch ev.Payload.(type) {
	case *aaep.SessionCompleted, *aaep.SessionErrored, *aaep.SessionCancelled: // withdraws them
		for _, token := range s.machine.OpenQuestions() {
			_ = s.machine.Settled(token, aaep.Reject) // it is open
		}
	}
	if s.machine.Next(ev) != nil {
		return
	}
	s.last = ev.Timestamp
	if ev.Type() == aaep.TypeAwaitingConfirmation {
		s.lastAsked = ev
	}
	text, ok := ev.Payload.(*aaep.OutputStreaming)
	if !ok {
		return
	}
	s.outputs = slices.DeleteFunc(s.outputs, func(o *Output) bool { return o.id == text.OutputID })
	if !text.Complete {
		s.outputs = append(s.outputs, &Output{s: s, id: text.OutputID, lang: ev.Language(), content: text.ContentType,
			position: text.Position + int64(utf8.RuneCountInString(text.Chunk)), known: true, begun: true})
	}
}
