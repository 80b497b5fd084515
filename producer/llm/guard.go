package llm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/producer"
)

// Guard returns a tool's function that asks the user first and calls run only if the answer is yes.
// Name is what the model calls the tool; a call by a name that is none of those that models were
// given is an error at once. Describe says, of one call's arguments, what will be done and what
// that means; its Name may be left empty, and a call of no Risk is of a high one. Only one that it
// says is of low or medium risk, and not that it is irreversible or to be confirmed, runs without a
// question and is merely told. Where it says no Action, or is nil, the question is made of the
// tool's name and of the arguments, as they are in JSON. The tool is told of when it runs and not
// before, in the session whose Context ctx is, or else in the one whose model wants it. Where
// several want it, that is the one whose request was made with the same ctx; where that does not
// tell them apart either, the call has a session of its own.
//
// What the model is to hear of a no is the result, without an error; run was then not called. An
// error is run's own, or says why the user could not be asked in these words. A panic in describe
// is such an error, and is logged with slog. Run does what
// describe has said and nothing else, so an answer that changes it is a no: Modified is not used.
// Arguments that are not the same in JSON once the user has answered are an error, and not run.
func Guard[In any](t *Tap, name string, describe func(In) producer.Tool,
	run func(context.Context, In) (string, error)) func(context.Context, In) (string, error) {
	errMade := t.checkMade()
	if errMade == nil {
		t.mu.Lock()
		t.guarded[clipKey(name)] = true
		t.mu.Unlock()
	}
	return func(ctx context.Context, in In) (string, error) {
		if errMade != nil {
			return "", errMade
		}
		if err := t.checkKnownTool(name); err != nil {
			return "", err
		}
		var tool producer.Tool
		if describe != nil {
			var err error
			if tool, err = describeCall(name, describe, in); err != nil {
				return "", err
			}
		}
		tool.Name, tool.Modified = name, nil
		tool.Risk = cmp.Or(tool.Risk, aaep.RiskHigh) // the default is the careful one
		askedArgs, err := t.prepareQuestion(&tool, in)
		if err != nil {
			return "", err
		}
		s, end, err := t.sessionOfCall(ctx, tool)
		if err != nil {
			return "", err
		}
		toolErr, ran := errors.New("llm: the tool panicked"), false
		defer func() { end(toolErr) }()
		var result string
		result, toolErr = s.Tool(ctx, tool, func(ctx context.Context) (string, error) {
			ran = true
			if err := checkUnchanged(name, in, askedArgs); err != nil {
				return "", err
			}
			return run(ctx, in)
		})
		if refusal := Refusal(name, toolErr); refusal != "" && !ran {
			return refusal, nil
		}
		return result, toolErr
	}
}

// describeCall calls what the author of the agent wrote to describe a call. A panic there is logged
// with slog and returned as an error: nothing was asked, and nothing is run.
func describeCall[In any](name string, describe func(In) producer.Tool, in In) (tool producer.Tool, err error) {
	defer func() {
		if crash := recover(); crash != nil {
			slog.Error("llm: panic in what describes a guarded call; nobody was asked, and nothing is run", "tool", name,
				"panic", crash, "stack", string(debug.Stack()))
			err = fmt.Errorf("llm: %s was not run, for what describes the call panicked: %v", name, crash)
		}
	}()
	return describe(in), nil
}

// prepareQuestion gives a tool that the user must be asked about the words of the question, unless
// it has some. It returns the arguments in JSON, as they are at this time, or nil if the user need
// not be asked, or if the arguments have no JSON and are not part of the words.
func (t *Tap) prepareQuestion(tool *producer.Tool, in any) (args []byte, err error) {
	mustAsk := tool.Irreversible || tool.Confirm || tool.Risk == aaep.RiskHigh
	if !mustAsk {
		return nil, nil
	}
	args, err = json.Marshal(in)
	if !tool.Action.IsZero() {
		return args, nil
	}
	if err != nil {
		return nil, fmt.Errorf("llm: the arguments of %s cannot be told: %w", tool.Name, err)
	}
	tool.Action = toolwords.Use(t.languages, cmp.Or(tool.Title, tool.Name), args)
	if tool.Consequence.IsZero() {
		tool.Consequence = phrase.Text(t.languages, phrase.MayDestroy, "")
	}
	return args, nil
}

// checkUnchanged returns an error if the arguments of a call are not what the user was asked about.
// asked is nil if there is nothing to compare them with.
func checkUnchanged(name string, in any, asked []byte) error {
	if asked == nil {
		return nil
	}
	if current, err := json.Marshal(in); err != nil || !bytes.Equal(current, asked) {
		return fmt.Errorf("llm: %s was not run, for its arguments changed while the user was asked: %w",
			name, producer.ErrRejected)
	}
	return nil
}

// What a model hears of a call that was not done. A Tap that finds one of them in a tool's result
// tells that it was not done.
const (
	refusedNo    = "The user was asked and said no."
	refusedLate  = "The user was asked and did not answer in time."
	refusedAlone = "Only the user can allow this, and nobody could be asked."
	unknownTool  = "llm: Guard does not know which tool this is: "
)

// Refusal says to a model, in English, which tool did not run and why, where its user or their
// absence is the reason; else it returns "". The error is one of Session.Tool.
func Refusal(tool string, err error) string {
	reason := ""
	switch {
	case errors.Is(err, producer.ErrRejected):
		reason = refusedNo
	case errors.Is(err, producer.ErrTimedOut):
		reason = refusedLate
	case errors.Is(err, producer.ErrUnreachable):
		reason = refusedAlone
	default:
		return ""
	}
	return "Not done: " + tool + ". " + reason
}

// checkKnownTool returns an error for a guarded call by a name that is none of the tools that
// models were given: the tool under its own name is not guarded, and was announced as if it ran.
func (t *Tap) checkKnownTool(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.knownTools) == 0 || t.toolsIncomplete || t.knownTools[clipKey(name)] {
		return nil
	}
	names := slices.Sorted(maps.Keys(t.knownTools))
	return fmt.Errorf("%sit was given the name %q, and the models have only %s; nothing was asked, and nothing run",
		unknownTool, name, strings.Join(names[:min(len(names), 20)], ", "))
}

// sessionOfCall returns the session that a guarded tool is called in, and a function that the
// caller calls with the tool's error once the tool has ended. It is the session of the turn whose
// model wants the tool, that of ctx, or else a new one, which end then ends.
func (t *Tap) sessionOfCall(ctx context.Context, tool producer.Tool) (s *producer.Session, end func(error), err error) {
	if x := t.claimCall(ctx, tool.Name); x != nil {
		return x.session, func(error) { x.endGuarded(ctx) }, nil
	}
	if s = producer.SessionOf(ctx); s != nil {
		return s, func(error) {}, nil
	}
	summary := tool.Action
	if summary.IsZero() {
		summary = phrase.Text(t.languages, phrase.UsingTool, cmp.Or(tool.Title, tool.Name))
	}
	if s, err = t.producer.StartSession(context.WithoutCancel(ctx), summary); err != nil {
		return nil, nil, err
	}
	return s, func(err error) {
		switch {
		case err == nil || Refusal("", err) != "":
			s.Complete(aaep.Text{})
		case errors.Is(ctx.Err(), context.Canceled): // the caller has given it up
			s.Cancel(aaep.CancelledByProducer, aaep.Text{})
		default:
			s.Fail(err, aaep.Text{})
		}
	}, nil
}

// claimCall returns the turn whose model wants a guarded tool that is called with ctx, and marks
// the call as claimed. It returns nil where that is not certain: a tool of one conversation must
// not be announced in another.
func (t *Tap) claimCall(ctx context.Context, name string) *turn {
	s := producer.SessionOf(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	var candidates, sameContext []*turn
	for _, x := range t.turns {
		if x.unclaimedCall(name) == nil || s != nil && x.session != s {
			continue
		}
		if candidates = append(candidates, x); x.done == ctx.Done() {
			sameContext = append(sameContext, x)
		}
	}
	if len(candidates) > 1 {
		candidates = sameContext
	}
	if len(candidates) != 1 {
		return nil
	}
	x := candidates[0]
	x.unclaimedCall(name).claimed = true
	x.guardedRunning++
	return x
}

// unclaimedCall returns the oldest wanted call of a guarded tool that was not claimed yet, or nil.
// The caller holds tap.mu.
func (x *turn) unclaimedCall(name string) *call {
	for _, c := range x.calls {
		if c.name == clipKey(name) && !c.claimed {
			return c
		}
	}
	return nil
}

// endGuarded handles that a guarded tool of this turn, which ran with ctx, has ended. It ends the
// session if nothing else is waited for, as when the agent has gone on without the tool. Otherwise
// the agent has retryGrace or resultTimeout to go on: after a cancelled tool, it seems to have
// given the turn up.
func (x *turn) endGuarded(ctx context.Context) {
	x.tap.mu.Lock()
	x.guardedRunning--
	x.changes++
	isOver := x.isOwned && x.isIdle()
	if isOver {
		x.tap.removeTurn(x)
	}
	x.tap.mu.Unlock()
	switch {
	case isOver:
		x.session.Complete(aaep.Text{})
	case x.isOwned && errors.Is(ctx.Err(), context.Canceled):
		x.giveUpAfter(retryGrace, func() { x.session.Cancel(aaep.CancelledByProducer, aaep.Text{}) })
	case x.isOwned:
		x.giveUpAfter(resultTimeout, x.giveUp)
	}
}
