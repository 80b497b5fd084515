package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// replyCases judge what becomes of replies that do not deserve an effect.
var replyCases = []Case{
	{Name: "accept-is-single", Requirements: []string{"CONF-021", "CONF-028", "SEC-004"}, Level: 2, Strength: Must,
		plays: []string{"twice", "relayed"},
		Rule:  "an accept counts once, however often it is sent, and by however many", Judge: func(r *Recording) Finding {
			replies := r.repliesSent()
			if len(confirmationsOn(r, 0)) == 0 || len(replies) == 0 {
				return inconclusiveFinding(neverAsked)
			}
			d := slices.DeleteFunc(ofTypes(irreversibleCalls(r, 0), invoked),
				func(m message) bool { return m.index < replies[0].index })
			switch {
			case len(d) > 1:
				return failFinding(fmt.Sprintf("of one question %d accepts ran the tool %d times", len(replies),
					len(d)),
					evidenceBefore(r, d[1])...)
			case len(d) == 0:
				return inconclusiveFinding("the tool was not run at all")
			}
			return passFinding(fmt.Sprintf("%d accepts of one question ran the tool once", len(replies)), d[0].Entry)
		}},
	{Name: "first-reply-wins", Requirements: []string{"HS-087"}, Level: 2, Strength: Must,
		plays: []string{"changed-mind"},
		Rule:  "an accept after a reject has no effect", Judge: judgeNeverRun("the first reply rejected it")},
	{Name: "accept-stands", Requirements: []string{"HS-087", "CONF-028"}, Level: 2, Strength: Must,
		plays: []string{"second-thoughts"},
		Rule:  "a reject after an accept has no effect", Judge: judgeAccepted(func(int) string { return "a reject followed it" })},
	{Name: "spelling-free", Requirements: []string{"CONF-019", "CONF-022", "ENV-020", "ENV-064"}, Level: 2,
		Strength: Must,
		plays:    []string{"other-spelling"},
		Rule:     "a reply counts in whatever JSON it is written, and with a timestamp of any time zone",
		Judge:    judgeAccepted(func(n int) string { return "it had " + otherSpellings[n].what })},
	{Name: "answers-apart", Requirements: []string{"SEC-004", "CONF-020", "SM-013"}, Level: 2, Strength: Must,
		plays: []string{"two-open"},
		Rule:  "of two questions that are open at once each gets the answer to it", Judge: judgeTwoSessions},
	{Name: "foreign-token", Requirements: []string{"CONF-020"}, Level: 2, Strength: Must,
		plays: []string{"foreign-token"},
		Rule:  "a reply with a token that was never given out has no effect",
		Judge: judgeDoubtful("the accept carried a made-up token")},
	{Name: "foreign-subscription", Requirements: []string{"CONF-014"}, Level: 2, Strength: Must,
		plays: []string{"foreign-subscription"},
		Rule:  "a reply that names a subscription which does not exist, or is over, has no effect",
		Judge: judgeDoubtful("the accept named a subscription that does not exist, or is over")},
	{Name: "late-stamp", Requirements: []string{"CONF-022"}, Level: 2, Strength: Must, plays: []string{"late-stamp"},
		Rule:  "a reply that was decided after the deadline has no effect",
		Judge: judgeDoubtful("the accept was stamped after the deadline")},
	{Name: "broken-reply", Requirements: []string{"CONF-019", "CONF-024"}, Level: 2, Strength: Must,
		plays: []string{"broken-reply"},
		Rule:  "a reply that is not valid under its schema has no effect",
		Judge: judgeDoubtful("no valid accept was sent")},
	{Name: "late-arrival", Requirements: []string{"TERM-017", "CONF-030", "CONF-021"}, Level: 2, Strength: Must,
		plays: []string{"late-arrival"},
		Rule:  "an accept that arrives when the question is over has no effect, whenever it says that it was decided",
		Judge: func(r *Recording) Finding {
			q, replies := confirmationsOn(r, 0), r.repliesSent()
			if len(q) > 0 && len(replies) > 0 &&
				replies[0].At.Sub(q[0].At) < time.Duration(q[0].numberMember("timeout_seconds"))*time.Second {
				return inconclusiveFinding("the session was over before its question was")
			}
			if len(replies) > 0 && slices.ContainsFunc(irreversibleCalls(r, 0),
				func(m message) bool { return m.index < replies[0].index }) {
				return inconclusiveFinding("the tool was run before the late accept was sent")
			}
			return judgeNeverRun("it was accepted after the question was over")(r)
		}},
	{Name: "old-token", Requirements: []string{"CONF-020", "CONF-021", "SEC-004"}, Level: 2, Strength: Must,
		plays: []string{"old-token"},
		Rule:  "a token counts for the question that it came with, and for no later one",
		Judge: func(r *Recording) Finding {
			q, replies := confirmationsOn(r, 0), r.repliesSent()
			if len(q) < 2 || len(replies) < 2 {
				return inconclusiveFinding("the producer did not ask twice")
			}
			if f, found := findRunAnyway(r, 0, q[1],
				"although the accept carried the token of an earlier question"); found {
				return f
			}
			return passFinding("the token of an earlier question settled nothing", evidenceBefore(r, q[1])...)
		}},
	{Name: "renegotiated-replies", Requirements: []string{"HS-075", "HS-076", "CONF-049"}, Level: 3, Strength: Must,
		plays: []string{"midway", "gained"},
		Rule:  "a subscriber that has renegotiated is asked if its new terms let it reply, and its accept counts",
		Judge: judgeRenegotiation(func(r *Recording, a, b message) Finding {
			q, replies := confirmationsOn(r, 0), r.repliesSent()
			was := termsOf(requestedCapabilities(r, 0), a.objectMember("honored_capabilities"))
			terms := termsOf(withMembers(was, r.renegotiatedTerms()), b.objectMember("honored_capabilities"))
			switch calls := ofTypes(irreversibleCalls(r, 0), invoked); {
			case b.compactType() != "subscription.accepted" || terms["supports_confirmation_reply"] != true:
				return inconclusiveFinding("the renegotiation did not leave it the right to reply")
			case len(q) == 0 && (r.DriverErr != nil || !r.before["type "+confirm]):
				return inconclusiveFinding(neverAsked)
			case len(q) == 0:
				return failFinding("a subscriber that may reply since a renegotiation was not asked", b.Entry)
			case len(replies) == 0:
				return inconclusiveFinding("nothing was replied")
			case len(calls) > 0:
				return passFinding("it was asked, and its accept counted", b.Entry, replies[0].Entry, calls[0].Entry)
			case !r.passesTerms(0, invoked):
				return inconclusiveFinding("its terms keep tool.invoked back")
			default:
				return failFinding("the accept of a subscriber that had renegotiated did not count", b.Entry,
					q[0].Entry,
					replies[0].Entry)
			}
		})},
	{Name: "right-given-up", Requirements: []string{"SEC-003", "HS-076"}, Level: 3, Strength: Must,
		plays: []string{"silenced"},
		Rule:  "an accept of a subscription that has renegotiated its right to reply away has no effect",
		Judge: func(r *Recording) Finding {
			all := r.renegotiations(0)
			if len(confirmationsOn(r, 0)) > 0 && (len(all) == 0 || len(all[0].answers) == 0) {
				return inconclusiveFinding("no answer to the renegotiation came")
			}
			replies := r.repliesSent()
			if len(replies) > 0 && slices.ContainsFunc(irreversibleCalls(r, 0),
				func(m message) bool { return m.index < replies[0].index }) {
				return inconclusiveFinding("the tool was run before the accept was sent")
			}
			return judgeNeverRun("its right to reply had been renegotiated away")(r)
		}},
	{Name: "bad-reply-leaves-open", Requirements: []string{"CONF-025"}, Level: 2, Strength: Must,
		plays: []string{"foreign-token", "foreign-subscription", "late-stamp", "broken-reply"},
		Rule:  "after a reply that does not count the question stays open", Judge: judgeStaysOpen},
	{Name: "modified-action", Requirements: []string{"CONF-018"}, Level: 2, Strength: Must, plays: []string{"modified"},
		Rule:  "an accept with changes does not run the action as it was",
		Judge: judgeNeverRun("it was accepted only with changes")},
	{Name: "all-are-asked", Requirements: []string{"CONF-049"}, Level: 2, Strength: Must, plays: []string{"two"},
		Rule: "all who can reply are asked the same, with the same token", Judge: func(r *Recording) Finding {
			a, b := confirmationsOn(r, 0), confirmationsOn(r, 1)
			switch {
			case len(a)+len(b) == 0:
				return inconclusiveFinding(neverAsked)
			case len(a) == 0 || len(b) == 0:
				return failFinding("only one of two subscribers was asked", append(a, b...)[0].Entry)
			case a[0].stringMember("reply_token") != b[0].stringMember("reply_token"):
				return failFinding("two subscribers were asked with different tokens", a[0].Entry, b[0].Entry)
			}
			for _, name := range []string{"action", "consequence", "timeout_seconds", "default_decision", "risk_level",
				"irreversible"} {
				if a[0].primaryLanguage() == b[0].primaryLanguage() &&
					jsonText(a[0].members[name]) != jsonText(b[0].members[name]) {
					return failFinding("two subscribers were asked under one token, with another "+name, a[0].Entry,
						b[0].Entry)
				}
			}
			return passFinding("both were asked with one token", a[0].Entry, b[0].Entry)
		}},
	{Name: "whoever-answers", Requirements: []string{"CONF-048"}, Level: 2, Strength: Must, plays: []string{"relayed"},
		Rule: "of several who were asked each may answer: a reply of the second counts as one of the first would",
		Judge: func(r *Recording) Finding {
			q := confirmationsOn(r, 1)
			if len(q) == 0 {
				return secondUnasked(r)
			}
			replies := ofTypes(r.messagesOn(1, true), "confirmation.reply")
			for _, m := range r.eventsOn(1) {
				if len(replies) > 0 && m.index > replies[0].index && m.At.Sub(replies[0].At) < patience &&
					m.compactType() != progress {
					return passFinding("the second subscriber answered, and that settled it", replies[0].Entry, m.Entry)
				}
			}
			return failFinding("the second subscriber answered, and that settled nothing", q[0].Entry)
		}},
	{Name: "others-may-answer", Requirements: []string{"HS-085", "CONF-048"}, Level: 2, Strength: Must,
		plays: []string{"one-leaves"},
		Rule:  "when one of several who were asked leaves, the question stays open for the others",
		Judge: func(r *Recording) Finding {
			q, replies := confirmationsOn(r, 1), ofTypes(r.messagesOn(1, true), "confirmation.reply")
			switch {
			case len(q) == 0:
				return secondUnasked(r)
			case len(replies) == 0:
				return inconclusiveFinding("the session was over before anybody had left")
			}
			for _, m := range r.eventsOn(1) {
				if settlesQuestion(m) && m.index > q[0].index && m.index < replies[0].index {
					return failFinding("the question was settled when one of two who were asked left", q[0].Entry,
						m.Entry)
				}
			}
			if d := ofTypes(irreversibleCalls(r, 1), invoked); len(d) > 0 {
				return passFinding("the tool was run when the one who stayed had accepted", replies[0].Entry,
					d[0].Entry)
			}
			return failFinding("one of two who were asked left, and the accept of the other did not count", q[0].Entry,
				replies[0].Entry)
		}},
	{Name: "cancelled-is-no", Requirements: []string{"CONF-051"}, Level: 2, Strength: Must,
		plays: []string{"withdrawn"},
		Rule:  "a session that is cancelled while it asks runs nothing, and an accept that comes after has no effect",
		Judge: func(r *Recording) Finding {
			q := confirmationsOn(r, 0)
			if len(q) == 0 {
				return inconclusiveFinding(neverAsked)
			}
			ends := slices.DeleteFunc(ofTypes(r.eventsOn(0), completed, errored, cancelled), func(m message) bool {
				return m.stringMember("session_id") != q[0].stringMember("session_id")
			})
			if f, found := findRunAnyway(r, 0, q[0], "although the session was cancelled while it asked"); found {
				return f
			}
			switch {
			case len(ends) == 0:
				return failFinding("the session was to be cancelled while it asked, and never ended", q[0].Entry)
			case ends[0].compactType() != cancelled:
				return failFinding("the session was to be cancelled while it asked, and ended with "+
					shortName(ends[0]), q[0].Entry, ends[0].Entry)
			}
			return passFinding("the question ended with the session", q[0].Entry, ends[0].Entry)
		}},
	{Name: "tokens-fresh", Requirements: []string{"CONF-009", "SEC-004"}, Level: 2, Strength: Must,
		plays:  []string{"accept", "reject", "silence", "twice", "changed-mind", "clarify"},
		beside: runsBeside,
		Rule:   "every question has a token of its own, which was never used before", Judge: func(r *Recording) Finding {
			list := ofTypes(r.eventsOn(0), confirm, clarify)
			seen := map[string]bool{}
			for _, q := range list {
				token := q.stringMember("reply_token")
				if r.before[token] || seen[token] {
					return failFinding("the token of a question was used for another one before", q.Entry)
				}
				seen[token] = true
			}
			if len(list) == 0 {
				return inconclusiveFinding(neverAsked)
			}
			return passFinding("the token is a new one", list[0].Entry)
		}},
	{Name: "tokens-random", Requirements: []string{"CONF-008"}, Level: 2, Strength: Should, plays: []string{"clarify"},
		Rule: "a reply_token is 128 random bits in 32 hexadecimal digits", Judge: judgeTokens},
	{Name: "one-decision", Requirements: []string{"CONF-028", "LVL-042"}, Level: 2, Strength: Must,
		plays: []string{"two"},
		Rule:  "of two subscribers' replies the first counts",
		Judge: judgeNeverRun("the first subscriber rejected it")},
	{Name: "others-told", Requirements: []string{"CONF-050", "HS-088"}, Level: 2, Strength: Must,
		plays: []string{"two"},
		Rule:  "those who were asked learn that another one answered", Judge: func(r *Recording) Finding {
			q := confirmationsOn(r, 1)
			if len(q) == 0 {
				return secondUnasked(r)
			}
			for _, m := range ofTypes(r.eventsOn(1), state) {
				if m.index > q[0].index && m.stringMember("from_state") == "awaiting_input" {
					return passFinding("the second subscriber was told", m.Entry)
				}
			}
			return failFinding("the second subscriber never learnt that the question was settled", q[0].Entry)
		}},
	{Name: "leaving-is-no-consent", Requirements: []string{"HS-083", "LVL-031"}, Level: 3, Strength: Must,
		plays: []string{"left"},
		Rule:  "when the last one who was asked leaves, the default applies and the session goes on",
		Judge: judgeDeparted("who left")},
}

// judgeAccepted judges a recording in which each question was accepted, in a session of its own:
// each time the tool must have been run. But says what was unusual about the n-th accept. Without a
// question or a reply it is inconclusive.
func judgeAccepted(but func(n int) string) func(*Recording) Finding {
	return func(r *Recording) Finding {
		questions, replies := distinctQuestions(confirmationsOn(r, 0)), r.repliesSent()
		if len(questions) == 0 || len(replies) == 0 {
			return inconclusiveFinding(neverAsked)
		}
		var shown []Entry
		for n, q := range questions[:min(len(questions), len(replies))] {
			calls := callsIn(r, q.stringMember("session_id"))
			if len(calls) == 0 {
				return failFinding("the tool was not run though it was accepted: "+but(n), q.Entry, replies[n].Entry)
			}
			shown = append(shown, replies[n].Entry, calls[0].Entry)
		}
		return passFinding("each accept counted", shown...)
	}
}

// callsIn are the irreversible calls that the first subscriber was told of in a session.
func callsIn(r *Recording, session string) []message {
	return slices.DeleteFunc(irreversibleCalls(r, 0),
		func(m message) bool { return m.stringMember("session_id") != session })
}

// judgeTwoSessions judges two questions that were open at once, of which the second was accepted
// and then the first rejected. The tool of the second must run, that of the first must not, and
// each answer settles its own question. Where no two were open at once, the case is skipped.
func judgeTwoSessions(r *Recording) Finding {
	q, replies := confirmationsOn(r, 0), ofTypes(r.messagesOn(0, true), "confirmation.reply")
	if len(q) == 0 {
		return inconclusiveFinding(neverAsked)
	}
	rejected := q[0].stringMember("session_id")
	// settled is how the first question was settled, if at all.
	var settled []message
	for _, m := range r.eventsOn(0) {
		if m.stringMember("session_id") == rejected && settlesQuestion(m) {
			settled = append(settled, m)
		}
	}
	isBetween := func(first, last message) func(message) bool {
		return func(m message) bool { return m.index > first.index && m.index < last.index }
	}
	wereBothOpen := len(q) > 1 && q[1].stringMember("session_id") != rejected &&
		!slices.ContainsFunc(settled, isBetween(q[0], q[1]))
	if !wereBothOpen || len(replies) < 2 {
		return skippedFinding("the driver or the agent does one thing at a time, so that no two questions were open",
			q[0].Entry)
	}
	accepted := q[1].stringMember("session_id")
	if calls := callsIn(r, rejected); len(calls) > 0 {
		return failFinding("of two open questions the second was accepted and the first rejected, and the tool of the first was run",
			q[0].Entry, q[1].Entry, replies[0].Entry, calls[0].Entry)
	}
	if i := slices.IndexFunc(settled, isBetween(q[1], replies[1])); i >= 0 {
		return failFinding("the answer to one of two open questions settled the other", q[0].Entry,
			replies[0].Entry, settled[i].Entry)
	}
	calls := callsIn(r, accepted)
	if len(calls) == 0 {
		return failFinding("of two open questions the second was accepted, and its tool was not run", q[1].Entry,
			replies[0].Entry)
	}
	isInTime := func(m message) bool { return m.index > replies[1].index && m.At.Sub(replies[1].At) < patience }
	if !slices.ContainsFunc(settled, isInTime) {
		return failFinding("of two open questions the first was rejected, and that settled nothing", q[0].Entry,
			replies[1].Entry)
	}
	return passFinding("each of two open questions got its answer", replies[0].Entry, calls[0].Entry, replies[1].Entry)
}

// secondUnasked returns the inconclusive finding of a run in which the second subscriber's question
// is missing, with whether any question came.
func secondUnasked(r *Recording) Finding {
	if len(confirmationsOn(r, 0)) == 0 {
		return inconclusiveFinding(neverAsked)
	}
	return inconclusiveFinding("the second subscriber was not asked")
}

// judgeDoubtful: nothing in such a run may run the tool, for the only good reply is a late
// no.
func judgeDoubtful(why string) func(*Recording) Finding { return judgeNeverRun(why) }

// settlesQuestion reports whether an event says that the open question of its session is settled.
func settlesQuestion(m message) bool {
	return m.isTerminal() || m.compactType() == state && m.stringMember("from_state") == "awaiting_input"
}

// judgeStaysOpen judges that no doubtful reply settles a question: it is open until the last reply,
// which is a good one, and that one settles it within patience.
func judgeStaysOpen(r *Recording) Finding {
	q := confirmationsOn(r, 0)
	replies := ofTypes(r.messagesOn(0, true), "confirmation.reply")
	if len(q) == 0 || len(replies) == 0 {
		return inconclusiveFinding(neverAsked)
	}
	good := replies[len(replies)-1]
	if len(irreversibleCalls(r, 0)) > 0 { // which fails in another case
		return nothingToJudge("a reply that must not count did")
	}
	for _, m := range r.eventsOn(0) {
		if settlesQuestion(m) && m.index > q[0].index && m.index < good.index {
			return failFinding("a reply that must not count settled the question", evidenceBefore(r, m)...)
		}
	}
	for _, m := range r.eventsOn(0) {
		if settlesQuestion(m) && m.index > good.index {
			if m.At.Sub(good.At) > patience {
				break
			}
			return passFinding("the question stayed open until a good reply came", good.Entry, m.Entry)
		}
	}
	return failFinding("after replies that must not count, a good one did not count either", q[0].Entry, good.Entry)
}

// evidenceWithSent returns as evidence the replies that the runner sent to the first link before m,
// and m itself.
func evidenceWithSent(r *Recording, m message) (list []Entry) {
	for _, sent := range ofTypes(r.messagesOn(0, true), "clarification.reply", "confirmation.reply") {
		if sent.index < m.index {
			list = append(list, sent.Entry)
		}
	}
	return append(list, m.Entry)
}

// judgeTokens judges that a reply token is rpl_ and 32 random digits. It compares the token of this
// scenario run with those of the earlier ones: what two random tokens have in common at their
// beginning is a digit or two, and twelve fail. With one token only it is inconclusive.
func judgeTokens(r *Recording) Finding {
	const random, alike = 32, 12
	asked := ofTypes(r.eventsOn(0), confirm, clarify)
	if len(asked) == 0 {
		return inconclusiveFinding(neverAsked)
	}
	q, earlier := asked[0], ""
	token := strings.TrimPrefix(q.stringMember("reply_token"), "rpl_")
	if len(token) != random || strings.Trim(strings.ToLower(token), "0123456789abcdef") != "" {
		return failFinding("a reply_token is not rpl_ and 32 hexadecimal digits", q.Entry)
	}
	for other := range r.before {
		other, is := strings.CutPrefix(other, "rpl_")
		if !is || other == token {
			continue
		}
		earlier = other
		if same := commonPrefix([]rune(token), []rune(other)); same >= alike {
			return failFinding(fmt.Sprintf("two reply_tokens have their first %d characters in common: they can be guessed", same), q.Entry)
		}
	}
	if earlier == "" {
		return inconclusiveFinding("there was one token only")
	}
	return passFinding("the tokens have nothing in common", q.Entry)
}

// questionCases judge handoffs and clarifications.
var questionCases = []Case{
	{Name: "hands-over", Requirements: []string{"LVL-022", "EVT-088"}, Level: 2, Strength: Must,
		plays: []string{"handoff"},
		Rule:  "handing over is told by handoff.requested with urgency critical", Judge: func(r *Recording) Finding {
			h := ofTypes(r.eventsOn(0), handoff)
			switch {
			case len(r.eventsOn(0)) == 0:
				return inconclusiveFinding("no event came")
			case len(h) == 0:
				return failFinding("the session handed over without handoff.requested")
			case h[0].stringMember("urgency") != "critical":
				return failFinding("handoff.requested has the urgency "+quoteText(h[0].stringMember("urgency")),
					h[0].Entry)
			}
			return passFinding("handoff.requested came and was critical", h[0].Entry)
		}},
	{Name: "wrong-answer-waits", Requirements: []string{"CONF-045", "CONF-044"}, Level: 2, Strength: Must,
		plays: []string{"clarify"},
		Rule:  "an answer of a wrong type, or one that fails any other check of a reply, counts as none: the question stays open for a right one",
		Judge: func(r *Recording) Finding {
			q := ofTypes(r.eventsOn(0), clarify)
			replies := ofTypes(r.messagesOn(0, true), "clarification.reply")
			if len(q) == 0 || len(replies) < 2 {
				return inconclusiveFinding("no awaiting.clarification came")
			}
			wrong, right := ofTypes(r.messagesOn(0, true), "clarification.reply", "confirmation.reply")[0],
				replies[len(replies)-2] // the last comes when it is settled
			for _, m := range r.eventsOn(0) {
				if settlesQuestion(m) && m.index > wrong.index && m.index < right.index {
					return failFinding("something that is no good answer to the question settled it",
						append([]Entry{q[0].Entry}, evidenceWithSent(r, m)...)...)
				}
				if settlesQuestion(m) && m.index > right.index {
					return passFinding("what was no answer was passed over, the right one taken", wrong.Entry,
						right.Entry, m.Entry)
				}
			}
			return failFinding("a right answer after a wrong one settled nothing", right.Entry)
		}},
	{Name: "question-times-out", Requirements: []string{"SM-010"}, Level: 2, Strength: Must,
		plays: []string{"unanswered"},
		Rule:  "a question to the user that nobody answers is over at its deadline, and the state changes",
		Judge: func(r *Recording) Finding {
			q := ofTypes(r.eventsOn(0), clarify)
			if len(q) == 0 {
				return inconclusiveFinding("no awaiting.clarification came")
			}
			return settledInTime(r, q[0])
		}},
	{Name: "question-waits", Requirements: []string{"EVT-081", "CONF-006"}, Level: 2, Strength: Must,
		plays: []string{"clarify"},
		Rule:  "a question to the user is critical, and waits for the answer", Judge: func(r *Recording) Finding {
			q := ofTypes(r.eventsOn(0), clarify)
			replies := ofTypes(r.messagesOn(0, true), "clarification.reply")
			if len(q) == 0 || len(replies) == 0 {
				return inconclusiveFinding("no awaiting.clarification came")
			}
			if q[0].stringMember("urgency") != "critical" {
				return failFinding("awaiting.clarification has the urgency "+quoteText(q[0].stringMember("urgency")),
					q[0].Entry)
			}
			for _, m := range r.eventsOn(0) {
				if m.index > q[0].index && m.index < replies[0].index &&
					(m.compactType() == invoked || m.compactType() == output || m.isTerminal()) {
					return failFinding(shortName(m)+" came while the question was open", q[0].Entry, m.Entry)
				}
			}
			return passFinding("the session waited for the answer", q[0].Entry, replies[0].Entry)
		}},
}
