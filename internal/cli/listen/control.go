package listen

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/answers"
	"github.com/aaep-go/aaep/internal/cli/answer"
	"github.com/aaep-go/aaep/internal/cli/control"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber/present"
)

// What a person asks for in another window, by "aaep answer", is a line of which the first key was
// pressed when that program was started. All that holds for a line typed here holds for it: which
// question it is for, and that a yes counts once the person can have heard that question.

// openControl has the listener obey "aaep answer" until ctx is done or the function end is called.
// Where no address can be had, it says so and goes on without.
func (l *Listener) openControl(ctx context.Context) (end func()) {
	server, err := control.Listen()
	if err != nil {
		l.Status.PrintToTerminal("aaep", "aaep answer does not reach this listener: "+words.Sentence(exits.PlainError(err)))
		return func() {}
	}
	l.control = server
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() {
		defer close(served)
		var bus sync.WaitGroup
		defer bus.Wait()
		bus.Go(func() { answer.ServeBus(ctx) })
		server.Serve(ctx)
	}()
	return func() { cancel(); <-served }
}

// nextCall returns the channel of calls of other windows; nil while one is being responded to.
func (l *Listener) nextCall() <-chan *control.Call {
	if l.calling {
		return nil
	}
	return l.control.Calls()
}

// mostSaid is how much is reported of what is said upon a call.
const mostSaid = 64

// handleCall obeys what the person asks for from another window, on the listener's loop, and
// responds, on a goroutine of its own, with what is said upon it within a second.
func (l *Listener) handleCall(ctx context.Context, c *control.Call) {
	l.calling = true
	l.takeSaid(make([]string, 0, mostSaid))
	done := l.obeyCall(ctx, c)
	go func() {
		var r control.Response
		select {
		case err := <-done:
			r.Done = err == nil
		case <-ctx.Done():
		}
		waitCtx, cancel := context.WithTimeout(ctx, time.Second) // lines wait while the person types
		_ = present.AwaitTold(waitCtx, 0, l.reads)
		cancel()
		r.Said = l.takeSaid(nil)
		c.Respond(r)
		l.runInLoop(ctx, func() { l.calling = false })
	}()
}

// takeSaid returns what was said since it was called last, and keeps what is said from now on in
// to; nil keeps nothing from now on. Calls from other windows use it to return what the person
// heard.
func (l *Listener) takeSaid(to []string) []string {
	l.saying.Lock()
	defer l.saying.Unlock()
	lines := l.said
	l.said = to
	return lines
}

// obeyCall obeys what the person asks for from another window. The channel gets nil once it is
// done, which an answer is when it was sent, or an error.
func (l *Listener) obeyCall(ctx context.Context, c *control.Call) <-chan error {
	done := make(chan error, 1)
	question := l.currentQuestion()
	switch {
	case c.Name == control.AnswerName && question == nil:
		return present.Answer(c.Began, cmp.Or(strings.TrimSpace(c.Text), "-"), l.questionOutputs()...) // which says so
	case c.Name == control.AnswerName && c.Question != questionID(question):
		l.informPerson(l.PhraseText(phrase.QuestionClosed, ""))
		done <- present.ErrNotTaken
	case c.Name == control.AnswerName:
		l.elsewhere.Store(true)
		defer l.elsewhere.Store(false)
		return present.Answer(c.Began, c.Text, l.questionOutputs()...)
	case c.Name == "stop" && l.talk == nil:
		l.informPerson(l.PhraseText(phrase.NoCommand, "/stop"))
		done <- present.ErrNotTaken
	case c.Name == "more":
		l.runCommand(ctx, "/more")
		if question == nil {
			done <- present.ErrNotTaken
		}
	case c.Name == "quiet":
		l.setQuiet(ctx, l.hushed == nil)
	case c.Name == "again" && !l.out.hasAny() && question != nil:
		present.Answer(time.Now(), "", l.reads)
	case c.Name == "where" && !l.out.hasAny():
		l.runCommand(ctx, "/agents")
		l.runCommand(ctx, "/waiting")
	case slices.Contains(control.WalkNames, c.Name):
		l.runWalkCommand(c.Name, words.OneLine(c.Text))
	default:
		l.runCommand(ctx, "/"+c.Name)
	}
	close(done)
	return done
}

// controlState returns the listener's state for "aaep answer": the agents, the question that is put
// and how many wait.
func (l *Listener) controlState() control.State {
	s := control.State{Waiting: max(l.countOpen()-1, 0), Quiet: l.hushed != nil, Stoppable: l.talk != nil}
	for f := range l.liveAgents() {
		if f.sub != nil {
			s.Agents = append(s.Agents, f.name)
		}
	}
	source, question, until, _ := l.questionOutputs()[0].OpenQuestion()
	if question == nil {
		return s
	}
	oneLine := func(text string) string { return words.OneLine(aaep.SafeText(text)) }
	s.Question = &control.Question{ID: questionID(question), Agent: source, Until: until}
	switch p := question.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		s.Question.Kind, s.Question.Text, s.Question.Consequence = "confirmation", oneLine(p.Action), oneLine(p.Consequence)
		s.Question.Decided = true
		s.Question.Risk, s.Question.Irreversible = oneLine(string(p.RiskLevel)), p.IsIrreversible()
	case *aaep.AwaitingClarification:
		s.Question.Kind, s.Question.Text = "clarification", oneLine(p.Question)
		s.Question.Decided = answers.KindsOf(p).YesNo
		for i, c := range p.Choices {
			s.Question.Choices = append(s.Question.Choices, strconv.Itoa(i+1)+": "+oneLine(c.Label))
		}
	}
	return s
}

// questionID names a question alike at each listener that puts it. It does not give away the token
// with which it can be answered.
func questionID(question *aaep.Event) string {
	token, _ := closes.Token(question)
	sum := sha256.Sum256([]byte(question.SessionID + "\n" + string(token)))
	return hex.EncodeToString(sum[:6])
}
