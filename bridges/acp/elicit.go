package acp

import (
	"context"
	"fmt"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/form"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// answerElicitation answers elicitation/create with what the user says, in the open turn or one of
// its own. A request that cannot be read is refused. It runs on a goroutine of its own.
func (c *Conversation) answerElicitation(r *request) {
	var ask elicitation
	if err := decodeParams(r.params, &ask); err != nil {
		r.refuse(jsonrpc2.CodeInvalidParams, "the request cannot be read")
		return
	}
	c.runInTurn(r, "The agent wants to know something.", form.Answer{Action: form.Cancel},
		func(t *turn) { t.askElicitation(r, ask) })
}

// runInTurn calls do with the open turn, or with one begun for it where the agent asks of its own
// accord. Where no turn can begin, the request is answered with otherwise, or refused if that is
// nil.
func (c *Conversation) runInTurn(r *request, summary string, otherwise any, do func(*turn)) {
	c.mu.Lock()
	t, err := c.turn, error(nil)
	if t == nil {
		if t, err = c.startTurn(context.Background(), summary); err == nil {
			t.unprompted = true
		}
	}
	if err == nil {
		t.requests++
	}
	c.mu.Unlock()
	switch {
	case err == nil:
		defer t.endRequest()
		do(t)
	case otherwise == nil:
		r.refuse(jsonrpc2.CodeInternalError, "the user cannot be asked now")
	default:
		r.sendResult(otherwise)
	}
}

// endRequest ends what runInTurn began: a turn without a prompt ends with the last of its requests;
// any other turn goes on. It takes the conversation's mu.
func (t *turn) endRequest() {
	t.c.mu.Lock()
	t.requests--
	isOver := t.unprompted && t.requests == 0
	if isOver && t.c.turn == t {
		t.c.turn = nil // what is asked from now on begins another
	}
	t.c.mu.Unlock()
	if isOver {
		t.endTurn("end_turn", nil)
	}
}

// askElicitation puts each field of a form to the user in turn and sends the agent the answers. Of
// a URL the user hears the host and is asked whether they want to go there; it is never opened
// here.
func (t *turn) askElicitation(r *request, ask elicitation) {
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
			t.reportNotice("The agent wants to know something in a way that cannot be asked here: " +
				words.Sentence(toolwords.Label(err.Error())))
			r.refuse(jsonrpc2.CodeInvalidParams, toolwords.Label(err.Error()))
			return
		}
		err = t.putQuestion(ctx, r, nil, func() (err error) {
			answer, err = form.Fill(ctx, t.s, questions)
			return err
		})
	case "url":
		answer, err = t.askToVisit(ctx, r, ask)
	default:
		t.reportNotice("The agent wants to know something in a way that is not known here, " +
			toolwords.Label(ask.Mode) + ".")
		r.refuse(jsonrpc2.CodeInvalidParams, "the mode is neither form nor url")
		return
	}
	if err != nil {
		answer = form.Answer{Action: form.Cancel}
	}
	r.sendResult(answer)
}

// askToVisit asks the user whether they want to open a web address by themselves; nothing is opened
// here. An address that is none of the web, or too long to be told, is announced and cancelled
// unasked.
func (t *turn) askToVisit(ctx context.Context, r *request, ask elicitation) (form.Answer, error) {
	address, isWeb := httpguard.WebAddress(ask.URL)
	if !isWeb {
		t.reportNotice("The agent wants you to open an address that is none of the web. It was not done.")
		return form.Answer{Action: form.Cancel}, nil
	}
	const mostAddress = 2000
	if len(toolwords.Line(ask.URL)) > mostAddress {
		t.reportNotice("The agent wants you to open an address that is too long to be told. It was not done.")
		return form.Answer{Action: form.Cancel}, nil
	}
	q := producer.Question{
		Text: aaep.Say(fmt.Sprintf("Do you want to go to an address at %s yourself?", toolwords.Line(address.Host))),
		Context: aaep.Say(words.Fit(toolwords.Line(ask.Message), maxContextBytes-mostAddress-100) +
			" The whole address is: " + toolwords.Line(ask.URL)),
		Timeout: t.c.agent.cfg.AnswerTime,
	}
	var yes bool
	err := t.putQuestion(ctx, r, nil, func() (err error) {
		yes, err = t.s.AskYesNo(ctx, q)
		return err
	})
	switch {
	case err != nil:
		return form.Answer{Action: form.Cancel}, err
	case yes:
		return form.Answer{Action: form.Accept}, nil
	}
	return form.Answer{Action: form.Decline}, nil
}
