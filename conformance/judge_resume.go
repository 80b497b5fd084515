package conformance

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// resumePlay and resumedTextPlay are the names of the scenario runs and of their cases.
const (
	resumePlay      = "resumed"
	resumedTextPlay = "resumed-text"
)

// resumedText has a stream break after the first part of an output, and opened again a moment
// later.
func resumedText(h *producerHarness) {
	l := h.subscribeLink(usualCapabilities())
	l.breaksAfter.Store(new(output))
	h.startScenario()
	h.recorder.awaitCondition(h.ctx, slow, func(r *Recording) bool {
		_, lost := r.noteOn(l.index, noteLost)
		return lost || len(ofTypes(r.eventsOn(l.index), completed, errored, cancelled)) > 0 || h.isSilenced(r, l)
	})
	h.pauseFor(settle)
	l.restoreStream()
	h.awaitSessionEnd(l, slow)
}

// judgeResumedText judges a stream that was opened again: no part of a text may come twice under a
// new id, and none may be left out. An event that comes again under its own id is passed over. A
// new state.changed after the break says that the producer went on with the present state, without
// what was missed: from then on text may lack. Without text it is inconclusive; a transport that
// opens no stream again, or a subscription that went with its stream, is skipped.
func judgeResumedText(r *Recording) Finding {
	lost, broke := r.noteOn(0, noteLost)
	found, _ := r.noteOn(0, noteFound)
	switch gone, left := r.noteOn(0, noteClosed); {
	case len(ofTypes(r.eventsOn(0), output)) == 0:
		return inconclusiveFinding("no output.streaming came")
	case !broke:
		return skippedFinding("its transport has no event stream that is opened again")
	case left && r.isQuietAfter(lost):
		return skippedFinding("the subscription was gone with its stream, so that nothing could go on", found, gone)
	}
	var last message // of the output
	next, mayLack := 0, false
	seen := map[string]bool{}
	for _, m := range r.eventsOn(0) {
		id := m.stringMember("event_id")
		if seen[id] {
			continue
		}
		seen[id] = true
		if m.compactType() == state && m.At.After(lost.At) {
			mayLack = true
		}
		if m.compactType() != output {
			continue
		}
		switch at := int(m.numberMember("position")); {
		case at < next:
			return failFinding("after the stream was opened again, text that had come came once more as a new event",
				last.Entry, found, m.Entry)
		case at > next && !mayLack:
			return failFinding(fmt.Sprintf("after the stream was opened again, %d characters of the text were left out",
				at-next), last.Entry, found, m.Entry)
		default:
			next = at + utf8.RuneCountInString(m.stringMember("chunk"))
		}
		last = m
	}
	if !last.boolMember("complete") && !mayLack {
		return failFinding("after the stream was opened again, the rest of the text never came", last.Entry, found)
	}
	return passFinding("the text went on where it had been", found, last.Entry)
}

// isQuietAfter reports whether nothing came on the first link after an entry.
func (r *Recording) isQuietAfter(e Entry) bool {
	return !slices.ContainsFunc(r.messagesOn(0, false), func(m message) bool { return m.At.After(e.At) })
}

// breakStreamAndResume has a stream break between two sessions, and opened again in the second,
// while that waits for an answer: so it is known what was missed, and what the state is.
func breakStreamAndResume(h *producerHarness) {
	l, other := h.subscribeLink(usualCapabilities()), h.subscribeLink(usualCapabilities())
	h.driveScenario(Scenario{Name: Idle}) // a stream goes on after an event
	if _, ok := h.awaitEvent(l, slow, completed, errored, cancelled); !ok || !l.breakStream() {
		return
	}
	h.startScenario()
	q, ok := h.awaitEvent(other, slow, confirm)
	l.restoreStream()
	if ok {
		h.recorder.awaitCondition(h.ctx, patience, func(r *Recording) bool {
			_, heard := r.resumedWith(q)
			return heard || h.isSilenced(r, l)
		})
		other.replyTo(q, "reject", nil)
		h.recorder.awaitCondition(h.ctx, slow, func(r *Recording) bool {
			late := r.eventsOn(other.index)
			return len(late) > 0 && late[len(late)-1].isTerminal() || h.isSilenced(r, other)
		})
	}
}

// resumedWith returns the first event of a question's session that came to the first subscriber
// after a resumption, without regard to critical events, which may overtake.
func (r *Recording) resumedWith(q message) (message, bool) {
	for _, m := range r.eventsOn(0) {
		if m.stringMember("session_id") == q.stringMember("session_id") && !m.isCritical() {
			return m, true
		}
	}
	return message{}, false
}

// missedBefore returns an event of a question's session that came to the second subscriber up to
// the question, and that never came to the first, whose stream was broken then and has gone on;
// false where there is none.
func (r *Recording) missedBefore(q message) (message, bool) {
	came := map[string]bool{}
	for _, m := range r.eventsOn(0) {
		came[m.stringMember("event_id")] = true
	}
	for _, m := range r.eventsOn(1) {
		if m.index <= q.index && m.stringMember("session_id") == q.stringMember("session_id") &&
			!came[m.stringMember("event_id")] {
			return m, true
		}
	}
	return message{}, false
}

var resumeCases = []Case{
	{Name: resumedTextPlay, Requirements: []string{"SSE-014", "EVT-059"}, Level: 2, Strength: Must,
		plays: []string{resumedTextPlay},
		Rule:  "a text whose event stream broke is told on where it was, each part of it once",
		Judge: judgeResumedText},
	{Name: resumePlay, Requirements: []string{"SSE-014"}, Level: 2, Strength: Must, plays: []string{resumePlay},
		Rule: "an event stream that is opened again goes on where it broke, or begins with a state.changed to the state of now", Judge: func(r *Recording) Finding {
			list := confirmationsOn(r, 1)
			found, reopened := r.noteOn(0, noteFound)
			gone, left := r.noteOn(0, noteClosed)
			switch {
			case len(r.eventsOn(0)) > 0 && !reopened:
				return Finding{Verdict: Skipped, Seen: "its transport has no event stream that is opened again"}
			case !reopened || len(list) == 0:
				return inconclusiveFinding(neverAsked)
			}
			q, answered := list[0], ofTypes(r.messagesOn(1, true), "confirmation.reply")
			first, ok := r.resumedWith(q)
			leftUnanswered := left && (len(answered) == 0 || gone.At.Before(answered[0].At))
			switch {
			case !ok && leftUnanswered:
				return Finding{Verdict: Skipped,
					Seen:     "the subscription was gone with its stream, so that nothing could go on",
					Evidence: []Entry{found, gone}}
			case !ok:
				return failFinding("nothing more came of the session on the stream that was opened again", q.Entry,
					found)
			case first.compactType() == started:
				if m, lost := r.missedBefore(q); lost {
					return failFinding("the stream went on with what had been missed, but for "+shortName(m), q.Entry,
						found, first.Entry, m.Entry)
				}
				return passFinding("the stream went on with what had been missed", found, first.Entry)
			case first.compactType() == state && first.stringMember("to_state") == "awaiting_input":
				return passFinding("the stream began with the state of now", found, first.Entry)
			}
			return failFinding("the stream that was opened again began with "+shortName(first)+
				": neither with what had been missed nor with the state of now", q.Entry, found, first.Entry)
		}},
}
