package announce

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/phrase"
)

// endOfFailed is how many lines are still said of what a session said before it failed.
const endOfFailed = 3

// isFlooding reports whether so much text of an agent waits that it is left out: more than can be
// heard within hearing.MaxBehind, or any while it waits to be said that some was left out.
func (a *Announcer) isFlooding(source string) bool {
	backlog := time.Duration(0)
	for _, it := range a.normal {
		switch {
		case it.source != source || !a.isUntold(it):
		case it.leftOut > 0:
			return true
		case a.isText(it):
			backlog += a.remainingTime(it)
		}
	}
	return backlog > hearing.MaxBehind
}

// isText reports whether an announcement is text that may be left out.
func (a *Announcer) isText(it *item) bool {
	return it.kind == Output && !it.wanted && it.leftOut == 0 && a.isUntold(it)
}

// leaveOut moves the announcements of text that selects picks from the queue to what Details reads
// out, but for the newest so many, and queues a sentence in their place with the number of lines. A
// single one is not moved, unless such a sentence waits already; nor is any for a person who reads,
// whose lines stay.
func (a *Announcer) leaveOut(newest int, selects func(it *item) bool) {
	if a.p.Reads {
		return
	}
	var text []*item
	hasSummary := false
	for _, it := range a.normal {
		if a.isText(it) && selects(it) {
			text = append(text, it)
		}
		hasSummary = hasSummary || it.leftOut > 0 && a.isUntold(it)
	}
	if len(text) <= newest || len(text) == newest+1 && !hasSummary {
		return
	}
	text = text[:len(text)-newest]
	place := slices.Index(a.normal, text[0])
	a.normal = slices.DeleteFunc(a.normal, func(it *item) bool { return slices.Contains(text, it) })
	for _, it := range text {
		a.keepForDetails(it)
		a.countLeft(it, place)
	}
}

// countLines returns how many lines of an announcement have yet to be said. What is no text is one,
// however many sentences it has.
func (it *item) countLines() int {
	if it.kind != Output {
		return 1
	}
	return len(it.sentences) - it.next
}

// recallText puts the newest of a session's text that was left out back into the queue, until
// newest lines of it wait there, and corrects the summary that counts what was left out. Without
// such a summary it does nothing. Add calls it at the end of a session that failed.
func (a *Announcer) recallText(newest int, session string) {
	isText := func(it *item) bool { return a.isText(it) && it.session == session }
	summary := slices.IndexFunc(a.normal, func(it *item) bool {
		return it.leftOut > 0 && it.session == session && a.isUntold(it)
	})
	for summary >= 0 {
		n := 0
		for _, it := range a.normal {
			if isText(it) {
				n += it.countLines()
			}
		}
		last := len(a.missed) - 1
		for last >= 0 && !isText(a.missed[last]) {
			last--
		}
		if n >= newest || last < 0 || a.missed[last].countLines() >= a.normal[summary].leftOut {
			return
		}
		it := a.missed[last]
		a.missed = slices.Delete(a.missed, last, last+1)
		a.normal = slices.Insert(a.normal, summary+1, it)
		a.addLeftOut(a.normal[summary], it.kind, -it.countLines())
	}
}

// countLeft counts the lines of an announcement among those of its agent that were left out. The
// summary that says how many those are is one announcement; where none waits, countLeft queues one
// at the index place of a.normal.
func (a *Announcer) countLeft(leftOut *item, place int) {
	i := slices.IndexFunc(a.normal, func(it *item) bool {
		return it.leftOut > 0 && it.source == leftOut.source && a.isUntold(it)
	})
	if i < 0 {
		i = min(place, len(a.normal))
		it := &item{source: leftOut.source, session: leftOut.session, kind: Output, arrived: leftOut.arrived}
		a.recordItem(it)
		a.normal = slices.Insert(a.normal, i, it)
	}
	a.addLeftOut(a.normal[i], leftOut.kind, leftOut.countLines())
}

// addLeftOut adds a number of lines, which may be below zero, to those that a summary says were
// left out. After text, of kind Output, the summary says too that the newest follows.
func (a *Announcer) addLeftOut(summary *item, kind Kind, lines int) {
	summary.leftOut += lines
	w := leftOutWords(a.language, summary.leftOut)
	if kind == Output {
		w = w.And(" ", phraseIn(a.language, phrase.TheNewest, ""))
	}
	summary.sentences = a.splitWords(w, false)
	summary.receipt.Of = len(summary.sentences)
}

// leftOutWords says how many lines were left out.
func leftOutWords(language string, n int) Words {
	return In(language, phrase.Counted(language, phrase.LinesLeftOut, n, "line"))
}

// queueOutcome makes what came of a question the next that is said, before what its session said
// sooner, of which that is said.
func (a *Announcer) queueOutcome(it *item) {
	if g := a.agents[it.session]; g != nil && slices.ContainsFunc(a.normal, func(other *item) bool {
		return other.kind == Output && other.session == it.session
	}) {
		g.overtaken = true
	}
	a.appendTo(&a.normal, it)
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
