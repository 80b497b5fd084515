package conformance

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// resumePlay and resumedTextPlay are the names of the plays and of their cases.
const (
	resumePlay      = "resumed"
	resumedTextPlay = "resumed-text"
)

// resumedText has a stream break after the first part of an output, and opened again a moment later.
func resumedText(st *stage) {
	l := st.subscribe(usual())
	l.breaksAfter.Store(new(output))
	st.start()
	st.tape.wait(st.ctx, slow, func(r *Recording) bool {
		_, lost := r.noted(l.n, noteLost)
		return lost || len(of(r.events(l.n), completed, errored, cancelled)) > 0 || st.silenced(r, l)
	})
	st.pause(settle)
	l.find()
	st.end(l, slow)
}

// judgeResumedText sees that no part of a text is told twice as if it were new, and that none is left out by a stream that goes on where
// it broke. An event that comes again under its own id is not new.
func judgeResumedText(r *Recording) Finding {
	lost, broke := r.noted(0, noteLost)
	found, _ := r.noted(0, noteFound)
	switch gone, left := r.noted(0, noteClosed); {
	case len(of(r.events(0), output)) == 0:
		return unseen("no output.streaming came")
	case !broke:
		return skipped("its transport has no event stream that is opened again")
	case left && r.quietAfter(lost):
		return skipped("the subscription was gone with its stream, so that nothing could go on", found, gone)
	}
	next, ids, anew := 0, map[string]bool{}, false
	var last message
	for _, m := range r.events(0) {
		anew = anew || m.typ() == state && m.At.After(lost.At) && !ids[m.str("event_id")]
		if m.typ() != output || ids[m.str("event_id")] {
			ids[m.str("event_id")] = true
			continue
		}
		ids[m.str("event_id")] = true
		switch at := int(m.num("position")); {
		case at < next:
			return fail("after the stream was opened again, text that had come came once more as a new event", last.Entry, found, m.Entry)
		case at > next && !anew:
			return fail(fmt.Sprintf("after the stream was opened again, %d characters of the text were left out", at-next), last.Entry, found, m.Entry)
		default:
			next = at + utf8.RuneCountInString(m.str("chunk"))
		}
		last = m
	}
	if !last.is("complete") && !anew {
		return fail("after the stream was opened again, the rest of the text never came", last.Entry, found)
	}
	return pass("the text went on where it had been", found, last.Entry)
}

// quietAfter reports whether nothing came on the first link after an entry.
func (r *Recording) quietAfter(e Entry) bool {
	return !slices.ContainsFunc(r.all(0, false), func(m message) bool { return m.At.After(e.At) })
}

// resumed has a stream break between two sessions, and opened again in the second, while that waits for an answer: so it is known
// what was missed, and what the state is.
func resumed(st *stage) {
	l, other := st.subscribe(usual()), st.subscribe(usual())
	st.drive(Scenario{Name: Idle}) // a stream goes on after an event
	if _, ok := st.await(l, slow, completed, errored, cancelled); !ok || !l.lose() {
		return
	}
	st.start()
	q, ok := st.await(other, slow, confirm)
	l.find()
	if ok {
		st.tape.wait(st.ctx, patience, func(r *Recording) bool {
			_, heard := r.resumedWith(q)
			return heard || st.silenced(r, l)
		})
		other.reply(q, "reject", nil)
		st.tape.wait(st.ctx, slow, func(r *Recording) bool {
			late := r.events(other.n)
			return len(late) > 0 && late[len(late)-1].terminal() || st.silenced(r, other)
		})
	}
}

// resumedWith is the first event that came to the first subscriber of the session of a question, but for what is critical: that may overtake.
func (r *Recording) resumedWith(q message) (message, bool) {
	for _, m := range r.events(0) {
		if m.str("session_id") == q.str("session_id") && !m.critical() {
			return m, true
		}
	}
	return message{}, false
}

var resumeCases = []Case{
	{Name: resumedTextPlay, Requirements: []string{"SSE-014", "EVT-059"}, Level: 2, Strength: Must, plays: []string{resumedTextPlay},
		Rule: "a text whose event stream broke is told on where it was, each part of it once", Judge: judgeResumedText},
	{Name: resumePlay, Requirements: []string{"SSE-014"}, Level: 2, Strength: Must, plays: []string{resumePlay},
		Rule: "an event stream that is opened again goes on where it broke, or begins with a state.changed to the state of now", Judge: func(r *Recording) Finding {
			list := questions(r, 1)
			found, reopened := r.noted(0, noteFound)
			gone, left := r.noted(0, noteClosed)
			switch {
			case len(r.events(0)) > 0 && !reopened:
				return Finding{Verdict: Skipped, Seen: "its transport has no event stream that is opened again"}
			case !reopened || len(list) == 0:
				return unseen(neverAsked)
			}
			q, answered := list[0], of(r.all(1, true), "confirmation.reply")
			first, ok := r.resumedWith(q)
			switch {
			case !ok && left && (len(answered) == 0 || gone.At.Before(answered[0].At)):
				return Finding{Verdict: Skipped, Seen: "the subscription was gone with its stream, so that nothing could go on", Evidence: []Entry{found, gone}}
			case !ok:
				return fail("nothing more came of the session on the stream that was opened again", q.Entry, found)
			case first.typ() == started:
				return pass("the stream went on with what had been missed", found, first.Entry)
			case first.typ() == state && first.str("to_state") == "awaiting_input":
				return pass("the stream began with the state of now", found, first.Entry)
			}
			return fail("the stream that was opened again began with "+short(first)+": neither with what had been missed nor with the state of now", q.Entry, found, first.Entry)
		}},
}
