package conformance

import (
	"fmt"
	"time"
)

// scenarioRun is how the runner's subscribers behave in one scenario.
type scenarioRun struct {
	name     string
	does     string // what the subscribers and the agent do, in words
	scenario Scenario
	level    int // the least level at which it is played
	run      func(*producerHarness)
}

func scenarioRunNamed(name string) scenarioRun {
	for _, p := range scenarioRuns {
		if p.name == name {
			return p
		}
	}
	panic(fmt.Sprintf("there is no play %q", name))
}

// watchSession follows a session and says nothing.
func watchSession(st *producerHarness) {
	l := st.subscribeLink(usualCapabilities())
	st.startScenario()
	st.awaitSessionEnd(l, slow)
}

// answerQuestion plays a subscriber that does something about the question.
func answerQuestion(do func(*link, message)) func(*producerHarness) {
	return func(st *producerHarness) {
		l := st.subscribeLink(usualCapabilities())
		st.startScenario()
		q, ok := st.awaitEvent(l, slow, confirm, completed, errored, cancelled)
		if ok && q.compactType() == confirm {
			do(l, q)
		}
		st.awaitSessionEnd(l, slow)
	}
}

// sendInvalidReplies sends replies that must have no effect, and later a good no.
func sendInvalidReplies(do func(*link, message)) func(*producerHarness) {
	return answerQuestion(func(l *link, q message) {
		do(l, q)
		l.st.pauseFor(settle)
		l.replyTo(q, "reject", nil)
	})
}

// awaitSettled gives the target time to hear what was said on a link, unless it closes the link
// first.
func (st *producerHarness) awaitSettled(l *link) {
	st.recorder.awaitCondition(st.ctx, settle, func(r *Recording) bool {
		_, over := r.noteOn(l.n, noteClosed)
		return over
	})
}

// awaitSecondQuestion waits for a question after q.
func (l *link) awaitSecondQuestion(q message) (message, bool) {
	var got []message
	l.st.recorder.awaitCondition(l.st.ctx, patience, func(r *Recording) bool {
		got = ofTypes(r.eventsOn(l.n), confirm)
		return len(got) > 1 || len(ofTypes(r.eventsOn(l.n), completed, errored, cancelled)) > 0
	})
	if len(got) < 2 {
		return message{}, false
	}
	return got[1], true
}

// pauseUntilLateInWindow pauses until windows of a second that began with a subscription made just
// now, or with a second of the clock, are a third to four fifths over: a producer that counts in
// them fills one and, before half a second is over, the next.
func (st *producerHarness) pauseUntilLateInWindow() {
	const early, late = 300 * time.Millisecond, 800 * time.Millisecond
	soon := time.Now().Add(early)
	switch part := soon.Sub(soon.Truncate(time.Second)); {
	case part < early:
		st.pauseFor(early + early - part)
	case part > late:
		st.pauseFor(early + time.Second + early - part)
	default:
		st.pauseFor(early)
	}
}

// runShortSession has a short session begin, and returns when that second is nearly over: a
// producer that counts in windows, which open with the first event, can fill the rest of one and, a
// moment later, the next. A budget that is refilled smoothly is full by then, and no fuller.
func (st *producerHarness) runShortSession(l *link) {
	const nearly = 850 * time.Millisecond
	st.driveScenario(Scenario{Name: Idle})
	st.recorder.awaitCondition(st.ctx, patience,
		func(r *Recording) bool { return len(r.eventsOn(l.n)) > 0 || st.isSilenced(r, l) })
	if first := st.recorder.snapshot().eventsOn(l.n); len(first) > 0 {
		st.awaitEvent(l, patience, completed, errored, cancelled)
		st.pauseFor(nearly - time.Since(first[0].At))
	}
}

// requestOnly asks, and does no more.
func requestOnly(name, does string, req object) scenarioRun {
	return scenarioRun{name, does, Scenario{}, 3, func(st *producerHarness) { st.sendRequest(req) }}
}

// properAnswer is one that the question allows.
func properAnswer(q message) any {
	kinds, _ := q.m["accepted_response_kinds"].([]any)
	for _, k := range kinds {
		switch k {
		case "yes_no":
			return true
		case "numeric":
			return 7
		case "multiple_choice":
			if list, _ := q.m["choices"].([]any); len(list) > 0 {
				if c, _ := list[0].(map[string]any); c != nil {
					return c["value"]
				}
			}
		}
	}
	return "An answer."
}
