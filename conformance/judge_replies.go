package conformance

import (
	"fmt"
	"slices"
)

// replyCases judge what becomes of replies that do not deserve an effect.
var replyCases = []Case{
	{Name: "accept-is-single", Requirements: []string{"CONF-021", "CONF-028", "SEC-004"}, Level: 2, Strength: Must, plays: []string{"twice"},
		Rule: "an accept counts once, however often it is sent", Judge: func(r *Recording) Finding {
			replies := r.repliesSent()
			if len(questions(r, 0)) == 0 || len(replies) == 0 {
				return unseen(neverAsked)
			}
			d := slices.DeleteFunc(of(actions(r, 0), invoked), func(m message) bool { return m.n < replies[0].n })
			switch {
			case len(d) > 1:
				return fail(fmt.Sprintf("one accept that was sent three times ran the tool %d times", len(d)), evidence(r, d[1])...)
			case len(d) == 0:
				return unseen("the tool was not run at all")
			}
			return pass("three times the same accept ran the tool once", d[0].Entry)
		}},
	{Name: "first-reply-wins", Requirements: []string{"HS-087"}, Level: 2, Strength: Must, plays: []string{"changed-mind"},
		Rule: "an accept after a reject has no effect", Judge: neverRun("the first reply rejected it")},
	{Name: "foreign-token", Requirements: []string{"CONF-020"}, Level: 2, Strength: Must, plays: []string{"foreign-token"},
		Rule: "a reply with a token that was never given out has no effect", Judge: judgeDoubtful("the accept carried a made-up token")},
	{Name: "foreign-subscription", Requirements: []string{"CONF-014"}, Level: 2, Strength: Must, plays: []string{"foreign-subscription"},
		Rule: "a reply that names a subscription which does not exist has no effect", Judge: judgeDoubtful("the accept named a subscription that does not exist")},
	{Name: "late-stamp", Requirements: []string{"CONF-022"}, Level: 2, Strength: Must, plays: []string{"late-stamp"},
		Rule: "a reply that was decided after the deadline has no effect", Judge: judgeDoubtful("the accept was stamped after the deadline")},
	{Name: "broken-reply", Requirements: []string{"CONF-019", "CONF-024"}, Level: 2, Strength: Must, plays: []string{"broken-reply"},
		Rule: "a reply that is not valid under its schema has no effect", Judge: judgeDoubtful("no valid accept was sent")},
	{Name: "bad-reply-leaves-open", Requirements: []string{"CONF-025"}, Level: 2, Strength: Must,
		plays: []string{"foreign-token", "foreign-subscription", "late-stamp", "broken-reply"},
		Rule:  "after a reply that does not count the question stays open", Judge: judgeStaysOpen},
	{Name: "modified-action", Requirements: []string{"CONF-018"}, Level: 2, Strength: Must, plays: []string{"modified"},
		Rule: "an accept with changes does not run the action as it was", Judge: neverRun("it was accepted only with changes")},
	{Name: "all-are-asked", Requirements: []string{"CONF-049"}, Level: 2, Strength: Must, plays: []string{"two"},
		Rule: "all who can reply are asked, with the same token", Judge: func(r *Recording) Finding {
			a, b := questions(r, 0), questions(r, 1)
			switch {
			case len(a)+len(b) == 0:
				return unseen(neverAsked)
			case len(a) == 0 || len(b) == 0:
				return fail("only one of two subscribers was asked", append(a, b...)[0].Entry)
			case a[0].str("reply_token") != b[0].str("reply_token"):
				return fail("two subscribers were asked with different tokens", a[0].Entry, b[0].Entry)
			}
			return pass("both were asked with one token", a[0].Entry, b[0].Entry)
		}},
	{Name: "whoever-answers", Requirements: []string{"CONF-048"}, Level: 2, Strength: Must, plays: []string{"relayed"},
		Rule: "of several who were asked each may answer: a reply of the second counts as one of the first would", Judge: func(r *Recording) Finding {
			q := questions(r, 1)
			if len(q) == 0 {
				return secondUnasked(r)
			}
			replies := of(r.all(1, true), "confirmation.reply")
			for _, m := range r.events(1) {
				if len(replies) > 0 && m.n > replies[0].n && m.At.Sub(replies[0].At) < patience && m.typ() != progress {
					return pass("the second subscriber answered, and that settled it", replies[0].Entry, m.Entry)
				}
			}
			return fail("the second subscriber answered, and that settled nothing", q[0].Entry)
		}},
	{Name: "cancelled-is-no", Requirements: []string{"CONF-051"}, Level: 2, Strength: Must, plays: []string{"withdrawn"},
		Rule: "a session that is cancelled while it asks runs nothing, and an accept that comes after has no effect", Judge: func(r *Recording) Finding {
			q, ends := questions(r, 0), of(r.events(0), completed, errored, cancelled)
			if len(q) == 0 {
				return unseen(neverAsked)
			}
			if f, found := ranAnyway(r, 0, q[0], "although the session was cancelled while it asked"); found {
				return f
			}
			switch {
			case len(ends) == 0:
				return fail("the session was to be cancelled while it asked, and never ended", q[0].Entry)
			case ends[0].typ() != cancelled:
				return fail("the session was to be cancelled while it asked, and ended with "+short(ends[0]), q[0].Entry, ends[0].Entry)
			}
			return pass("the question ended with the session", q[0].Entry, ends[0].Entry)
		}},
	{Name: "tokens-fresh", Requirements: []string{"CONF-009", "SEC-004"}, Level: 2, Strength: Must,
		plays: []string{"accept", "reject", "silence", "twice", "changed-mind", "clarify"},
		Rule:  "every question has a token of its own, which was never used before", Judge: func(r *Recording) Finding {
			list := of(r.events(0), confirm, clarify)
			seen := map[string]bool{}
			for _, q := range list {
				token := q.str("reply_token")
				if r.before[token] || seen[token] {
					return fail("the token of a question was used for another one before", q.Entry)
				}
				seen[token] = true
			}
			if len(list) == 0 {
				return unseen(neverAsked)
			}
			return pass("the token is a new one", list[0].Entry)
		}},
	{Name: "one-decision", Requirements: []string{"CONF-028", "LVL-042"}, Level: 2, Strength: Must, plays: []string{"two"},
		Rule: "of two subscribers' replies the first counts", Judge: neverRun("the first subscriber rejected it")},
	{Name: "others-told", Requirements: []string{"CONF-050", "HS-088"}, Level: 2, Strength: Must, plays: []string{"two"},
		Rule: "those who were asked learn that another one answered", Judge: func(r *Recording) Finding {
			q := questions(r, 1)
			if len(q) == 0 {
				return secondUnasked(r)
			}
			for _, m := range r.events(1) {
				if m.n > q[0].n && m.typ() == state && m.str("from_state") == "awaiting_input" {
					return pass("the second subscriber was told", m.Entry)
				}
			}
			return fail("the second subscriber never learnt that the question was settled", q[0].Entry)
		}},
	{Name: "leaving-is-no-consent", Requirements: []string{"HS-083", "LVL-031"}, Level: 3, Strength: Must, plays: []string{"left"},
		Rule: "when the last one who was asked leaves, the default applies and the session goes on", Judge: judgeDeparted("who left")},
}

// secondUnasked says why nothing can be judged by the second subscriber's question.
func secondUnasked(r *Recording) Finding {
	if len(questions(r, 0)) == 0 {
		return unseen(neverAsked)
	}
	return unseen("the second subscriber was not asked")
}

// judgeDoubtful: nothing in such a play may run the tool, for the only good reply is a late no.
func judgeDoubtful(why string) func(*Recording) Finding { return neverRun(why) }

// judgeStaysOpen: between the doubtful reply and the good one, nothing may say that it is settled.
func judgeStaysOpen(r *Recording) Finding {
	q := questions(r, 0)
	replies := of(r.all(0, true), "confirmation.reply")
	if len(q) == 0 || len(replies) == 0 {
		return unseen(neverAsked)
	}
	good := replies[len(replies)-1]
	for _, m := range r.events(0) {
		leaves := m.terminal() || m.typ() == state && m.str("from_state") == "awaiting_input"
		if leaves && m.n > q[0].n && m.n < good.n && len(actions(r, 0)) == 0 {
			return fail("a reply that must not count settled the question", evidence(r, m)...)
		}
	}
	return pass("the question stayed open until a good reply came", good.Entry)
}

// questionCases judge handoffs and clarifications.
var questionCases = []Case{
	{Name: "hands-over", Requirements: []string{"LVL-022", "EVT-088"}, Level: 2, Strength: Must, plays: []string{"handoff"},
		Rule: "handing over is told by handoff.requested with urgency critical", Judge: func(r *Recording) Finding {
			h := of(r.events(0), handoff)
			switch {
			case len(r.events(0)) == 0:
				return unseen("no event came")
			case len(h) == 0:
				return fail("the session handed over without handoff.requested")
			case h[0].str("urgency") != "critical":
				return fail("handoff.requested has the urgency "+quoted(h[0].str("urgency")), h[0].Entry)
			}
			return pass("handoff.requested came and was critical", h[0].Entry)
		}},
	{Name: "wrong-answer-waits", Requirements: []string{"CONF-045", "CONF-044"}, Level: 2, Strength: Must, plays: []string{"clarify"},
		Rule: "an answer of a wrong type counts as none: the question stays open for a right one", Judge: func(r *Recording) Finding {
			q := of(r.events(0), clarify)
			replies := of(r.all(0, true), "clarification.reply")
			if len(q) == 0 || len(replies) < 2 {
				return unseen("no awaiting.clarification came")
			}
			for _, m := range r.events(0) {
				settled := m.terminal() || m.typ() == state && m.str("from_state") == "awaiting_input"
				if settled && m.n > replies[0].n && m.n < replies[1].n {
					return fail("an object as the answer to a question settled it", q[0].Entry, replies[0].Entry, m.Entry)
				}
				if settled && m.n > replies[1].n {
					return pass("the wrong answer was passed over, the right one taken", replies[0].Entry, replies[1].Entry, m.Entry)
				}
			}
			return fail("a right answer after a wrong one settled nothing", replies[1].Entry)
		}},
	{Name: "question-times-out", Requirements: []string{"SM-010"}, Level: 2, Strength: Must, plays: []string{"unanswered"},
		Rule: "a question to the user that nobody answers is over at its deadline, and the state changes", Judge: func(r *Recording) Finding {
			q := of(r.events(0), clarify)
			if len(q) == 0 {
				return unseen("no awaiting.clarification came")
			}
			return settledInTime(r, q[0])
		}},
	{Name: "question-waits", Requirements: []string{"EVT-081", "CONF-006"}, Level: 2, Strength: Must, plays: []string{"clarify"},
		Rule: "a question to the user is critical, and waits for the answer", Judge: func(r *Recording) Finding {
			q := of(r.events(0), clarify)
			replies := of(r.all(0, true), "clarification.reply")
			if len(q) == 0 || len(replies) == 0 {
				return unseen("no awaiting.clarification came")
			}
			if q[0].str("urgency") != "critical" {
				return fail("awaiting.clarification has the urgency "+quoted(q[0].str("urgency")), q[0].Entry)
			}
			for _, m := range r.events(0) {
				if m.n > q[0].n && m.n < replies[0].n && (m.typ() == invoked || m.typ() == output || m.terminal()) {
					return fail(short(m)+" came while the question was open", q[0].Entry, m.Entry)
				}
			}
			return pass("the session waited for the answer", q[0].Entry, replies[0].Entry)
		}},
}
