package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
)

// A question waits for the person's answer.
type question struct {
	ev       *aaep.Event
	received time.Time
	put      time.Time // when it came to the screen; zero while another is there
}

// readingTime is how long a question is on the screen before a line is taken as an answer to it. What comes
// sooner was typed for something else.
const readingTime = time.Second

func (q *question) left() time.Duration {
	var seconds int64
	switch p := q.ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		seconds = p.TimeoutSeconds
	case *aaep.AwaitingClarification:
		seconds = p.TimeoutSeconds
	}
	return time.Duration(seconds)*time.Second - time.Since(q.received)
}

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
	l.asked = append(l.asked, &question{ev: ev, received: time.Now()})
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
	}
	if len(l.asked) == 0 {
		return
	}
	q := l.asked[0]
	switch p := q.ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		l.say("", confirmation(p, q.left())+"\n"+promptDecision)
	case *aaep.AwaitingClarification:
		l.say("", clarification(p, q.left())+"\n"+prompt(p))
	}
	q.put = time.Now()
}

// settle takes away the questions that an event says are no longer open.
func (l *listener) settle(ev *aaep.Event) {
	if len(l.asked) == 0 {
		return
	}
	first := l.asked[0]
	l.asked = slices.DeleteFunc(l.asked, func(q *question) bool { return ends(q.ev, ev) })
	if len(l.asked) == 0 || l.asked[0] != first {
		l.status.say("aaep", "The question is no longer open.")
		l.next()
	}
}

// done takes away the question on the screen, and puts the next.
func (l *listener) done(news string) {
	l.status.say("aaep", news)
	l.asked = l.asked[1:]
	l.next()
}

// answer takes a line the person typed.
func (l *listener) answer(ctx context.Context, line typed) {
	if len(l.asked) == 0 {
		if line.text != "" {
			l.status.say("aaep", "Nothing is being asked.")
		}
		return
	}
	q := l.asked[0]
	switch {
	case q.left() <= 0:
		l.done("The time to answer is over.")
		return
	case line.at.Sub(q.put) < readingTime:
		if line.text != "" {
			l.status.say("aaep", "That was typed before the question could be read. Please read it, and type your answer again.")
		}
		return
	}
	var err error
	switch p := q.ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		d := decisionOf(line.text)
		switch {
		case d == "":
			l.status.say("aaep", "That is no answer. "+promptDecision)
			return
		case p.AllowedReplies != nil && !slices.Contains(p.AllowedReplies, d):
			l.status.say("aaep", "The agent does not take that answer to this question.")
			return
		}
		err = l.sub.Reply(ctx, q.ev, d)
	case *aaep.AwaitingClarification:
		response := responseOf(p, line.text)
		if response == nil {
			l.status.say("aaep", "That is no answer. "+prompt(p))
			return
		}
		err = l.sub.Answer(ctx, q.ev, response)
	}
	switch {
	case errors.Is(err, subscriber.ErrUnknownEvent):
		l.done("The question is no longer open.")
	case err != nil:
		l.status.say("aaep", "Not delivered: "+sentence(plain(err))+" Type it again, or wait.")
	default:
		l.done("Answer sent.")
	}
}
