package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"
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
	{Name: "late-arrival", Requirements: []string{"TERM-017", "CONF-030", "CONF-021"}, Level: 2, Strength: Must, plays: []string{"late-arrival"},
		Rule: "an accept that arrives when the question is over has no effect, whenever it says that it was decided", Judge: func(r *Recording) Finding {
			q, replies := questions(r, 0), r.repliesSent()
			if len(q) > 0 && len(replies) > 0 && replies[0].At.Sub(q[0].At) < time.Duration(q[0].num("timeout_seconds"))*time.Second {
				return unseen("the session was over before its question was")
			}
			if len(replies) > 0 && slices.ContainsFunc(actions(r, 0), func(m message) bool { return m.n < replies[0].n }) {
				return unseen("the tool was run before the late accept was sent")
			}
			return neverRun("it was accepted after the question was over")(r)
		}},
	{Name: "old-token", Requirements: []string{"CONF-020", "CONF-021", "SEC-004"}, Level: 2, Strength: Must, plays: []string{"old-token"},
		Rule: "a token counts for the question that it came with, and for no later one", Judge: func(r *Recording) Finding {
			q, replies := questions(r, 0), r.repliesSent()
			if len(q) < 2 || len(replies) < 2 {
				return unseen("the producer did not ask twice")
			}
			if f, found := ranAnyway(r, 0, q[1], "although the accept carried the token of an earlier question"); found {
				return f
			}
			return pass("the token of an earlier question settled nothing", evidence(r, q[1])...)
		}},
	{Name: "right-given-up", Requirements: []string{"SEC-003", "HS-076"}, Level: 3, Strength: Must, plays: []string{"silenced"},
		Rule: "an accept of a subscription that has renegotiated its right to reply away has no effect", Judge: func(r *Recording) Finding {
			got := of(r.all(0, false), "subscription.accepted", "subscription.rejected")
			if len(questions(r, 0)) > 0 && len(got) < 2 {
				return unseen("no answer to the renegotiation came")
			}
			replies := r.repliesSent()
			if len(replies) > 0 && slices.ContainsFunc(actions(r, 0), func(m message) bool { return m.n < replies[0].n }) {
				return unseen("the tool was run before the accept was sent")
			}
			return neverRun("its right to reply had been renegotiated away")(r)
		}},
	{Name: "bad-reply-leaves-open", Requirements: []string{"CONF-025"}, Level: 2, Strength: Must,
		plays: []string{"foreign-token", "foreign-subscription", "late-stamp", "broken-reply"},
		Rule:  "after a reply that does not count the question stays open", Judge: judgeStaysOpen},
	{Name: "modified-action", Requirements: []string{"CONF-018"}, Level: 2, Strength: Must, plays: []string{"modified"},
		Rule: "an accept with changes does not run the action as it was", Judge: neverRun("it was accepted only with changes")},
	{Name: "all-are-asked", Requirements: []string{"CONF-049"}, Level: 2, Strength: Must, plays: []string{"two"},
		Rule: "all who can reply are asked the same, with the same token", Judge: func(r *Recording) Finding {
			a, b := questions(r, 0), questions(r, 1)
			switch {
			case len(a)+len(b) == 0:
				return unseen(neverAsked)
			case len(a) == 0 || len(b) == 0:
				return fail("only one of two subscribers was asked", append(a, b...)[0].Entry)
			case a[0].str("reply_token") != b[0].str("reply_token"):
				return fail("two subscribers were asked with different tokens", a[0].Entry, b[0].Entry)
			}
			for _, name := range []string{"action", "consequence", "timeout_seconds", "default_decision", "risk_level", "irreversible"} {
				if a[0].language() == b[0].language() && inJSON(a[0].m[name]) != inJSON(b[0].m[name]) {
					return fail("two subscribers were asked under one token, with another "+name, a[0].Entry, b[0].Entry)
				}
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
	{Name: "others-may-answer", Requirements: []string{"HS-085", "CONF-048"}, Level: 2, Strength: Must, plays: []string{"one-leaves"},
		Rule: "when one of several who were asked leaves, the question stays open for the others", Judge: func(r *Recording) Finding {
			q, replies := questions(r, 1), of(r.all(1, true), "confirmation.reply")
			switch {
			case len(q) == 0:
				return secondUnasked(r)
			case len(replies) == 0:
				return unseen("the session was over before anybody had left")
			}
			for _, m := range r.events(1) {
				if settles(m) && m.n > q[0].n && m.n < replies[0].n {
					return fail("the question was settled when one of two who were asked left", q[0].Entry, m.Entry)
				}
			}
			if d := of(actions(r, 1), invoked); len(d) > 0 {
				return pass("the tool was run when the one who stayed had accepted", replies[0].Entry, d[0].Entry)
			}
			return fail("one of two who were asked left, and the accept of the other did not count", q[0].Entry, replies[0].Entry)
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
	{Name: "tokens-random", Requirements: []string{"CONF-008"}, Level: 2, Strength: Should, plays: []string{"clarify"},
		Rule: "a reply_token is 128 random bits in 32 hexadecimal digits", Judge: judgeTokens},
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

// settles reports whether an event says that the open question of its session is settled.
func settles(m message) bool {
	return m.terminal() || m.typ() == state && m.str("from_state") == "awaiting_input"
}

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
	if len(actions(r, 0)) > 0 {
		return none("a reply that must not count did")
	}
	for _, m := range r.events(0) {
		if settles(m) && m.n > good.n {
			if m.At.Sub(good.At) > patience {
				break
			}
			return pass("the question stayed open until a good reply came", good.Entry, m.Entry)
		}
	}
	return fail("after replies that must not count, a good one did not count either", q[0].Entry, good.Entry)
}

// unanswering is a message, and what the runner sent before it.
func unanswering(r *Recording, m message) (list []Entry) {
	for _, sent := range of(r.all(0, true), "clarification.reply", "confirmation.reply") {
		if sent.n < m.n {
			list = append(list, sent.Entry)
		}
	}
	return append(list, m.Entry)
}

// judgeTokens looks at the tokens of this play and of the earlier ones. What two random tokens have in common at their beginning is a
// digit or two.
func judgeTokens(r *Recording) Finding {
	const random, alike = 32, 12
	asked := of(r.events(0), confirm, clarify)
	if len(asked) == 0 {
		return unseen(neverAsked)
	}
	q, earlier := asked[0], ""
	token := strings.TrimPrefix(q.str("reply_token"), "rpl_")
	if len(token) != random || strings.Trim(strings.ToLower(token), "0123456789abcdef") != "" {
		return fail("a reply_token is not rpl_ and 32 hexadecimal digits", q.Entry)
	}
	for other := range r.before {
		other, is := strings.CutPrefix(other, "rpl_")
		if !is || other == token {
			continue
		}
		same := 0
		for same < min(len(token), len(other)) && token[same] == other[same] {
			same++
		}
		if earlier = other; same >= alike {
			return fail(fmt.Sprintf("two reply_tokens have their first %d characters in common: they can be guessed", same), q.Entry)
		}
	}
	if earlier == "" {
		return unseen("there was one token only")
	}
	return pass("the tokens have nothing in common", q.Entry)
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
			wrong, right := of(r.all(0, true), "clarification.reply", "confirmation.reply")[0], replies[len(replies)-1]
			for _, m := range r.events(0) {
				if settles(m) && m.n > wrong.n && m.n < right.n {
					return fail("something that is no answer to a yes-or-no question settled it", append([]Entry{q[0].Entry}, unanswering(r, m)...)...)
				}
				if settles(m) && m.n > right.n {
					return pass("what was no answer was passed over, the right one taken", wrong.Entry, right.Entry, m.Entry)
				}
			}
			return fail("a right answer after a wrong one settled nothing", right.Entry)
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
