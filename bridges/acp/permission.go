package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// Consent. An agent asks whether it may go on with a call and offers options, each of a kind. What
// a person accepts is always one option, named to them in a confirmation; grant is the only
// function that answers with an option that allows something.
//
// - One option of the kind allow_once: a confirmation, to which yes selects that option. - Any
// other set of options: a choice by the agent's own names, and then the same confirmation of what
// was chosen. - allow_always: only where it was chosen by its name, as with Choose; the
// confirmation then says what it will mean. - Everything else, such as no, silence, or no
// subscriber to ask: reject_once where the agent offers it, or else cancelled.

const (
	answerTime      = 5 * time.Minute // to answer a question, where Config does not say
	maxOptions      = 32              // of one permission
	maxToldBytes    = 15000           // bytes of an action or a consequence, of which the protocol takes 16,384
	maxContextBytes = 4096            // bytes of what a choice is about
)

// Option is one of the answers that an agent offers to a question of its own.
type Option struct {
	Name   string // the agent's, safe to show
	Allows bool   // it lets the agent go on
	Always bool   // and counts for later too
}

// A permission is one that an agent asks for, or that is asked for what it has its client do; then
// only call and about are set.
type permission struct {
	request *request
	call    *call
	about   call // the call as it was when it was asked about: what the agent changes later was not asked
	options []permissionOption
	change  chan permissionOption // what Choose chose instead of the answer
}

// answerPermission answers session/request_permission with what the user decides. It runs on a
// goroutine of its own. One that cannot be read is refused, and that is announced; between an
// editor and an agent, what no listener answers is left to the editor.
func (c *Conversation) answerPermission(r *request) {
	ask, err := c.agent.decodePermission(r)
	if err != nil {
		r.refuse(jsonrpc2.CodeInvalidParams, "the request for permission cannot be read")
		c.reportNews("The agent asked for permission in a way that cannot be read. It was not allowed.")
		return
	}
	var otherwise any = cancelledOutcome()
	if c.agent.besideEditor {
		otherwise = nil // which the tee passes on as nothing
	}
	c.runInTurn(r, "The agent asks for permission.", otherwise, func(t *turn) { t.askPermission(r, ask) })
}

// decodePermission reads a request for permission of the version that was agreed on; one of version
// 2 is made like one of version 1.
func (a *Agent) decodePermission(r *request) (ask permissionRequest, err error) {
	if !a.cfg.Version2 {
		return ask, decodeParams(r.params, &ask)
	}
	var ask2 permissionRequest2
	err = decodeParams(r.params, &ask2)
	return ask2.asVersion1(string(r.id)), err
}

// askPermission puts the question of a permission and answers the request. What allows is answered
// by grantOption alone; here it is a rejection, or cancelled. Where the turn is over or was
// stopped, it is cancelled; beside an editor it then has no answer of ours. It returns when the
// request is settled.
func (t *turn) askPermission(r *request, ask permissionRequest) {
	p := t.beginPermission(r, ask)
	if p == nil {
		if !t.c.agent.besideEditor {
			r.sendResult(cancelledOutcome())
		}
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	defer context.AfterFunc(t.asking, cancel)()
	var option permissionOption
	err := t.putQuestion(ctx, r, p, func() (err error) {
		option, err = t.askForOption(ctx, p)
		return err
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && allowsAction(option) {
		return // grant has answered
	}
	cancelled := t.halted || ctx.Err() != nil
	decided := !cancelled && (err == nil || errors.Is(err, producer.ErrRejected))
	if t.c.agent.besideEditor && !decided {
		return // the editor answers it
	}
	p.call.deny()
	switch {
	case cancelled:
		r.sendResult(cancelledOutcome())
	case err == nil:
		r.sendResult(selectedOutcome(option)) // a rejection that was chosen by its name
	default:
		r.sendResult(p.rejection())
	}
}

// beginPermission enters the tool call that a permission is about as one that was asked for, so
// that it is not announced as running meanwhile, and ends the text that is being told. Options that
// cannot be chosen here are left out. It returns nil if the turn is over, or if there is no such
// call: nothing can be asked then.
func (t *turn) beginPermission(r *request, ask permissionRequest) *permission {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endText()
	call := t.mergeCall(ask.ToolCall)
	if call == nil || t.ended || t.halted {
		return nil
	}
	call.asked = true
	if call.reportTimer != nil {
		call.reportTimer.Stop()
	}
	return &permission{request: r, call: call, about: *call, options: usableOptions(ask.Options),
		change: make(chan permissionOption, 1)}
}

// deny notes that a call was not allowed. One that was told as running before it asked has ended.
// The turn's lock is held.
func (c *call) deny() {
	c.denied = true
	if c.done != nil {
		c.done(producer.ErrRejected)
		c.ended = true
	}
}

// rejection returns the first option that rejects this once, or else that the request is cancelled.
func (p *permission) rejection() permissionResponse {
	for _, o := range p.options {
		if o.Kind == rejectOnce {
			return selectedOutcome(o)
		}
	}
	return cancelledOutcome()
}

// putQuestion waits until the requests before r are answered, since Details and Options are about
// one question, and then calls ask. Beside an editor, which shows all questions, nothing waits. p
// is nil for a question that is no permission. The error is that of ctx or of ask; where it means
// that no question could be put, that is announced.
func (t *turn) putQuestion(ctx context.Context, r *request, p *permission, ask func() error) error {
	if r.place != nil {
		select {
		case <-r.place:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if p != nil {
		t.mu.Lock()
		t.openPermissions = append(t.openPermissions, p)
		t.setNewest(p.call)
		t.mu.Unlock()
		defer func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			i := slices.Index(t.openPermissions, p)
			t.openPermissions = slices.Delete(t.openPermissions, i, i+1)
		}()
	}
	t.c.agent.waitBeforeAsking(ctx)
	err := ask()
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, producer.ErrRejected), errors.Is(err, producer.ErrTimedOut),
		errors.Is(err, producer.ErrUnreachable),
		errors.Is(err, context.Canceled), errors.Is(err, errOnlyEditor):
	default:
		t.reportNotice("What the agent asks cannot be put to you, and was not allowed: " +
			words.Sentence(toolwords.Label(err.Error())))
	}
	return err
}

// errOnlyEditor is returned where no answer of a listener could be passed on.
var errOnlyEditor = errors.New("acp: only the editor can answer it")

// askForOption returns the option that the user chose: where one option allows the action once, by
// a yes or no, else out of all options. If that option allows something, grantOption has answered
// the request already. The error is ErrRejected where there is nothing to allow, or that of the
// question.
func (t *turn) askForOption(ctx context.Context, p *permission) (option permissionOption, err error) {
	var once []permissionOption
	allowing := 0
	for _, o := range p.options {
		if allowsAction(o) {
			allowing++
		}
		if o.Kind == allowOnce {
			once = append(once, o)
		}
	}
	switch {
	case len(once) == 1:
		return t.confirmOption(ctx, p, once[0])
	case allowing == 0 && t.c.agent.besideEditor:
		return option, errOnlyEditor
	case allowing == 0:
		t.reportNotice("The agent asks for permission, and offers no way to allow it: " +
			words.Sentence(toolwords.Line(p.about.title)) + " It was not allowed.")
		return option, producer.ErrRejected
	}
	if option, err = t.putChoice(ctx, p); err != nil || !allowsAction(option) {
		return option, err
	}
	return t.confirmOption(ctx, p, option)
}

// putChoice puts the options as a choice by the agent's own names, and returns the one that was
// chosen. What allows is confirmed after it.
func (t *turn) putChoice(ctx context.Context, p *permission) (permissionOption, error) {
	consequence := words.Fit(p.about.describeConsequence(t.c.agent.cfg), maxContextBytes)
	q := producer.Question{Text: aaep.Say(words.Fit(p.about.describeAction(), maxToldBytes) + " What do you answer?"),
		Context: aaep.Say(consequence), Timeout: t.c.agent.cfg.AnswerTime}
	for i, o := range p.options {
		q.Choices = append(q.Choices, producer.Choice{Value: fmt.Sprint(i + 1), Label: aaep.Say(optionName(o))})
	}
	if len(q.Choices) == 1 { // a choice needs two
		q.Choices = append(q.Choices, producer.Choice{Value: "0", Label: aaep.Say("None of it")})
	}
	answer, err := t.s.AskChoice(ctx, q)
	if err != nil {
		return permissionOption{}, err
	}
	for i, o := range p.options {
		if answer == fmt.Sprint(i+1) {
			return o, nil
		}
	}
	return permissionOption{}, producer.ErrRejected
}

// confirmOption asks whether one option is what the user wants, and answers with it on a yes. If
// another is chosen with Choose while the question is open, that one is asked about instead.
func (t *turn) confirmOption(ctx context.Context, p *permission, option permissionOption) (permissionOption, error) {
	for {
		change, err := t.grantOption(ctx, p, option)
		if change.Kind == "" || ctx.Err() != nil {
			return option, err
		}
		if option = change; !allowsAction(option) {
			return option, nil
		}
	}
}

var errChanged = errors.New("acp: another option was chosen")

// grantOption asks whether an option is what the user wants, and answers the request with it only
// on a yes. change is the option that was chosen with Choose instead, if any. It is the only place
// that answers with an option that allows. The error is that of the question.
func (t *turn) grantOption(ctx context.Context, p *permission,
	option permissionOption) (change permissionOption, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case change = <-p.change:
			cancel(errChanged)
		case <-ctx.Done():
		}
	}()
	decision, done, err := t.s.Confirm(ctx, t.optionConfirmation(p, option))
	cancel(nil)
	<-watched
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case decision != aaep.Accept:
		return change, err
	case t.halted || t.ended || change.Kind != "" || !p.request.sendResult(selectedOutcome(option)):
		done(context.Canceled)
		return change, context.Canceled
	}
	if p.call.done != nil {
		p.call.done(nil)
	}
	p.call.done, p.call.denied = done, false
	t.keepGrants(p.about)
	return permissionOption{}, nil
}

// optionConfirmation returns the confirmation of an option, which is always of high risk, with what
// the option covers and what the call does in its words.
func (t *turn) optionConfirmation(p *permission, option permissionOption) producer.Tool {
	tool := p.about.asTool()
	tool.Confirm, tool.Timeout, tool.AsksElsewhere = true, t.c.agent.cfg.AnswerTime, t.c.agent.besideEditor
	tool.Risk, tool.Irreversible = aaep.RiskHigh, p.about.kind == "delete" // whatever kind the agent says that it is
	consequence := p.about.describeConsequence(t.c.agent.cfg)
	switch name := optionName(option); {
	case option.Kind == allowAlways:
		tool.Action = aaep.Say(fmt.Sprintf("Allow it from now on without being asked, which the agent calls \"%s\".",
			name))
		consequence = "What this covers the agent decides, and it asks no more about that. Now it wants to do this: " +
			p.about.describeAction() + " " + consequence
	case !plainYes[strings.ToLower(name)]:
		consequence += fmt.Sprintf(" Yes is answered as \"%s\".", name)
	}
	tool.Consequence = aaep.Say(words.Fit(consequence, maxToldBytes))
	return tool
}

// plainYes are names of options that say nothing but yes, once.
var plainYes = map[string]bool{"allow": true, "allow once": true, "yes": true, "yes, allow once": true, "accept": true,
	"approve": true, "approve once": true, "proceed": true, "proceed once": true, "run": true, "run once": true,
	"ok":                true,
	"allow this change": true}

// usableOptions returns the options that can be answered with: of a known kind, and with an id that
// no other has.
func usableOptions(all []permissionOption) (options []permissionOption) {
	ids := map[string]int{}
	for _, o := range all {
		ids[o.ID]++
	}
	for _, o := range all {
		switch o.Kind {
		case allowOnce, allowAlways, rejectOnce, rejectAlways:
			if o.ID != "" && ids[o.ID] == 1 && len(options) < maxOptions {
				options = append(options, o)
			}
		}
	}
	return options
}

// allowsAction reports whether selecting an option lets the agent go on.
func allowsAction(o permissionOption) bool { return o.Kind == allowOnce || o.Kind == allowAlways }

// optionName returns the agent's name for an option, safe to show, or else its id.
func optionName(o permissionOption) string {
	if name := toolwords.Label(o.Name); name != "" {
		return name
	}
	return toolwords.Label(o.ID)
}

// selectedOutcome is the answer that selects an option.
func selectedOutcome(o permissionOption) permissionResponse {
	return permissionResponse{permissionOutcome{Outcome: "selected", OptionID: o.ID}}
}

// cancelledOutcome is the answer that selects nothing.
func cancelledOutcome() permissionResponse {
	return permissionResponse{permissionOutcome{Outcome: "cancelled"}}
}

// Options returns what the agent offers as answers to the question that it asked first and that is
// open.
func (c *Conversation) Options() (options []Option) {
	if p := c.openPermission(); p != nil {
		for _, o := range p.options {
			options = append(options, Option{Name: optionName(o), Allows: allowsAction(o),
				Always: o.Kind == allowAlways || o.Kind == rejectAlways})
		}
	}
	return options
}

// Choose chooses an option, as Options numbers them from 0, instead of the one that is asked about.
// One that allows something is asked about anew in its own name, and counts only if that is
// accepted; one that rejects counts at once.
func (c *Conversation) Choose(option int) error {
	p := c.openPermission()
	if p == nil || option < 0 || option >= len(p.options) {
		return errors.New("acp: there is no such option")
	}
	select {
	case p.change <- p.options[option]:
		return nil
	default:
		return errors.New("acp: another option was just chosen")
	}
}

// openPermission returns the oldest open permission of the turn, or nil. It takes c.mu and t.mu,
// one after the other.
func (c *Conversation) openPermission() *permission {
	c.mu.Lock()
	t := c.turn
	c.mu.Unlock()
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.openPermissions) == 0 {
		return nil
	}
	return t.openPermissions[0]
}
