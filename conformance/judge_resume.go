package conformance

// resumePlay is the name of the play and of its case.
const resumePlay = "resumed"

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
