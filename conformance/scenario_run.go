package conformance

import (
	"fmt"
	"time"
)

// A scenarioRun is what the runner's subscribers do while the target acts out one scenario.
type scenarioRun struct {
	name     string
	does     string // what the subscribers and the agent do, in words
	scenario Scenario
	level    int // the least level at which it is run
	run      func(*producerHarness)
}

// scenarioRunNamed returns the suite's scenario run of that name, and panics if there is none.
func scenarioRunNamed(name string) scenarioRun {
	for _, p := range scenarioRuns {
		if p.name == name {
			return p
		}
	}
	panic(fmt.Sprintf("there is no play %q", name))
}

// watchTogether follows a session to its end with two subscribers, and sends nothing.
func watchTogether(h *producerHarness) {
	l := h.subscribeLink(usualCapabilities())
	h.subscribeAnother(nil)
	h.startScenario()
	h.awaitSessionEnd(l, slow)
}

// answerTogether returns what a scenario run performs: answerQuestion's work, with do as the
// answer, while another subscriber is asked too.
func answerTogether(do func(*link, message)) func(*producerHarness) {
	answer := answerQuestion(do)
	return func(h *producerHarness) {
		h.another = true
		answer(h)
	}
}

// answerQuestion returns a scenario run in which do is called with the first confirmation that
// comes, on the link of the subscriber that asked for it. Without one the run ends with the
// session.
func answerQuestion(do func(*link, message)) func(*producerHarness) {
	return func(h *producerHarness) {
		l := h.subscribeLink(usualCapabilities())
		if h.another {
			h.subscribeAnother(nil)
		}
		h.startScenario()
		q, ok := h.awaitEvent(l, slow, confirm, completed, errored, cancelled)
		if ok && q.compactType() == confirm {
			do(l, q)
		}
		h.awaitSessionEnd(l, slow)
	}
}

// sendInvalidReplies returns a scenario run in which do sends replies that must have no effect, and
// a valid rejection follows.
func sendInvalidReplies(do func(*link, message)) func(*producerHarness) {
	return answerQuestion(func(l *link, q message) {
		do(l, q)
		l.harness.pauseFor(settle)
		l.replyTo(q, "reject", nil)
	})
}

// awaitSettled waits for the settle time after something was sent on a link, or until the target
// closes the link.
func (h *producerHarness) awaitSettled(l *link) {
	h.recorder.awaitCondition(h.ctx, settle, func(r *Recording) bool {
		_, over := r.noteOn(l.index, noteClosed)
		return over
	})
}

// awaitSecondQuestion waits for the second question on the link, and reports whether it came before
// the session ended.
func (l *link) awaitSecondQuestion() (message, bool) {
	var got []message
	l.harness.recorder.awaitCondition(l.harness.ctx, patience, func(r *Recording) bool {
		got = ofTypes(r.eventsOn(l.index), confirm)
		return len(got) > 1 || len(ofTypes(r.eventsOn(l.index), completed, errored, cancelled)) > 0
	})
	if len(got) < 2 {
		return message{}, false
	}
	return got[1], true
}

// pauseUntilLateInWindow pauses until windows of a second that began with a subscription made just
// now, or with a second of the clock, are a third to four fifths over: a producer that counts in
// them fills one and, before half a second is over, the next.
func (h *producerHarness) pauseUntilLateInWindow() {
	const early, late = 300 * time.Millisecond, 800 * time.Millisecond
	wait := early // in the window of the subscription
	atEnd := time.Now().Add(wait)
	switch ofSecond := atEnd.Sub(atEnd.Truncate(time.Second)); {
	case ofSecond < early:
		wait += early - ofSecond
	case ofSecond > late: // on to the next second
		wait += time.Second - ofSecond + early
	}
	h.pauseFor(wait)
}

// runShortSession has a short session run, and returns 850 ms after its first event: a producer
// that counts in windows, which open with the first event, can then fill the rest of one and, a
// moment later, the next. A budget that is refilled smoothly is full by then, and no fuller.
func (h *producerHarness) runShortSession(l *link) {
	const nearly = 850 * time.Millisecond
	h.driveScenario(Scenario{Name: Idle})
	h.recorder.awaitCondition(h.ctx, patience,
		func(r *Recording) bool { return len(r.eventsOn(l.index)) > 0 || h.isSilenced(r, l) })
	if first := h.recorder.snapshot().eventsOn(l.index); len(first) > 0 {
		h.awaitEvent(l, patience, completed, errored, cancelled)
		h.pauseFor(nearly - time.Since(first[0].At))
	}
}

// requestOnly returns a scenario run that sends one request, and does no more.
func requestOnly(name, does string, req object) scenarioRun {
	return scenarioRun{name, does, Scenario{}, 3, func(h *producerHarness) { h.sendRequest(req) }}
}

// properAnswer returns an answer of a kind that a clarification accepts, as a value of JSON: true,
// 7, the first choice or, for any other kind, a text.
func properAnswer(q message) any {
	kinds, _ := q.members["accepted_response_kinds"].([]any)
	for _, k := range kinds {
		switch k {
		case "yes_no":
			return true
		case "numeric":
			return 7
		case "multiple_choice":
			if list, _ := q.members["choices"].([]any); len(list) > 0 {
				if c, _ := list[0].(map[string]any); c != nil {
					return c["value"]
				}
			}
		}
	}
	return "An answer."
}

// anotherAnswer returns an answer that the question allows, and that is not the proper one.
func anotherAnswer(q message) any {
	switch right := properAnswer(q).(type) {
	case bool:
		return !right
	case string:
		return right + " Or not."
	}
	return 8
}
