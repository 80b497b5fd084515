package announce

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep/internal/phrase"
)

// wait lets a question wait until it is put: at once if no other is, or if it was expected.
func (a *Announcer) wait(now time.Time, q *Asked, it *item, expected bool) {
	if q.words != nil { // in other words
		a.end(q.words, now, Expired)
	}
	it.names, it.named = q, len(it.sentences)
	q.words, q.said = it, it.sentences
	if first := a.open.First(); expected {
		a.aside(now, first)
		if first != q { // until whoever expects it puts it
			first.words = nil
		}
		a.open.first(q)
	}
	if !a.queues(now, q) {
		a.put(now, q)
	}
}

// queues says of a question that it waits, if another comes first.
func (a *Announcer) queues(now time.Time, q *Asked) bool {
	waits := q != a.open.First()
	if waits {
		a.tell(now, ours(a.language, phrase.AnotherWaits, ""), false, q)
	}
	return waits
}

// put says a question, after what this program said since it came and what came of questions before: neither is to be heard as if it
// were about this.
func (a *Announcer) put(now time.Time, q *Asked) {
	it := q.words
	a.aside(now, q) // that it waits is not said
	q.words = nil
	a.normal = slices.DeleteFunc(a.normal, func(it *item) bool {
		if it.passing {
			it.moot = true
			a.end(it, now, Expired)
		}
		return it.passing
	})
	since := func(it *item) bool {
		return it.source == "" && it.about == nil && it.arrived.After(q.received) || it.outcome && !it.event.Type().Terminal()
	}
	for _, told := range []*[]*item{&a.asked, &a.normal} {
		for _, it := range *told {
			if since(it) {
				a.urgent = append(a.urgent, it)
			}
		}
		*told = slices.DeleteFunc(*told, since)
	}
	a.admit(now, it)
}

// aside says no more of a question, until it is put anew.
func (a *Announcer) aside(now time.Time, q *Asked) {
	it := q.words
	q.words = nil
	a.settled(q, now)
	q.words, q.Put, q.heard, q.led, q.drowned, q.again = it, time.Time{}, time.Time{}, false, false, false
}

// NextQuestion puts another question that is open, and the one that is put after all of them.
func (a *Announcer) NextQuestion(now time.Time) {
	q := a.open.First()
	if a.open.Len() < 2 {
		a.say(now, ours(a.language, phrase.NoOtherWaits, ""))
		return
	}
	a.aside(now, q)
	if q.said != nil {
		q.words = a.item(now, q.Source, q.Event, Question, q.said)
		q.words.names, q.words.named = q, len(q.said)
	}
	a.open.Later()
	a.putNext(now)
}

// soonAgain is how soon a question is called to mind once more, where its session goes on and on.
const soonAgain = 30 * time.Second

// remind says which question is open, when its session has said something else after it, and nothing more of that waits: what was
// said before a question is overtaken by it, and what is heard last before an answer is to be what is answered.
func (a *Announcer) remind(now time.Time) {
	q := a.open.First()
	if q == nil || !q.drowned || a.quiet || a.saying != nil || now.Before(q.reminded.Add(soonAgain)) || q.Left(now) <= 0 {
		return
	}
	if slices.ContainsFunc(a.normal, q.holdsUp) {
		return
	}
	for _, ans := range a.answers {
		if sessionOf(ans.source, ans.event) == q.session() && ans.holds() && !ans.rested {
			return
		}
	}
	q.led, q.drowned, q.reminded = false, false, now
	a.nameQuestion(now, a.about(now, q, nil), q)
}

// holdsUp reports whether a question that something was said after is called to mind only after an announcement: what its session
// says, and what this program does.
func (q *Asked) holdsUp(it *item) bool {
	return q.drowned && (it.session == q.session() || it.source == "")
}

// leadIn says before what the session of a question says after it, that it is not what the question leads to, and before what a session
// said before it failed, or before it was answered, that it is no longer so.
func (a *Announcer) leadIn(now time.Time, it *item) bool {
	if led := it.leads; led != nil && !slices.Contains(a.normal, led) { // it leads to nothing now
		a.remove(it)
		a.end(it, now, Expired)
		if g := a.agents[led.session]; g != nil {
			g.failed = true
		}
		return true
	}
	g := a.agents[it.session]
	due := g != nil && (g.failed || g.overtaken && !it.outcome) || it.lead != nil && it.next == 0 && a.latest != it.lead
	if due && slices.Contains(a.normal, it) {
		if g != nil {
			g.failed, g.overtaken = false, false
		}
		n := &item{kind: Notice, reminds: true, sentences: a.sentences(ours(a.language, phrase.CameBefore, ""), false), arrived: now}
		n.leads, it.lead = it, n
		a.keep(n)
		a.normal = slices.Insert(a.normal, 0, n)
		return true
	}
	q := a.open.First()
	if q == nil || !drowns(q, it) {
		return false
	}
	if i := slices.Index(a.asked, it); i >= 0 && it.arrived.Before(q.Put) {
		// The person asked for it before the question was put. Now it is beside that.
		a.asked, a.normal = slices.Delete(a.asked, i, i+1), slices.Insert(a.normal, 0, it)
	}
	if q.led || !slices.Contains(a.normal, it) {
		return false
	}
	q.led = true
	a.about(now, q, ours(a.language, phrase.Meanwhile, ""))
	return true
}

// drowns reports whether an announcement is something else that the session of a question says while that is put.
func drowns(q *Asked, it *item) bool {
	return !q.Put.IsZero() && it.session == q.session() && !it.critical && it.kind != Question && it.kind != Progress
}

// about says something about a question that is put, before anything else that waits.
func (a *Announcer) about(now time.Time, q *Asked, w Words) *item {
	it := &item{kind: Notice, about: q, reminds: true, sentences: a.sentences(w, false), arrived: now}
	a.keep(it)
	a.normal = slices.Insert(a.normal, 0, it)
	return it
}

// putNext puts the first question if it waits, and says of those that waited too long that they did.
func (a *Announcer) putNext(now time.Time) {
	for q := a.open.First(); q != nil && q.words != nil; q = a.open.First() {
		if q.Left(now) > 0 {
			a.put(now, q)
			return
		}
		a.open.Remove(q)
		a.settled(q, now)
		a.tell(now, a.of(q.Source, ours(a.language, phrase.OverNotPut, "")), true, nil)
	}
}

// holdsOthers reports whether others wait until a question is settled.
func (a *Announcer) holdsOthers(q *Asked) bool {
	return slices.ContainsFunc(a.open.all, func(other *Asked) bool { return other != q && other.words != nil })
}

// first puts a question before the others.
func (qs *Questions) first(q *Asked) {
	if i := slices.Index(qs.all, q); i > 0 {
		qs.all = slices.Insert(slices.Delete(qs.all, i, i+1), 0, q)
	}
}
