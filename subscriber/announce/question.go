package announce

import (
	"cmp"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/spoken"
	"github.com/aaep-go/aaep/internal/words"
)

// Questions are what one person is asked, by one or several agents. The first is the one that is
// put to them; none takes the place of another, so that no person answers what they have not heard,
// and agents take turns. They are a pure machine as Announcer is, and not safe for concurrent use.
// The zero Questions are ready.
type Questions struct {
	all      []*Asked
	answered []*Asked       // of which the agent has told nothing since, the latest last
	expected []expectedCall // that were asked about and have yet to be done, the latest last
	doing    []expectedCall // that were accepted and begun
}

// expectedCall is a tool call of a session, by its id or by what is said of it.
type expectedCall struct{ session, call, text string }

// Asked is a question that waits for the person's answer.
type Asked struct {
	Source string
	Event  *aaep.Event
	Put    time.Time // when it was put last; zero is not yet

	first     *aaep.Event   // that asked it, where it was told once more since
	received  time.Time     // or, where it was under way for long, when it was asked
	more      time.Duration // given beyond the time it was asked with
	heard     time.Time     // whole; later than now where its output returned too soon
	until     time.Time     // when the parts that were presented can have been heard
	words     *item         // to put it with, until then
	said      []Part        // what it is put with
	led       bool          // since it was said, that its session says something else,
	drowned   bool          // and it did
	reminded  time.Time     // that it is open
	answering Words         // how to answer it
	warned    bool          // that its time ends was told,
	here      bool          // and not by the agent
	sending   time.Time     // since when an answer to it is on its way; zero is none
	tried     bool          // an answer may have arrived that could not be sent
	doubted   string        // an answer that may mean two choices, and is taken when it comes again,
	meant     *item         // after this, which says which of the two it means
	answered  time.Time     // that was sent
	accept    string        // a word for a yes; empty is none
	late      bool          // that word came later than the question
	again     bool          // a yes, or a choice, came before the question can have been read, and counts when it comes again
	limit     time.Duration // when more time was asked for; zero is not, or that the agent has told of it
	given     time.Time     // when that was given; zero is not, or that it was told
}

const (
	clocksDiffer = 2 * time.Second  // that show the same time (D-35)
	reaction     = 20 * time.Second // that a person must have after they heard something (WCAG 2.2.1)
	mostAsked    = 64               // questions of one agent; it is heard least where it shouts most
)

// Add adds a question that comes now, or finds it again: one that is told once more, as in another
// language, is asked by its newest event, and has to be heard anew. A person who was not there when
// it was asked has what is left of its time, as far as the agent's clock tells that. It returns nil
// for a question of an agent that has too many open already.
func (qs *Questions) Add(now time.Time, source string, ev *aaep.Event) *Asked {
	if q := qs.Find(ev); q != nil {
		return q
	}
	if q := qs.findToldBefore(source, ev); q != nil {
		q.first, q.Event, q.Put, q.heard, q.accept, q.again = q.firstEvent(), ev, time.Time{}, time.Time{}, "", false
		if limit := ev.Timestamp.Sub(q.first.Timestamp) + closes.Given(ev); limit > q.Limit()+clocksDiffer {
			q.Extend(limit)
		}
		return q
	}
	n := 0
	for _, q := range qs.all {
		if q.Source == source {
			n++
		}
	}
	if n >= mostAsked {
		return nil
	}
	q := &Asked{Source: source, Event: ev, received: now}
	if late := now.Sub(ev.Timestamp); late > clocksDiffer && late < q.Limit() {
		q.received = now.Add(-late)
	}
	qs.all = append(qs.all, q)
	if id := closes.CallOf(ev); id != "" {
		qs.expectCall(expectedCall{session: q.sessionKey(), call: id})
	}
	return q
}

// Told is what is said of an event: what was accepted, as what is being done. Its bare name would
// sound as if it were asked of the person. Who is not asked is told that the agent waits for the
// answer, and by the same name what it does then. Outcome reports whether the event tells what came
// of a question, or how a session ended: of several agents, whose it is belongs to that.
func (qs *Questions) Told(source string, ev *aaep.Event, w Words) (_ Words, outcome bool) {
	session, text := sessionOf(source, ev), ev.Text(aaep.VerbosityNormal)
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		switch p.ToState {
		case aaep.StateAwaitingInput:
			qs.expectCall(expectedCall{session: session, text: text})
		case aaep.StateCallingTool:
		default: // it was not accepted
			qs.expected = slices.DeleteFunc(qs.expected, func(d expectedCall) bool { return d.session == session && d.text != "" })
		}
		outcome = p.FromState == aaep.StateAwaitingInput && p.ToState != aaep.StateAwaitingInput
	case *aaep.ToolInvoked:
		n := len(qs.expected)
		qs.expected = slices.DeleteFunc(qs.expected, func(d expectedCall) bool {
			return d.session == session && (d.call != "" && d.call == p.ToolCallID || d.text != "" && d.text == text)
		})
		if len(qs.expected) < n {
			if p.ToolCallID != "" {
				qs.doing = append(qs.doing, expectedCall{session: session, call: p.ToolCallID})
				qs.doing = qs.doing[max(len(qs.doing)-mostAsked, 0):]
			}
			return phraseIn(ev.Language(), phrase.AcceptedDoing, "").And("", w.oneLine()), true
		}
	case *aaep.ToolCompleted:
		n := len(qs.doing)
		qs.doing = slices.DeleteFunc(qs.doing, func(d expectedCall) bool { return d.session == session && d.call == p.ToolCallID })
		outcome = len(qs.doing) < n
	}
	return w, outcome || ev.Type().Terminal()
}

// expectCall notes what may be done when it is accepted.
func (qs *Questions) expectCall(d expectedCall) {
	qs.expected = append(qs.expected, d)
	qs.expected = qs.expected[max(len(qs.expected)-mostAsked, 0):]
}

// All returns those that are open; the one to put, or that is put, is the first.
func (qs *Questions) All() []*Asked { return slices.Clone(qs.all) }

// Len is how many are open.
func (qs *Questions) Len() int { return len(qs.all) }

// First is the one to put, or nil.
func (qs *Questions) First() *Asked {
	if len(qs.all) == 0 {
		return nil
	}
	return qs.all[0]
}

// Find returns the question that an event asks, or nil.
func (qs *Questions) Find(ev *aaep.Event) *Asked {
	if i := slices.IndexFunc(qs.all, func(q *Asked) bool { return q.Event == ev }); i >= 0 {
		return qs.all[i]
	}
	return nil
}

// findToldBefore is the question that an event tells once more, or nil.
func (qs *Questions) findToldBefore(source string, ev *aaep.Event) *Asked {
	token, _ := closes.Token(ev)
	for _, q := range qs.all {
		if token == "" || q.Source != source || q.Event == ev || q.Event.SessionID != ev.SessionID {
			continue
		}
		if open, _ := closes.Token(q.Event); open == token {
			return q
		}
	}
	return nil
}

// Remove takes a question away. After the first, another agent comes first, if one waits.
func (qs *Questions) Remove(q *Asked) {
	i := slices.Index(qs.all, q)
	if i < 0 {
		return
	}
	qs.all = slices.Delete(qs.all, i, i+1)
	if i == 0 {
		qs.turnToOther(q.Source)
	}
}

// Later puts the first question behind the others, if there are any.
func (qs *Questions) Later() {
	if len(qs.all) > 1 {
		qs.all = append(qs.all[1:], qs.all[0])
	}
}

// turnToOther makes the first a question of another agent, if one waits.
func (qs *Questions) turnToOther(than string) {
	if i := slices.IndexFunc(qs.all, func(q *Asked) bool { return q.Source != than }); i > 0 {
		other := qs.all[i]
		qs.all = slices.Insert(slices.Delete(qs.all, i, i+1), 0, other)
	}
}

// HandleEvent takes from an event of an agent which of its questions are open no longer, and
// removes them, and how much time there is for the others. It reports whether the event only
// repeats what TimeEnds said.
func (qs *Questions) HandleEvent(now time.Time, source string, ev *aaep.Event) (closed []*Asked, told bool) {
	qs.confirmAnswers(source, ev)
	for _, q := range qs.All() {
		if q.Source != source {
			continue
		}
		if closes.Question(q.Event, ev) {
			closed = append(closed, q)
			qs.Remove(q)
			continue
		}
		limit, ok := q.TimeIn(ev)
		if !ok {
			continue
		}
		if limit > q.Limit() {
			q.Extend(limit)
		} else if ev.Critical() || q.Left(now) <= limit/4 { // not the half of it, but the end
			told = q.here
			q.warned, q.here = true, false
		}
	}
	return closed, told
}

// Limit is that time with what was added to it.
func (q *Asked) Limit() time.Duration { return q.Given() + q.more }

// Given is the time to answer that it was asked with.
func (q *Asked) Given() time.Duration { return closes.Given(q.firstEvent()) }

// sessionKey is that which asks it.
func (q *Asked) sessionKey() string { return sessionOf(q.Source, q.Event) }

// firstEvent is the event that asked it first.
func (q *Asked) firstEvent() *aaep.Event { return cmp.Or(q.first, q.Event) }

// Extend says how much time there is in all, from when it was asked. It never takes time away.
func (q *Asked) Extend(limit time.Duration) {
	if more := limit - q.Limit(); more > 0 {
		q.more += more
		q.warned, q.here = false, false
	}
}

// Left is how much time there is as far as is known here. Others may have more time given without a
// word that gets here, so that only the agent knows when it is over.
func (q *Asked) Left(now time.Time) time.Duration { return q.Limit() - now.Sub(q.received) }

// TimeEnds returns, once each, a question whose time ends soon, if the agent has not said so: at a
// tenth of it, and so that twenty seconds are left when a person who hears so many words a minute
// has heard its Warning. Else it returns nil. Wake is when to ask again; the zero time is when
// something happens. It also returns one that was Answered, where nothing came of that.
func (qs *Questions) TimeEnds(now time.Time, wordsPerMinute int64) (ends *Asked, wake time.Time) {
	if ends, wake = qs.nextUnconfirmed(now); ends != nil {
		return ends, wake
	}
	for _, q := range qs.all {
		if q.warned || q.Left(now) <= 0 {
			continue
		}
		warning := qs.warningWords(q, reaction+time.Second) // in as many words as it will have then
		// The agent says it at a tenth; this waits a second for that. Its words may be in the
		// person's language.
		at := max(q.Limit()/10, reaction+spoken.Time(warning.String(), cmp.Or(max(wordsPerMinute, 0), usualPace))) - time.Second
		if due := q.received.Add(q.Limit() - at); due.After(now) {
			if wake.IsZero() || due.Before(wake) {
				wake = due
			}
			continue
		}
		q.warned, q.here = true, q.Limit() > at
		if q.here { // else the question itself says how little there is
			return q, now
		}
	}
	return nil, wake
}

// Warning says how much time is left for a question, of several for which; of one that was
// Answered, only which it is.
func (qs *Questions) Warning(now time.Time, q *Asked) Words {
	if q.answered.IsZero() {
		return qs.warningWords(q, q.Left(now))
	}
	return q.labelWords(q.Event.Language())
}

// labelWords says which question is meant.
func (q *Asked) labelWords(language string) Words {
	return labelText(language, phrase.OpenQuestionIs, words.Sentence(words.OneLine(shortText(q.Event))))
}

func (qs *Questions) warningWords(q *Asked, left time.Duration) Words {
	theirs := q.Event.Language()
	w := phraseIn(theirs, phrase.LittleTimeLeft, phrase.Time(theirs, left))
	if sharesVoice(w[0].Language, ownLanguage) {
		w = In(w[0].Language, "The time to answer is almost over: you have "+phrase.Time(ownLanguage, left)+".")
	}
	if len(qs.all) > 1 {
		w = w.And(" ", q.labelWords(theirs))
	}
	return w
}

// findTimed is the question whose time an event tells, or nil.
func (qs *Questions) findTimed(source string, ev *aaep.Event) *Asked {
	for _, q := range qs.all {
		if _, ok := q.TimeIn(ev); ok && q.Source == source {
			return q
		}
	}
	return nil
}

// TimeIn is how much time an event says that a question has in all, if it says so. It never takes
// time away.
func (q *Asked) TimeIn(ev *aaep.Event) (limit time.Duration, ok bool) {
	return closes.TimeIn(q.firstEvent(), q.Limit(), ev)
}
