package announce

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/spoken"
	"github.com/aaep-go/aaep/internal/words"
)

// questionQueue are what one person is asked, by one or several agents. The first is the one that
// is put to them; none takes the place of another, so that no person answers what they have not
// heard, and agents take turns. They are a pure machine as Announcer is, and not safe for
// concurrent use. The zero questionQueue is ready.
type questionQueue struct {
	all      []*openQuestion
	answered []*openQuestion // answered ones, of which the agent has told nothing since, the latest last
	expected []expectedCall  // calls that were asked about and have yet to begin, the latest last
	doing    []expectedCall  // calls that were accepted and have begun

	outOfReach map[string]error // why, by agent: its questions come after those of others
}

// expectedCall is a tool call of a session, by its id or by what is said of it.
type expectedCall struct{ session, call, text string }

// openQuestion is a question that waits for the person's answer.
type openQuestion struct {
	source     string
	event      *aaep.Event   // that asks it, the newest of those that did
	firstAsked *aaep.Event   // that asked it first; nil is event
	askedAt    time.Time     // when it came, or earlier where it was under way for long
	moreTime   time.Duration // given beyond the time it was asked with

	// How it is put. What it is put with waits in waitingItem until it is put; zero is not yet.
	put         time.Time
	waitingItem *item
	putWords    []Part
	answering   Words // how to answer it

	// What was heard of it. heardAt is when all of it was, later than now where its output returned
	// too soon; presentedUntil is when the parts that were presented can have been heard. Unless
	// heardAt is zero, shownAt is when its output had presented all of it for the first time.
	heardAt        time.Time
	presentedUntil time.Time
	shownAt        time.Time

	// silencedAt is when it was silenced last before all of it was heard, and silenced how often
	// that was.
	silencedAt time.Time
	silenced   int

	// What was told beside it. prefaceSaid says that since it was said the person heard that its
	// session says something else, and distracted that the session did; remindedAt is when they
	// last heard that the question is open, and namedAt when what named it was said to its end.
	prefaceSaid bool
	distracted  bool
	remindedAt  time.Time
	namedAt     time.Time
	keysToldAt  time.Time // when it was named last with how to answer, since it was put

	// keysUntold says that how long there is and how to answer were left out, for no answer would
	// have arrived.
	keysUntold bool

	// leftOutAt is when it was left out because its time was over before it began to be said; zero
	// where it was not, or the person was told.
	leftOutAt time.Time

	// warned says that its end was told, and warnedHere that it was not the agent that did.
	warned     bool
	warnedHere bool

	// Answers. One that was given is under way since sendingSince, zero for none, and was sent at
	// answeredAt; sent is the newest. mayHaveArrived says that one may have that could not be sent,
	// and outcomeTold that what came of one was told before it was known that it was sent.
	sendingSince   time.Time
	sent           *Reply
	mayHaveArrived bool
	outcomeTold    bool
	answeredAt     time.Time

	// Answers that count when they come again: one that may mean two choices, after ambiguityItem,
	// which says which of the two it means, and one that came before it can have been read.
	ambiguous     string
	ambiguityItem *item
	countsAgain   bool

	// acceptWord is a word for a yes; empty is none. It may have come later than the question.
	acceptWord     string
	acceptWordLate bool

	// limitWhenAsked is the time it had when the person asked for more, and moreGivenAt when that
	// was given. Both are zero again once the agent has told of it.
	limitWhenAsked time.Duration
	moreGivenAt    time.Time

	// scan is how far the person has come with switches. moreAskedAt is when more time was asked
	// for meanwhile, and noMoreTime says that the agent gives none.
	scan        scan
	moreAskedAt time.Time
	noMoreTime  bool
}

const (
	reaction  = 20 * time.Second // that a person must have after they heard something (WCAG 2.2.1)
	longAgo   = 30 * time.Second // of an event, until it tells of what was before
	mostAsked = 64               // questions of one agent; it is heard least where it shouts most
)

// addQuestion adds a question, or, where it is an open one in other words or another language,
// replaces the event of that, which must then be heard again. askedAt lies in the past for a
// question that was asked before the person was there, as far as the clocks agree. It returns nil
// where the agent has mostAsked open already.
func (qs *questionQueue) addQuestion(now time.Time, source string, ev *aaep.Event) *openQuestion {
	if q := qs.findByEvent(ev); q != nil {
		return q
	}
	if q := qs.findToldBefore(source, ev); q != nil {
		q.firstAsked, q.event = q.firstEvent(), ev
		q.put, q.heardAt, q.acceptWord, q.countsAgain = time.Time{}, time.Time{}, "", false
		if limit := ev.Timestamp.Sub(q.firstAsked.Timestamp) + closes.Given(ev); limit > q.timeLimit()+hearing.ClocksDiffer {
			q.extendTime(limit)
		}
		return q
	}
	n := 0
	for _, q := range qs.all {
		if q.source == source {
			n++
		}
	}
	if n >= mostAsked {
		return nil
	}
	q := &openQuestion{source: source, event: ev, askedAt: now}
	if age := now.Sub(ev.Timestamp); age > hearing.ClocksDiffer && age < q.timeLimit() {
		q.askedAt = now.Add(-age)
	}
	qs.all = append(qs.all, q)
	if id := closes.CallOf(ev); id != "" {
		qs.expectCall(expectedCall{session: q.sessionKey(), call: id})
	}
	return q
}

// eventWords returns the words in which an event is announced; w are its own. A tool call that was
// accepted is announced as under way or, where it began longAgo, as accepted earlier: its bare name
// would sound like a question. outcome reports whether the event says what came of a question,
// unless it is longAgo, or how a session ended; that is announced at once and with the agent's
// name. It also records which calls are asked about, and which of them have begun and ended.
func (qs *questionQueue) eventWords(now time.Time, source string, ev *aaep.Event, w Words) (_ Words, outcome bool) {
	session, text := sessionOf(source, ev), ev.Text(aaep.VerbosityNormal)
	isPast := now.Sub(ev.Timestamp) > longAgo // it may be over, which what comes next tells
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		switch p.ToState {
		case aaep.StateAwaitingInput:
			qs.expectCall(expectedCall{session: session, text: text})
		case aaep.StateCallingTool:
		default: // it was not accepted
			qs.expected = slices.DeleteFunc(qs.expected, func(d expectedCall) bool {
				return d.session == session && d.text != ""
			})
		}
		outcome = p.FromState == aaep.StateAwaitingInput && p.ToState != aaep.StateAwaitingInput
	case *aaep.ToolInvoked:
		if qs.beginExpected(expectedCall{session, p.ToolCallID, text}) {
			accepted := phrase.AcceptedDoing
			if isPast {
				accepted = phrase.AcceptedEarlier
			}
			return phraseIn(ev.Language(), accepted, "").And("", w.oneLine()), !isPast
		}
	case *aaep.ToolCompleted:
		n := len(qs.doing)
		qs.doing = slices.DeleteFunc(qs.doing, func(d expectedCall) bool {
			return d.session == session && d.call == p.ToolCallID
		})
		outcome = len(qs.doing) < n
	}
	return w, outcome && !isPast || ev.Type().Terminal()
}

// expectCall notes what may be done when it is accepted.
func (qs *questionQueue) expectCall(d expectedCall) {
	qs.expected = append(qs.expected, d)
	qs.expected = qs.expected[max(len(qs.expected)-mostAsked, 0):]
}

// listOpen returns the open questions, firstOpen first.
func (qs *questionQueue) listOpen() []*openQuestion { return slices.Clone(qs.all) }

// countOpen returns how many questions are open.
func (qs *questionQueue) countOpen() int { return len(qs.all) }

// beginExpected takes note that a call has begun, and reports whether a question asked about it:
// one with its id, or without an id in the same words. Such a call is kept in qs.doing until it
// ends.
func (qs *questionQueue) beginExpected(begun expectedCall) (wasExpected bool) {
	n := len(qs.expected)
	qs.expected = slices.DeleteFunc(qs.expected, func(d expectedCall) bool {
		isSame := d.call != "" && d.call == begun.call || d.text != "" && d.text == begun.text
		return isSame && d.session == begun.session
	})
	wasExpected = len(qs.expected) < n
	if wasExpected && begun.call != "" {
		qs.doing = append(qs.doing, expectedCall{session: begun.session, call: begun.call})
		qs.doing = qs.doing[max(len(qs.doing)-mostAsked, 0):]
	}
	return wasExpected
}

// firstOpen returns the question that is put or is to be put next, or nil.
func (qs *questionQueue) firstOpen() *openQuestion {
	if len(qs.all) == 0 {
		return nil
	}
	return qs.all[0]
}

// findByEvent returns the question that an event asks, or nil.
func (qs *questionQueue) findByEvent(ev *aaep.Event) *openQuestion {
	if i := slices.IndexFunc(qs.all, func(q *openQuestion) bool { return q.event == ev }); i >= 0 {
		return qs.all[i]
	}
	return nil
}

// findToldBefore returns the open question that an event asks once more, as in another language, or
// nil.
func (qs *questionQueue) findToldBefore(source string, ev *aaep.Event) *openQuestion {
	token, _ := closes.Token(ev)
	for _, q := range qs.all {
		if token == "" || q.source != source || q.event == ev || q.event.SessionID != ev.SessionID {
			continue
		}
		if known, _ := closes.Token(q.event); known == token {
			return q
		}
	}
	return nil
}

// removeQuestion takes a question out of the queue. Where it was the first, one of another agent
// becomes the first, if one waits and its agent can be reached.
func (qs *questionQueue) removeQuestion(q *openQuestion) {
	i := slices.Index(qs.all, q)
	if i < 0 {
		return
	}
	qs.all = slices.Delete(qs.all, i, i+1)
	if i == 0 {
		qs.turnToOther(q.source)
	}
}

// moveFirstBehind puts the first question behind the others, if there are any.
func (qs *questionQueue) moveFirstBehind() {
	if len(qs.all) > 1 {
		qs.all = append(qs.all[1:], qs.all[0])
	}
}

// turnToOther puts a question of another agent than source first, if one waits; but none of an
// agent that is out of reach while one of any agent that is not waits.
func (qs *questionQueue) turnToOther(source string) {
	isOther := func(q *openQuestion) bool { return q.source != source }
	isOtherReachable := func(q *openQuestion) bool { return isOther(q) && qs.isReachable(q) }
	for _, fits := range []func(*openQuestion) bool{isOtherReachable, qs.isReachable, isOther} {
		if i := slices.IndexFunc(qs.all, fits); i >= 0 {
			q := qs.all[i]
			qs.all = slices.Insert(slices.Delete(qs.all, i, i+1), 0, q)
			return
		}
	}
}

// isReachable reports whether the agent that asks a question is not known to be out of reach.
func (qs *questionQueue) isReachable(q *openQuestion) bool { return qs.outOfReach[q.source] == nil }

// handleEvent removes and returns the questions of an agent that an event of it closes, and takes
// from the event how much time the others have. It reports whether the event only repeats the
// warning that takeEnding gave.
func (qs *questionQueue) handleEvent(now time.Time, source string, ev *aaep.Event) (closed []*openQuestion, repeated bool) {
	qs.confirmAnswers(source, ev)
	for _, q := range qs.listOpen() {
		if q.source != source {
			continue
		}
		if closes.Question(q.event, ev) {
			closed = append(closed, q)
			qs.removeQuestion(q)
			continue
		}
		limit, ok := q.timeToldBy(ev)
		if !ok {
			continue
		}
		if limit > q.timeLimit() {
			q.extendTime(limit)
		} else if ev.Critical() || q.timeLeft(now) <= limit/4 { // not the half of it, but the end
			repeated = q.warnedHere
			q.warned, q.warnedHere = true, false
		}
	}
	return closed, repeated
}

// timeLimit returns how much time there is to answer in all, with what was given beyond timeGiven.
func (q *openQuestion) timeLimit() time.Duration { return q.timeGiven() + q.moreTime }

// timeGiven returns the time to answer that the question was asked with.
func (q *openQuestion) timeGiven() time.Duration { return closes.Given(q.firstEvent()) }

// sessionKey returns the session that asks the question, as sessionOf has it.
func (q *openQuestion) sessionKey() string { return sessionOf(q.source, q.event) }

// firstEvent returns the event that asked the question first.
func (q *openQuestion) firstEvent() *aaep.Event { return cmp.Or(q.firstAsked, q.event) }

// extendTime gives a question the time limit, counted from when it was asked, and has its end told
// anew. It changes nothing where the question has as much time already.
func (q *openQuestion) extendTime(limit time.Duration) {
	if more := limit - q.timeLimit(); more > 0 {
		q.moreTime += more
		q.warned, q.warnedHere = false, false
	}
}

// timeLeft returns how much time is left as far as is known here; it may be negative. Others may be
// given more time without an event that gets here, so only the agent knows when the time is over.
func (q *openQuestion) timeLeft(now time.Time) time.Duration {
	return q.timeLimit() - now.Sub(q.askedAt)
}

// takeEnding returns, once each, a question whose time ends soon, if the agent has not said so: at
// a tenth of it, and so that twenty seconds are left when a person who hears so many words a minute
// has heard what noticeWords says. Else it returns nil. Wake is when to ask again; the zero time is
// when something happens. It also returns one that was answered, where nothing came of that.
func (qs *questionQueue) takeEnding(now time.Time, wordsPerMinute int64) (ends *openQuestion, wake time.Time) {
	if ends, wake = qs.nextUnconfirmed(now); ends != nil {
		return ends, wake
	}
	for _, q := range qs.all {
		if q.warned || q.timeLeft(now) <= 0 || !qs.isReachable(q) && q != qs.all[0] {
			continue
		}
		warning := qs.warningWords(q, reaction+time.Second) // in as many words as it will have then
		// The agent says it at a tenth; this waits a second for that. Its words may be in the
		// person's language.
		speakingTime := spoken.Time(warning.String(), cmp.Or(max(wordsPerMinute, 0), usualPace))
		margin := max(q.timeLimit()/10, reaction+speakingTime) - time.Second
		if due := q.askedAt.Add(q.timeLimit() - margin); due.After(now) {
			if wake.IsZero() || due.Before(wake) {
				wake = due
			}
			continue
		}
		q.warned, q.warnedHere = true, q.timeLimit() > margin
		if q.warnedHere { // else the question itself says how little there is
			return q, now
		}
	}
	return nil, wake
}

// noticeWords says how much time is left for a question, of several for which; of one that was
// answered, only which it is.
func (qs *questionQueue) noticeWords(now time.Time, q *openQuestion) Words {
	if q.answeredAt.IsZero() {
		return qs.warningWords(q, q.timeLeft(now))
	}
	return q.labelWords(q.event.Language())
}

// labelWords says which question is meant.
func (q *openQuestion) labelWords(language string) Words {
	return labelText(language, phrase.OpenQuestionIs, words.Sentence(words.OneLine(shortText(q.event))))
}

// warningWords says that the time of a question is almost over, with how much is left, or that it
// is over.
func (qs *questionQueue) warningWords(q *openQuestion, remaining time.Duration) Words {
	language := q.event.Language()
	w := phraseIn(language, phrase.LittleTimeLeft, phrase.Time(language, remaining))
	if isOver(remaining) {
		w = timeToAnswer(language, remaining)
	} else if sharesVoice(w[0].Language, ownLanguage) {
		w = In(w[0].Language, "The time to answer is almost over: you have "+phrase.Time(ownLanguage, remaining)+".")
	}
	if len(qs.all) > 1 {
		w = w.And(" ", q.labelWords(language))
	}
	return w
}

// findTimed returns the open question whose remaining time an event states, or nil.
func (qs *questionQueue) findTimed(source string, ev *aaep.Event) *openQuestion {
	for _, q := range qs.all {
		if _, ok := q.timeToldBy(ev); ok && q.source == source {
			return q
		}
	}
	return nil
}

// timeToldBy returns how much time an event says that a question has in all; ok is false where it
// does not say so. It is never less than the time that is known.
func (q *openQuestion) timeToldBy(ev *aaep.Event) (limit time.Duration, ok bool) {
	return closes.TimeIn(q.firstEvent(), q.timeLimit(), ev)
}

// addQuestion puts a question among the open ones and reports whether it may be put: false where
// its agent has too many open. The announcement of an earlier wording of the same question is taken
// back.
func (a *Announcer) addQuestion(now time.Time, source string, ev *aaep.Event) bool {
	if q := a.questions.findToldBefore(source, ev); q != nil {
		a.withdrawQuestion(q, now)
	}
	return a.questions.addQuestion(now, source, ev) != nil
}

// withdrawQuestion takes out of every queue what asks a question that needs no answer any more, and
// what is about it, and ends each as expired. What of that is being said is marked as cancelled,
// and its output ends it.
func (a *Announcer) withdrawQuestion(q *openQuestion, now time.Time) {
	if it := q.waitingItem; it != nil {
		q.waitingItem = nil
		a.endItem(it, now, Expired)
	}
	for _, it := range slices.Concat(a.urgent, a.asked, a.normal, a.missed, slices.Collect(maps.Values(a.soFar))) {
		if it.event == q.event || it.about == q {
			it.cancelled = true
			a.removeItem(it)
			a.endItem(it, now, Expired)
		}
	}
}
