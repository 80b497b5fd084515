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

// Consent. An agent asks whether it may go on with a call and offers options, each of a kind. What a person accepts is always one
// option, named to them in a confirmation; grant is the only function that answers with an option that allows something.
//
//   - One option of the kind allow_once: a confirmation, to which yes selects that option.
//   - Any other set of options: a choice by the agent's own names, and then the same confirmation of what was chosen.
//   - allow_always: only where it was chosen by its name, as with Choose; the confirmation then says what it will mean.
//   - Everything else, such as no, silence, or no subscriber to ask: reject_once where the agent offers it, or else cancelled.

const (
	answerTime  = 5 * time.Minute // to answer a question, where Config does not say
	maxOptions  = 32              // of one permission
	mostTold    = 15000           // bytes of an action or a consequence, of which the protocol takes 16,384
	mostContext = 4096            // bytes of what a choice is about
)

// Option is one of the answers that an agent offers to a question of its own.
type Option struct {
	Name   string // the agent's, safe to show
	Allows bool   // it lets the agent go on
	Always bool   // and counts for later too
}

// A permission is one that an agent asks for, or that is asked for what it has its client do; then only call and about are set.
type permission struct {
	request *request
	call    *call
	about   call // the call as it was when it was asked about: what the agent changes later was not asked
	options []permissionOption
	change  chan permissionOption // what Choose chose instead of the answer
}

// permission asks the user whether the agent may go on, and answers it. It runs on a goroutine of its own.
func (c *Conversation) permission(r *request) {
	var ask permissionRequest
	if err := read(r.params, &ask); err != nil {
		r.refuse(jsonrpc2.CodeInvalidParams, "the request for permission cannot be read")
		c.tell("The agent asked for permission in a way that cannot be read. It was not allowed.")
		return
	}
	var otherwise any = cancelled()
	if c.agent.beside {
		otherwise = nil // which the tee passes on as nothing
	}
	c.inTurn(r, "The agent asks for permission.", otherwise, func(t *turn) { t.permit(r, ask) })
}

// permit puts the question of a permission, and answers it.
func (t *turn) permit(r *request, ask permissionRequest) {
	t.mu.Lock()
	t.endText()
	call := t.known(ask.ToolCall)
	if call == nil || t.over || t.halted {
		t.mu.Unlock()
		if !t.c.agent.beside {
			r.answer(cancelled())
		}
		return
	}
	call.asked = true
	if call.soon != nil {
		call.soon.Stop()
	}
	p := &permission{request: r, call: call, about: *call, options: usable(ask.Options), change: make(chan permissionOption, 1)}
	t.mu.Unlock()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	defer context.AfterFunc(t.asking, cancel)()
	var option permissionOption
	err := t.ask(ctx, p, func() (err error) {
		option, err = t.decide(ctx, p)
		return err
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && allows(option) {
		return // grant has answered
	}
	if t.c.agent.beside && (t.halted || ctx.Err() != nil || err != nil && !errors.Is(err, producer.ErrRejected)) {
		return // the editor answers it
	}
	call.denied = true
	if call.done != nil { // it was told as running before it asked
		call.done(producer.ErrRejected)
		call.ended = true
	}
	no := cancelled()
	switch {
	case t.halted || ctx.Err() != nil:
	case err == nil:
		no = selected(option) // a rejection that was chosen by its name
	default:
		for _, o := range p.options {
			if o.Kind == rejectOnce {
				no = selected(o)
				break
			}
		}
	}
	r.answer(no)
}

// ask puts a question by put, once no other question of the agent is open: what Details and Options say is about the one that
// the user is asked. Beside an editor, which shows them all, no question waits. An error is that of ctx, or of put;
// where it says that there was no question the user is told so.
func (t *turn) ask(ctx context.Context, p *permission, put func() error) error {
	if a := t.c.agent; !a.beside {
		select {
		case a.asking <- struct{}{}:
			defer func() { <-a.asking }()
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if p != nil {
		t.mu.Lock()
		t.asks = append(t.asks, p)
		t.newest(p.call)
		t.mu.Unlock()
		defer func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			i := slices.Index(t.asks, p)
			t.asks = slices.Delete(t.asks, i, i+1)
		}()
	}
	t.c.agent.beforeAsking(ctx)
	err := put()
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, producer.ErrRejected), errors.Is(err, producer.ErrTimedOut), errors.Is(err, producer.ErrUnreachable),
		errors.Is(err, context.Canceled), errors.Is(err, errOnlyEditor):
	default:
		t.tell("What the agent asks cannot be put to you, and was not allowed: " + words.Sentence(toolwords.Label(err.Error())))
	}
	return err
}

var errOnlyEditor = errors.New("acp: only the editor can answer it")

// decide returns the option that the user chose. Of one that allows something, grant has answered already.
func (t *turn) decide(ctx context.Context, p *permission) (option permissionOption, err error) {
	var once []permissionOption
	allowing := 0
	for _, o := range p.options {
		if allows(o) {
			allowing++
		}
		if o.Kind == allowOnce {
			once = append(once, o)
		}
	}
	switch {
	case len(once) == 1:
		return t.confirm(ctx, p, once[0])
	case allowing == 0 && t.c.agent.beside:
		return option, errOnlyEditor
	case allowing == 0:
		t.tell("The agent asks for permission, and offers no way to allow it: " + words.Sentence(toolwords.Line(p.about.title)) + " It was not allowed.")
		return option, producer.ErrRejected
	}
	if option, err = t.choose(ctx, p); err != nil || !allows(option) {
		return option, err
	}
	return t.confirm(ctx, p, option)
}

// choose puts the options as a choice by the agent's own names.
func (t *turn) choose(ctx context.Context, p *permission) (permissionOption, error) {
	about := words.Fit(p.about.consequence(t.c.agent.cfg), mostContext)
	q := producer.Question{Text: aaep.Say(words.Fit(p.about.action(), mostTold) + " What do you answer?"), Context: aaep.Say(about), Timeout: t.c.agent.cfg.AnswerTime}
	for i, o := range p.options {
		q.Choices = append(q.Choices, producer.Choice{Value: fmt.Sprint(i + 1), Label: aaep.Say(optionName(o))})
	}
	if len(q.Choices) == 1 { // a choice needs two
		q.Choices = append(q.Choices, producer.Choice{Value: "0", Label: aaep.Say("None of it")})
	}
	answer, err := t.s.Clarify(ctx, q)
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

// confirm asks whether one option is what the user wants, and answers with it on a yes. Where another was chosen meanwhile, that
// is asked about instead.
func (t *turn) confirm(ctx context.Context, p *permission, option permissionOption) (permissionOption, error) {
	for {
		change, err := t.grant(ctx, p, option)
		if change.Kind == "" || ctx.Err() != nil {
			return option, err
		}
		if option = change; !allows(option) {
			return option, nil
		}
	}
}

var errChanged = errors.New("acp: another option was chosen")

// grant asks whether an option is what the user wants, and only on a yes answers with it. Change is what was chosen instead.
func (t *turn) grant(ctx context.Context, p *permission, option permissionOption) (change permissionOption, err error) {
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
	decision, done, err := t.s.Confirm(ctx, t.question(p, option))
	cancel(nil)
	<-watched
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case decision != aaep.Accept:
		return change, err
	case t.halted || t.over || change.Kind != "" || !p.request.answer(selected(option)):
		done(context.Canceled)
		return change, context.Canceled
	}
	if p.call.done != nil {
		p.call.done(nil)
	}
	p.call.done, p.call.denied = done, false
	t.granted(p.about)
	return permissionOption{}, nil
}

// question is the confirmation of an option.
func (t *turn) question(p *permission, option permissionOption) producer.Tool {
	tool := p.about.tool()
	tool.Confirm, tool.Timeout = true, t.c.agent.cfg.AnswerTime
	tool.Risk, tool.Irreversible = aaep.RiskHigh, p.about.kind == "delete" // whatever kind the agent says that it is
	says := p.about.consequence(t.c.agent.cfg)
	switch name := optionName(option); {
	case option.Kind == allowAlways:
		tool.Action = aaep.Say(fmt.Sprintf("Allow it from now on without being asked, which the agent calls \"%s\".", name))
		says = "What this covers the agent decides, and it asks no more about that. Now it wants to do this: " + p.about.action() + " " + says
	case !plainYes[strings.ToLower(name)]:
		says += fmt.Sprintf(" Yes is answered as \"%s\".", name)
	}
	tool.Consequence = aaep.Say(words.Fit(says, mostTold))
	return tool
}

// plainYes are names of options that say nothing but yes, once.
var plainYes = map[string]bool{"allow": true, "allow once": true, "yes": true, "yes, allow once": true, "accept": true, "approve": true,
	"approve once": true, "proceed": true, "proceed once": true, "run": true, "run once": true, "ok": true, "allow this change": true}

// usable are the options that can be answered with: of a known kind, and with an id that no other has.
func usable(all []permissionOption) (options []permissionOption) {
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

func allows(o permissionOption) bool { return o.Kind == allowOnce || o.Kind == allowAlways }

func optionName(o permissionOption) string {
	if name := toolwords.Label(o.Name); name != "" {
		return name
	}
	return toolwords.Label(o.ID)
}

func selected(o permissionOption) permissionResponse {
	return permissionResponse{permissionOutcome{Outcome: "selected", OptionID: o.ID}}
}

func cancelled() permissionResponse {
	return permissionResponse{permissionOutcome{Outcome: "cancelled"}}
}

// Options are what the agent offers as answers to the question that it asked first and that is open.
func (c *Conversation) Options() (options []Option) {
	if p := c.asks(); p != nil {
		for _, o := range p.options {
			options = append(options, Option{Name: optionName(o), Allows: allows(o), Always: o.Kind == allowAlways || o.Kind == rejectAlways})
		}
	}
	return options
}

// Choose chooses an option, as Options numbers them from 0, instead of the one that is asked about. One that allows something is
// asked about anew in its own name, and counts only if that is accepted; one that rejects counts at once.
func (c *Conversation) Choose(option int) error {
	p := c.asks()
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

// asks is the oldest open permission, or nil.
func (c *Conversation) asks() *permission {
	c.mu.Lock()
	t := c.turn
	c.mu.Unlock()
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.asks) == 0 {
		return nil
	}
	return t.asks[0]
}
