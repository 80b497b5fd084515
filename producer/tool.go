package producer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/lifecycle"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/producer/audit"
)

// Tool is something the agent does to the world.
type Tool struct {
	// Name is told; characters the protocol does not allow in it are replaced by underscores. Title
	// is what users hear instead, where they know the tool by another name; it may be of any
	// characters, and empty.
	Name  string
	Title string
	// Risk is how much harm it can do; empty is aaep.RiskLow, and aaep.RiskHigh of what cannot be
	// undone.
	Risk aaep.Risk
	// Irreversible tools, and those of high risk, always ask first. Confirm makes others ask too.
	Irreversible bool
	Confirm      bool
	// Action says what will be done, Consequence what that means. Both are needed to ask, and what
	// the user is shown is what they agree to: neither may change between the question and the
	// action.
	Action      aaep.Text
	Consequence aaep.Text
	// ExtraContext is a JSON object of the agent's own that goes with the question, for programs
	// that know the agent, such as an order's number. It cannot have members "tool",
	// "tool_call_id" and "unanswered", which say what is asked about and what no answer means; an
	// error that is an *aaep.InvalidError says what is wrong. Users are not told it. Nil is none.
	ExtraContext json.RawMessage
	// Timeout is how long the user has to answer, rounded up to whole seconds: from 20, but see
	// Config.ShortTimeouts, to 86400. Users who declared that they need longer have longer, and can
	// ask for more. Zero is five minutes for what is irreversible or of high risk, two for medium
	// risk, one for low (§6.4.2).
	Timeout time.Duration
	// Default is what silence means. Empty is aaep.Reject; aaep.Accept is refused for what is
	// irreversible or of high risk.
	Default aaep.Decision
	// AsksElsewhere says that the agent puts the question to its user in its own window where it
	// gets no answer here, or withdraws it. Users are told so instead of that nothing is done.
	AsksElsewhere bool
	// RunTimeout bounds the run; zero is no bound.
	RunTimeout time.Duration
	// Modified takes over what a user changed before they accepted, as a JSON object in the agent's
	// own terms, and returns the tool as it is then, with the words for it: it is asked about anew,
	// and runs only if that is accepted as it is. Its name and RunTimeout stay, and it is never
	// less dangerous than before. Nil does not support changes, and takes an answer with changes as
	// a rejection (§6.3.2).
	Modified func(changes json.RawMessage) (Tool, error)
}

// mustAsk reports whether the user is asked before the tool runs (D-32).
func (t Tool) mustAsk() bool { return t.isHighImpact() || t.Confirm }

// isHighImpact reports whether the tool always asks, and runs only when the call has left for the
// subscribers that were asked (D-49).
func (t Tool) isHighImpact() bool { return t.Irreversible || t.Risk == aaep.RiskHigh }

// ErrRejected is returned by Tool and Confirm where the user said no, or accepted something else
// than was asked. Nothing was done.
var ErrRejected = errors.New("producer: the user rejected it")

// ErrTimedOut is returned by Tool, Confirm and the Ask methods where no answer came in time:
// silence means no, and nothing was done.
var ErrTimedOut = errors.New("producer: nobody answered in time")

// ErrUnreachable is returned by Tool, Confirm and the Ask methods where no subscriber can answer,
// or the last one that could has gone. Nothing was done.
var ErrUnreachable = errors.New("producer: nobody could be asked")

// Tool runs a tool and announces it. Where the tool must ask, it waits for the user's answer
// first and runs only if that is yes.
//
// Run is called at most once, after tool.invoked is in the log, with a context that ends with ctx,
// the session and RunTimeout, in which SessionOf finds the session. What happened is told
// afterwards; if run panics, that the action may have been done. Where a tool is irreversible or of
// high risk, tool.invoked leaves at once whatever rate was asked for, and run waits until the
// subscribers that were asked have it: two seconds at most, and not for a link that takes nothing.
// No other tool waits for a subscriber.
//
// The error is run's own, or says why it did not run: ErrRejected, ErrTimedOut, ErrUnreachable,
// ErrNotRecorded, ErrSessionOver, that of ctx, or an *aaep.InvalidError for a Tool that is not
// valid.
func (s *Session) Tool(ctx context.Context, t Tool, run func(context.Context) (string, error)) (string, error) {
	if s == nil || s.p == nil {
		return "", ErrNoSession
	}
	if run == nil {
		return "", errors.New("producer: Tool was given no function to run; without one, use Confirm")
	}
	if t.RunTimeout < 0 {
		return "", errors.New("producer: Tool.RunTimeout is negative; zero is no bound")
	}
	decision, done, err := s.Confirm(ctx, t)
	if decision != aaep.Accept {
		return "", err
	}
	ctx, cancel := context.WithCancel(context.WithValue(ctx, sessionKey{}, s))
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if t.RunTimeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, t.RunTimeout)
		defer stop()
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		crash := recover()
		if crash == nil { // runtime.Goexit, as t.FailNow calls it
			done(fmt.Errorf("the tool's function ended its goroutine; %w", errBrokeOff))
			return
		}
		done(fmt.Errorf("panic: %v; %w", crash, errBrokeOff))
		panic(crash)
	}()
	result, err := run(ctx)
	err = shield.CheckError(err)
	returned = true
	done(err)
	return result, err
}

// errBrokeOff is why a call has no result whose function panicked or ended its goroutine.
var errBrokeOff = errors.New("the action may have been done")

// Confirm does for an action that is no function what Tool does: it asks where the tool must,
// announces that the tool is invoked, and returns aaep.Accept when the action may be done. Then do
// it, and call done with its error, or nil. Anything but aaep.Accept comes with an error, and done
// does nothing.
func (s *Session) Confirm(ctx context.Context, t Tool) (d aaep.Decision, done func(error), err error) {
	done = func(error) {}
	if s == nil || s.p == nil {
		return "", done, ErrNoSession
	}
	if t.Risk == "" {
		t.Risk = aaep.RiskLow
		if t.Irreversible {
			t.Risk = aaep.RiskHigh
		}
	}
	call := t.newCall(s.p)
	defer func() { s.warnIfInvalid("tool", call.Tool, err) }()
	// A call whose events would not be valid is refused before the user is asked.
	if err := s.checkTool(t, call); err != nil {
		return "", done, err
	}
	var got confirmation // zero where the tool need not ask
	if t.mustAsk() {
		if t, call, got, err = s.askUntilUnchanged(ctx, t, call); err != nil {
			return aaep.Reject, done, err
		}
	}
	began, err := s.invokeTool(ctx, t, call, got)
	if err != nil {
		return "", done, err
	}
	var once sync.Once
	return aaep.Accept, func(err error) {
		once.Do(func() { s.finishCall(call, began, shield.CheckError(err), true) })
	}, nil
}

// askUntilUnchanged asks the user about a call of the tool, and asks anew about what the user made
// of it, maxModified times in all. It returns the tool and the call that were accepted, or an
// error, and then the action must not be done. Confirm calls it, holding no lock.
func (s *Session) askUntilUnchanged(ctx context.Context, t Tool, call toolCall) (
	_ Tool, _ toolCall, got confirmation, err error) {
	for range maxModified {
		if got, err = s.askConfirmation(ctx, t, call); err != nil || got.changes == nil {
			return t, call, got, err
		}
		call.ToolCallID = newID("call_") // the old one was rejected, for good
		if t, err = applyChanges(s.p.shield, t, got.changes); err == nil {
			call.data = s.p.checkData(t.Action)
			err = s.checkTool(t, call)
		}
		if err != nil {
			return t, call, got, fmt.Errorf("producer: the change was not taken over: %w", err)
		}
	}
	return t, call, got, ErrRejected
}

// toolCall is one call of a tool that is open.
type toolCall struct {
	lifecycle.ToolCall
	title string // the name that users hear
	begun *bool  // the action may have begun; guarded by the Session's mu
	data  *dataCheck
}

// newCall returns a new call of the tool, with an id of its own, that has not begun. Confirm and
// Invoked call it, holding no lock.
func (t Tool) newCall(p *Producer) toolCall {
	name := toolName(t.Name)
	return toolCall{lifecycle.ToolCall{ToolCallID: newID("call_"), Tool: name}, cmp.Or(t.Title, name), new(bool),
		p.checkData(t.Action)}
}

// checkTool returns an error if an event of a call would not be valid: that of its invocation, or
// the one with its title of its completion. It takes s.mu and changes nothing.
func (s *Session) checkTool(t Tool, call toolCall) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return ErrSessionOver
	}
	_, err := s.buildEvent(s.invokedEvent(t, call))
	if err == nil && t.Title != "" {
		words := s.p.speechOrPhrase(aaep.Text{}, phrase.ActionWithdrawn, call.title)
		_, err = s.buildEvent(words, &aaep.ToolCompleted{Tool: call.Tool, Status: aaep.ToolError})
	}
	return err
}

// invokedEvent returns the words and the payload of a call's tool.invoked. It changes nothing.
func (s *Session) invokedEvent(t Tool, call toolCall) (speech, *aaep.ToolInvoked) {
	words := s.p.speechOrPhrase(t.Action, phrase.UsingTool, call.title)
	words.data = call.data
	return words, &aaep.ToolInvoked{
		Tool: call.Tool, ToolCallID: call.ToolCallID, RiskLevel: t.Risk, Irreversible: &t.Irreversible}
}

// invokeTool announces that a tool is about to run, where its question did not, and returns when
// the action may begin, at began: tool.invoked is in the log and on record and, where the tool is
// irreversible or of high risk, has left for the subscribers that were asked and whose links take
// it, or maxDeliveryWait has passed (D-49). With an error the action must not begin; a call that
// was announced has then been completed. got is zero if the tool did not ask. Confirm calls it,
// holding no lock.
func (s *Session) invokeTool(ctx context.Context, t Tool, call toolCall, got confirmation) (began time.Time, err error) {
	pos, asked := got.pos, got.asked
	if asked == nil {
		if pos, err = s.announceCall(ctx, t, call); err != nil {
			return began, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	s.p.log.Wait(pos)
	r := audit.Record{Kind: audit.Invoked, AgentID: s.p.cfg.Agent.AgentID, SessionID: s.id,
		Tool: call.Tool, ToolCallID: call.ToolCallID, Risk: t.Risk, Irreversible: t.Irreversible}
	if asked != nil {
		r.QuestionID, r.ShownDigest = asked.Record.QuestionID, asked.Record.ShownDigest
	}
	if t.isHighImpact() {
		r.Untold = s.p.awaitAskedDelivery(ctx, pos, asked)
	}
	recorded := false
	if err = cmp.Or(ctx.Err(), s.ctx.Err()); err == nil {
		if recorded = s.p.broker.Log.Record(r) == nil; recorded {
			err = s.markBegun(ctx, call) // the session may have ended while it was recorded
		} else {
			err = ErrNotRecorded
		}
	}
	if err != nil {
		if asked != nil && !recorded {
			s.p.broker.Log.RecordNotDone(asked.Record)
		}
		s.finishCall(call, time.Now(), err, recorded)
		if s.ctx.Err() != nil {
			err = ErrSessionOver
		}
		return began, err
	}
	return time.Now(), nil
}

// markBegun marks the action of a call as begun, unless ctx or the session has ended. After that it
// counts as done, whatever comes. It takes s.mu.
func (s *Session) markBegun(ctx context.Context, call toolCall) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := cmp.Or(ctx.Err(), s.ctx.Err())
	*call.begun = err == nil
	return err
}

// announceCall enters the state calling_tool and emits the tool.invoked of a call that was not
// asked about. pos is the position of the event. invokeTool and Invoked call it. It takes s.mu.
func (s *Session) announceCall(ctx context.Context, t Tool, call toolCall) (pos uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if len(s.machine.OpenQuestions()) == 0 { // other work goes on while a question is open (§6.1)
		if err := s.enterState(aaep.StateCallingTool, aaep.Text{}); err != nil {
			return 0, err
		}
	}
	return s.emitCall(t, call)
}

// emitCall emits the tool.invoked of a call, at pos, and keeps the call among the open ones. The
// caller holds s.mu.
func (s *Session) emitCall(t Tool, call toolCall) (pos uint64, err error) {
	if pos, err = s.emitEvent(s.invokedEvent(t, call)); err == nil {
		s.calls = append(s.calls, call)
	}
	return pos, err
}

// finishCall emits how a call ended, with err or nil, and goes back to the state before it.
// recorded says that the beginning of the call is on record: it then records the end too, even
// after the end of the session, when nothing is emitted any more. The function that Confirm or
// Invoked returned calls it, or invokeTool. It takes s.mu, and waits for the audit log without it.
func (s *Session) finishCall(call toolCall, began time.Time, err error, recorded bool) {
	result := aaep.ToolCompleted{Status: aaep.ToolSuccess, DurationMS: milliseconds(time.Since(began))}
	words, why := phrase.ToolFinished, phrase.ID("")
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded):
		result.Status, words, why = aaep.ToolTimeout, phrase.ToolTookTooLong, phrase.TookTooLong
	default: // an error's own words may hold secrets
		result.Status, words, why = aaep.ToolError, phrase.ToolFailed, phrase.Failed
		if errors.Is(err, errBrokeOff) { // "failed" would invite the user to have it done again
			words = phrase.ToolEndUnknown
		}
		s.p.cfg.Logger.Warn("tool failed", "session_id", s.id, "tool", call.Tool, "error", err)
	}
	if recorded {
		// The record is written last, after the lock: if the session ends while it is written, the
		// end of the call has been emitted.
		defer s.p.broker.Log.Record(audit.Record{Kind: audit.Completed, SessionID: s.id,
			Tool: call.Tool, ToolCallID: call.ToolCallID, Status: result.Status, DurationMS: result.DurationMS})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	switch {
	case !*call.begun && errors.Is(err, ErrNotRecorded):
		words = phrase.ActionNotRecorded
	case !*call.begun || isRefusal(err):
		words = phrase.ActionWithdrawn
	}
	s.completeTool(call, result, words, why)
	if s.ctx.Err() == nil { // otherwise the session's last event follows
		s.resumeState(speech{})
	}
}

// isRefusal reports whether err is that of a call that ended without its action, because the user
// said no or could not be asked.
func isRefusal(err error) bool {
	return errors.Is(err, ErrRejected) || errors.Is(err, ErrTimedOut) || errors.Is(err, ErrUnreachable)
}

// completeTool emits tool.completed and takes the call off the open ones, with s.mu held. result
// says how it ended, summary is the phrase that users hear, and why the phrase for the error
// message, or "" for none. An event that is refused is logged.
func (s *Session) completeTool(call toolCall, result aaep.ToolCompleted, summary, why phrase.ID) {
	s.calls = slices.DeleteFunc(s.calls, func(c toolCall) bool { return c == call })
	result.Tool, result.ToolCallID = call.Tool, call.ToolCallID
	words := s.p.speechOrPhrase(aaep.Text{}, summary, call.title)
	result.ErrorMessage, _ = phrase.In(words.wordings[0].lang, why, "")
	words.setPayloads(func(tag string) (aaep.Payload, bool) {
		translated := result
		translated.ErrorMessage, _ = phrase.In(tag, why, "")
		return &translated, true
	})
	if _, err := s.emitEvent(words, &result); err != nil {
		s.p.cfg.Logger.Error("tool.completed was refused", "session_id", s.id, "error", err)
	}
}

// toolName returns the name of a tool as the protocol allows it (D-20), at most 256 bytes long.
// ASCII letters, digits, "_", "." and "-" stay; any other character becomes an underscore, and one
// is put before a digit, "." or "-" at the beginning.
func toolName(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r == '_', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
			b.WriteRune(r)
		case r >= '0' && r <= '9', r == '.', r == '-':
			if i == 0 {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	s := b.String()
	if len(s) > 256 {
		s = s[:256]
	}
	return s
}

// Invoked announces that a tool runs which is not run through the session, and waits for no
// subscriber: it is for programs that see the agent from outside, such as package producer/llm.
// Call done with its error, or nil. A tool that must ask is refused with an *aaep.InvalidError
// (§6.1): Tool and Confirm ask. A call that was only seen is not in the audit log.
func (s *Session) Invoked(t Tool) (done func(error), err error) {
	done = func(error) {}
	if s == nil || s.p == nil {
		return done, ErrNoSession
	}
	if t.mustAsk() {
		return done, invalidMember(aaep.TypeToolInvoked, "EVT-042", "/tool",
			"must ask before it runs; use Session.Tool or Session.Confirm")
	}
	t.Risk = cmp.Or(t.Risk, aaep.RiskLow)
	call := t.newCall(s.p)
	if err := s.checkTool(t, call); err != nil {
		return done, err
	}
	*call.begun = true
	if _, err := s.announceCall(s.ctx, t, call); err != nil {
		return done, err
	}
	began, once := time.Now(), sync.Once{}
	return func(err error) { once.Do(func() { s.finishCall(call, began, shield.CheckError(err), false) }) }, nil
}
