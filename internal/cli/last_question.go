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

// recordLeft keeps a question that is no longer open for the person, and forgets the one before it.
func (b *lastQuestion) recordLeft(q *announce.Asked) { *b = lastQuestion{last: q} }

// recordOutcome takes from an event how the last question ended, where the event says so. What is
// being done is left to the tool call, which says it itself.
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

// recordStart keeps what was said of a tool call, where the last question was about that call.
func (b *lastQuestion) recordStart(source string, ev *aaep.Event, told string) {
	p, ok := ev.Payload.(*aaep.ToolInvoked)
	if ok && p.ToolCallID != "" && b.last != nil && b.last.Source == source &&
		announce.CallOf(b.last.Event) == p.ToolCallID {
		b.outcome = told
	}
}

// hasFailed reports whether an event says that what the last question was about came to nothing. A
// person who accepted it believes that it is done, and what is asked next may depend on it.
func (b *lastQuestion) hasFailed(source string, ev *aaep.Event) bool {
	p, ok := ev.Payload.(*aaep.ToolCompleted)
	return ok && p.Status != aaep.ToolSuccess && p.ToolCallID != "" && b.last != nil && b.last.Source == source &&
		b.last.Event.SessionID == ev.SessionID && announce.CallOf(b.last.Event) == p.ToolCallID
}

// eventWords returns what is said of an event, and nothing for what a question says itself: that
// the agent waits.
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

// informNothingAsked tells a person who answers that no question is open, and what became of the
// last one.
func (l *listener) informNothingAsked() {
	l.informPerson(l.phraseText(phrase.NothingAsked, ""))
	if known := cmp.Or(l.lastQuestion.outcome, l.lastQuestion.unheeded); known != "" {
		l.informPerson(l.phraseText(phrase.LastQuestion, known))
	}
}
