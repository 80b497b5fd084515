package acp

import (
	"context"
	"fmt"
	"net/url"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/form"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// elicit asks the user what the agent wants to know, and answers it. It runs on a goroutine of its own.
func (c *Conversation) elicit(r *request) {
	var ask elicitation
	if err := read(r.params, &ask); err != nil {
		r.refuse(jsonrpc2.CodeInvalidParams, "the request cannot be read")
		return
	}
	c.inTurn(r, "The agent wants to know something.", form.Answer{Action: form.Cancel}, func(t *turn) { t.elicit(r, ask) })
}

// inTurn does something in the turn that there is, or in one of its own where the agent does something of its own accord. Where there
// can be none, the request is answered with otherwise, or refused where that is nil.
func (c *Conversation) inTurn(r *request, about string, otherwise any, do func(*turn)) {
	c.mu.Lock()
	t := c.turn
	c.mu.Unlock()
	if t == nil {
		var err error
		if t, err = c.begin(context.Background(), about); err != nil {
			if otherwise == nil {
				r.refuse(jsonrpc2.CodeInternalError, "the user cannot be asked now")
			} else {
				r.answer(otherwise)
			}
			return
		}
		defer t.end("end_turn", nil)
	}
	do(t)
}

// elicit asks for each field of a form in turn. An address is told with its host, and whether the user wants to go there is asked; it is
// never opened here.
func (t *turn) elicit(r *request, ask elicitation) {
	t.mu.Lock()
	t.endText()
	t.mu.Unlock()
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	defer context.AfterFunc(t.asking, cancel)()
	var answer form.Answer
	var err error
	switch ask.Mode {
	case "form", "":
		var questions []form.Question
		if questions, err = form.Questions(toolwords.Line(ask.Message), ask.Schema); err != nil {
			t.tell("The agent wants to know something in a way that cannot be asked here: " + words.Sentence(toolwords.Label(err.Error())))
			r.refuse(jsonrpc2.CodeInvalidParams, toolwords.Label(err.Error()))
			return
		}
		err = t.ask(ctx, nil, func() (err error) {
			answer, err = form.Fill(ctx, t.s, questions)
			return err
		})
	case "url":
		answer, err = t.visit(ctx, ask)
	default:
		t.tell("The agent wants to know something in a way that is not known here, " + toolwords.Label(ask.Mode) + ".")
		r.refuse(jsonrpc2.CodeInvalidParams, "the mode is neither form nor url")
		return
	}
	if err != nil {
		answer = form.Answer{Action: form.Cancel}
	}
	r.answer(answer)
}

// visit asks whether the user goes to an address by themselves.
func (t *turn) visit(ctx context.Context, ask elicitation) (form.Answer, error) {
	at, err := url.Parse(ask.URL)
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		t.tell("The agent wants you to open an address that is none of the web. It was not done.")
		return form.Answer{Action: form.Cancel}, nil
	}
	const mostAddress = 2000
	if len(toolwords.Line(ask.URL)) > mostAddress {
		t.tell("The agent wants you to open an address that is too long to be told. It was not done.")
		return form.Answer{Action: form.Cancel}, nil
	}
	q := producer.Question{
		Text:    aaep.Say(fmt.Sprintf("Do you want to go to an address at %s yourself?", toolwords.Line(at.Host))),
		Context: aaep.Say(words.Fit(toolwords.Line(ask.Message), mostContext-mostAddress-100) + " The whole address is: " + toolwords.Line(ask.URL)),
		Kinds:   []aaep.ResponseKind{aaep.ResponseYesNo}, Timeout: t.c.agent.cfg.AnswerTime,
	}
	var yes any
	err = t.ask(ctx, nil, func() (err error) {
		yes, err = t.s.Clarify(ctx, q)
		return err
	})
	switch {
	case err != nil:
		return form.Answer{Action: form.Cancel}, err
	case yes == true:
		return form.Answer{Action: form.Accept}, nil
	}
	return form.Answer{Action: form.Decline}, nil
}
