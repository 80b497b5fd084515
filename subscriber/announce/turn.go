package announce

import (
	"cmp"
	"slices"
	"time"

	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/phrase"
)

// queueQuestion puts a question at once if no other is open; else it keeps the announcement until
// its turn, and the person is told that another waits.
func (a *Announcer) queueQuestion(now time.Time, q *openQuestion, it *item) {
	if q.waitingItem != nil { // in other words
		a.endItem(q.waitingItem, now, Expired)
	}
	it.names, it.named = q, len(it.sentences)
	q.waitingItem, q.putWords = it, it.sentences
	if !a.putReachable(now) && !a.tellIfQueued(now, q) {
		a.putQuestion(now, q)
	}
}

// tellIfQueued announces that a question waits, where another is open before it, and reports
// whether it waits.
func (a *Announcer) tellIfQueued(now time.Time, q *openQuestion) bool {
	waits := q != a.questions.firstOpen()
	if waits {
		a.addNotice(now, phraseIn(a.language, phrase.AnotherWaits, ""), false, q)
	}
	return waits
}

// putQuestion queues a question to be said, after what this program has to say since it came and
// what came of questions before: neither is to be heard as if it were about this one.
func (a *Announcer) putQuestion(now time.Time, q *openQuestion) {
	it := q.waitingItem
	a.putAside(now, q) // that it waits is not said
	q.waitingItem = nil
	for _, queue := range []*[]*item{&a.asked, &a.normal} {
		*queue = slices.DeleteFunc(*queue, func(it *item) bool {
			if it.yieldsToQuestion {
				it.cancelled = true
				a.endItem(it, now, Expired)
			}
			return it.yieldsToQuestion
		})
	}
	comesFirst := func(it *item) bool {
		return it.source == "" && it.ends == "" && it.about == nil && it.arrived.After(q.askedAt) ||
			(it.outcome || it.closesUnanswered) && !it.event.Type().Terminal()
	}
	for _, queue := range []*[]*item{&a.asked, &a.normal} {
		for _, it := range *queue {
			if comesFirst(it) {
				a.urgent = append(a.urgent, it)
			}
		}
		*queue = slices.DeleteFunc(*queue, comesFirst)
	}
	if why := a.questions.outOfReach[q.source]; why != nil {
		if out := a.addNotice(now, a.outageWords(q.source, why), true, nil); out != nil {
			out.names = q // what is said before the question is said before this
		}
	}
	a.queueByKind(now, it)
}

// putAside takes all announcements about a question out of the queues and marks it as not put, so
// that it is put again from its beginning.
func (a *Announcer) putAside(now time.Time, q *openQuestion) {
	it := q.waitingItem
	q.waitingItem = nil
	a.withdrawQuestion(q, now)
	q.waitingItem, q.put, q.heardAt = it, time.Time{}, time.Time{}
	q.prefaceSaid, q.distracted, q.countsAgain = false, false, false
}

// NextQuestion puts another question that is open, and the one that is put after all of them.
func (a *Announcer) NextQuestion(now time.Time) {
	q := a.questions.firstOpen()
	if a.questions.countOpen() < 2 {
		a.addRequested(now, phraseIn(a.language, phrase.NoOtherWaits, ""))
		return
	}
	a.putLater(now, q)
	a.withdrawn = nil
	a.questions.moveFirstBehind()
	a.putNext(now)
}

// PutAnew puts the question that is put once more, from its beginning: for a person who was away
// from it, as while the program was stopped. No answer counts before they can have had it again.
// One whose answer is on its way, or whose time is over, stays as it is.
func (a *Announcer) PutAnew(now time.Time) {
	q := a.questions.firstOpen()
	if q == nil || q.put.IsZero() || !q.sendingSince.IsZero() || q.timeLeft(now) <= 0 {
		return
	}
	a.putLater(now, q)
	a.withdrawn = nil
	a.putNext(now)
}

// putReachable puts the question of an agent that can be reached in place of one that is put but
// whose agent is out of reach, so that an answer to it would be lost. It reports whether it did. An
// answer that is on its way keeps its question in place. Answered, Outage and queueQuestion call
// it.
func (a *Announcer) putReachable(now time.Time) bool {
	q := a.questions.firstOpen()
	if q == nil || a.questions.isReachable(q) || !q.sendingSince.IsZero() ||
		!slices.ContainsFunc(a.questions.all, a.questions.isReachable) {
		return false
	}
	a.putLater(now, q)
	a.questions.turnToOther(q.source)
	a.putNext(now)
	return true
}

// putLater takes a question that is put out of the queues, and has it wait to be put anew, whole.
func (a *Announcer) putLater(now time.Time, q *openQuestion) {
	a.noteWithdrawn(now, q)
	a.putAside(now, q)
	if q.putWords != nil {
		q.waitingItem = a.newItem(now, q.source, q.event, Question, q.putWords)
		q.waitingItem.names, q.waitingItem.named = q, len(q.putWords)
	}
}

// noteWithdrawn keeps that a question is put no longer, though the person did not answer it: what
// they answer before they can have heard the next is for that.
func (a *Announcer) noteWithdrawn(now time.Time, q *openQuestion) {
	if q.put.IsZero() {
		return
	}
	a.withdrawn, a.withdrawnAt = q, now
	if !q.sendingSince.IsZero() {
		a.withdrawn = nil
	}
}

// missedWords says what became of the question that was put last, where an answer begun at a time
// must be for that and not for next, the question that is put now, which may be nil: next came too
// late to be meant, or none is put and the other went only just now. Else it returns nil.
func (a *Announcer) missedWords(now, began time.Time, next *openQuestion) Words {
	q, id := a.withdrawn, phrase.QuestionClosed
	if q == nil || q == next {
		return nil
	}
	if next == nil {
		isToldElse := a.p.Reads || now.Sub(a.withdrawnAt) >= replyWithin // who reads is told what came of it
		if isToldElse {
			return nil
		}
	} else {
		isForNext := next.isReadable(began) || !next.sendingSince.IsZero() || next.askedAt.After(a.withdrawnAt)
		if isForNext {
			return nil
		}
	}
	switch {
	case slices.Contains(a.questions.all, q):
		id = phrase.OutOfReach
	case q.timeLeft(now) <= hearing.ClocksDiffer:
		id = phrase.TimeIsOver
	}
	return a.withSpeaker(q.source, phraseIn(a.language, id, "").And(" ",
		phraseIn(a.language, phrase.AnswerNotSent, "")))
}

// skipHowToAnswer leaves out the next sentence of an announcement, and reports that it did, where
// the sentence says how long there is to answer a question, or how to, and no answer would arrive:
// its agent is out of reach, or an answer is on its way. Once one would arrive, tellHowToAnswer has
// both said. Next calls it.
func (a *Announcer) skipHowToAnswer(now time.Time, it *item) bool {
	q := cmp.Or(a.questions.findByEvent(it.event), it.about)
	if q == nil || it.warns || a.questions.isReachable(q) && q.sendingSince.IsZero() {
		return false
	}
	if s := it.sentences[it.next]; !tellsTime(s) && !slices.Contains(a.splitWords(q.answering, false), s) {
		return false
	}
	q.keysUntold = true
	a.countTold(it, now)
	return true
}

// tellHowToAnswer has the questions of an agent called to mind of which skipHowToAnswer left
// something out, unless the agent is out of reach. Outage and Answered call it.
func (a *Announcer) tellHowToAnswer(source string) {
	for _, q := range a.questions.all {
		if q.source == source && q.keysUntold && a.questions.isReachable(q) {
			q.keysUntold, q.distracted = false, true
		}
	}
}

// afterBack is how long after an agent is back its open question is named: what became of it
// meanwhile comes before.
const afterBack = time.Second

// remindAfterOutage has the question that is put named once more, as remindOfQuestion does it,
// where its agent is back: the person may have been told of it long ago. Outage calls it.
func (a *Announcer) remindAfterOutage(now time.Time, source string) {
	q := a.questions.firstOpen()
	if q == nil || q.source != source || q.put.IsZero() {
		return
	}
	asksThis := func(it *item) bool { return it.event == q.event && it.kind == Question }
	if isBeingTold := slices.ContainsFunc(slices.Concat(a.urgent, a.asked), asksThis); isBeingTold {
		return
	}
	q.distracted = true
	q.remindedAt = laterOf(q.remindedAt, now.Add(afterBack-hearing.SoonAgain)) // due then
}

// remindOfQuestion names the open question once more when its session has said something else after
// it, and nothing more of that waits: what is heard last before an answer is to be what is
// answered. It does nothing while something is said or typed, soon after the last reminder, when
// the time is over, and while no answer would arrive.
func (a *Announcer) remindOfQuestion(now time.Time) {
	q := a.questions.firstOpen()
	if q == nil || !q.distracted || q.timeLeft(now) <= 0 || !a.questions.isReachable(q) || !q.sendingSince.IsZero() {
		return
	}
	isBusy := a.isTyping || a.saying != nil
	if isBusy || now.Before(q.remindedAt.Add(hearing.SoonAgain)) || slices.ContainsFunc(a.normal, q.waitsForItem) {
		return
	}
	for _, ans := range a.answers {
		if sessionOf(ans.source, ans.event) == q.sessionKey() && ans.hasUnsaid() && !ans.rested {
			return
		}
	}
	q.prefaceSaid, q.distracted, q.remindedAt = false, false, now
	a.nameQuestion(now, a.addAboutQuestion(now, q, nil), q)
}

// waitsForItem reports whether a question that something was said after is called to mind only
// after an announcement: what its session says, and what this program does.
func (q *openQuestion) waitsForItem(it *item) bool {
	return q.distracted && (it.session == q.sessionKey() || it.source == "" && it.ends == "")
}

// addLeadIn queues a sentence that has to be heard before an announcement which was chosen to be
// said next, and reports whether it changed the queues, so that Next chooses anew. Before what the
// session of an open question says after it, the sentence says that this is not what the question
// leads to; before what a session said before it failed, or before its question was answered, that
// it came earlier.
func (a *Announcer) addLeadIn(now time.Time, it *item) bool {
	if led := it.prefaces; led != nil && !slices.Contains(a.normal, led) {
		a.dropLeadIn(now, it)
		return true
	}
	g := a.agents[it.session]
	wasOvertaken := g != nil && (g.failed || g.overtaken && !it.outcome)
	lostLeadIn := it.preface != nil && it.next == 0 && !a.wasPrefaced(it)
	if (wasOvertaken || lostLeadIn) && slices.Contains(a.normal, it) {
		afterFailure := lostLeadIn && it.preface.afterFailure
		if g != nil {
			afterFailure = afterFailure || g.failed
			g.failed, g.overtaken = false, false
		}
		a.sayCameBefore(now, it, afterFailure)
		return true
	}
	if it.isOnOther { // it was said once before, and the question was named since, or the person wants it again
		it.about.prefaceSaid = true
		return false
	}
	q := a.questions.firstOpen()
	if q == nil || !distractsFrom(q, it) || it.fromWalk && a.wantsQuiet { // which would leave it for later
		return false
	}
	if i := slices.Index(a.asked, it); i >= 0 && it.arrived.Before(q.put) {
		// The person asked for it before the question was put. Now it is beside that.
		a.asked, a.normal = slices.Delete(a.asked, i, i+1), slices.Insert(a.normal, 0, it)
	}
	if q.prefaceSaid || !slices.Contains(a.normal, it) {
		return false
	}
	a.sayMeanwhile(now, q, it)
	return true
}

// dropLeadIn ends a lead-in that leads to nothing, since what it was for does not wait any more.
// The next announcement that needs one gets another.
func (a *Announcer) dropLeadIn(now time.Time, it *item) {
	a.removeItem(it)
	a.endItem(it, now, Expired)
	if it.isOnOther {
		it.about.prefaceSaid = false
	} else if g := a.agents[it.prefaces.session]; g != nil {
		g.failed, g.overtaken = it.afterFailure, !it.afterFailure // as they were before the lead-in
	}
}

// sayCameBefore queues the sentence that an announcement came before what the person heard last of
// its session: why that failed, as afterFailure says, or what came of its question.
func (a *Announcer) sayCameBefore(now time.Time, it *item, afterFailure bool) {
	cameBefore := a.splitWords(phraseIn(a.language, phrase.CameBefore, ""), false)
	preface := &item{kind: Notice, reminds: true, afterFailure: afterFailure, sentences: cameBefore, arrived: now}
	preface.prefaces, it.preface = it, preface
	a.recordItem(preface)
	a.normal = slices.Insert(a.normal, 0, preface)
}

// sayMeanwhile queues the sentence that an announcement is not what the question q leads to. One
// that waits already for another announcement is said anew, behind what that is for.
func (a *Announcer) sayMeanwhile(now time.Time, q *openQuestion, it *item) {
	q.prefaceSaid = true
	for _, earlier := range slices.Clone(a.normal) {
		if earlier.isOnOther {
			a.removeItem(earlier)
			a.endItem(earlier, now, Expired)
		}
	}
	preface := a.addAboutQuestion(now, q, phraseIn(a.language, phrase.Meanwhile, ""))
	preface.isOnOther, preface.prefaces = true, it
}

// distractsFrom reports whether an announcement is something else that the session of a question
// says while that is put.
func distractsFrom(q *openQuestion, it *item) bool {
	return !q.put.IsZero() && it.session == q.sessionKey() && !it.critical && it.kind != Question && it.kind != Progress
}

// addAboutQuestion says something about a question that is put, before anything else that waits.
func (a *Announcer) addAboutQuestion(now time.Time, q *openQuestion, w Words) *item {
	it := &item{kind: Notice, about: q, reminds: true, sentences: a.splitWords(w, false), arrived: now}
	a.recordItem(it)
	a.normal = slices.Insert(a.normal, 0, it)
	return it
}

// putNext puts the first question if it waits for its turn. Those whose time passed while they
// waited are closed, and the person is told that they were not put.
func (a *Announcer) putNext(now time.Time) {
	for q := a.questions.firstOpen(); q != nil && q.waitingItem != nil; q = a.questions.firstOpen() {
		if q.timeLeft(now) > 0 {
			a.putQuestion(now, q)
			return
		}
		a.questions.removeQuestion(q)
		a.withdrawQuestion(q, now)
		a.keepDraft(now, q)
		a.addNotice(now, a.withSpeaker(q.source, phraseIn(a.language, phrase.OverNotPut, "")), true, nil)
	}
}

// holdsOthers reports whether others wait until a question is settled.
func (a *Announcer) holdsOthers(q *openQuestion) bool {
	return slices.ContainsFunc(a.questions.all, func(other *openQuestion) bool {
		return other != q && other.waitingItem != nil
	})
}
