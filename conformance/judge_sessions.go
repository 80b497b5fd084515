package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
)

// sessionCases judge the order of a session's events.
var sessionCases = []Case{
	{Name: "begins-once", Requirements: []string{"LVL-003", "EVT-002", "EVT-003", "ENV-018", "SM-001", "SM-015"},
		Level: 1, Strength: Must,
		Rule: "a session begins with exactly one session.started", beside: runsBeside,
		Judge: eachSession(func(f follower) Finding {
			s := f.list
			switch n := ofTypes(s, started); {
			case len(n) == 0 && !f.owes(started):
				return nothingToJudge("the beginning was not owed")
			case len(n) == 0:
				return failFinding(fmt.Sprintf("a session began with %s and never had a session.started",
					shortName(s[0])), s[0].Entry)
			case len(n) > 1:
				return failFinding(fmt.Sprintf("a session had session.started %d times", len(n)), n[0].Entry,
					n[1].Entry)
			case s[0].compactType() != started && f.whole:
				return failFinding(shortName(s[0])+" came before session.started", s[0].Entry, n[0].Entry)
			}
			return passFinding("session.started came first, and once", s[0].Entry)
		})},
	{Name: "session-ids-once", Requirements: []string{"ENV-019", "TERM-002"}, Level: 1, Strength: Must,
		Rule: "a session_id is never used for another session", Judge: func(r *Recording) Finding {
			n := 0
			for _, m := range ofTypes(r.messagesOn(0, false), started) {
				// A late subscriber may get the beginning again, with the same event.
				if n++; r.reusesSessionID(m) {
					return failFinding("a session began with the session_id of an earlier one", m.Entry)
				}
			}
			return passIfAny(n, "sessions, each with an id of its own")
		}},
	{Name: "ends-once", Requirements: []string{"LVL-004", "EVT-004", "EVT-014", "EVT-026", "SM-012", "SM-015"},
		Level: 1, Strength: Must, beside: runsBeside,
		Rule: "a session ends with exactly one of completed, errored and cancelled",
		Judge: eachSession(func(f follower) Finding {
			switch n := ofTypes(f.list, completed, errored, cancelled); {
			case len(n) > 1:
				return failFinding("the session ended twice", n[0].Entry, n[1].Entry)
			case len(n) == 1:
				return passFinding("one end came: "+shortName(n[0]), n[0].Entry)
			case !f.owesEnd():
				return nothingToJudge("the end was not owed")
			}
			return failFinding("the session never ended", f.list[len(f.list)-1].Entry)
		})},
	{Name: "all-hear-the-end", Requirements: []string{"EVT-004", "LVL-004"}, Level: 2, Strength: Must,
		plays: []string{"latecomer", "two", "relayed"},
		Rule:  "who subscribes while a session lasts, and whoever else follows it, gets its end, once",
		Judge: func(r *Recording) Finding {
			whole := ofTypes(r.eventsOn(0), completed, errored, cancelled)
			joined, ok := r.joinedAt(1)
			switch {
			case !ok:
				return inconclusiveFinding("the second subscriber was not accepted")
			case len(whole) == 0:
				return inconclusiveFinding("no session ended")
			}
			for _, end := range whole {
				var theirs []message
				for _, m := range r.eventsOn(1) {
					if m.isTerminal() && m.stringMember("session_id") == end.stringMember("session_id") {
						theirs = append(theirs, m)
					}
				}
				switch {
				case joined > end.index:
				case len(theirs) == 0:
					return failFinding("the second subscriber never got the end of the session", r.Entries[joined],
						end.Entry)
				case len(theirs) > 1:
					return failFinding("the second subscriber got the end of the session twice", theirs[0].Entry,
						theirs[1].Entry)
				}
			}
			return passFinding("the second subscriber got the end too", whole[0].Entry)
		}},
	{Name: "all-get-all", Requirements: []string{"HS-085", "TERM-014", "CONF-049"}, Level: 2, Strength: Must,
		plays:  []string{"two", "relayed", "idle", "handoff", "silence", "withdrawn", "clarify", "unanswered"},
		beside: slices.Concat(runsBeside, []string{"stream", "tools", "fail"}),
		Rule:   "what comes of a session to one subscriber comes to each other one whose terms let it through",
		Judge:  judgeSameEvents},
	{Name: "nothing-after-end", Requirements: []string{"EVT-005", "SM-015"}, Level: 1, Strength: Must,
		beside: runsBeside,
		Rule:   "nothing of a session follows its end", Judge: eachSession(func(f follower) Finding {
			for i, m := range f.list {
				for _, late := range f.list[i+1:] {
					if m.isTerminal() && !late.isTerminal() {
						return failFinding(shortName(late)+" came after the end of its session", m.Entry, late.Entry)
					}
				}
			}
			return passFinding("nothing came after the end")
		})},
	{Name: "time-forward", Requirements: []string{"ENV-023"}, Level: 1, Strength: Must, beside: runsBeside,
		Rule: "timestamps of a session never go backwards", Judge: eachSession(func(f follower) Finding {
			var last time.Time
			for i, m := range f.list {
				if at, ok := aaep.ParseTimestamp(m.stringMember("timestamp")); ok {
					if at.Before(last) {
						return failFinding("the timestamp of "+shortName(m)+" is before that of the event before it",
							f.list[i-1].Entry, m.Entry)
					}
					last = at
				}
			}
			return passFinding("timestamps never went backwards")
		})},
	{Name: "states-chained", Requirements: []string{"EVT-030", "EVT-029"}, Level: 1, Strength: Must, beside: runsBeside,
		Rule:  "the first state.changed leaves idle, and each other one leaves the state before it",
		Judge: eachSession(judgeChain)},
	{Name: "states-told", Requirements: []string{"LVL-005"}, Level: 1, Strength: Must,
		plays: []string{"stream", "tools", "idle"},
		Rule:  "entering and leaving thinking, writing_output and calling_tool is told by state.changed", Judge: judgeStatesTold},
	{Name: "tools-paired", Requirements: []string{"LVL-007", "SM-003", "SM-004", "SM-015", "EVT-091", "EVT-043"},
		Level: 1, Strength: Must, plays: []string{"tools", "accept"}, beside: runsBeside,
		Rule: "each tool.invoked is followed by exactly one tool.completed of the same call", Judge: eachSession(judgePairs)},
	{Name: "call-named", Requirements: []string{"EVT-050"}, Level: 1, Strength: Must,
		plays:  []string{"tools", "accept"},
		Rule:   "tool.completed names the tool that tool.invoked named",
		beside: runsBeside,
		Judge: eachCall(func(f follower, began, over message) Finding {
			if began.stringMember("tool") != over.stringMember("tool") {
				return failFinding("the call of "+quoteText(began.stringMember("tool"))+" was completed as "+
					quoteText(over.stringMember("tool")), began.Entry, over.Entry)
			}
			return passFinding("it names the same tool", over.Entry)
		})},
	{Name: "result-before-state", Requirements: []string{"EVT-051"}, Level: 1, Strength: Must,
		plays:  []string{"tools", "accept"},
		Rule:   "tool.completed comes before the state that follows from the result",
		beside: runsBeside,
		Judge: eachCall(func(f follower, began, over message) Finding {
			for _, m := range ofTypes(f.list, state) {
				if m.index > began.index && m.index < over.index && m.stringMember("from_state") == "calling_tool" {
					return failFinding("calling_tool was left before tool.completed", began.Entry, m.Entry, over.Entry)
				}
			}
			return passFinding("calling_tool was left after the result", over.Entry)
		})},
	{Name: "hanging-tool", Requirements: []string{"EVT-052"}, Level: 1, Strength: Must, plays: []string{"hang"},
		Rule: "a tool that never returns is given up, with tool.completed of status timeout",
		Judge: func(r *Recording) Finding {
			began := ofTypes(r.eventsOn(0), invoked)
			if len(began) == 0 {
				return inconclusiveFinding("no tool.invoked came")
			}
			switch over := ofTypes(r.eventsOn(0), done); {
			case len(over) == 0:
				return failFinding("the tool that never returned was never completed", began[0].Entry)
			case over[0].stringMember("status") != "timeout":
				return failFinding("the tool that never returned was completed with status "+
					quoteText(over[0].stringMember("status")), began[0].Entry, over[0].Entry)
			default:
				return passFinding("it was given up with status timeout", began[0].Entry, over[0].Entry)
			}
		}},
	{Name: "error-critical", Requirements: []string{"EVT-019"}, Level: 1, Strength: Must, plays: []string{"fail"},
		Rule: "a session that fails ends with session.errored of urgency critical", Judge: func(r *Recording) Finding {
			e := ofTypes(r.eventsOn(0), errored)
			switch ends := ofTypes(r.eventsOn(0), completed, cancelled); {
			case len(e) > 0 && e[0].stringMember("urgency") != "critical":
				return failFinding("session.errored has the urgency "+quoteText(e[0].stringMember("urgency")),
					e[0].Entry)
			case len(e) > 0:
				return passFinding("session.errored came and was critical", e[0].Entry)
			case len(ends) > 0:
				return failFinding("the failing session ended with "+shortName(ends[0]), ends[0].Entry)
			}
			return inconclusiveFinding("no session.errored came")
		}},
}

// quoteText returns a text of the target in quotation marks, safe to print.
func quoteText(s string) string { return fmt.Sprintf("%q", aaep.SafeText(s)) }

// judgeChain judges that each state.changed of a session leaves the state that its producer was in,
// and goes to another. Other events may imply a state in between (D-29). Where the terms or a rate
// may hold states back there is nothing to judge.
func judgeChain(f follower) Finding {
	if !f.owes(state) {
		return nothingToJudge("not every state.changed was owed")
	}
	now, mayImply := map[string]string{}, map[string]bool{} // by producer
	changes := 0
	for _, m := range f.list {
		who, _ := m.objectMember("producer")["agent_id"].(string)
		switch m.compactType() {
		case state:
		case invoked, done, confirm, clarify: // they imply states, and the next change may leave one of those
			mayImply[who] = true
			continue
		default:
			continue
		}
		changes++
		from := m.stringMember("from_state")
		was, ok := now[who]
		if !ok {
			was = "idle"
		}
		implied := mayImply[who] && (from == "calling_tool" || from == "awaiting_input" || from == "thinking")
		if from != was && !implied {
			return failFinding(fmt.Sprintf("state.changed leaves %s where the state was %s", quoteText(from),
				quoteText(was)), m.Entry)
		}
		if from == m.stringMember("to_state") {
			return failFinding("state.changed goes from "+quoteText(from)+" to itself", m.Entry)
		}
		now[who], mayImply[who] = m.stringMember("to_state"), false
	}
	if changes == 0 {
		return nothingToJudge("no state.changed came")
	}
	return passFinding(fmt.Sprintf("%d changes of state followed one another", changes))
}

// judgeStatesTold judges that the state which the scenario is about was entered and left. Without
// events it is inconclusive.
func judgeStatesTold(r *Recording) Finding {
	want := map[string]string{Stream: "writing_output", Tools: "calling_tool", Idle: "thinking"}[r.Scenario.Name]
	in, out := false, false
	for _, m := range ofTypes(r.eventsOn(0), state) {
		in = in || m.stringMember("to_state") == want
		out = out || in && m.stringMember("from_state") == want
	}
	switch {
	case len(r.eventsOn(0)) == 0:
		return inconclusiveFinding("no event came")
	case !in:
		return failFinding("no state.changed entered " + want)
	case !out && want != "thinking": // which the end of the session may leave
		return failFinding("no state.changed left " + want)
	}
	return passFinding(want + " was entered and left")
}

// judgePairs judges that each tool.invoked of a session has one tool.completed of the same call
// after it, and that no call is used twice; calls without an id are known by their tool. Where the
// subscriber's terms let one of the two not come, its absence is no fault, and a call that is still
// open at the end fails only where its end was owed. Without a call it is inconclusive.
func judgePairs(f follower) Finding {
	open, used := map[string]message{}, map[string]message{}
	n := 0
	for _, m := range ofTypes(f.list, invoked, done) {
		key := m.stringMember("tool_call_id")
		hasID := key != ""
		if !hasID {
			key = "tool " + m.stringMember("tool")
		}
		begins := m.compactType() == invoked
		before, isOpen := open[key]
		switch {
		case begins && isOpen:
			return failFinding("a call was invoked again before it was completed", before.Entry, m.Entry)
		case begins && hasID && used[key].Data != nil:
			return failFinding("a tool_call_id was used for a second call", used[key].Entry, m.Entry)
		case begins:
			open[key], used[key] = m, m
			n++
		case !isOpen && f.owes(invoked):
			return failFinding("tool.completed came for a call that was not open", m.Entry)
		default:
			delete(open, key)
		}
	}
	endWasOwed := f.owes(done) && (f.link == 0 || f.owesEnd())
	for _, m := range open {
		if endWasOwed {
			return failFinding("a call was never completed", m.Entry)
		}
	}
	if n == 0 {
		return inconclusiveFinding("no tool.invoked came")
	}
	return passFinding(fmt.Sprintf("%d calls, each completed once", n))
}

// eachCall makes a judge of a recording of a judge of each call that was completed, with its two
// events, to any subscriber. The first failure decides, else the last finding; without such a call
// it is inconclusive.
func eachCall(judge func(f follower, began, over message) Finding) func(*Recording) Finding {
	return mustCome(eachSession(func(f follower) Finding {
		last := nothingToJudge("no call was completed")
		list := ofTypes(f.list, invoked, done)
		for i, over := range list {
			if over.compactType() != done {
				continue
			}
			for _, began := range invocationsOf(over.stringMember("tool_call_id"), list[:i]) {
				if last = judge(f, began, over); last.Verdict == Fail {
					return last
				}
			}
		}
		return last
	}))
}

// invocationsOf returns the tool.invoked with this tool_call_id among some events; "" is an id too.
func invocationsOf(id string, list []message) (found []message) {
	for _, m := range ofTypes(list, invoked) {
		if m.stringMember("tool_call_id") == id {
			found = append(found, m)
		}
	}
	return found
}
