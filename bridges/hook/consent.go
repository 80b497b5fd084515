package hook

import (
	"context"
	"errors"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/form"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// Consent. What a person accepts is always one call, put to them in all its words. decidePermission
// is the only function that calls answer with an output that allows something, and does so only
// after Session.Confirm has returned aaep.Accept for that call.

const (
	mostTold    = 15000 // bytes of an action or a consequence, of which the protocol takes 16,384
	mostContext = 4096  // bytes of what a choice is about
)

// decidePermission asks the user whether the call about, of an input, may be done, and answers the
// agent with r: allowed once by a yes, forbidden by a no. Without an answer, or anyone who can
// answer, it leaves the question to the agent's own window, and announces that. It returns when the
// hook can end.
func (c *conversation) decidePermission(ctx context.Context, in *input, about *call, r reply) {
	t := c.noteAsked(about)
	if t == nil {
		return
	}
	tool, canAsk := c.prepareQuestion(in, about, r)
	if !canAsk {
		return
	}
	if c.d.isFinal && r.unanswered != nil && r.unanswered(encodeOutput(c.d.deny(unanswered))) != nil {
		return // the hook is gone
	}
	ctx, stop := c.countQuestion(ctx, t)
	decision, done, err := t.s.Confirm(ctx, tool)
	withdrawn := ctx.Err() != nil
	stop()
	reason, isOver := c.noteDecision(about, t, decision, done, err, withdrawn)
	if errors.Is(err, producer.ErrRejected) {
		r.answer(encodeOutput(c.d.deny(declined)))
		return
	}
	if reason != "" {
		r.answer(encodeOutput(c.d.deny(reason)))
	}
	switch {
	case isOver:
	case withdrawn:
		c.announceText(c.d.name + " does not wait for an answer here any more.")
	case decision == aaep.Accept:
		if c.d.allow != nil && r.answer(encodeOutput(c.d.allow())) != nil {
			c.noteUndelivered(about)
		}
	case reason != "" && reason != untold:
	case errors.Is(err, producer.ErrTimedOut), errors.Is(err, producer.ErrUnreachable):
		c.announceText(c.d.name + " asks now in its own window.")
	default: // such as for a secret in it
		c.announceText("It asks for something that cannot be told here, such as for a secret in it. " +
			c.elsewhereText(true))
	}
}

// noteAsked notes that a call is asked about, so that it is not announced as running meanwhile. It
// returns the turn that the question belongs to, or nil if there is none.
func (c *conversation) noteAsked(about *call) *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if about == nil || c.turn == nil {
		return nil
	}
	about.asked = true
	if about.soon != nil {
		about.soon.Stop()
	}
	return c.turn
}

// prepareQuestion returns the confirmation of a call, or false if the user is not asked here: it
// then announces why. An agent without a question of its own goes on where no one can answer, and
// is answered no where its call is too long to be told whole to the user who could.
func (c *conversation) prepareQuestion(in *input, about *call, r reply) (tool producer.Tool, canAsk bool) {
	answerable := c.isAnswerable()
	tool, unasked := c.newQuestion(in, answerable)
	if unasked == nil && answerable {
		return tool, true
	}
	if unasked != nil {
		c.announceText(unasked.text)
		if unasked.tooLong && c.d.isFinal && answerable {
			c.refuseUntold(about, r)
		}
		return tool, false
	}
	if c.d.isFinal {
		c.noteBegun(about)
		return tool, false
	}
	c.announceText("It waits for you in its own window: " + actionOf(tool))
	return tool, false
}

// noteDecision applies the result of Session.Confirm (decision, done and err) to a call of the turn
// t; withdrawn says that the agent waits no more. reason is what an agent without a question of its
// own is answered with instead of a yes, or "". over says that the turn has ended.
func (c *conversation) noteDecision(about *call, t *turn, decision aaep.Decision, done func(error), err error,
	withdrawn bool) (reason string, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if accepted := decision == aaep.Accept && !withdrawn && !t.over; c.d.isFinal && !accepted {
		reason = unanswered
		var invalid *aaep.InvalidError // the question was put to no user
		switch {
		case errors.Is(err, producer.ErrNotRecorded):
			reason = unsettled
		case errors.As(err, &invalid):
			reason = untold
		}
		about.denied = true
	}
	switch {
	case decision == aaep.Accept && (withdrawn || t.over):
		done(context.Canceled)
	case decision == aaep.Accept:
		if about.done != nil { // it was told as running before it asked
			about.done(nil)
		}
		about.done = done
	case errors.Is(err, producer.ErrRejected):
		about.denied = true
		if about.done != nil {
			about.done(producer.ErrRejected)
			about.done = nil
		}
	}
	return reason, t.over
}

// unaskedCall says why a call is not put to the user.
type unaskedCall struct {
	text    string // what the user hears of it
	tooLong bool   // it cannot be told whole
}

// refuseUntold answers no to a call that cannot be put to the user who is there: an agent that asks
// no question of its own would do it unasked, and could have any call pass by making it long.
func (c *conversation) refuseUntold(about *call, r reply) {
	c.mu.Lock()
	about.denied = true
	c.mu.Unlock()
	r.answer(encodeOutput(c.d.deny(untold)))
}

// elsewhereText says what becomes of a call that is not asked about here, where there is a user who
// could be asked or not.
func (c *conversation) elsewhereText(answerable bool) string {
	switch {
	case c.d.isFinal && answerable:
		return "It is not allowed."
	case c.d.isFinal:
		return "It is not asked about, and goes on by the rules of " + c.d.name + "."
	}
	return "Answer it in its own window."
}

// noteBegun announces a call that runs though no user could be asked about it.
func (c *conversation) noteBegun(about *call) {
	prefix := c.agentPrefix()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn != nil && !c.b.cfg.QuietUntilDone {
		c.turn.announceInvoked(about, prefix)
	}
}

// noteUndelivered announces that a call which was accepted was not done, because the agent did not
// get the yes.
func (c *conversation) noteUndelivered(about *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if about.done != nil {
		about.done(context.Canceled)
	}
	about.done = func(error) {}
}

// countQuestion counts an open question of a turn, and returns a context for it, which ends with
// ctx and when the turn is withdrawn. The caller calls stop once the question is settled. It takes
// c.mu, as stop does.
func (c *conversation) countQuestion(ctx context.Context, t *turn) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	detach := context.AfterFunc(t.asking, cancel)
	c.mu.Lock()
	defer c.mu.Unlock()
	t.open++
	return ctx, func() {
		detach()
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		t.open--
	}
}

// isAnswerable reports whether a connected subscriber has offered to answer confirmations; without
// one, the agent's own question is left to its window.
func (c *conversation) isAnswerable() bool {
	for _, s := range c.b.p.Subscriptions() {
		if yes := s.Terms.SupportsConfirmationReply; s.Connected && yes != nil && *yes {
			return true
		}
	}
	return false
}

// newQuestion returns the confirmation of a call; or why it cannot be one, and what becomes of the
// call where there is a user who could be asked or not.
func (c *conversation) newQuestion(in *input, answerable bool) (producer.Tool, *unaskedCall) {
	tool := c.describeCall(in)
	switch {
	case onlyThere[in.Tool]:
		return tool, &unaskedCall{text: "It asks you something in its own window: " + toolwords.Line(questionIn(in))}
	case in.cut || !c.canBeTold(in, tool):
		return tool, &unaskedCall{tooLong: true,
			text: "It asks for permission for something that is too long to be told. " + c.elsewhereText(answerable)}
	}
	origin := words.Sentence(c.d.name + " asks, in the folder " + toolwords.Exact(in.Folder))
	consequence := strings.TrimSpace(c.consequenceText(in) + " " + origin)
	tool.Action = aaep.Say(c.agentPrefix() + actionOf(tool))
	tool.Confirm, tool.Timeout, tool.AsksElsewhere = true, c.b.cfg.AnswerTime, !c.d.isFinal
	tool.Risk = aaep.RiskHigh
	tool.Consequence = aaep.Say(consequence)
	return tool, nil
}

// fillForm asks for what a server of tools wants to know, field by field, and answers it. A form
// that cannot be asked here, and what is not answered, is left to the agent's own window.
func (c *conversation) fillForm(ctx context.Context, in *input, answer func([]byte) error) {
	t := c.beginTurn("")
	if t == nil {
		return
	}
	message := toolwords.Line(in.Message)
	if in.Mode == "url" {
		c.announceText("It wants you to open an address, and asks that in its own window: " + words.Sentence(message))
		return
	}
	questions, err := form.Questions(words.Fit(message, mostContext), in.Schema)
	if err != nil || in.cut || !c.isAnswerable() {
		c.announceText("It wants to know something, and asks that in its own window: " + words.Sentence(message))
		return
	}
	ctx, stop := c.countQuestion(ctx, t)
	answers, err := form.Fill(ctx, t.s, questions)
	withdrawn := ctx.Err() != nil
	stop()
	if err == nil && !withdrawn && answers.Action != form.Cancel {
		answer(encodeOutput(formOutput(answers)))
	}
}
