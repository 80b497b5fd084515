package announce

import (
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/phrase"
)

// agent is how one session of an agent is doing.
type agent struct {
	source   string
	newest   Words     // what was last told of it, but for its answer and its questions
	before   Words     // what newest was before the session waited for an answer
	awaits   bool      // newest says that the session waits for an answer
	progress Words     // how far it has come
	told     time.Time // when progress was last heard
	asked    time.Time // when it last asked, or something came of that, by its clock
	states   int       // how many states came so far
	news     int       // how many events came so far, but for progress
	over     bool      // the session has ended
	// failed says that the session failed, and overtaken that something came of its question, after
	// it had said what still waits: before that, the person is told that it came earlier.
	failed    bool
	overtaken bool
}

// maxAgents is how many sessions are remembered; those that are over are forgotten first.
const maxAgents = 64

// handleEvent takes in an event for WhereAreWe and WhatWaits: its session's state, of which w are
// the words, and the open questions. skip says that nothing is to be announced of it, because it
// repeats what was announced or must stay unsaid. A question beyond those that can be open is
// refused aloud, and skipped; beyond maxAgents sessions one is forgotten. Add calls it.
func (a *Announcer) handleEvent(now time.Time, source string, ev *aaep.Event, w Words) (skip bool) {
	session := sessionOf(source, ev)
	g := a.agents[session]
	if g == nil {
		if len(a.agents) >= maxAgents {
			a.forgetSession(now)
		}
		g = &agent{source: source}
		setEntry(&a.agents, session, g)
	}
	a.noteMoreTime(source, ev)
	closed, repeated := a.questions.handleEvent(now, source, ev)
	for _, q := range closed {
		a.lastClosed, a.lastOutcome = q, nil
		a.noteWithdrawn(now, q)
		a.keepDraft(now, q)
		a.withdrawQuestion(q, now)
	}
	// The time of a question is not kept as news: it is told as it is when the person asks.
	timed := a.questions.findTimed(source, ev) != nil
	if _, ok := ev.Payload.(*aaep.ProgressUpdated); ok {
		if ev.Timestamp.Before(g.asked) { // that overtook it, and after that it would sound like news
			return true
		}
		if !timed {
			g.progress = w
		}
		return repeated
	}
	if isOrEndsQuestion(ev) && ev.Timestamp.After(g.asked) {
		g.asked = ev.Timestamp
		a.dropProgress(now, session)
	}
	g.news++
	switch p := ev.Payload.(type) {
	case *aaep.OutputStreaming:
		return false
	case *aaep.StateChanged:
		g.states++
		if awaits := p.ToState == aaep.StateAwaitingInput; awaits != g.awaits {
			g.before, g.awaits = g.newest, awaits
		}
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		if !a.addQuestion(now, source, ev) { // what could not be answered is not put
			a.addNotice(now, a.withSpeaker(source, phraseIn(a.language, phrase.AsksTooMuch, "")), false, nil)
			return true
		}
		if g.awaits {
			g.newest, g.awaits = g.before, false
		}
		timed = true
	}
	if w != nil && !timed {
		g.newest = w
	}
	if ev.Type().Terminal() {
		g.over, g.progress, g.failed = true, nil, ev.Critical()
		a.dropProgress(now, session)
	}
	return false
}

// isOrEndsQuestion reports whether an event asks the person, or says what came of that.
func isOrEndsQuestion(ev *aaep.Event) bool {
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		return true
	case *aaep.StateChanged:
		return p.FromState == aaep.StateAwaitingInput
	}
	return false
}

// forgetSession makes room for another session: it forgets one that has ended, if there is one,
// else any.
func (a *Announcer) forgetSession(now time.Time) {
	for _, onlyEnded := range []bool{true, false} {
		for id, g := range a.agents {
			if g.over || !onlyEnded {
				a.dropProgress(now, id)
				delete(a.agents, id)
				return
			}
		}
	}
}

// dropProgress takes out the progress of a session that waits to be said, unless it is being said.
func (a *Announcer) dropProgress(now time.Time, session string) {
	if it := a.soFar[session]; it != nil && (a.saying == nil || a.saying.item != it) {
		delete(a.soFar, session)
		a.endItem(it, now, Expired)
	}
}

// progressFrom returns from when on progress of a session may be said; zero is from now on.
func (a *Announcer) progressFrom(session string) (at time.Time) {
	if g := a.agents[session]; g != nil && !g.told.IsZero() {
		at = g.told.Add(hearing.ProgressEvery)
	}
	return at
}
