package announce

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/phrase"
)

const (
	// endOfFailed is how many lines are still said of what a session said before it failed.
	endOfFailed = 3
	// maxHeld is how many announcements wait; of more, the oldest of the agent that has most is
	// left out. Details tells as many that were left out, and as many lines of code or rows.
	maxHeld = 500
)

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

// appendTo puts an announcement at the end of a queue. Where an agent floods the person with text,
// its other text is left out first. Where the queue is longer than maxHeld then, the oldest of the
// agent that has most in it is kept for Details instead, so that an agent which says more than can
// be heard crowds out itself; but neither an open question, nor what is being said, nor a notice of
// what was left out.
func (a *Announcer) appendTo(queue *[]*item, it *item) {
	*queue = append(*queue, it)
	if it.kind == Output && a.isFlooding(it.source) {
		a.leaveOut(1, func(other *item) bool { return other.source == it.source })
	}
	for len(*queue) > maxHeld {
		busiest := findBusiest(*queue, it.source)
		i := slices.IndexFunc(*queue, func(it *item) bool {
			isSaid := a.saying != nil && a.saying.item == it
			return it.source == busiest && it.leftOut == 0 && !isSaid && a.questions.findByEvent(it.event) == nil
		})
		if i < 0 {
			return
		}
		oldest := (*queue)[i]
		*queue = slices.Delete(*queue, i, i+1)
		a.keepForDetails(oldest)
		a.countLeft(oldest, 0)
	}
}

// findBusiest returns the agent that has most announcements in a queue; among equals, newest first.
func findBusiest(queue []*item, newest string) string {
	count, busiest := map[string]int{}, newest
	for _, it := range queue {
		if count[it.source]++; count[it.source] > count[busiest] {
			busiest = it.source
		}
	}
	return busiest
}

// keepForDetails moves an announcement to those that Details reads out; beyond maxHeld the oldest
// of them expires.
func (a *Announcer) keepForDetails(it *item) {
	if len(a.missed) >= maxHeld {
		a.endItem(a.missed[0], it.arrived, Expired)
		a.missed = slices.Delete(a.missed, 0, 1)
	}
	a.missed = append(a.missed, it)
}
