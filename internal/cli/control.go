package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/control"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// What a person asks for in another window, by "aaep answer", is a line of which the first key was
// pressed when that program was started. All that holds for a line typed here holds for it: which
// question it is for, and that a yes counts once the person can have heard that question.

// openControl has the listener obey "aaep answer" until ctx is done and the function end is called.
func (l *listener) openControl(ctx context.Context) (end func()) {
	server, err := control.Listen()
	if err != nil {
		l.status.printToTerminal("aaep", "aaep answer does not reach this listener: "+words.Sentence(plainError(err)))
		return func() {}
	}
	l.control = server
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() { defer close(served); server.Serve(ctx) }()
	return func() { cancel(); <-served }
}

// handleCall obeys what the person asks for from another window, and responds with what is said
// upon it.
func (l *listener) handleCall(ctx context.Context, c *control.Call) {
	var r control.Response
	r.Said = l.status.recordSaid(func() { r.Done = l.obeyCall(ctx, c) })
	c.Respond(r)
}

// obeyCall obeys what the person asks for from another window, and reports whether it is done; an
// answer is once it was sent.
func (l *listener) obeyCall(ctx context.Context, c *control.Call) (done bool) {
	for f := range l.liveAgents() {
		f.checkLink()
	}
	q := l.asked.First()
	switch {
	case c.Name == control.AnswerName && q == nil:
		l.informNothingAsked()
		return false
	case c.Name == control.AnswerName && c.Question != questionID(q):
		l.informPerson(l.phraseText(phrase.QuestionClosed, ""))
		return false
	case c.Name == control.AnswerName:
		at := l.newLineContext(c.Began)
		at.elsewhere = true
		return l.answerQuestion(ctx, c.Text, at)
	case c.Name == "stop" && l.talk == nil:
		l.informPerson(l.phraseText(phrase.NoCommand, "/stop"))
		return false
	case c.Name == "more":
		l.askMoreTime(ctx)
		return q != nil
	case c.Name == "quiet":
		l.setQuiet(ctx, l.hushed == nil)
	case c.Name == "again" && !l.out.hasAny() && q != nil:
		l.putAgain(q)
	case c.Name == "where" && !l.out.hasAny():
		l.runCommand(ctx, "/agents")
		l.runCommand(ctx, "/waiting")
	default:
		l.runCommand(ctx, "/"+c.Name)
	}
	return true
}

// controlState returns how it stands, for "aaep answer".
func (l *listener) controlState() control.State {
	s := control.State{Waiting: max(l.asked.Len()-1, 0), Quiet: l.hushed != nil, Stoppable: l.talk != nil}
	for f := range l.liveAgents() {
		if f.sub != nil {
			s.Agents = append(s.Agents, f.name)
		}
	}
	q := l.asked.First()
	if q == nil {
		return s
	}
	now := time.Now()
	oneLine := func(text string) string { return words.OneLine(aaep.SafeText(text)) }
	s.Question = &control.Question{ID: questionID(q), Agent: q.Source,
		Until: now.Add(q.Left(now)).Round(time.Second)}
	switch p := q.Event.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		s.Question.Kind, s.Question.Text, s.Question.Consequence = "confirmation", oneLine(p.Action), oneLine(p.Consequence)
		s.Question.Risk, s.Question.Irreversible = oneLine(string(p.RiskLevel)), p.IsIrreversible()
	case *aaep.AwaitingClarification:
		s.Question.Kind, s.Question.Text = "clarification", oneLine(p.Question)
		for i, c := range p.Choices {
			s.Question.Choices = append(s.Question.Choices, strconv.Itoa(i+1)+": "+oneLine(c.Label))
		}
	}
	return s
}

// questionID names a question alike at each listener that puts it. It does not give away the token
// with which it can be answered.
func questionID(q *announce.Asked) string {
	token, _ := closes.Token(q.Event)
	sum := sha256.Sum256([]byte(q.Event.SessionID + "\n" + string(token)))
	return hex.EncodeToString(sum[:6])
}
