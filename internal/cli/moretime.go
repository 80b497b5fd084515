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

// agentsWord is how long the agent has to tell of more time in its own words, before it is told without them: it does
// not reach those who want few events, or none now.
const agentsWord = 3 * time.Second

// askMore asks for more time for the question on the screen. Nothing waits for the answer.
func (l *listener) askMore(ctx context.Context) {
	q := l.asked.First()
	switch {
	case q == nil:
		l.nothingAsked()
		return
	case l.extending:
		l.inform(l.phrase(phrase.MoreAskedAlready, ""))
		return
	}
	l.extending = true
	was, f := q.Limit(), l.from(q)
	go func() {
		err := f.sub.MoreTime(ctx, q.Event)
		l.post(ctx, func() { l.gave(q, was, err) })
	}()
}

// gave tells what came of asking for more time for a question that had so much then.
func (l *listener) gave(q *announce.Asked, was time.Duration, err error) {
	l.extending = false
	if l.asked.Find(q.Event) != q {
		return // what became of the question has been told
	}
	switch {
	case err == nil:
		if q.Limit() == was { // else the agent's own words were faster
			l.given = q
			l.after(agentsWord, l.tellGiven)
		}
		q.Extend(was + q.Given())
		l.out.plan(func(a *announce.Announcer, _ time.Time) { a.MoreTime(q.Event, q.Limit()) })
	case errors.Is(err, subscriber.ErrNoMoreTime):
		said := []string{l.phrase(phrase.NoMoreTime, "")}
		if left := q.Left(time.Now()); left > 0 {
			said = append(said, phrase.Lasting(string(l.tongue()), phrase.TimeToAnswer, left))
		}
		l.inform(said...)
	case errors.Is(err, subscriber.ErrUnknownEvent):
		l.inform(l.phrase(phrase.NoMoreTimeClosed, ""))
	default:
		l.inform(l.phrase(phrase.NoMoreTimeSoFar, l.tongue().why(err)), l.phrase(phrase.AskMoreAgain, ""))
	}
}

// tellGiven says that there is more time, where the agent has not said so.
func (l *listener) tellGiven(context.Context) {
	if q := l.given; q != nil && l.asked.Find(q.Event) == q {
		l.inform(l.phrase(phrase.MoreTime, ""), phrase.Lasting(string(l.tongue()), phrase.TimeToAnswer, q.Left(time.Now())))
	}
	l.given = nil
}

// heedMoreTime notices that the agent itself says how much time there is.
func (f *following) heedMoreTime(ev *aaep.Event) {
	if f.given == nil || f.given.Source != f.name {
		return
	}
	if _, ok := f.given.TimeIn(ev); ok {
		f.given = nil
	}
}
