package announce

import (
	"cmp"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/phrase"
)

// chooseTurn returns which of the announcements that wait, oldest first and at least one, is said
// next: the one whose preface was just said, what came of a question, what a walk reads, what the
// session says whose question is put, the rest of what has begun, then more of the agent that
// speaks, until it has spoken for long and another one waits.
func (a *Announcer) chooseTurn(now time.Time, waiting []*item) *item {
	first := func(fits func(it *item) bool) *item {
		if i := slices.IndexFunc(waiting, fits); i >= 0 {
			return waiting[i]
		}
		return nil
	}
	isLed := func(it *item) bool { return a.wasPrefaced(it) && !slices.Contains(waiting, a.latest) }
	if it := first(isLed); it != nil {
		return it
	}
	if it := first(func(it *item) bool { return it.outcome && !it.event.Type().Terminal() }); it != nil {
		return it
	}
	if it := first(func(it *item) bool { return it.fromWalk }); it != nil {
		if waiting[0].reminds { // that this is beside a question
			return waiting[0]
		}
		return it
	}
	if q := a.questions.firstOpen(); q != nil && !q.put.IsZero() { // what is decided may depend on it
		isOfQuestion := func(it *item) bool { return it.reminds || it.session == q.sessionKey() }
		if it := cmp.Or(first(isOfQuestion), first(q.waitsForItem)); it != nil {
			return it
		}
	}
	if waiting[0].reminds { // or it would be said after what it is about
		return waiting[0]
	}
	if it := first(func(it *item) bool { return it.next > 0 }); it != nil {
		return it
	}
	other := first(func(it *item) bool { return it.source != a.speaker && it.source != "" })
	if waiting[0].source == "" || other == nil { // what this program says is no turn of an agent, but keeps its place
		return waiting[0]
	}
	if now.Sub(a.speakerSince) < longTurn {
		return cmp.Or(first(func(it *item) bool { return it.source == a.speaker }), other)
	}
	return other
}

// Ended takes what became of an utterance. Heard is one that was presented whole, Cut one that the
// person silenced, Unsaid one that cannot be presented; Waiting is one that was cancelled because
// Next wanted it, or that failed, and is said again. An id of an utterance that is not being said
// changes nothing. The driver of the output calls it, once for each utterance of Next.
func (a *Announcer) Ended(now time.Time, id int64, outcome Outcome) {
	s := a.saying
	if s == nil || s.u.ID != id {
		return
	}
	a.saying, a.mustCut = nil, false
	if s.postponed && outcome != Cut { // from its beginning, also where it had to end unsaid
		outcome = Waiting
	}
	s.postponed = false
	switch outcome {
	case Heard:
		a.endHeard(now, s)
	case Unsaid: // another language may follow
		s.unsaid = true
		a.endUnvoicedName(now, s)
		a.countTold(s.item, now)
	case Cut:
		a.endCut(now, s)
	default:
		if !s.cancelled {
			s.receipt.Outcome = Waiting
		}
	}
}

// endHeard is Ended for an utterance that was presented whole. An output that is faster than a
// person can listen does not know when it was heard, and tells nothing of the person's pace; nor
// does what is critical, which may stay until it is noticed.
func (a *Announcer) endHeard(now time.Time, s *part) {
	duration := now.Sub(s.began)
	isTimed := duration >= time.Duration(s.words)*time.Minute/fastest
	if isTimed && !s.critical {
		a.pace.addHeard(s.words, duration)
	}
	a.endName(now, s, isTimed)
	if q := a.questions.findByEvent(s.event); q != nil && s.kind == Question {
		q.countHeard(s, now, isTimed, a.speakingTime(s.words)+a.spellingTime(s.u.Text, s.u.Language))
	}
	s.receipt.Said++
	if q := a.questions.firstOpen(); q != nil && distractsFrom(q, s.item) {
		q.distracted = true
	}
	a.countTold(s.item, now)
	if isOfQuestion := s.outcome && !s.event.Type().Terminal(); isOfQuestion && a.p.Verbosity != aaep.VerbosityDetailed {
		a.dropBeginning(now, s.session)
	}
}

// dropBeginning drops what says that a session begins: after what came of its question, it would
// sound as if the work began anew. endHeard calls it.
func (a *Announcer) dropBeginning(now time.Time, session string) {
	a.expireNormal(now, func(it *item) bool {
		_, begins := payloadOf(it).(*aaep.SessionStarted)
		return begins && it.session == session && a.isUntold(it)
	})
}

// endCut is Ended for an utterance that the person silenced: they hear no more of the announcement.
// But the question that is put is still named, if its name had yet to come.
func (a *Announcer) endCut(now time.Time, s *part) {
	nameIsToCome := s.item.next < s.mayNameAny && s.mayNameAny < len(s.sentences)
	if nameIsToCome && !s.cancelled {
		s.item.next, s.receipt.Outcome = s.mayNameAny, Waiting
		return
	}
	a.removeItem(s.item)
	a.endItem(s.item, now, Cut)
	about := s.item
	if s.noVoice != nil { // all that could be said of it
		about = s.noVoice
	}
	if q := a.questions.findByEvent(about.event); q != nil && about.kind == Question && q.heardAt.IsZero() {
		q.silencedAt, q.silenced = now, q.silenced+1
	}
}

// countHeard moves q.presentedUntil, the time by which the person has heard the question so far,
// past one more sentence: to now, or, where isTimed is false (the output returned before it can
// have been heard), by speakingTime.
func (q *openQuestion) countHeard(s *part, now time.Time, isTimed bool, speakingTime time.Duration) {
	if s.item.next == 0 || q.presentedUntil.Before(s.began) {
		q.presentedUntil = s.began
	}
	if isTimed && q.presentedUntil.Before(now) {
		q.presentedUntil = now
	} else if !isTimed {
		q.presentedUntil = q.presentedUntil.Add(speakingTime)
	}
}

// countTold counts the next sentence of an announcement as presented, or as one that no output
// could present. After the last one the announcement ends, and a question counts as heard.
func (a *Announcer) countTold(it *item, now time.Time) {
	it.next++
	if it.next < len(it.sentences) {
		it.receipt.Outcome = Waiting
		return
	}
	a.removeItem(it)
	if it.unsaid {
		a.endItem(it, now, Unsaid)
		return
	}
	a.endItem(it, now, Heard)
	if q := a.questions.findByEvent(it.event); q != nil && it.kind == Question {
		if q.heardAt.IsZero() {
			q.shownAt = now
		}
		q.heardAt, q.prefaceSaid, q.distracted = now, false, false
		if q.presentedUntil.After(now) {
			q.heardAt = q.presentedUntil
		}
	}
}

// endItem writes into an announcement's receipt what became of it, and counts what was left out for
// each agent. It does not take it out of its queue; see removeItem.
func (a *Announcer) endItem(it *item, now time.Time, outcome Outcome) {
	it.receipt.Outcome, it.receipt.Ended = outcome, now
	if outcome == Expired && it.source != "" && it.kind != Question {
		setEntry(&a.leftOut, it.source, a.leftOut[it.source]+1)
	}
	if g := a.agents[it.session]; g != nil && it.kind == Progress && outcome == Heard {
		g.told = now
	}
}

// removeItem takes an announcement out of the queue that it waits in, or out of what is kept for
// Details; one that is in none stays as it is.
func (a *Announcer) removeItem(it *item) {
	for _, q := range []*[]*item{&a.urgent, &a.asked, &a.normal, &a.missed} {
		if i := slices.Index(*q, it); i >= 0 {
			*q = slices.Delete(*q, i, i+1)
		}
	}
	if a.soFar[it.session] == it {
		delete(a.soFar, it.session)
	}
}

// handleTime does what is due at a time without an event or key: pauses of answers, states held
// back, warnings and ends of questions, reminders. Next calls it before it chooses; nextWake
// returns when something is due again.
func (a *Announcer) handleTime(now time.Time) {
	a.noteAsking(now)
	a.flushPaused(now)
	lasted, wake := a.duplicates.takeDue(now)
	for a.stateDue = wake; len(lasted) > 0; lasted = lasted[1:] {
		a.queueByKind(now, lasted[0])
	}
	if a.isTyping && now.Sub(a.lastKey) >= hearing.StillFor {
		a.endTyping(now)
	}
	for {
		q, wake := a.questions.takeEnding(now, a.wordsPerMinute())
		if a.timeEnds = wake; q == nil {
			break
		}
		w := a.questions.noticeWords(now, q)
		if q.answeredAt.IsZero() {
			if it := a.addNotice(now, a.withSpeaker(q.source, w), true, q); it != nil {
				it.names, it.warns = q, true
			}
			continue
		}
		unconfirmed := phraseIn(a.language, phrase.AnswerUnheeded, "")
		if a.lastClosed == q {
			a.lastOutcome = unconfirmed
		}
		if it := a.addNotice(now, a.withSpeaker(q.source, unconfirmed.And(" ", w)), false, nil); it != nil {
			it.names = q
		}
	}
	a.tellMoreTime(now)
	a.closeOverdue(now)
	a.leaveOutOverdue(now)
	a.correctTime(now)
	a.dropStale(now)
	a.recallQuestion(now)
	a.remindOfQuestion(now)
	a.repeatSilenced(now)
}

// heldUpQuestions returns the questions in the urgent queue that keep something else that is
// critical waiting.
func (a *Announcer) heldUpQuestions() (list []*openQuestion) {
	for _, it := range a.urgent {
		q := a.questions.findByEvent(it.event)
		another := func(other *item) bool { return other != it && other.about != q }
		if q != nil && slices.ContainsFunc(a.urgent, another) {
			list = append(list, q)
		}
	}
	return list
}

// closeOverdue closes the questions whose time is over and behind which another question, or
// something critical, waits: an output may hold a question until the person notices it, and not
// every caller reports an answer with Settle. A person who has not heard all of it is told.
func (a *Announcer) closeOverdue(now time.Time) {
	if q := a.questions.firstOpen(); a.holdsOthers(q) && q.timeLeft(now) <= 0 {
		a.noteWithdrawn(now, q)
		a.questions.removeQuestion(q)
		a.withdrawQuestion(q, now)
		closed := phraseIn(a.language, phrase.QuestionClosed, "")
		a.addNotice(now, a.withSpeaker(q.source, closed), true, nil) // before the next, or it were about that
		a.putNext(now)
	}
	for _, q := range a.heldUpQuestions() {
		if q.timeLeft(now) > 0 {
			continue
		}
		why := phrase.OverNotPut
		if a.saying != nil && a.saying.event == q.event {
			why = phrase.QuestionClosed
		}
		a.withdrawQuestion(q, now)
		a.addNotice(now, a.withSpeaker(q.source, phraseIn(a.language, why, "")), false, nil)
	}
}

// leaveOutOverdue leaves out a question whose time is over before it began to be said, as after the
// program was stopped: its agent tells what came of it. Where that does not come within
// hearing.ClocksDiffer, the person is told that it was not put; where more time was given instead,
// it is put. handleTime calls it.
func (a *Announcer) leaveOutOverdue(now time.Time) {
	for _, q := range a.questions.all {
		isQueued := func(it *item) bool { return it.event == q.event && it.kind == Question && it.next == 0 }
		switch {
		case !q.leftOutAt.IsZero() && !isOver(q.timeLeft(now)):
			q.leftOutAt = time.Time{}
			a.queueByKind(now, q.newItem(now))
		case !q.leftOutAt.IsZero() && now.Sub(q.leftOutAt) >= hearing.ClocksDiffer:
			q.leftOutAt = time.Time{}
			a.addNotice(now, a.withSpeaker(q.source, phraseIn(a.language, phrase.OverNotPut, "")), true, q)
		case q.put.IsZero() && isOver(q.timeLeft(now)) && slices.ContainsFunc(a.urgent, isQueued):
			a.withdrawQuestion(q, now)
			q.leftOutAt = now
		}
	}
}

// correctTime updates the notices about the time left for a question that had to wait, here or on
// their way, so that they say the time that is left now. One of which none is left is left out.
// handleTime calls it.
func (a *Announcer) correctTime(now time.Time) {
	for _, it := range slices.Clone(a.urgent) {
		hasBegun := it.next > 0 || a.saying != nil && a.saying.item == it
		if !it.warns || hasBegun {
			continue
		}
		if isOver(it.about.timeLeft(now)) {
			a.removeItem(it)
			a.endItem(it, now, Expired)
			continue
		}
		if now.Sub(it.arrived) < hearing.ClocksDiffer && !it.saysTooMuch(now) {
			continue
		}
		it.arrived, it.sentences = now, a.timeSentences(now, it)
		it.receipt.Of = len(it.sentences)
	}
}

// saysTooMuch reports whether an agent's warning says that more time is left than there is, because
// it was long on its way.
func (it *item) saysTooMuch(now time.Time) bool {
	p, ok := payloadOf(it).(*aaep.ProgressUpdated)
	return ok && p.ETAMS != nil &&
		time.Duration(*p.ETAMS)*time.Millisecond > it.about.timeLeft(now)+hearing.ClocksDiffer
}

// timeSentences returns the sentences of an announcement that warns, with the time that is left for
// the question now. correctTime and Again call it.
func (a *Announcer) timeSentences(now time.Time, it *item) []Part {
	w := a.questions.noticeWords(now, it.about)
	if it.source == "" { // else speakerPrefix names it
		w = a.withSpeaker(it.about.source, w)
	}
	return a.splitWords(w, false)
}

// nextWake returns the earliest time at which handleTime has something to do, or progress may be
// said; zero if only an event or the person can bring something. Next returns it.
func (a *Announcer) nextWake(now time.Time) (wake time.Time) {
	wakeAt := func(t time.Time) {
		if t.After(now) && (wake.IsZero() || t.Before(wake)) { // what is past has been settled
			wake = t
		}
	}
	wakeAt(a.timeEnds)
	wakeAt(a.stateDue)
	for _, q := range a.questions.all {
		if !q.moreGivenAt.IsZero() {
			wakeAt(q.moreGivenAt.Add(tellsOfMore))
		}
		if !q.leftOutAt.IsZero() {
			wakeAt(q.leftOutAt.Add(hearing.ClocksDiffer))
		}
	}
	if a.isTyping {
		wakeAt(a.lastKey.Add(hearing.StillFor))
	}
	wakeAt(a.pressedAt.Add(answerPause))
	if a.sending != nil {
		wakeAt(a.sending.sendingSince.Add(hearing.SentFirst))
		wakeAt(a.sending.sendingSince.Add(answerLeaves))
	}
	for _, q := range a.heldUpQuestions() {
		wakeAt(now.Add(q.timeLeft(now)))
	}
	if q := a.questions.firstOpen(); a.holdsOthers(q) {
		wakeAt(now.Add(q.timeLeft(now)))
	}
	if q := a.questions.firstOpen(); q != nil {
		if q.distracted {
			wakeAt(q.remindedAt.Add(hearing.SoonAgain))
		}
		wakeAt(a.recallFrom(q))
		wakeAt(q.repeatFrom())
		wakeAt(a.otherAgentsWaitUntil(now))
	}
	for _, it := range a.normal {
		wakeAt(it.staleAt)
	}
	for session := range a.soFar {
		wakeAt(a.progressFrom(session))
	}
	for _, ans := range a.answers {
		if ans.hasUnsaid() && !ans.paused {
			wakeAt(ans.newest.Add(pauseAfter))
		}
		if (ans.seg.Held() > 0 || ans.table.rows != nil) && !ans.rested {
			wakeAt(ans.newest.Add(restAfter))
		}
	}
	return wake
}
