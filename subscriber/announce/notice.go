package announce

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
)

// Tell says something of this program's own; what waits to be said already is not said twice.
func (a *Announcer) Tell(now time.Time, text string, critical bool) {
	a.addNotice(now, In(a.language, text), critical, nil)
}

// Mention has a notice said like Tell, which is dropped when a question is put before it. It is for
// what the question says too, such as who is followed.
func (a *Announcer) Mention(now time.Time, text string) {
	n := len(a.normal)
	a.Tell(now, text, false)
	for _, it := range a.normal[n:] {
		it.yieldsToQuestion = true
	}
}

// Outage says that an agent is out of reach and why, or, where that is nil, that it is back:
// silence sounds like an agent at work. That it has ended is said after its last words. Questions
// of an agent that is out of reach are put after those of others: an answer would not arrive.
func (a *Announcer) Outage(now time.Time, source string, why error) {
	defer a.putReachable(now)
	defer a.tellHowToAnswer(source)
	wasOutOfReach := a.questions.outOfReach[source] != nil
	delete(a.questions.outOfReach, source)
	if why == nil && wasOutOfReach {
		a.remindAfterOutage(now, source)
	}
	if why != nil {
		if a.questions.outOfReach == nil {
			a.questions.outOfReach = map[string]error{}
		}
		a.questions.outOfReach[source] = why
	}
	a.normal = slices.DeleteFunc(a.normal, func(it *item) bool { // that it had ended is no news any more
		isOutdated := it.ends == source && a.isUntold(it)
		if isOutdated {
			a.endItem(it, now, Expired)
		}
		return isOutdated
	})
	w := a.outageWords(source, why)
	if isEnded(why) {
		a.addEnd(now, source, w)
		return
	}
	if it := a.addNotice(now, w, true, nil); it != nil {
		if it.link = LinkBack; why != nil {
			it.link = LinkLost
		}
		it.linkOf = source
	}
}

// BackWhole is Outage for an agent that is back and of which nothing is missing: it says that, too.
// Where something may be missing, an event of aaep.TypeLost says so.
func (a *Announcer) BackWhole(now time.Time, source string) {
	a.Outage(now, source, nil)
	a.addToBack(source, phraseIn(a.language, phrase.NothingLost, ""))
}

// addToBack adds words to the announcement that an agent is back, where that waits to be said, and
// reports whether it did.
func (a *Announcer) addToBack(source string, w Words) bool {
	i := slices.IndexFunc(a.urgent, func(it *item) bool {
		return it.link == LinkBack && it.linkOf == source && it.next == 0
	})
	if i < 0 {
		return false
	}
	it := a.urgent[i]
	it.sentences = append(it.sentences[:1:1], a.splitWords(w, false)...)
	it.receipt.Of = len(it.sentences)
	return true
}

// outageWords returns words that say that an agent is out of reach and why, or, for nil, that it is
// back.
func (a *Announcer) outageWords(source string, why error) (w Words) {
	switch {
	case why == nil:
		w = phraseIn(a.language, phrase.LinkBack, "")
	case isEnded(why):
		w = phraseIn(a.language, phrase.AgentHasEnded, "").And(" ", phraseIn(a.language, phrase.WaitingForAgent, ""))
	case errors.Is(why, aaep.AuthenticationRequired):
		w = phraseIn(a.language, phrase.LinkRefused, "")
	default:
		w = phraseIn(a.language, phrase.LinkLost, "")
	}
	return a.withSpeaker(source, w)
}

// isEnded reports whether an agent is out of reach for it has ended; one that refuses credentials
// may have been started again since.
func isEnded(why error) bool {
	return errors.Is(why, aaep.ProducerShutdown) && !errors.Is(why, aaep.AuthenticationRequired)
}

// Leave handles that an agent is not followed any more: its questions are taken away and, where why
// is not nil, the person is told after its last words; about a question that is put, at once.
func (a *Announcer) Leave(now time.Time, source string, why error) {
	delete(a.questions.outOfReach, source)
	for _, q := range a.questions.listOpen() {
		if q.source != source {
			continue
		}
		if why != nil && !q.put.IsZero() && q.sendingSince.IsZero() && !q.mayHaveArrived {
			a.addNotice(now, a.withSpeaker(source, phraseIn(a.language, phrase.QuestionClosed, "")), true, nil)
		}
		a.Settle(now, q.event)
	}
	if why != nil {
		a.addEnd(now, source, a.withSpeaker(source, phraseIn(a.language, phrase.FollowedNoMore, "")))
	}
}

// addEnd says that nothing more comes of an agent, after all that it said so far: of its progress,
// which is said last of all, no more.
func (a *Announcer) addEnd(now time.Time, source string, w Words) {
	a.flushSource(now, source)
	for session, g := range a.agents {
		if g.source == source {
			a.dropProgress(now, session)
		}
	}
	it := &item{kind: Notice, link: LinkLost, ends: source, sentences: a.splitWords(w, false), arrived: now}
	a.recordItem(it)
	a.appendTo(&a.normal, it)
}

// flushSource queues the text that is held back of an agent's answers. Later text of them begins a
// new sentence.
func (a *Announcer) flushSource(now time.Time, source string) {
	for _, ans := range a.answers {
		if ans.source == source {
			a.addPieces(now, ans, ans.seg.Flush(true))
			a.flushHeldLines(now, ans)
		}
	}
}

// tellLost announces that something of what an agent said may be missing, as ev says, and forgets
// the states of its sessions; the agent sends those of sessions that go on again. Of a question
// that cannot be read it announces only that. No words of ev are said: an agent may have sent it.
func (a *Announcer) tellLost(now time.Time, source string, ev *aaep.Event) {
	var members struct {
		UnreadableQuestion bool `json:"unreadable_question"`
	}
	if json.Unmarshal(ev.Unknown, &members) == nil && members.UnreadableQuestion {
		a.addNotice(now, a.withSpeaker(source, phraseIn(a.language, phrase.AsksUnreadable, "")), false, nil)
		return
	}
	a.flushSource(now, source)
	for session, g := range a.agents {
		if g.source == source {
			a.dropProgress(now, session)
			delete(a.agents, session)
		}
	}
	lost := phraseIn(a.language, phrase.MayBeLost, "")
	if !a.addToBack(source, lost) {
		a.addNotice(now, a.withSpeaker(source, lost), false, nil)
	}
}

// addNotice queues words of this program's own and returns their announcement, or nil where there
// are none, or where the same words wait already and are not critical. question is the one that
// they are about, or nil: they are not said any more once that is gone. Right after a person
// entered a line, what is not about a question counts as what they asked for.
func (a *Announcer) addNotice(now time.Time, w Words, critical bool, question *openQuestion) *item {
	sentences := a.splitWords(w, false)
	saysSame := func(it *item) bool { return it.kind == Notice && it.next == 0 && slices.Equal(it.sentences, sentences) }
	isRepeated := !critical && slices.ContainsFunc(slices.Concat(a.asked, a.normal), saysSame)
	if len(sentences) == 0 || isRepeated {
		return nil
	}
	answersLine := question == nil && !a.lineEntered.IsZero() && now.Sub(a.lineEntered) < replyWithin
	it := &item{kind: Notice, critical: critical, sentences: sentences, about: question, arrived: now}
	a.recordItem(it)
	switch {
	case critical && question == nil && a.addBeforeNext(now, it):
	case critical:
		a.appendTo(&a.urgent, it)
	case answersLine:
		a.asked, a.lineEntered = append(a.asked, it), time.Time{} // one line, one answer: what comes of that may wait
	default:
		a.appendTo(&a.normal, it)
	}
	return it
}

// addBeforeNext inserts a notice, such as that an answer was sent, ahead of the question that
// follows the answered one, even where that one is being said; behind it, it would sound as if it
// were about the new question. It reports false, and does nothing, where no question was answered
// just now or none followed.
func (a *Announcer) addBeforeNext(now time.Time, it *item) bool {
	q := a.questions.firstOpen()
	hasJustAnswered := !a.answerTaken.IsZero() && now.Sub(a.answerTaken) < replyWithin
	if q == nil || !hasJustAnswered {
		return false
	}
	if wasPutBefore := !q.put.IsZero() && q.put.Before(a.answerTaken); wasPutBefore {
		return false
	}
	i := slices.IndexFunc(a.urgent, func(it *item) bool { return it.kind == Question && it.event == q.event })
	if i < 0 {
		return false
	}
	if i > 0 && a.urgent[i-1].names == q { // that its agent is out of reach
		i--
	}
	next := a.urgent[i]
	next.next, next.postponed = 0, a.saying != nil && a.saying.item == next
	a.urgent, a.answerTaken = slices.Insert(a.urgent, i, it), time.Time{}
	return true
}
