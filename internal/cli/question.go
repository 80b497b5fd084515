package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// A question waits for the person's answer.
type question struct {
	ev       *aaep.Event
	received time.Time     // or, where it was under way for long, when it was asked
	more     time.Duration // given beyond the time it was asked with
	put      time.Time     // when it came to the screen; zero while another is there
	tried    bool          // an answer was sent, and may have arrived
	warned   bool          // it was accepted too soon, and that is asked for once more
}

// readingTime is how long a question is on the screen before a line is taken as an answer to it. What comes
// sooner was typed for something else.
const readingTime = time.Second

// newQuestion is a question that comes now. Whoever was not there when it was asked has what is left of its time,
// as far as the agent's clock tells that.
func newQuestion(ev *aaep.Event, now time.Time) *question {
	q := &question{ev: ev, received: now}
	if late := now.Sub(ev.Timestamp); late > clocksDiffer && late < q.limit() {
		q.received = now.Add(-late)
	}
	return q
}

// clocksDiffer is how much two clocks may differ that are taken to show the same time (D-35).
const clocksDiffer = 2 * time.Second

// limit is the time to answer that the question was asked with.
func (q *question) limit() time.Duration {
	switch p := q.ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		return time.Duration(p.TimeoutSeconds) * time.Second
	case *aaep.AwaitingClarification:
		return time.Duration(p.TimeoutSeconds) * time.Second
	}
	return 0
}

// left is how much time there is as far as this listener knows. Others may have more time given without a word that
// gets here, so that only the agent knows when it is over.
func (q *question) left() time.Duration { return q.limit() + q.more - time.Since(q.received) }

// canAnswer reports whether the agreed terms let this listener answer an event.
func (l *listener) canAnswer(ev *aaep.Event) bool {
	terms := l.terms()
	if ev.Type() == aaep.TypeAwaitingClarification {
		return isTrue(terms.SupportsClarificationReply)
	}
	return isTrue(terms.SupportsConfirmationReply)
}

// ask adds a question. One is put at a time, and none takes the place of another, so that a person never
// answers what they have not heard.
func (l *listener) ask(ev *aaep.Event) {
	l.asked = append(l.asked, newQuestion(ev, time.Now()))
	l.before.expect(ev)
	if len(l.asked) > 1 {
		l.say("", "Another question waits. It comes after this one.")
		return
	}
	l.next()
}

// next puts the first question that waits.
func (l *listener) next() {
	for len(l.asked) > 0 && l.asked[0].left() <= 0 {
		l.asked = l.asked[1:]
		l.status.say("aaep", "A question that waited is not put: its time to answer is over.")
	}
	if len(l.asked) == 0 {
		return
	}
	l.put(l.asked[0])
}

// put puts a question, or puts it again: whoever types silences a screen reader for good.
func (l *listener) put(q *question) {
	switch p := q.ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		l.putText(q, announce.Confirmation(p, q.left())+"\n"+l.askedBy(q)+promptDecision+offerMore)
	case *aaep.AwaitingClarification:
		l.putText(q, announce.Clarification(p, q.left())+"\n"+l.askedBy(q)+prompt(p)+offerMore)
	}
	q.put = time.Now()
}

func (l *listener) putText(q *question, text string) {
	l.say("", text)
	l.out.each(func(p *present.Presenter) { p.AddText(l.source, q.ev, text) })
}

// askedBy says whose question it is, and whether that is proven: what a person consents to depends on it.
func (l *listener) askedBy(q *question) string {
	if l.sub == nil {
		return ""
	}
	if v := l.sub.Verified(); v != nil {
		return "Verified: this is asked by " + words.Sentence(nameOfAgent(v.Manifest.AgentName, v.Manifest.AgentID)) + "\n"
	}
	return "Not verified: this is asked in the name of " + words.Sentence(nameOfAgent(q.ev.Producer.AgentName, q.ev.Producer.AgentID)) + "\n"
}

// nameOfAgent is what people call an agent.
func nameOfAgent(name, id string) string {
	return cmp.Or(words.OneLine(name), words.OneLine(id), "an agent")
}

// settle takes away the questions that an event says are no longer open.
func (l *listener) settle(ev *aaep.Event) {
	if len(l.asked) == 0 {
		return
	}
	first, n := l.asked[0], len(l.asked)
	if announce.Closes(first.ev, ev) {
		l.before.leave(first)
		l.before.heed(ev)
	}
	l.asked = slices.DeleteFunc(l.asked, func(q *question) bool { return announce.Closes(q.ev, ev) })
	switch {
	case len(l.asked) == 0 || l.asked[0] != first:
		if first.tried {
			l.status.say("aaep", "The question is no longer open. Your answer may have arrived.")
		} else {
			l.status.say("aaep", "The question is no longer open. You did not answer it.")
		}
		l.next()
	case len(l.asked) < n:
		l.status.say("aaep", "A question that waited is no longer open. You did not answer it.")
	}
}

// done takes away the question on the screen, and puts the next.
func (l *listener) done(news string) {
	l.status.say("aaep", news)
	l.before.leave(l.asked[0])
	l.asked = l.asked[1:]
	l.next()
	l.catchUp()
}

// answer takes a line the person typed.
func (l *listener) answer(ctx context.Context, line typed) {
	if len(l.asked) == 0 {
		if line.text != "" {
			l.nothingAsked()
		}
		return
	}
	q := l.asked[0]
	if line.at.Sub(q.put) < readingTime {
		if line.text != "" {
			l.status.say("aaep", "That was typed before the question could be read. Press Enter to get the question again, then answer.")
		}
		return
	}
	if strings.TrimSpace(line.text) == "" {
		l.put(q)
		return
	}
	var err error
	said := ""
	switch p := q.ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		d := decisionOf(line.text)
		switch {
		case d == "":
			l.status.say("aaep", "That is no answer. "+promptDecision+offerAgain)
			return
		case p.AllowedReplies != nil && !slices.Contains(p.AllowedReplies, d):
			l.status.say("aaep", "The agent does not take that answer to this question.")
			return
		case l.tooSoon(q, p, d, line.at):
			return
		}
		err, said = l.sub.Reply(ctx, q.ev, d), string(d)
	case *aaep.AwaitingClarification:
		response := responseOf(p, line.text)
		if response == nil {
			l.status.say("aaep", "That is no answer. "+prompt(p)+offerAgain)
			return
		}
		err, said = l.sub.Answer(ctx, q.ev, response), inShort(p, response)
	}
	switch {
	case errors.Is(err, subscriber.ErrUnknownEvent):
		l.done("The question is no longer open.")
	case err != nil:
		q.tried = true
		l.status.say("aaep", "Not delivered: "+words.Sentence(plain(err))+" Type it again, or wait.")
	case q.left() <= 0: // the agent is the judge of that
		l.done("Answer sent, but the time to answer seems to be over. It may not count.")
	case said != "":
		l.done("Answer sent: " + words.Sentence(said))
	default:
		l.done("Answer sent.")
	}
}
