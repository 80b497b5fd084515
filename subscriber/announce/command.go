package announce

import (
	"cmp"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
)

// Typing says that the person pressed a key. While they type only what is critical is said.
func (a *Announcer) Typing(now time.Time) {
	if !a.isTyping {
		a.isTyping, a.typingBegan, a.typedBefore = true, now, a.lastKey
	}
	a.lastKey = now
}

// Rest says that the person is done with typing, as Enter does, which is a key; else two seconds
// without a key are.
func (a *Announcer) Rest(now time.Time) {
	a.lineEntered, a.lastKey = now, now
	a.endTyping(now)
}

// endTyping handles that the person stopped typing: what came meanwhile is summed up by catchUp. It
// does nothing where they were not typing.
func (a *Announcer) endTyping(now time.Time) {
	if a.isTyping {
		a.isTyping = false
		a.catchUp(now)
	}
}

// catchUp replaces the announcements that came while the person typed, if there are two or more, by
// one sentence that counts them and ends with the last sentence of the newest; a state counts as
// the newest only where nothing else came. Details reads them out. What waited before stays as it
// is.
func (a *Announcer) catchUp(now time.Time) {
	var arrivals []*item
	for _, it := range a.normal {
		if it.next == 0 && !it.arrived.Before(a.typingBegan) {
			arrivals = append(arrivals, it)
		}
	}
	arrivals = slices.DeleteFunc(arrivals, func(it *item) bool { return it.reminds || it.ends != "" || it.fromWalk })
	if len(arrivals) < 2 {
		return
	}
	a.dropReminders(now)
	var latest, state *item // a state tells less than anything else
	answers := 0
	for _, it := range arrivals {
		_, isState := payloadOf(it).(*aaep.StateChanged)
		switch {
		case it.kind == Output:
			latest = it
			answers++
		case !it.staleAt.IsZero() && !now.Before(it.staleAt):
		case isState && !it.outcome:
			state = it
		default:
			latest = it
		}
		it.staleAt = time.Time{}
		a.keepForDetails(it)
	}
	a.normal = slices.DeleteFunc(a.normal, func(it *item) bool { return slices.Contains(arrivals, it) })
	var last Words
	if latest = cmp.Or(latest, state); latest != nil {
		last = latest.sentences[len(latest.sentences)-1:]
	}
	a.quoteName(a.addRequested(now, typedWords(a.language, answers, len(arrivals)-answers, last)), latest)
}

// dropReminders takes out what this program says around announcements that are left to be asked
// for, such as that they are beside a question: it is said anew when those are asked for.
func (a *Announcer) dropReminders(now time.Time) {
	a.normal = slices.DeleteFunc(a.normal, func(it *item) bool {
		isDropped := it.reminds && a.isUntold(it)
		if q := it.about; isDropped && q != nil {
			q.distracted, q.prefaceSaid = q.distracted || !q.prefaceSaid, false
		}
		if isDropped {
			a.endItem(it, now, Expired)
		}
		return isDropped
	})
}

// addRequested queues words that the person asked for ahead of all announcements that are not
// critical, and returns their announcement.
func (a *Announcer) addRequested(now time.Time, w Words) *item {
	it := &item{kind: Notice, sentences: a.splitWords(w, false), arrived: now}
	a.addRequestedItem(now, it)
	return it
}

// addRequestedItem queues an announcement that the person asked for, ahead of what the agents say.
// The same one that still waits from an earlier request is dropped. One without sentences is not
// queued.
func (a *Announcer) addRequestedItem(now time.Time, it *item) {
	a.asked = slices.DeleteFunc(a.asked, func(old *item) bool { // that was asked for twice is told once
		same := old.kind == Notice && a.isUntold(old) && slices.Equal(old.sentences, it.sentences)
		if same {
			a.endItem(old, now, Expired)
		}
		return same
	})
	if len(it.sentences) > 0 {
		a.recordItem(it)
		a.asked = append(a.asked, it)
	}
}

// Details has the announcements read out that catchUp or a flood left out; where there are none,
// the block of code that was announced last, line by line, of a diff only the lines that change.
func (a *Announcer) Details(now time.Time) {
	if len(a.missed) == 0 {
		if lines := a.newCodeItem(now); lines != nil {
			a.normal = slices.Insert(a.normal, 0, lines)
			return
		}
		a.addRequested(now, phraseIn(a.language, phrase.NothingMore, ""))
		return
	}
	for _, it := range a.missed {
		it.wanted, it.cancelled = true, false
	}
	a.normal = append(slices.Clone(a.missed), a.normal...)
	a.missed = nil
}

// Again says again what was said last, from its beginning; of what is still being said, at once.
// How much time is left is said as it is now. Of a question that is closed it says that, and where
// nothing was said yet, that. It says nothing of a question that is not put yet, which will be told
// whole.
func (a *Announcer) Again(now time.Time) {
	it := a.latest
	if it == nil {
		a.addRequested(now, phraseIn(a.language, phrase.NothingSaidYet, ""))
		return
	}
	q := it.about
	if it.kind == Question {
		q = cmp.Or(a.questions.findByEvent(it.event), a.questions.findToldBefore(it.source, it.event))
	}
	isOfQuestion := it.kind == Question || it.about != nil
	if isOfQuestion && !slices.Contains(a.questions.all, q) {
		a.addRequested(now, a.withSpeaker(it.source, phraseIn(a.language, phrase.QuestionClosed, "")))
		return
	}
	isOfLaterQuestion := q != nil && q != a.questions.firstOpen() && (it.kind == Question || it.reminds)
	if isOfLaterQuestion {
		return
	}
	repeated := &item{source: it.source, session: it.session, kind: it.kind, event: it.event, about: it.about,
		mayNameAny: it.mayNameAny, isOnOther: it.isOnOther, names: it.names, named: it.named, sentences: it.sentences, arrived: now}
	if q != nil && q.scan.told == it {
		repeated.scans, repeated.verbatim, q.scan.told = true, it.verbatim, repeated
	}
	if slices.Contains(a.normal, it.prefaces) {
		repeated.prefaces = it.prefaces
	}
	if repeated.warns = it.warns; it.warns {
		repeated.sentences = a.timeSentences(now, it)
	}
	a.recordItem(repeated)
	if it.receipt.Outcome != Speaking && it.receipt.Outcome != Waiting {
		a.asked = append(a.asked, repeated)
		return
	}
	repeated.critical, it.cancelled = it.critical, true
	a.removeItem(it)
	a.endItem(it, now, Cut)
	if it.critical {
		a.urgent = slices.Insert(a.urgent, 0, repeated)
	} else {
		a.asked = slices.Insert(a.asked, 0, repeated)
	}
}

// WhatWaits says which questions are open, and how many announcements wait. What it says is dropped
// once that is no longer so: when the only open question is closed, or when none was open and one
// is put.
func (a *Announcer) WhatWaits(now time.Time) {
	count := len(a.soFar)
	for _, it := range slices.Concat(a.urgent, a.normal) { // but what is being said, and a question, which is named
		if it.kind != Question && (a.saying == nil || a.saying.item != it) {
			count++
		}
	}
	w := waitingWords(a.language, a.questions.describeOpen(a.language, len(a.sources) > 1), count, len(a.missed))
	if a.questions.countOpen() > 1 {
		a.addRequestedWithQuestion(now, w)
	} else {
		it, q := a.addRequested(now, w), a.questions.firstOpen()
		it.about, it.names, it.named, it.yieldsToQuestion = q, q, len(it.sentences), q == nil
	}
}

// addRequestedWithQuestion is addRequested of what ends with the question that is put: an answer is
// for that.
func (a *Announcer) addRequestedWithQuestion(now time.Time, w Words) {
	it := &item{kind: Notice, sentences: a.splitWords(w, false), arrived: now}
	if a.questions.countOpen() > 1 {
		it.mayNameAny = len(it.sentences)
	}
	a.nameQuestion(now, it, a.questions.firstOpen())
	a.addRequestedItem(now, it)
}

// WhereAreWe says how each session is doing that has not ended and said something, then, if there
// are several, which questions are open, and last of the one that is put how much time is left for
// it.
func (a *Announcer) WhereAreWe(now time.Time) {
	var sessions []Words
	for _, g := range a.agents {
		w := g.newest.oneLine().endSentence().And(" ", g.progress.oneLine().endSentence())
		if g.over || w == nil {
			continue
		}
		sessions = append(sessions, a.withSpeaker(g.source, w))
	}
	slices.SortFunc(sessions, func(x, y Words) int { return cmp.Compare(x.String(), y.String()) })
	if a.questions.countOpen() > 1 {
		sessions = append(sessions, a.questions.describeOpen(a.language, len(a.sources) > 1))
	}
	switch q := a.questions.firstOpen(); {
	case q == nil:
		a.addRequested(now, whereWords(a.language, sessions))
	case len(sessions) == 0:
		a.addRequestedWithQuestion(now, nil)
	default:
		a.addRequestedWithQuestion(now, whereWords(a.language, sessions))
	}
}

// Skip ends what is being said and leaves out what waits, which Details still says; it says how
// much that was. What is critical, about a question, or a problem is not left out. Where nothing
// waits it says that there is nothing more.
func (a *Announcer) Skip(now time.Time) {
	n, _ := a.skipWaiting()
	if n == 0 {
		a.addRequested(now, phraseIn(a.language, phrase.NothingMore, ""))
		return
	}
	a.addRequested(now, leftOutWords(a.language, n))
}

// Newest is Skip, and says the newest of what waited or, where nothing did, of what was said: its
// last sentence. Where nothing was said yet it says so.
func (a *Announcer) Newest(now time.Time) {
	n, newest := a.skipWaiting()
	if newest == nil {
		newest = a.latest
	}
	if newest == nil {
		a.addRequested(now, phraseIn(a.language, phrase.NothingSaidYet, ""))
		return
	}
	w := phraseIn(a.language, phrase.TheNewest, "")
	if n > 1 {
		w = leftOutWords(a.language, n-1).And(" ", w)
	}
	last := newest.sentences[len(newest.sentences)-1]
	a.quoteName(a.addRequested(now, w.And("", Words{last})), newest)
}

// skipWaiting ends what is being said and leaves out what waits, which is kept for a person who
// asks for details; progress, and what a walk reads, is dropped. What is critical, about a
// question, or a problem stays. It returns how many lines it left out, and the newest announcement
// of them, or nil. Hush, Newest and Skip call it.
func (a *Announcer) skipWaiting() (n int, newest *item) {
	a.normal = slices.DeleteFunc(a.normal, func(it *item) bool {
		if !it.maySkip() {
			return false
		}
		isSaid := a.saying != nil && a.saying.item == it
		switch {
		case it.fromWalk: // the person can walk there again
			it.cancelled = isSaid
			if !isSaid {
				a.endItem(it, it.arrived, Expired)
			}
		case it.leftOut > 0 && a.isUntold(it): // those it counts are to be asked for already
			n += it.leftOut
			a.endItem(it, it.arrived, Expired)
		default:
			n += it.countLines()
			newest = it
			it.wanted, it.staleAt, it.cancelled = false, time.Time{}, isSaid
			if isSaid {
				a.endItem(it, a.saying.began, Cut)
			} else {
				a.keepForDetails(it)
			}
		}
		return true
	})
	for session, it := range a.soFar {
		it.cancelled = a.saying != nil && a.saying.item == it
		delete(a.soFar, session)
		a.endItem(it, it.arrived, Expired)
	}
	return n, newest
}

// maySkip reports whether an announcement may be left out where the person skips what waits.
func (it *item) maySkip() bool {
	isImportant := it.critical || it.kind == Problem
	isOfQuestion := it.kind == Question || it.outcome || it.reminds || it.ends != "" || it.about != nil
	return !isImportant && !isOfQuestion
}

// Hush turns quiet on or off. While it is on, only what is critical and what the person asks for is
// said; what waits when it begins is left out, as by Skip. What came meanwhile is said when it
// ends.
func (a *Announcer) Hush(on bool) {
	if a.wantsQuiet = on; on {
		a.skipWaiting()
	}
}
