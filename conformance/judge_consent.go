package conformance

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// slack is how much later than due something may come.
const slack = 5 * time.Second

// irreversibleCalls returns, of each call on a link that is irreversible or of high risk, the event
// that began it. Where none began it, as the producer should have said, it is the event that
// completed it, whatever the risk. In the scenarios that ask, every call counts as irreversible.
func irreversibleCalls(r *Recording, link int) (list []message) {
	harmless := map[string]bool{}
	alone := r.Scenario.Name == Ask || r.Scenario.Name == Withdraw // which run this tool and no other, whatever is said of it
	for _, m := range ofTypes(r.eventsOn(link), invoked, done) {
		key := m.stringMember("tool") + " " + m.stringMember("tool_call_id")
		switch dangerous := alone || m.boolMember("irreversible") || m.stringMember("risk_level") == "high"; {
		case m.compactType() == invoked && !dangerous:
			harmless[key] = true
		case m.compactType() == invoked:
			harmless[key] = true // its completion is no second action
			list = append(list, m)
		case !harmless[key]:
			list = append(list, m)
		}
	}
	return list
}

// confirmationsOn are what a link was asked.
func confirmationsOn(r *Recording, link int) []message { return ofTypes(r.eventsOn(link), confirm) }

// distinctQuestions leaves out of some questions those that come again, in the same session and
// under the same token.
func distinctQuestions(questions []message) (distinct []message) {
	seen := map[string]bool{}
	for _, q := range questions {
		key := q.stringMember("session_id") + " " + q.stringMember("reply_token")
		if !seen[key] {
			distinct = append(distinct, q)
		}
		seen[key] = true
	}
	return distinct
}

const neverAsked = "the producer never asked"

// findRunAnyway returns a failure and true where a link shows that an irreversible call was made,
// or one that was begun succeeded, after the question q; although ends the sentence. Where one was
// begun before the question, which the case asks-first judges, it returns an inconclusive finding
// and true. Otherwise it returns false.
func findRunAnyway(r *Recording, link int, q message, although string) (Finding, bool) {
	early := false
	for _, d := range irreversibleCalls(r, link) {
		if d.index > q.index {
			return failFinding("the irreversible tool was run "+although, evidenceBefore(r, d)...), true
		}
		early = true
		for _, over := range ofTypes(r.eventsOn(link), done) {
			if over.index > q.index && over.sameCall(d) && over.stringMember("status") == "success" {
				return failFinding("the irreversible tool was run to its end "+although, evidenceBefore(r, over)...),
					true
			}
		}
	}
	return inconclusiveFinding("tool.invoked came before the question: whether the tool was run because of what was answered cannot be told"), early
}

// sameCall reports whether two events are of one tool call, by tool and tool_call_id.
func (m message) sameCall(other message) bool {
	return m.stringMember("tool") == other.stringMember("tool") &&
		m.stringMember("tool_call_id") == other.stringMember("tool_call_id")
}

// judgeNeverRun judges a recording in which a question must have come, and a reply of the runner's
// must have been sent, after which the tool must not be run. Without either it is inconclusive.
func judgeNeverRun(because string) func(*Recording) Finding {
	return func(r *Recording) Finding {
		q := confirmationsOn(r, 0)
		if len(q) == 0 {
			return inconclusiveFinding(neverAsked)
		}
		replies := r.repliesSent()
		if len(replies) == 0 {
			return inconclusiveFinding("nothing was replied, so that nothing could come of it")
		}
		for _, d := range irreversibleCalls(r, 0) {
			if d.index > q[0].index && d.index < replies[0].index {
				return failFinding("the irreversible tool was run before the question was answered",
					evidenceBefore(r, d)...)
			}
		}
		if f, found := findRunAnyway(r, 0, q[0], "although "+because); found {
			return f
		}
		return passFinding("the tool was not run: "+because, evidenceBefore(r, q[0])...)
	}
}

// repliesSent returns the confirmation.replies that the runner sent on any link, in order, also
// those that it sent malformed.
func (r *Recording) repliesSent() (list []message) {
	for i, e := range r.Entries {
		if e.Sent && bytes.Contains(e.Data, []byte(`"confirmation.reply"`)) {
			list = append(list, message{Entry: e, index: i})
		}
	}
	return list
}

// judgeNeverRunUnanswered judges a recording in which a question must have come, and nothing was
// replied: it fails if the tool was run all the same, and is inconclusive without a question.
func judgeNeverRunUnanswered(r *Recording) Finding {
	q := confirmationsOn(r, 0)
	if len(q) == 0 {
		return inconclusiveFinding(neverAsked)
	}
	if f, found := findRunAnyway(r, 0, q[0], "although nobody answered"); found {
		return f
	}
	return passFinding("the tool was not run: nobody answered", q[0].Entry)
}

// judgeAsksFirst looks in whatever was asked for actions that did not wait. What was run after an
// answer, or after a deadline, is for the cases of that.
func judgeAsksFirst(r *Recording) Finding {
	q, replies := confirmationsOn(r, 0), r.repliesSent()
	for _, d := range irreversibleCalls(r, 0) {
		asked := slices.ContainsFunc(q, func(q message) bool {
			return q.index < d.index &&
				q.stringMember("session_id") == d.stringMember("session_id")
		})
		switch {
		case !asked && len(q) == 0:
			return failFinding("tool.invoked said that the irreversible tool was begun, and nobody was asked",
				evidenceBefore(r, d)...)
		case !asked:
			return failFinding("tool.invoked said that the irreversible tool was begun before the question came",
				evidenceBefore(r, d)...)
		case len(replies) > 0 && d.index < replies[0].index:
			return failFinding("tool.invoked said that the irreversible tool was begun before anybody had accepted",
				evidenceBefore(r, d)...)
		}
	}
	if len(q) == 0 {
		return inconclusiveFinding(neverAsked)
	}
	return passFinding("the tool waited for the answer", q[0].Entry)
}

// evidenceBefore returns, as evidence, what came before the message m and led to it, and then m:
// the confirmations of all links, and the runner's replies on the link of m.
func evidenceBefore(r *Recording, m message) (list []Entry) {
	for i, e := range r.Entries[:m.index] {
		isHere := func(q message) bool { return q.index == i }
		if slices.ContainsFunc(confirmationsOn(r, e.Link), isHere) {
			list = append(list, e)
		}
	}
	for _, reply := range r.repliesSent() {
		if reply.Link == m.Link && reply.index < m.index {
			list = append(list, reply.Entry)
		}
	}
	return append(list, m.Entry)
}

// consentCases judge what is done, and on whose word.
var consentCases = []Case{
	{Name: "asks-first", Requirements: []string{"LVL-019", "EVT-067", "EVT-042", "EVT-076", "CONF-001", "TERM-016"},
		Level: 2, Strength: Must, plays: askingRuns,
		Rule: "an irreversible tool is not begun before its confirmation was accepted", Judge: judgeAsksFirst},
	{Name: "does-what-was-accepted", Requirements: []string{"EVT-093", "SM-009"}, Level: 2, Strength: Must,
		plays: []string{"accept"},
		Rule:  "after an accept, tool.invoked says that the tool is run", Judge: func(r *Recording) Finding {
			q := confirmationsOn(r, 0)
			if len(q) == 0 {
				return inconclusiveFinding(neverAsked)
			}
			d := ofTypes(irreversibleCalls(r, 0), invoked)
			if len(d) > 0 && !d[0].boolMember("irreversible") && d[0].stringMember("risk_level") != "high" {
				return failFinding("tool.invoked of the irreversible tool says neither that it is irreversible nor that its risk is high", q[0].Entry, d[0].Entry)
			}
			if len(d) > 0 {
				return passFinding("the tool was run once it was accepted", d[0].Entry)
			}
			return failFinding("the tool was accepted, and no tool.invoked said that it is run", q[0].Entry)
		}},
	{Name: "reject-means-no", Requirements: []string{"SM-013", "CONF-004"}, Level: 2, Strength: Must,
		plays: []string{"reject"},
		Rule:  "a tool that was rejected is not run", Judge: judgeNeverRun("it was rejected")},
	{Name: "silence-means-no", Requirements: []string{"CONF-030", "LVL-042"}, Level: 2, Strength: Must,
		plays: []string{"silence"},
		Rule:  "without an answer the default, reject, applies", Judge: judgeNeverRunUnanswered},
	{Name: "deadline", Requirements: []string{"SM-014"}, Level: 2, Strength: Must, plays: []string{"silence"},
		Rule: "a question is open until its timeout, and settled soon after", Judge: judgeDeadline},
	{Name: "default-reject", Requirements: []string{"CONF-031", "EVT-072", "CONF-034"}, Level: 2, Strength: Must,
		plays: []string{"accept"},
		Rule:  "the default of an irreversible action of high or medium risk is reject",
		Judge: eachQuestion(func(_ *Recording, q message) Finding {
			switch d := q.stringMember("default_decision"); d {
			case "reject":
			case "":
				return failFinding("the question about an irreversible action has no default_decision", q.Entry)
			default:
				return failFinding("the default_decision of an irreversible action is "+quoteText(d), q.Entry)
			}
			return passFinding("the default is reject", q.Entry)
		})},
	{Name: "waiting-told", Requirements: []string{"SM-007"}, Level: 2, Strength: Must, plays: []string{"accept"},
		Rule: "the state is awaiting_input no later than when the question comes",
		Judge: eachQuestion(func(r *Recording, q message) Finding {
			now := ""
			for _, m := range ofTypes(r.eventsOn(0), state) {
				if m.index < q.index {
					now = m.stringMember("to_state")
				}
			}
			switch now {
			case "awaiting_input":
			case "":
				return failFinding("the question came before any state was told", q.Entry)
			default:
				return failFinding("the question came in the state "+quoteText(now), q.Entry)
			}
			return passFinding("awaiting_input came before the question", q.Entry)
		})},
	{Name: "outcome-told", Requirements: []string{"LVL-021", "CONF-002", "SM-008", "EVT-094"}, Level: 2,
		Strength: Must, plays: []string{"accept", "reject", "silence", "clarify"},
		Rule: "after a question is settled, a state.changed leaves awaiting_input",
		Judge: eachQuestion(func(r *Recording, q message) Finding {
			for _, m := range ofTypes(r.eventsOn(0), state) {
				if m.index > q.index && m.stringMember("from_state") == "awaiting_input" {
					return passFinding("a state.changed said that it goes on", q.Entry, m.Entry)
				}
			}
			return failFinding("nothing said that the question was settled", q.Entry)
		})},
	{Name: "rejection-told", Requirements: []string{"CONF-052"}, Level: 2, Strength: Must, plays: []string{"reject"},
		Rule: "after a rejection the state is thinking or deciding, or the session ends",
		Judge: eachQuestion(func(r *Recording, q message) Finding {
			for _, m := range r.eventsOn(0) {
				switch to := m.stringMember("to_state"); {
				case m.index <= q.index || m.compactType() != state && !m.isTerminal():
				case m.isTerminal() || to == "thinking" || to == "deciding":
					return passFinding("the session went on to something else", q.Entry, m.Entry)
				default:
					return failFinding("after the rejection the state is "+quoteText(to), q.Entry, m.Entry)
				}
			}
			return failFinding("nothing came after the rejection", q.Entry)
		})},
	{Name: "asks-once", Requirements: []string{"CONF-005"}, Level: 2, Strength: Must, plays: []string{"silence"},
		beside: slices.Concat(askingRuns, runsBeside),
		Rule:   "while a question is open, it is not asked again", Judge: eachSession(func(f follower) Finding {
			list := ofTypes(f.list, confirm)
			if len(list) == 0 {
				return inconclusiveFinding(neverAsked)
			}
			for i, q := range list[1:] {
				settled := slices.ContainsFunc(f.list, func(m message) bool {
					return m.index > list[i].index && m.index < q.index && settlesQuestion(m)
				}) || slices.ContainsFunc(ofTypes(f.r.messagesOn(f.link, true),
					"subscription.renegotiate"), func(m message) bool {
					return m.index > list[i].index && m.index < q.index // and it comes in other words
				})
				if !settled && f.owes(state) && q.stringMember("event_id") != list[i].stringMember("event_id") {
					return failFinding("a question came again while it was open", list[i].Entry, q.Entry)
				}
			}
			return passFinding("it was asked once", list[0].Entry)
		})},
	{Name: "not-asked-if-mute", Requirements: []string{"HS-020"}, Level: 2, Strength: Must,
		plays: []string{"cannot-reply", "bare-ask"}, beside: slices.Concat(wholeRuns, runsBeside, []string{"left",
			"not-entitled", "lost", otherPrincipalPlay}),
		Rule: "who cannot reply is not asked, and the default applies at once", Judge: judgeMute(confirm)},
	{Name: "not-questioned-if-mute", Requirements: []string{"HS-021"}, Level: 2, Strength: Must,
		plays: []string{"cannot-answer", "mute-later"}, beside: slices.Concat(wholeRuns, runsBeside),
		Rule: "who cannot answer gets no awaiting.clarification, and the session goes on", Judge: judgeMute(clarify)},
}

// eachQuestion makes a judge of a recording of a judge of one question. It fails with the first
// question to the first subscriber, of either kind, that fails; else the finding is that of the
// last one. Without a question it is inconclusive.
func eachQuestion(judge func(*Recording, message) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		last := inconclusiveFinding(neverAsked)
		for _, q := range ofTypes(r.eventsOn(0), confirm, clarify) {
			if last = judge(r, q); last.Verdict == Fail {
				break
			}
		}
		return last
	}
}

// judgeDeadline judges that the first question, which stays unanswered, is over when its time is.
func judgeDeadline(r *Recording) Finding {
	q := confirmationsOn(r, 0)
	if len(q) == 0 {
		return inconclusiveFinding(neverAsked)
	}
	return settledInTime(r, q[0])
}

// settledInTime judges whether a question that was left unanswered was settled when its time was
// over: not sooner than a tenth of slack before, and within slack after.
func settledInTime(r *Recording, q message) Finding {
	due := time.Duration(q.numberMember("timeout_seconds")) * time.Second
	for _, m := range r.eventsOn(0) {
		settles := m.compactType() == invoked || settlesQuestion(m)
		if m.index <= q.index || !settles {
			continue
		}
		switch after := m.At.Sub(q.At); {
		case after < due-slack/10:
			return failFinding(fmt.Sprintf("a question open for %v was settled after %v without an answer", due,
				after.Round(time.Millisecond)), q.Entry, m.Entry)
		case after > due+slack:
			return failFinding(fmt.Sprintf("a question open for %v was settled only after %v", due,
				after.Round(time.Millisecond)), q.Entry, m.Entry)
		default:
			return passFinding(fmt.Sprintf("a question open for %v was settled after %v", due,
				after.Round(time.Millisecond)), q.Entry, m.Entry)
		}
	}
	return failFinding(fmt.Sprintf("a question open for %v was never settled", due), q.Entry)
}

// judgeMute returns a judge of a subscriber that cannot answer a kind of question: none comes to
// it, nothing irreversible is done, and the session does not wait. Where it can answer, or gained
// the right, there is nothing to judge.
func judgeMute(question string) func(*Recording) Finding {
	return func(r *Recording) Finding {
		if f, found := askedUnentitled(r, question); found {
			return f
		}
		right, all := rightsToReply[question], r.eventsOn(0)
		_, agreed := r.firstAnswer(0) // without a handshake the target cannot know that it cannot answer
		can := requestedCapabilities(r, 0)[right] == true
		if can && agreed && len(all) > 0 {
			can = r.termsAt(0, all[0].index)[right] == true
		}
		if can || r.gainedRight(0, right) {
			return nothingToJudge("it can answer")
		}
		if d := irreversibleCalls(r, 0); len(d) > 0 {
			return failFinding("the irreversible tool was run although nobody could be asked", d[0].Entry)
		}
		if len(all) == 0 {
			return inconclusiveFinding("no event came")
		}
		end := slices.IndexFunc(all, message.isTerminal)
		switch {
		case len(ofTypes(all, confirm, clarify)) > 0:
			return nothingToJudge("it was asked something else") // which may have been waited for
		case end < 0:
			return failFinding("the session waits for an answer that nobody can give", all[len(all)-1].Entry)
		case agreed && all[end].At.Sub(all[0].At) > slack: // which no tool of the scenario takes
			return failFinding(fmt.Sprintf("the session ended %v after it began, as if it had waited for an answer that nobody can give",
				all[end].At.Sub(all[0].At).Round(time.Millisecond)), all[0].Entry, all[end].Entry)
		}
		return passFinding("nobody was asked, and the session went on", all[end].Entry)
	}
}
