package announce

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
)

// Question returns the question that an answer is for which the person began to give at a time; nil is none, and there is nothing to
// send. It is the one that is put to them, a second after that began, so that a second press of the key that answered the one before
// does not answer this; and once they had all of it and had pressed no key for a moment, so that a key that was under the finger when
// the question came accepts nothing. A rejection need not wait for the end of it. It is asked before Typing is told of the key that
// begins the answer.
func (a *Announcer) Question(began time.Time, d aaep.Decision) *aaep.Event {
	q := a.open.First()
	if q == nil || q.Put.IsZero() || began.Sub(q.Put) < stillBefore { // it may be for the question before
		return nil
	}
	heard := !q.heard.IsZero() && !q.heard.After(began)
	still := a.typed.IsZero() || began.Sub(a.typed) >= stillBefore
	if heard && still || d == aaep.Reject {
		return q.Event
	}
	return nil
}

// wait lets a question wait until it is put: at once if no other is, or if it was expected.
func (a *Announcer) wait(now time.Time, q *Asked, it *item, expected bool) {
	if q.words != nil { // in other words
		a.end(q.words, now, Expired)
	}
	if q.words = it; expected {
		a.open.first(q)
	}
	if q != a.open.First() {
		a.tell(now, ours(a.language, phrase.AnotherWaits, ""), false, q)
		return
	}
	a.put(now, q)
}

// put says a question.
func (a *Announcer) put(now time.Time, q *Asked) {
	for _, it := range slices.Clone(a.normal) { // that it waits
		if it.about == q && it.kind == Notice {
			it.moot = true
			a.remove(it)
			a.end(it, now, Expired)
		}
	}
	it := q.words
	q.words = nil
	a.admit(now, it)
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
		a.tell(now, ours(a.language, phrase.OverNotPut, ""), true, nil)
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
