package announce

import (
	"cmp"
	"slices"
	"time"

	"github.com/aaep-go/aaep/internal/phrase"
)

// turn is the next of what waits: what the session of the question says that is put, the rest of what has begun, then more of who
// speaks, until they have spoken for long and another waits.
func (a *Announcer) turn(now time.Time) *item {
	first := func(is func(it *item) bool) *item {
		if i := slices.IndexFunc(a.normal, is); i >= 0 {
			return a.normal[i]
		}
		return nil
	}
	if it := first(func(it *item) bool { return it.lead != nil && it.lead == a.latest }); it != nil {
		return it
	}
	if it := first(func(it *item) bool { return it.outcome && !it.event.Type().Terminal() }); it != nil {
		return it
	}
	if q := a.open.First(); q != nil && !q.Put.IsZero() { // what is decided may depend on it
		if it := cmp.Or(first(func(it *item) bool { return it.reminds || it.session == q.session() }), first(q.holdsUp)); it != nil {
			return it
		}
	}
	if a.normal[0].reminds { // or it would be said after what it is about
		return a.normal[0]
	}
	if it := first(func(it *item) bool { return it.next > 0 }); it != nil {
		return it
	}
	other := first(func(it *item) bool { return it.source != a.speaker && it.source != "" })
	if a.normal[0].source == "" || other == nil { // what this program says is no turn of anybody's, but keeps its place
		return a.normal[0]
	}
	if now.Sub(a.since) < longTurn {
		return cmp.Or(first(func(it *item) bool { return it.source == a.speaker }), other)
	}
	return other
}

// Ended takes what became of an utterance. Heard is one that was presented whole, Cut one that the person silenced, Unsaid one that
// cannot be presented; Waiting is one that was cancelled because Next wanted it, or that failed, and is said again.
func (a *Announcer) Ended(now time.Time, id int64, what Outcome) {
	s := a.saying
	if s == nil || s.u.ID != id {
		return
	}
	a.saying, a.cut = nil, false
	if s.later && what != Cut { // from its beginning, also where it had to end unsaid
		what = Waiting
	}
	s.later = false
	switch what {
	case Heard:
		took := now.Sub(s.began)
		tells := took >= time.Duration(s.words)*time.Minute/fastest // else the output does not know when it was heard
		if !s.critical && tells {                                   // what is critical may stay until it is noticed
			a.pace.add(s.words, took)
		}
		a.endName(now, s, tells)
		if q := a.open.Find(s.event); q != nil && s.kind == Question {
			q.hear(s, now, tells, a.speaking(s.words))
		}
		s.receipt.Said++
		if q := a.open.First(); q != nil && drowns(q, s.item) {
			q.drowned = true
		}
		a.goOn(s.item, now)
	case Unsaid: // another language may follow
		s.unsaid = true
		a.goOn(s.item, now)
	case Cut:
		if s.item.next < s.lists && s.lists < len(s.sentences) && !s.moot { // the question that is put is named last all the same
			s.item.next, s.receipt.Outcome = s.lists, Waiting
			return
		}
		a.remove(s.item)
		a.end(s.item, now, what)
	default:
		if !s.moot {
			s.receipt.Outcome = Waiting
		}
	}
}

// hear counts a part of a question as heard: now, or, where its output returned before anybody could have heard it, when a voice at the
// person's pace has said it.
func (q *Asked) hear(s *part, now time.Time, tells bool, takes time.Duration) {
	if s.item.next == 0 || q.until.Before(s.began) {
		q.until = s.began
	}
	if tells && q.until.Before(now) {
		q.until = now
	} else if !tells {
		q.until = q.until.Add(takes)
	}
}

// goOn counts a sentence as told.
func (a *Announcer) goOn(it *item, now time.Time) {
	it.next++
	if it.next < len(it.sentences) {
		it.receipt.Outcome = Waiting
		return
	}
	a.remove(it)
	if it.unsaid {
		a.end(it, now, Unsaid)
		return
	}
	a.end(it, now, Heard)
	if q := a.open.Find(it.event); q != nil && it.kind == Question {
		q.heard, q.led, q.drowned = now, false, false
		if q.until.After(now) {
			q.heard = q.until
		}
	}
}

// end gives an announcement its receipt.
func (a *Announcer) end(it *item, now time.Time, what Outcome) {
	it.receipt.Outcome, it.receipt.Ended = what, now
	if what == Expired && it.source != "" && it.kind != Question {
		a.leftOut[it.source]++
	}
	if g := a.agents[it.session]; g != nil && it.kind == Progress && what == Heard {
		g.told = now
	}
}

// remove takes an announcement out of wherever it waits.
func (a *Announcer) remove(it *item) {
	for _, q := range []*[]*item{&a.urgent, &a.asked, &a.normal, &a.missed} {
		if i := slices.Index(*q, it); i >= 0 {
			*q = slices.Delete(*q, i, i+1)
		}
	}
	if a.soFar[it.session] == it {
		delete(a.soFar, it.session)
	}
}

// settle does what the time asks for.
func (a *Announcer) settle(now time.Time) {
	a.pauses(now)
	lasted, wake := a.gist.Due(now)
	for a.lasts = wake; len(lasted) > 0; lasted = lasted[1:] {
		a.admit(now, lasted[0])
	}
	if a.quiet && now.Sub(a.typed) >= stillFor {
		a.rest(now)
	}
	for {
		q, wake := a.open.TimeEnds(now, a.wordsPerMinute())
		if a.timeEnds = wake; q == nil {
			break
		}
		w := a.open.Warning(now, q)
		if q.answered.IsZero() {
			if it := a.tell(now, a.of(q.Source, w), true, q); it != nil {
				it.names = q
			}
			continue
		}
		unheeded := ours(a.language, phrase.AnswerUnheeded, "")
		if a.gone == q {
			a.came = unheeded
		}
		if it := a.tell(now, a.of(q.Source, unheeded.And(" ", w)), false, nil); it != nil {
			it.names = q
		}
	}
	a.tellMoreTime(now)
	a.yield(now)
	a.correctTime(now)
	a.age(now)
	a.recallQuestion(now)
	a.remind(now)
}

// heldUp are the questions behind which something else that is critical waits.
func (a *Announcer) heldUp() (list []*Asked) {
	for _, it := range a.urgent {
		if q := a.open.Find(it.event); q != nil && slices.ContainsFunc(a.urgent, func(other *item) bool { return other != it && other.about != q }) {
			list = append(list, q)
		}
	}
	return list
}

// yield leaves out the questions whose time is over and behind which another question, or something critical, waits: an
// output may hold one until the person has noticed it, and not everybody says by Settle that it was answered. A person who
// has not had all of it is told.
func (a *Announcer) yield(now time.Time) {
	if q := a.open.First(); a.holdsOthers(q) && q.Left(now) <= 0 {
		a.open.Remove(q)
		a.settled(q, now)
		a.tell(now, a.of(q.Source, ours(a.language, phrase.QuestionClosed, "")), true, nil) // and then the next, or it were about that
		a.putNext(now)
	}
	for _, q := range a.heldUp() {
		if q.Left(now) > 0 {
			continue
		}
		why := phrase.OverNotPut
		if a.saying != nil && a.saying.event == q.Event {
			why = phrase.QuestionClosed
		}
		a.settled(q, now)
		a.tell(now, a.of(q.Source, ours(a.language, why, "")), false, nil)
	}
}

// correctTime says the time that is left as it is when it is said, where that had to wait.
func (a *Announcer) correctTime(now time.Time) {
	for _, it := range a.urgent {
		if it.about == nil || it.next > 0 || a.saying != nil && a.saying.item == it || now.Sub(it.arrived) < clocksDiffer {
			continue
		}
		w := a.open.Warning(now, it.about)
		if it.source == "" { // else introduce names it
			w = a.of(it.about.Source, w)
		}
		it.arrived, it.sentences = now, a.sentences(w, false)
		it.receipt.Of = len(it.sentences)
	}
}

// wake is when settle has something to do, or progress may be said.
func (a *Announcer) wake(now time.Time) (at time.Time) {
	sooner := func(t time.Time) {
		if t.After(now) && (at.IsZero() || t.Before(at)) { // what is past has been settled
			at = t
		}
	}
	sooner(a.timeEnds)
	sooner(a.lasts)
	for _, q := range a.open.all {
		if !q.given.IsZero() {
			sooner(q.given.Add(tellsOfMore))
		}
	}
	if a.quiet {
		sooner(a.typed.Add(stillFor))
	}
	for _, q := range a.heldUp() {
		sooner(now.Add(q.Left(now)))
	}
	if q := a.open.First(); a.holdsOthers(q) {
		sooner(now.Add(q.Left(now)))
	}
	if q := a.open.First(); q != nil && q.drowned {
		sooner(q.reminded.Add(soonAgain))
	}
	for _, it := range a.normal {
		sooner(it.stale)
	}
	for session := range a.soFar {
		sooner(a.progressFrom(session))
	}
	for _, ans := range a.answers {
		if ans.holds() && !ans.paused {
			sooner(ans.newest.Add(pauseAfter))
		}
		if ans.seg.Held() > 0 && !ans.rested {
			sooner(ans.newest.Add(restAfter))
		}
	}
	return at
}
