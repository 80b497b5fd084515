package cli

import (
	"cmp"
	"slices"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// lastQuestion is what is known of questions that are no longer open. A key that a person presses
// silences their screen reader, and with it what it has yet to say of how a question ended; a
// person who answers too late hears it again.
type lastQuestion struct {
	last     *announce.Asked // that was on the screen
	outcome  string          // of it; "" while nothing is known
	unheeded string          // that the agent does not show that it got the answer
}

// recordLeft takes over a question that is no longer open for the person.
func (b *lastQuestion) recordLeft(q *announce.Asked) { *b = lastQuestion{last: q} }

// recordOutcome takes from an event how the last question ended, where the event says so. Of what
// is being done, the call itself says which it is.
func (b *lastQuestion) recordOutcome(source string, ev *aaep.Event) {
	if b.last == nil || b.outcome != "" || b.last.Source != source || b.last.Event.SessionID != ev.SessionID {
		return
	}
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		if p.FromState != aaep.StateAwaitingInput || p.ToState == aaep.StateAwaitingInput ||
			p.ToState == aaep.StateCallingTool {
			return
		}
	case *aaep.ToolCompleted:
		if p.ToolCallID == "" || p.ToolCallID != announce.CallOf(b.last.Event) {
			return
		}
	case *aaep.SessionCancelled, *aaep.SessionErrored:
	default:
		return
	}
	b.outcome = announce.Text(ev, ev.Verbosity).String()
}

// recordStart takes from what is told of a tool call that it was what the last question was about.
func (b *lastQuestion) recordStart(source string, ev *aaep.Event, told string) {
	p, ok := ev.Payload.(*aaep.ToolInvoked)
	if ok && p.ToolCallID != "" && b.last != nil && b.last.Source == source &&
		announce.CallOf(b.last.Event) == p.ToolCallID {
		b.outcome = told
	}
}

// hasFailed reports whether an event says that what the last question was about came to nothing: a
// person who accepted it takes it for done, and what is asked next may depend on it.
func (b *lastQuestion) hasFailed(source string, ev *aaep.Event) bool {
	p, ok := ev.Payload.(*aaep.ToolCompleted)
	return ok && p.Status != aaep.ToolSuccess && p.ToolCallID != "" && b.last != nil && b.last.Source == source &&
		b.last.Event.SessionID == ev.SessionID && announce.CallOf(b.last.Event) == p.ToolCallID
}

// eventWords is what is said of an event to a person who was asked: that the agent waits is said by
// the question, which begins with what matters most.
func (f *followedAgent) eventWords(ev *aaep.Event) announce.Words {
	f.lastQuestion.recordOutcome(f.name, ev)
	w := announce.Text(ev, ev.Verbosity)
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification: // else it would be put; not every agent knows who can answer
		return w.And(" ", f.uiLanguage().inLanguage(f.phraseText(phrase.CannotAnswerHere, "")))
	case *aaep.StateChanged:
		if p.ToState != aaep.StateAwaitingInput || !isTrue(f.currentTerms().SupportsConfirmationReply) ||
			!isTrue(f.currentTerms().SupportsClarificationReply) {
			break
		}
		if slices.ContainsFunc(f.asked.All(),
			func(q *announce.Asked) bool { return q.Source == f.name && q.Event.SessionID == ev.SessionID }) {
			return nil
		}
		return f.uiLanguage().inLanguage(f.phraseText(phrase.WaitingForAnswer, ""))
	}
	return w
}

// informNothingAsked tells a person who answers that there is nothing to answer, and what became of
// what they may mean.
func (l *listener) informNothingAsked() {
	l.informPerson(l.phraseText(phrase.NothingAsked, ""))
	if known := cmp.Or(l.lastQuestion.outcome, l.lastQuestion.unheeded); known != "" {
		l.informPerson(l.phraseText(phrase.LastQuestion, known))
	}
}
