package producer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/questions"
	"github.com/aaep-go/aaep/internal/replica"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
)

// resumeOrFollow goes on where the process before this one ended, or, in a replica, begins to
// follow the agent of another process. It also starts the search for other leaders where the log is
// shared. newProducer calls it before any subscription is served, and gives up on its error.
func (p *Producer) resumeOrFollow() error {
	if p.isReplica() {
		p.shareQuestions(p.cfg.Follow)
		p.follower = replica.NewFollower(p.claims, replicaHost{p}, p.shared, p.cfg.Logger, newID("node_"), p.began)
		p.board.Agent = &questions.RemoteAgent{
			AskMoreTime: p.follower.AskMoreTime, AnnounceStuckReply: p.announceStuckReply}
		return p.followLog()
	}
	p.broker.Forget = p.board.Forget
	shared, leads := p.cfg.Log.(log.Shared)
	if leads {
		p.shareQuestions(shared)
		if err := p.leadReplicas(); err != nil {
			return err
		}
	}
	if err := p.recoverSessions(); err != nil {
		return err
	}
	if leads {
		go p.leader.Watch(p.done, p.isCutOff)
		go p.watchServers()
	}
	return nil
}

// shareQuestions has questions settled for all processes of the agent, which share a log.
// resumeOrFollow calls it.
func (p *Producer) shareQuestions(shared log.Shared) {
	p.shared = shared
	p.sharedClaims = &questions.Claims{Shared: shared, Context: p.claims, Board: p.board}
	p.broker.Claim = p.sharedClaims.Settle
}

// recoverSessions ends the sessions that were open when the process before this one died, so that
// no subscriber that resumes waits for them. Each question that was open and each acceptance whose
// action has not begun is settled in the audit log, and announced as not done. Before that the
// questions are withdrawn for all processes. Then it settles what the audit log alone knows to be
// open. resumeOrFollow calls it; an error means that the log cannot be read or written, or a claim
// not be kept.
func (p *Producer) recoverSessions() error {
	byID := map[string]*Session{}
	var order []*Session // in which they began
	err := p.replayUnsettled(func(pos uint64, ev *aaep.Event) {
		s := byID[ev.SessionID]
		if s == nil {
			s = newReplayedSession(p, pos, ev)
			byID[s.id], order = s, append(order, s)
		}
		s.replayEvent(ev)
	})
	if err != nil {
		return err
	}
	onRecord := p.broker.Log.Questions(p.cfg.Agent.AgentID)
	for _, s := range order {
		if s.machine.Over() {
			continue
		}
		if err := p.withdrawEverywhere(s, onRecord); err != nil {
			return err
		}
		if err := s.settleLeft(onRecord); err != nil {
			p.cfg.Logger.Error("what was asked and not done was not told", "session_id", s.id, "error", err)
		}
		s.endRecovered()
	}
	for _, id := range slices.Sorted(maps.Keys(onRecord)) {
		p.broker.Log.RecordLeft(onRecord[id])
	}
	return p.log.Settle()
}

// endRecovered ends a session that the process before this one left open, as failed, and logs that.
// If the session cannot be ended in the order of the protocol, for a bridge may have republished
// events in any order, its last event is appended unchecked. recoverSessions calls it.
func (s *Session) endRecovered() {
	p := s.p
	payload := func() aaep.Payload {
		return &aaep.SessionErrored{
			ErrorCategory: aaep.ErrorUnknown, ErrorCode: "PRODUCER_RESTARTED", Recoverable: new(false)}
	}
	err := s.endSession(aaep.Text{}, phrase.AgentStopped, payload)
	logger := p.cfg.Logger.With("session_id", s.id)
	if err != nil {
		logger = logger.With("error", err)
	}
	if p.log.WasEnded() { // a full disk kept the end of the session from the log, or it was republished
		logger.Warn("ended a session whose end is not in the log, though the run before ended in good order")
	} else {
		logger.Error("ended a session that the run before left open")
	}
	words := p.speechOrPhrase(aaep.Text{}, phrase.AgentStopped, "")
	if ev, invalid := s.buildEvent(words, payload()); err != nil && invalid == nil {
		p.log.Append(ev)
	}
}

// settleLeft settles what was asked in this session, whose process died, and is not done: questions
// that are open, and acceptances whose action has not begun. Such an acceptance is announced as the
// end of the call if tool.invoked was emitted, and everything else as a change of state. onRecord
// has what the audit log knows, by question, and takes over what is recorded here. A question that
// the audit log has as begun is left to endSession. It takes s.mu, and waits for the audit log.
func (s *Session) settleLeft(onRecord map[string]audit.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, open := range s.machine.OpenTools() {
		for id, r := range onRecord {
			accepted := r.Kind == audit.Settled && r.Decision == aaep.Accept
			if r.ToolCallID == open.ToolCallID && (accepted || r.Kind == audit.NotDone) {
				onRecord[id] = s.p.broker.Log.RecordLeft(r)
				s.completeTool(toolCall{ToolCall: open, title: open.Tool}, aaep.ToolCompleted{Status: aaep.ToolError},
					phrase.ActionNotBegun, phrase.Failed)
			}
		}
	}
	for _, token := range s.machine.OpenQuestions() {
		if ev := s.openAsked[token]; ev != nil && s.recordLeft(ev, false, onRecord) {
			if err := s.machine.Settled(token, aaep.Reject); err != nil {
				return err
			}
			if err := s.resumeState(s.p.phraseAboutQuestion(withdrawnPhrase(ev, onRecord), ev)); err != nil {
				return err
			}
		}
	}
	if ev := s.accepted; ev != nil && s.recordLeft(ev, true, onRecord) {
		return s.enterStateSaying(aaep.StateThinking, s.p.phraseAboutQuestion(phrase.ActionNotBegun, ev))
	}
	return nil
}

// recordLeft records the end of a question that was left behind, if that is not on record yet, and
// reports whether its action has not begun. accepted is what the log says of it. An event of
// another agent, as it was republished, is not recorded. s.mu is held.
func (s *Session) recordLeft(ev *aaep.Event, accepted bool, onRecord map[string]audit.Record) bool {
	r := audit.Question(ev)
	newest, known := onRecord[r.QuestionID]
	switch {
	case known && (newest.Kind == audit.Invoked || newest.Kind == settledElsewhere):
		return false
	case known:
		r = newest
	case ev.Producer.AgentID != s.p.cfg.Agent.AgentID:
		return true
	case accepted:
		r.Kind, r.Decision = audit.Settled, aaep.Accept
	}
	onRecord[r.QuestionID] = s.p.broker.Log.RecordLeft(r)
	return true
}

// settledElsewhere marks a question that another process settled before this one could: what came
// of it is not known here, and nothing is recorded or announced.
const settledElsewhere audit.Kind = "settled elsewhere"

// withdrawnPhrase returns the phrase that announces that the question of ev, which an earlier
// process left open, is withdrawn. onRecord has what recordLeft recorded of it.
func withdrawnPhrase(ev *aaep.Event, onRecord map[string]audit.Record) phrase.ID {
	token, _ := closes.Token(ev)
	switch {
	case ev.Type() != aaep.TypeAwaitingConfirmation:
		return phrase.QuestionWithdrawn
	case onRecord[audit.QuestionID(token)].Kind == audit.NotDone:
		return phrase.ActionNotBegun
	}
	return phrase.ActionWithdrawn
}

// phraseAboutQuestion is phraseAbout for a question of which only the event is known, as another
// process put it: it puts the event's action or question into the phrase, in every language that
// both have.
func (p *Producer) phraseAboutQuestion(id phrase.ID, ev *aaep.Event) speech {
	subject := func(payload aaep.Payload) string {
		switch q := payload.(type) {
		case *aaep.AwaitingConfirmation:
			return q.Action
		case *aaep.AwaitingClarification:
			return q.Question
		}
		return ""
	}
	return p.phraseSpeech(id, func(tag string) (string, bool) {
		for _, t := range ev.Translations {
			if t.Payload != nil && t.Language() == tag {
				return subject(t.Payload), true
			}
		}
		return subject(ev.Payload), tag == ev.Language() || tag == ""
	})
}

// replayUnsettled calls f with every event that was in the log at New and came after the point
// where it last recorded that no session was open. The error is that of the log, which may have a
// store.
func (p *Producer) replayUnsettled(f func(pos uint64, ev *aaep.Event)) error {
	for cursor := max(p.log.Settled(), p.log.Start()); cursor < p.began; {
		events, _, err := p.log.Read(cursor, 256)
		if start := p.log.Start(); errors.Is(err, log.ErrTrimmed) && start > cursor { // a store that has a hole
			cursor = start
			continue
		}
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
// announced that nothing was done. A question that one of them settled before is marked in
// onRecord. It waits for the shared log, at most questions.ClaimTime.
func (p *Producer) withdrawEverywhere(s *Session, onRecord map[string]audit.Record) error {
	if p.shared == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), questions.ClaimTime)
	defer cancel()
	for _, token := range s.machine.OpenQuestions() {
		data, _ := replica.EncodeClaim(p.shared.Node(), &ledger.Outcome{Cause: ledger.Withdrawn}, nil)
		if _, won, err := p.shared.Claim(ctx, string(token), data); err != nil {
			return err
		} else if !won {
			onRecord[audit.QuestionID(token)] = audit.Record{Kind: settledElsewhere}
			p.cfg.Logger.Warn("a question was settled just before this agent took over; what came of it is not known",
				"session_id", s.id)
		}
	}
	return nil
}

// newReplayedSession returns a session that another process began; ev, at pos, is the first event
// of it that the log has. The caller replays the events, ev included.
func newReplayedSession(p *Producer, pos uint64, ev *aaep.Event) *Session {
	s := &Session{p: p, id: ev.SessionID, began: ev.Timestamp, start: pos, openAsked: map[aaep.ReplyToken]*aaep.Event{}}
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
	s.replayAsked(ev)
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
	if token, asks := closes.Token(ev); asks {
		s.openAsked[token] = ev
	}
	if chunk, ok := ev.Payload.(*aaep.OutputStreaming); ok {
		s.replayChunk(ev.Language(), chunk)
	}
}

// replayChunk keeps the outputs to those that are open, each as it is after this chunk of one,
// whose language is the event's. replayEvent calls it.
func (s *Session) replayChunk(language string, chunk *aaep.OutputStreaming) {
	s.outputs = slices.DeleteFunc(s.outputs, func(o *Output) bool { return o.id == chunk.OutputID })
	if !chunk.Complete {
		s.outputs = append(s.outputs, &Output{s: s, id: chunk.OutputID,
			language: language, contentType: chunk.ContentType,
			position: chunk.Position + int64(utf8.RuneCountInString(chunk.Chunk)), listed: true, begun: true})
	}
}

// replayAsked keeps openAsked to the questions that are open, and accepted to the confirmation that
// was the newest to be accepted, until its call or another state is announced. replayEvent calls it
// after the machine has inferred what ev settles.
func (s *Session) replayAsked(ev *aaep.Event) {
	open, settled := s.machine.OpenQuestions(), (*aaep.Event)(nil)
	for token, asked := range s.openAsked {
		if !slices.Contains(open, token) {
			settled = asked
			delete(s.openAsked, token)
		}
	}
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		s.accepted = nil
		// A rejection leads to calling_tool as well, where another tool runs, but in other words.
		using, _ := phrase.In(ev.Language(), phrase.UsingATool, "")
		if settled != nil && settled.Type() == aaep.TypeAwaitingConfirmation &&
			p.ToState == aaep.StateCallingTool && ev.Summary.Normal == using {
			s.accepted = settled
		}
	case *aaep.ToolInvoked:
		if s.accepted != nil && closes.CallOf(s.accepted) == p.ToolCallID {
			s.accepted = nil
		}
	}
}
