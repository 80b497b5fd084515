package cli

import (
	"context"
	"errors"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// agentsWord is how long the agent has to tell of more time in its own words, before it is told
// without them: it does not reach those who want few events, or none now.
const agentsWord = 3 * time.Second

// askMoreTime asks for more time for the question on the screen, and does not wait for the answer.
func (l *listener) askMoreTime(ctx context.Context) {
	q := l.asked.First()
	switch {
	case q == nil:
		l.informNothingAsked()
		return
	case l.extending:
		l.informPerson(l.phraseText(phrase.MoreAskedAlready, ""))
		return
	}
	l.extending = true
	was, f := q.Limit(), l.agentOf(q)
	go func() {
		err := f.sub.MoreTime(ctx, q.Event)
		l.runInLoop(ctx, func() { l.handleMoreTime(q, was, err) })
	}()
}

// handleMoreTime says what came of asking for more time for a question, whose limit was was.
func (l *listener) handleMoreTime(q *announce.Asked, was time.Duration, err error) {
	l.extending = false
	if l.asked.Find(q.Event) != q {
		return // what became of the question has been told
	}
	switch {
	case err == nil:
		if q.Limit() == was { // else the agent's own words were faster
			l.given = q
			l.after(agentsWord, l.informMoreTime)
		}
		q.Extend(was + q.Given())
		l.out.planAll(func(a *announce.Announcer, now time.Time) { a.MoreTime(now, q.Event, nil) })
	case errors.Is(err, subscriber.ErrNoMoreTime):
		said := []string{l.phraseText(phrase.NoMoreTime, "")}
		if left := q.Left(time.Now()); left > 0 {
			said = append(said, phrase.Lasting(string(l.uiLanguage()), phrase.TimeToAnswer, left))
		}
		l.informPerson(said...)
	case errors.Is(err, subscriber.ErrUnknownEvent):
		l.informPerson(l.phraseText(phrase.NoMoreTimeClosed, ""))
	default:
		l.informPerson(l.phraseText(phrase.NoMoreTimeSoFar, l.uiLanguage().explainError(err)),
			l.phraseText(phrase.AskMoreAgain, ""))
	}
}

// informMoreTime says that there is more time, where the agent has not said so.
func (l *listener) informMoreTime(context.Context) {
	if q := l.given; q != nil && l.asked.Find(q.Event) == q {
		l.informPerson(l.phraseText(phrase.MoreTime, ""),
			phrase.Lasting(string(l.uiLanguage()), phrase.TimeToAnswer, q.Left(time.Now())))
	}
	l.given = nil
}

// noteMoreTime notices that the agent itself says how much time there is.
func (f *followedAgent) noteMoreTime(ev *aaep.Event) {
	if f.given == nil || f.given.Source != f.name {
		return
	}
	if _, ok := f.given.TimeIn(ev); ok {
		f.given = nil
	}
}
