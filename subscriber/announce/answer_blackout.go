package announce

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/hearing"
)

// answerBlackout is the period in which no answer counts, since the person may mean another
// question: it begins when they begin to hear the name of another question than the one that is
// put, and ends when they have heard the name of that one again. What another agent says, or the
// outcome of its question, begins it too: its words may sound like a question, and a yes may be
// meant for that.
type answerBlackout struct {
	from     time.Time // when the other name began; zero is never
	to       time.Time // when the name that ended it can have been heard; zero is not yet
	recalled bool      // an item that names the put question follows, or was silenced
	// unvoicedAt is when the name was reached and there was no voice for it, zero for never: a no
	// counts from then on, because it does nothing.
	unvoicedAt time.Time
	// mayWait says that no question was named, only another agent spoke, which may go on: the
	// question that is put is then recalled after all of that, and not too often.
	mayWait bool
	// presented is when a voice at the person's pace has said all that was presented so far: an
	// output that returns at once still speaks then.
	presented time.Time
}

// isLasting reports whether the blackout has begun and has no end yet: the question that is put has
// yet to be named.
func (e *answerBlackout) isLasting() bool { return !e.from.IsZero() && e.to.IsZero() }

// coversTime reports whether a time is within the blackout, so that an answer which was begun then
// may be for another question than the one that is put.
func (e *answerBlackout) coversTime(began time.Time) bool {
	return !e.from.IsZero() && !began.Before(e.from) && (e.to.IsZero() || began.Before(e.to))
}

// countsNo reports whether a no that was begun at a time counts though the name is still missing.
func (e *answerBlackout) countsNo(began time.Time) bool {
	return !e.unvoicedAt.IsZero() && !began.Before(e.unvoicedAt)
}

// Named returns when the person began to hear of another question than the one that is put, zero
// for never, and when they had heard the name of that since, zero for not yet. A person with
// several outputs means what was named last over any of them.
func (a *Announcer) Named() (another, put time.Time) { return a.blackout.from, a.blackout.to }

// beginAt begins the blackout, because another name begins to be said: from now on no answer
// counts, until the question that is put is named again. A blackout that has not ended keeps its
// beginning.
func (e *answerBlackout) beginAt(now time.Time) {
	if !e.isLasting() {
		e.mayWait = true
	}
	if e.from.IsZero() || !e.to.IsZero() && !now.Before(e.to) {
		e.from = now
	}
	e.to, e.unvoicedAt = time.Time{}, time.Time{}
}

// namesAnother reports whether the next sentence of an announcement names another question than the
// one that is put, or may do so; an answer begun while it is heard might be meant for that one.
func (a *Announcer) namesAnother(it *item) bool {
	q := a.questions.firstOpen()
	if it.next < it.mayNameAny || it.names != nil && it.names != q {
		return true
	}
	return q != nil && (isOfOther(q, it) || it.session != q.sessionKey() && (it.outcome || awaitsInput(it)))
}

// isOfOther reports whether an announcement is what another agent than that of a question says.
func isOfOther(q *openQuestion, it *item) bool { return it.source != "" && it.source != q.source }

// answerPause is how long what other agents say waits after a question was named to its end: what
// they say would be what a yes is for.
const answerPause = 10 * time.Second

// otherAgentsWaitUntil returns until when what other agents say without need waits for an answer to
// the question that is put; zero is that it does not.
func (a *Announcer) otherAgentsWaitUntil(now time.Time) (until time.Time) {
	q := a.questions.firstOpen()
	if q == nil || q.heardAt.IsZero() || !q.sendingSince.IsZero() || q.timeLeft(now) <= 0 ||
		!a.questions.isReachable(q) || a.blackout.isLasting() {
		return time.Time{}
	}
	if until = laterOf(laterOf(q.heardAt, q.namedAt), a.blackout.to).Add(answerPause); !now.Before(until) {
		return time.Time{}
	}
	return until
}

// waitsForAnswer reports whether an announcement of another agent, or that it has ended, waits a
// while for an answer to the question that is put.
func (a *Announcer) waitsForAnswer(now time.Time, it *item) bool {
	if a.otherAgentsWaitUntil(now).IsZero() || it.outcome || it.wanted || it.next > 0 {
		return false
	}
	q := a.questions.firstOpen()
	isLastWord := func(other *item) bool { return isOfOther(q, other) && other.source == it.ends }
	return isOfOther(q, it) || it.ends != "" && slices.ContainsFunc(a.normal, isLastWord) // its end comes after them
}

// awaitsInput reports whether an announcement says what its session waits for.
func awaitsInput(it *item) bool {
	state, ok := payloadOf(it).(*aaep.StateChanged)
	return ok && state.ToState == aaep.StateAwaitingInput
}

// quoteName marks an announcement of this program as one that may name another question, where the
// announcement it quotes does.
func (a *Announcer) quoteName(it, quoted *item) {
	if quoted != nil && (quoted.names != nil || quoted.mayNameAny > 0 || awaitsInput(quoted) || a.namesAnother(quoted)) {
		it.mayNameAny = len(it.sentences)
	}
}

// beginName updates the blackout when a sentence begins: it begins where the sentence names another
// question, and is set to end where a question is put for the first time, which is heard whole
// before a yes counts, and for a second before a no does. beginSentence calls it.
func (a *Announcer) beginName(now time.Time, it *item, isFirst bool) {
	e := &a.blackout
	switch {
	case isFirst && e.isLasting():
		e.to = laterOf(now, e.presented)
	case a.namesAnother(it):
		e.beginAt(now)
		if it.names != nil || it.next < it.mayNameAny || it.outcome || awaitsInput(it) {
			e.mayWait = false
		}
		e.recalled = it.next < it.mayNameAny && it.names == a.questions.firstOpen()
	}
}

// endName updates the blackout when a sentence was presented whole: it ends after the last of the
// sentences that name the question that is put. timed is false for an output that returned sooner
// than the sentence can have been heard; the time of a voice is then added.
func (a *Announcer) endName(now time.Time, s *part, timed bool) {
	e := &a.blackout
	switch e.presented = laterOf(e.presented, s.began); {
	case timed:
		e.presented = now
	case a.p.Reads: // the line is there, and is seen as soon as a question that is put
		e.presented = laterOf(now, s.began.Add(hearing.StillBefore))
	default:
		e.presented = e.presented.Add(a.speakingTime(s.words))
	}
	if s.names == nil || s.names != a.questions.firstOpen() || s.next+1 < s.named || s.kind == Question && s.unsaid {
		return
	}
	s.names.namedAt = e.presented // with how much time is left, and how to answer
	if s.next+1 == s.named && e.isLasting() {
		e.to = e.presented
	}
}

// endUnvoicedName records in the blackout that a sentence which would have named the question that
// is put had no voice, so that the question can be answered after the person was told that.
func (a *Announcer) endUnvoicedName(now time.Time, s *part) {
	if s.names != nil && s.names == a.questions.firstOpen() && s.next+1 == s.named && a.blackout.isLasting() {
		a.blackout.unvoicedAt = now
	}
}

// laterOf returns the later of two times.
func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// recallFrom returns when the question that is put may be named once more: at once, which is zero,
// unless another agent was the cause and only spoke; then once that has been heard and some time
// has passed since the question was named last.
func (a *Announcer) recallFrom(q *openQuestion) (at time.Time) {
	if e := &a.blackout; e.isLasting() && e.mayWait {
		at = q.remindedAt.Add(hearing.SoonAgain)
		if slices.ContainsFunc(a.normal, func(it *item) bool { return isOfOther(q, it) }) {
			at = laterOf(at, e.from.Add(hearing.SoonAgain))
		}
	}
	return at
}

// recallQuestion names the question that is put once more, after all of an announcement that named
// another, and what that leads to. It does so once; where the person silenced that, their next
// answer brings it again. How long there is and how to answer is left out where that was told
// within half a minute.
func (a *Announcer) recallQuestion(now time.Time) {
	q, e := a.questions.firstOpen(), &a.blackout
	if q == nil || !e.isLasting() || e.recalled {
		return
	}
	takesAnswer := !q.put.IsZero() && q.sendingSince.IsZero() && a.questions.isReachable(q) && q.timeLeft(now) > 0
	isBusy := a.saying != nil || a.isWaiting(a.latest) || slices.ContainsFunc(a.normal, a.wasPrefaced)
	names := func(it *item) bool { return it.names == q }
	isNamedSoon := slices.ContainsFunc(a.urgent, names) || slices.ContainsFunc(a.asked, names)
	if !takesAnswer || isBusy || isNamedSoon || now.Before(a.recallFrom(q)) {
		return
	}
	e.recalled, q.prefaceSaid, q.remindedAt = true, false, now
	if !slices.ContainsFunc(a.normal, q.waitsForItem) {
		q.distracted = false
	}
	it := &item{kind: Notice, arrived: now}
	a.nameQuestion(now, it, q)
	if now.Before(laterOf(q.heardAt, q.keysToldAt).Add(hearing.SoonAgain)) { // the name alone is what they need
		it.sentences = it.sentences[:it.named]
	} else {
		q.keysToldAt = now
	}
	a.recordItem(it)
	a.asked = slices.Insert(a.asked, 0, it)
}

// nameQuestion ends an announcement with the question that is put, how much time is left to answer
// it, and how to.
func (a *Announcer) nameQuestion(now time.Time, it *item, q *openQuestion) {
	language := q.event.Language()
	name := a.withSpeaker(q.source, q.labelWords(language)).splitSentences(false)
	rest := timeToAnswer(language, q.timeLeft(now)).And(" ", q.answering).splitSentences(false)
	it.about, it.names, it.named = q, q, len(it.sentences)+len(name)
	it.sentences = slices.Concat(it.sentences, name, rest)
	it.receipt.Of = len(it.sentences)
}
