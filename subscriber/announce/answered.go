package announce

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/hearing"
)

// closeAnswered moves a question to which the person's answer was sent from the open to the
// answered ones. An agent never confirms an answer (D-36); where no event shows in time that it
// arrived, takeEnding returns the question once more, with a warning.
func (qs *questionQueue) closeAnswered(now time.Time, q *openQuestion) {
	q.answeredAt = now
	qs.answered = append(qs.answered, q)
	qs.removeQuestion(q)
}

// confirmAnswers forgets the answers that an event of an agent shows to have arrived.
func (qs *questionQueue) confirmAnswers(source string, ev *aaep.Event) {
	qs.answered = slices.DeleteFunc(qs.answered, func(q *openQuestion) bool {
		return q.source == source && showsAnswer(q.event, ev)
	})
}

// showsAnswer reports whether ev shows that the agent has received the answer to a question: it
// closes the question, or its session, which is the question's, leaves awaiting_input, puts that
// question anew or calls the tool that was accepted.
func showsAnswer(question, ev *aaep.Event) bool {
	if closes.Question(question, ev) {
		return true
	}
	if ev.SessionID != question.SessionID {
		return false
	}
	if token, asks := closes.Token(ev); asks { // it asks that anew, and is heard to
		answered, _ := closes.Token(question)
		return token == answered
	}
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		return p.FromState == aaep.StateAwaitingInput
	case *aaep.ToolInvoked:
		return p.ToolCallID != "" && p.ToolCallID == closes.CallOf(question)
	}
	return false
}

// nextUnconfirmed returns, once each, a question whose answer nothing shows to have arrived; else
// nil, and when to ask again, as takeEnding does.
func (qs *questionQueue) nextUnconfirmed(now time.Time) (q *openQuestion, wake time.Time) {
	if len(qs.answered) == 0 {
		return nil, time.Time{}
	}
	q = qs.answered[0] // which is due first
	if wake = q.answeredAt.Add(hearing.ConfirmWithin); wake.After(now) {
		return nil, wake
	}
	qs.answered = qs.answered[1:]
	return q, now
}
