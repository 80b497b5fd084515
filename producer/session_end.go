package producer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/shield"
)

// Complete ends a session that reached its aim, and closes what is open in it. Text is what the
// user hears; empty is the package's own phrase. After the end it returns ErrSessionOver.
func (s *Session) Complete(text aaep.Text) error {
	if s == nil || s.p == nil {
		return ErrNoSession
	}
	return s.endSession(text, phrase.AgentFinished, func() aaep.Payload {
		return &aaep.SessionCompleted{
			DurationMS:           milliseconds(time.Since(s.began)),
			ToolInvocationsCount: new(int64(s.machine.ToolInvocations())),
		}
	})
}

// Fail ends a session that failed. Text is what the user hears. Cause decides the error category
// and is only logged, since errors may hold what is not meant for the user. Where cause is that the
// context ended that the session was started with, the session did not fail: it is cancelled, with
// text.
func (s *Session) Fail(cause error, text aaep.Text) error {
	if s == nil || s.p == nil {
		return ErrNoSession
	}
	cause = shield.CheckError(cause)
	if s.ctx.Err() != nil && (errors.Is(cause, context.Canceled) || errors.Is(cause, ErrSessionOver)) {
		return s.Cancel(aaep.CancelledByProducer, text)
	}
	category, code := categorizeError(cause)
	err := s.endSession(text, phrase.AgentFailed, func() aaep.Payload {
		return &aaep.SessionErrored{
			ErrorCategory: category, ErrorCode: code, Recoverable: new(category == aaep.ErrorTransient)}
	})
	if err == nil {
		s.p.cfg.Logger.Warn("session failed", "session_id", s.id, "error", cause)
	}
	return err
}

// Cancel ends a session that was stopped, with the event agent.session.cancelled: by says who
// stopped it, and an empty text gets words of the SDK's. It withdraws a question that is open. The
// error is ErrNoSession, ErrSessionOver, or that of the event.
func (s *Session) Cancel(by aaep.CancelledBy, text aaep.Text) error {
	if s == nil || s.p == nil {
		return ErrNoSession
	}
	return s.endSession(text, phrase.Cancelled, func() aaep.Payload {
		return &aaep.SessionCancelled{CancelledBy: by}
	})
}

// Failing says that something went wrong that the agent may yet mend: if Close or Shutdown is what
// ends the session, it fails, with cause and text as Fail takes them. The newest call counts, and
// one without a cause takes the earlier ones back.
func (s *Session) Failing(cause error, text aaep.Text) error {
	if s == nil || s.p == nil {
		return ErrNoSession
	}
	words := s.p.speechOrPhrase(text, phrase.AgentFailed, "")
	words.data = s.p.checkData(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return ErrSessionOver
	}
	if _, err := s.buildEvent(words, &aaep.SessionErrored{ErrorCategory: aaep.ErrorUnknown}); err != nil {
		return err
	}
	s.failing, s.failed = cause, text
	return nil
}

// endUnfinished ends a session that the agent has not ended: as failed after a call of Failing with
// a cause, and otherwise as cancelled by by. Close and Shutdown call it, without s.mu.
func (s *Session) endUnfinished(by aaep.CancelledBy) error {
	s.mu.Lock()
	cause, text := s.failing, s.failed
	s.mu.Unlock()
	if cause != nil {
		return s.Fail(cause, text)
	}
	return s.Cancel(by, aaep.Text{})
}

// Close ends the session if nothing else has: as failed while the goroutine panics or where Failing
// said so, as cancelled otherwise. Use it as "defer s.Close()", so that no way out of a function
// leaves a session open.
func (s *Session) Close() error {
	if s == nil || s.p == nil {
		return ErrNoSession
	}
	if crash := recover(); crash != nil {
		s.Fail(fmt.Errorf("panic: %v", crash), aaep.Text{})
		panic(crash)
	}
	if err := s.endUnfinished(aaep.CancelledByProducer); err != nil && !errors.Is(err, ErrSessionOver) {
		return err
	}
	return nil
}

// endSession closes what is open, in the order that the protocol requires, and ends the session
// (D-30): it withdraws the questions, completes the tool calls and the outputs, and emits the last
// event. payload makes that event's payload and is called with s.mu held; emptyText is the phrase
// that is said in place of an empty text. It takes s.mu, and waits for the broker. If the last
// event would not be valid, the session goes on, and the error is an *aaep.InvalidError; after the
// end it is ErrSessionOver.
func (s *Session) endSession(text aaep.Text, emptyText phrase.ID, payload func() aaep.Payload) error {
	words := s.p.speechOrPhrase(text, emptyText, "")
	words.data = s.p.checkData(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return ErrSessionOver
	}
	end := payload()
	// The last event is checked first: one that is not valid must not leave a session half closed.
	if _, err := s.buildEvent(words, end); err != nil {
		return err
	}
	s.end() // before the questions are withdrawn: askQuestion returns ErrSessionOver
	if s.unwatch != nil {
		s.unwatch()
	}
	s.withdrawQuestions()
	s.completeTools()
	for _, o := range slices.Clone(s.outputs) {
		o.completeStream()
	}
	_, err := s.emitEvent(words, end)
	s.over = true
	s.p.mu.Lock()
	s.p.sessions = slices.DeleteFunc(s.p.sessions, func(x *Session) bool { return x == s })
	s.p.mu.Unlock()
	return err
}

// withdrawQuestions settles the open questions of the session as rejected, and announces that, with
// s.mu held. endSession calls it; it waits for the broker.
func (s *Session) withdrawQuestions() {
	s.p.broker.Withdraw("", s.id)
	for _, token := range s.machine.OpenQuestions() {
		s.p.board.Forget(token)
		s.machine.Settled(token, aaep.Reject)
		if s.explainSettled != nil { // it is announced that the action was not done
			news, _ := s.explainSettled(&ledger.Outcome{Cause: ledger.Withdrawn, Decision: aaep.Reject})
			if err := s.resumeState(news); err != nil {
				s.p.cfg.Logger.Error("the end of a question was refused", "session_id", s.id, "error", err)
			}
		}
	}
}

// completeTools emits tool.completed for the open tool calls of the session, whose result will not
// be known, with s.mu held. One whose action has not begun is announced as withdrawn. endSession
// calls it.
func (s *Session) completeTools() {
	for _, open := range s.machine.OpenTools() {
		call, words := toolCall{ToolCall: open, title: open.Tool}, phrase.ToolEndUnknown // another process began it
		if i := slices.IndexFunc(s.calls, func(c toolCall) bool { return c.ToolCall == open }); i >= 0 {
			if call = s.calls[i]; !*call.begun {
				words = phrase.ActionWithdrawn
			}
		}
		s.completeTool(call, aaep.ToolCompleted{Status: aaep.ToolError}, words, phrase.SessionEnded)
	}
}

// categorizeError returns the category and the code that tell the user what an error means
// (§4.1.3): transient for a timeout, requires_user for a lack of permission, unknown for all
// others. The code is empty where nothing is known beyond that.
func categorizeError(err error) (aaep.ErrorCategory, string) {
	var timeout interface{ Timeout() bool }
	var temporary interface{ Temporary() bool }
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return aaep.ErrorTransient, "TIMEOUT"
	case errors.As(err, &temporary) && temporary.Temporary():
		return aaep.ErrorTransient, ""
	case errors.Is(err, fs.ErrPermission):
		return aaep.ErrorRequiresUser, "PERMISSION_DENIED"
	}
	return aaep.ErrorUnknown, ""
}

// milliseconds returns a duration in milliseconds, or nil if it is negative or above a day (D-26).
func milliseconds(d time.Duration) *int64 {
	if d < 0 || d > 24*time.Hour {
		return nil
	}
	return new(d.Milliseconds())
}
