// Package closes knows when a question to a person is no longer open.
package closes

import "github.com/aaep-go/aaep"

// Question reports whether an event says that a question of its session is no longer open. Changes of state may
// have been merged on their way, so that what counts is where they lead, after the question was asked.
func Question(question, ev *aaep.Event) bool {
	if ev.SessionID != question.SessionID {
		return false
	}
	p, ok := ev.Payload.(*aaep.StateChanged)
	if !ok {
		return ev.Type().Terminal()
	}
	return p.ToState != aaep.StateAwaitingInput &&
		(p.FromState == aaep.StateAwaitingInput || ev.Timestamp.After(question.Timestamp))
}
