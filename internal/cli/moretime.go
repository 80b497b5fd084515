package cli

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber"
)

// offerMore ends the line that says how to answer.
const offerMore = " /more asks for more time."

// agentsWord is how long the agent has to tell of more time in its own words, before it is told without them: it does
// not reach those who want few events, or none now.
const agentsWord = 3 * time.Second

// moreTime is what came of asking for more time for a question.
type moreTime struct {
	q   *question
	was time.Duration // how much more there was when it was asked for
	err error
}

// askMore asks for more time for the question on the screen. Nothing waits for the answer.
func (l *listener) askMore(ctx context.Context) {
	switch {
	case len(l.asked) == 0:
		l.nothingAsked()
		return
	case l.extending:
		l.status.say("aaep", "More time is being asked for already.")
		return
	}
	l.extending = true
	m := moreTime{q: l.asked[0], was: l.asked[0].more}
	go func() {
		m.err = l.sub.MoreTime(ctx, m.q.ev)
		l.extended <- m // there is room for one, and there is only one
	}()
}

// gave tells what came of asking for more time.
func (l *listener) gave(ctx context.Context, m moreTime) {
	l.extending = false
	if ctx.Err() != nil || !slices.Contains(l.asked, m.q) {
		return // what became of the question has been told
	}
	switch {
	case m.err == nil:
		if m.q.more == m.was { // else the agent's own words were faster
			l.given, l.untold = m.q, time.After(agentsWord)
		}
		m.q.more = max(m.q.more, m.was+m.q.limit())
	case errors.Is(m.err, subscriber.ErrNoMoreTime):
		text := "The agent gives no more time for this question."
		if left := m.q.left(); left > 0 {
			text += " You have " + words.Spoken(left) + " to answer."
		}
		l.status.say("aaep", text)
	case errors.Is(m.err, subscriber.ErrUnknownEvent):
		l.status.say("aaep", "There is no more time: the question is no longer open.")
	default:
		l.status.say("aaep", "No more time so far: "+words.Sentence(plain(m.err))+" To ask again, type /more.")
	}
}

// tellGiven says that there is more time, where the agent has not said so.
func (l *listener) tellGiven() {
	if slices.Contains(l.asked, l.given) {
		l.status.say("aaep", "There is more time. You have "+words.Spoken(l.given.left())+" to answer.")
	}
	l.given, l.untold = nil, nil
}

// heed takes from an event how much time there is for the questions that wait.
func (l *listener) heed(ev *aaep.Event) {
	for _, q := range l.asked {
		limit, ok := timeFor(q, ev)
		if !ok {
			continue
		}
		q.more = max(q.more, limit-q.limit())
		if q == l.given { // in the agent's words
			l.given, l.untold = nil, nil
		}
	}
}

// timeFor is how much time an event says that a question has in all. Such an event does not name its question, and
// its session may tell of other work too. But the time that is left, the share of it that is over, and the moments of
// both events, which are by the same clock, must agree; and it never takes time away (CONF-039).
func timeFor(q *question, ev *aaep.Event) (limit time.Duration, ok bool) {
	p, is := ev.Payload.(*aaep.ProgressUpdated)
	if !is || ev.SessionID != q.ev.SessionID || p.ETAMS == nil || p.Progress.Percent == nil {
		return 0, false
	}
	left := time.Duration(min(*p.ETAMS, 24*time.Hour.Milliseconds())) * time.Millisecond
	over := ev.Timestamp.Sub(q.ev.Timestamp)
	limit = (over + left).Round(time.Second)
	share := 100 * over.Seconds() / limit.Seconds()
	return limit, over >= 0 && left > 0 && limit >= q.limit() && limit <= 24*time.Hour && math.Abs(share-*p.Progress.Percent) <= 1
}
