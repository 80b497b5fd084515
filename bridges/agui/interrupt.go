package agui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/form"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// Consent. An interrupt whose answer is one boolean is a confirmation of high risk: yes resolves it
// with true, and no with false. Any other form is asked field by field, unless it is of a tool's
// call or a confirmation, or has a yes among its fields: that would be asked as if nothing came of
// it. A run is resumed only where every one of its interrupts was answered by the person; where one
// was not, be it for silence, for want of a listener or because its form cannot be asked, the web
// app gets all of them, and what was accepted counts as not done.

const (
	maxInterrupts = 16
	minTimeout    = 20 * time.Second // in which a question can be heard and answered
	mostTold      = 15000            // bytes of an action or a consequence
)

// askInterrupts puts every interrupt to the user, one after the other. ok is false where one could
// not be put or was not answered; the web app is asked then. The caller calls done with how the
// accepted actions ended.
func (x *run) askInterrupts(ctx context.Context, interrupts []interrupt) (answers []resumeEntry, done func(error),
	ok bool) {
	x.mu.Lock()
	x.closeAll()
	for _, i := range interrupts { // what is asked about does not run yet
		if c := x.calls[i.ToolCallID]; c != nil {
			c.isAsked = true
		}
	}
	x.mu.Unlock()
	var dones []func(error)
	done = func(err error) {
		for _, end := range dones {
			end(err)
		}
	}
	if len(interrupts) > maxInterrupts || x.history.isTooLong || hasTwin(interrupts) {
		bridge.AnnounceNotice(x.session, "What the agent asks was not answered here.")
		return nil, done, false
	}
	for _, i := range interrupts {
		answer, end, err := x.askOne(ctx, i)
		if err != nil {
			bridge.AnnounceNotice(x.session, "What the agent asks was not answered here.")
			return nil, done, false
		}
		if end != nil {
			dones = append(dones, end)
		}
		answers = append(answers, answer)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.calls {
		c.isAsked = false
	}
	return answers, done, true
}

// hasTwin reports whether two interrupts have one id, so that an answer could be taken for the
// other's; none of them is then asked about.
func hasTwin(interrupts []interrupt) bool {
	seen := map[string]bool{}
	for _, i := range interrupts {
		if seen[i.ID] {
			return true
		}
		seen[i.ID] = true
	}
	return false
}

// askOne asks about one interrupt, and waits for the answer. end, which completes what was
// accepted, is nil where nothing was. The error says why it is left to the app: it cannot be asked
// here, has expired, or was not answered.
func (x *run) askOne(ctx context.Context, i interrupt) (answer resumeEntry, end func(error), err error) {
	if i.ID == "" {
		return answer, nil, errors.New("agui: the interrupt cannot be read")
	}
	answer = resumeEntry{InterruptID: i.ID, Status: "resolved"}
	timeout := cmp.Or(x.transport.cfg.Timeout, 5*time.Minute)
	if expiry, err := time.Parse(time.RFC3339, i.ExpiresAt); err == nil {
		if timeout = time.Until(expiry); timeout < minTimeout {
			return answer, nil, errors.New("agui: the interrupt has expired")
		}
	}
	if answerOf, ok := approvalAnswer(i); ok {
		decision, end, err := x.confirmInterrupt(ctx, i, timeout)
		switch {
		case errors.Is(err, producer.ErrRejected):
			answer.Payload = answerOf(false)
			x.forgetCall(i.ToolCallID)
			return answer, nil, nil
		case err != nil || decision != aaep.Accept:
			return answer, nil, cmp.Or(err, producer.ErrRejected)
		}
		answer.Payload = answerOf(true)
		return answer, end, nil
	}
	filled, err := x.fillForm(ctx, i, timeout)
	switch {
	case err != nil:
		return answer, nil, err
	case filled.Action == form.Accept:
		answer.Payload = filled.Content
	default:
		answer.Status = "cancelled"
	}
	return answer, nil, nil
}

// fillForm asks for each field of the answer that an interrupt wants, and returns what the user
// said. An interrupt that wants no form, or one that cannot be asked for, is an error.
func (x *run) fillForm(ctx context.Context, i interrupt, timeout time.Duration) (form.Answer, error) {
	if !isForm(i) {
		return form.Answer{}, errors.New("agui: the form of the answer is none that can be asked for")
	}
	questions, err := form.Questions(words.Fit(toolwords.Line(i.Message), mostTold), i.Schema)
	if err != nil {
		return form.Answer{}, err
	}
	for n := range questions {
		questions[n].Timeout = timeout
	}
	return form.Fill(ctx, x.session, questions)
}

// approvals are the names of fields with which agents ask for a yes or no.
var approvals = []string{"approved", "approve", "accepted", "accept", "confirmed", "confirm"}

// A schema is what counts here of that of an answer.
type schema struct {
	Type       string `json:"type"`
	Properties map[string]struct {
		Type string `json:"type"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// isDecision reports whether an interrupt asks for a yes or no, whatever the form of the answer.
func (i interrupt) isDecision() bool {
	return i.ToolCallID != "" || i.Reason == "tool_call" || i.Reason == "confirmation"
}

// approvalAnswer returns a function that makes the answer of a yes or no, where an interrupt takes
// one boolean: one that its schema names, alone or as a field that means an approval, or the field
// "approved" of an interrupt without a schema that asks for a decision. ok is false for any other.
func approvalAnswer(i interrupt) (answerOf func(yes bool) any, ok bool) {
	answerIn := func(field string) func(bool) any {
		return func(yes bool) any { return map[string]any{field: yes} }
	}
	if hasNoSchema := len(i.Schema) == 0 || i.Schema.Kind() == 'n'; hasNoSchema { // n is that of null
		return answerIn("approved"), i.isDecision()
	}
	var s schema
	if bridge.Decode(i.Schema, &s) != nil {
		return nil, false
	}
	if s.Type == "boolean" {
		return func(yes bool) any { return yes }, true
	}
	for name, property := range s.Properties {
		if s.Type != "object" || property.Type != "boolean" || !isApproval(name) {
			continue
		}
		isAlone := len(s.Required) == 0 && len(s.Properties) == 1
		if isAlone || slices.Equal(s.Required, []string{name}) {
			return answerIn(name), true
		}
	}
	return nil, false
}

// isApproval reports whether a name of a field means the approval itself, in any spelling.
func isApproval(name string) bool { return slices.Contains(approvals, strings.ToLower(name)) }

// isForm reports whether what an interrupt asks for can be asked field by field: an object with
// properties, none of which means an approval.
func isForm(i interrupt) bool {
	var s schema
	if i.isDecision() || len(i.Schema) == 0 || bridge.Decode(i.Schema, &s) != nil || s.Type != "object" {
		return false
	}
	for name := range s.Properties {
		if isApproval(name) {
			return false
		}
	}
	isMissing := func(name string) bool { _, ok := s.Properties[name]; return !ok }
	return len(s.Properties) > 0 && !slices.ContainsFunc(s.Required, isMissing)
}

// confirmInterrupt puts the question to the user whether the agent may go on, with the tool call
// that waits. The error says why it could not be put; the func completes an accepted call. A
// question that is too long to be told whole is not put.
func (x *run) confirmInterrupt(ctx context.Context, i interrupt, timeout time.Duration) (aaep.Decision, func(error),
	error) {
	tool := producer.Tool{Name: "approval", Risk: aaep.RiskHigh, Timeout: timeout, AsksElsewhere: true}
	action := cmp.Or(words.Sentence(toolwords.Line(i.Message)), "The agent asks whether it may go on.")
	consequence, texts := "The agent says no more about it.", []string{i.Message}
	isCut := false
	x.mu.Lock()
	if c := x.calls[i.ToolCallID]; c != nil {
		tool.Name, tool.Title = cmp.Or(c.name, "tool"), toolwords.Label(c.name)
		consequence = "It uses the tool " + words.Sentence(toolwords.Code(c.name))
		if len(c.args) > 0 {
			consequence += " With: " + words.Sentence(toolwords.Code(string(c.args)))
		}
		texts, isCut = append(texts, c.name, string(c.args)), c.isCut
	}
	x.mu.Unlock()
	for _, text := range texts {
		isCut = isCut || !toolwords.IsWhole(text)
	}
	if isCut || len(action) > mostTold || len(consequence) > mostTold {
		return "", nil, errors.New("agui: the question is too long to be told whole")
	}
	tool.Action, tool.Consequence = aaep.Say(action), aaep.Say(consequence)
	decision, done, err := x.session.Confirm(ctx, tool)
	if err == nil && decision == aaep.Accept {
		x.mu.Lock()
		defer x.mu.Unlock()
		if c := x.calls[i.ToolCallID]; c != nil { // its result completes it
			c.done = done
			return decision, func(err error) {
				if err != nil {
					done(err)
				}
			}, nil
		}
	}
	return decision, done, err
}

// forgetCall drops a call that the user refused, so that it is not announced as running.
func (x *run) forgetCall(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if c := x.calls[id]; c != nil {
		c.timer.Stop()
		delete(x.calls, id)
	}
}

// announceInterrupts announces, as notices, the questions that the web app puts to its user where
// they are not put here, up to maxInterrupts. The calls that they are about are then announced no
// more. It takes x.mu.
func (x *run) announceInterrupts(interrupts []interrupt) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, i := range interrupts[:min(len(interrupts), maxInterrupts)] {
		if c := x.calls[i.ToolCallID]; c != nil {
			c.timer.Stop()
			delete(x.calls, i.ToolCallID)
		}
		question := cmp.Or(toolwords.Label(i.Message), toolwords.Label(i.Reason), "what cannot be read here")
		bridge.AnnounceNotice(x.session, "The app asks: "+words.Sentence(question))
	}
}
