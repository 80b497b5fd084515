package announce

import (
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
)

// agent is how one session of an agent is doing.
type agent struct {
	source   string
	newest   string // what was last told of it, but for its answer
	progress string
	over     bool
	asks     []*aaep.Event // open questions
}

// maxAgents is how many sessions are remembered; those that are over are forgotten first.
const maxAgents = 64

// heed keeps what Where and Open tell.
func (a *Announcer) heed(source string, ev *aaep.Event, text string) {
	g := a.agents[ev.SessionID]
	if g == nil {
		if len(a.agents) >= maxAgents {
			a.forget()
		}
		g = &agent{}
		a.agents[ev.SessionID] = g
	}
	g.source = source
	g.asks = slices.DeleteFunc(g.asks, func(q *aaep.Event) bool {
		settled := Closes(q, ev)
		if settled {
			a.settled(q, ev.Timestamp)
		}
		return settled
	})
	switch ev.Payload.(type) {
	case *aaep.OutputStreaming:
		return
	case *aaep.ProgressUpdated:
		g.progress = text
		return
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		g.asks = append(g.asks, ev)
	}
	if text != "" {
		g.newest = text
	}
	if ev.Type().Terminal() {
		g.over, g.progress = true, ""
		if it := a.soFar[ev.SessionID]; it != nil && (a.saying == nil || a.saying.item != it) {
			delete(a.soFar, ev.SessionID)
			a.end(it, ev.Timestamp, Expired)
		}
		delete(a.saidAt, ev.SessionID)
	}
}

// settled says no more of a question that needs no answer any more.
func (a *Announcer) settled(q *aaep.Event, at time.Time) {
	for _, it := range slices.Clone(a.urgent) {
		if it.event == q {
			it.moot = true
			a.remove(it)
			a.end(it, at, Expired)
		}
	}
}

func (a *Announcer) forget() {
	for _, over := range []bool{true, false} {
		for id, g := range a.agents {
			if g.over || !over {
				delete(a.agents, id)
				return
			}
		}
	}
}

// Typing says that the person pressed a key. While they type only what is critical is said.
func (a *Announcer) Typing(now time.Time) {
	if !a.quiet {
		a.quiet, a.before = true, len(a.normal)
	}
	a.typed = now
}

// catchUp tells in one sentence what came while the person typed, and leaves the rest to be asked for. What waited before,
// and a single thing, are simply said.
func (a *Announcer) catchUp(now time.Time) {
	came := a.normal[min(a.before, len(a.normal)):]
	if len(came) < 2 {
		return
	}
	latest := ""
	answers := 0
	for _, it := range came {
		if it.kind == Output {
			answers++
		} else if it.stale.IsZero() || now.Before(it.stale) {
			latest = it.sentences[len(it.sentences)-1]
		}
		it.stale = time.Time{}
		a.miss(it)
	}
	a.normal = slices.Delete(a.normal, len(a.normal)-len(came), len(a.normal))
	a.say(now, whileYouTyped(answers, len(came)-answers, latest))
}

// say puts what the person asked for before everything that is not critical.
func (a *Announcer) say(now time.Time, text string) {
	it := &item{kind: Notice, language: ownLanguage, sentences: split(text, ownLanguage), arrived: now}
	if len(it.sentences) == 0 {
		return
	}
	a.keep(it)
	a.asked = append(a.asked, it)
}

// Details says what came while the person typed, or did not fit.
func (a *Announcer) Details(now time.Time) {
	if len(a.missed) == 0 {
		a.say(now, nothingMissed)
		return
	}
	a.normal = append(slices.Clone(a.missed), a.normal...)
	a.missed = nil
}

// Again says again what was said last, from its beginning.
func (a *Announcer) Again(now time.Time) {
	for _, it := range slices.Backward(a.kept) {
		if it.source == "" && it.kind == Notice && len(a.asked) > 0 && slices.Contains(a.asked, it) {
			continue
		}
		if o := it.receipt.Outcome; o == Heard || o == Cut || o == Speaking || it.receipt.Said > 0 {
			again := &item{source: it.source, session: it.session, kind: it.kind, event: it.event, language: it.language, sentences: it.sentences, arrived: now}
			a.keep(again)
			a.asked = append(a.asked, again)
			return
		}
	}
	a.say(now, nothingSaid)
}

// Open returns the questions that wait for an answer, as far as what came shows; the oldest first.
func (a *Announcer) Open() (all []*aaep.Event) {
	for _, g := range a.agents {
		all = append(all, g.asks...)
	}
	slices.SortFunc(all, func(x, y *aaep.Event) int { return x.Timestamp.Compare(y.Timestamp) })
	return all
}

// Armed reports whether an acceptance of a question may count as meant: the question is open, the person had all of it, and no
// key was pressed a moment ago. A key that was under the finger when the question came accepts nothing.
func (a *Announcer) Armed(now time.Time, question *aaep.Event) bool {
	if !slices.Contains(a.Open(), question) || !a.typed.IsZero() && now.Sub(a.typed) < stillBefore {
		return false
	}
	return slices.ContainsFunc(a.kept, func(it *item) bool { return it.event == question && it.receipt.Outcome == Heard })
}

// WhatWaits says which questions are open, and how much there is to hear.
func (a *Announcer) WhatWaits(now time.Time) {
	var asks []string
	for _, q := range a.Open() {
		asks = append(asks, forEar(short(q)))
	}
	a.say(now, whatWaits(asks, len(a.urgent)+len(a.normal)+len(a.soFar), len(a.missed)))
}

// WhereAreWe says how each session is doing.
func (a *Announcer) WhereAreWe(now time.Time) {
	var told []string
	for _, g := range a.agents {
		text := strings.TrimSpace(words.Sentence(g.newest) + " " + words.Sentence(g.progress))
		if g.over || text == "" {
			continue
		}
		if len(a.sources) > 1 {
			text = g.source + ": " + text
		}
		told = append(told, forEar(text))
	}
	slices.Sort(told)
	a.say(now, whereWeAre(told))
}
