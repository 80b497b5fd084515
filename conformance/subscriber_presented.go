package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// judgePresented makes a judge of a recording of a judge of what the target presented of the event
// with a label: text is all its words, or "". Where the event was not sent, or nothing can be
// observed, it is inconclusive.
func judgePresented(label string, judge func(r *Recording, m message, text string) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		m, f := r.eventToJudge(label)
		if m.members == nil {
			return f
		}
		return judge(r, m, r.textOf(m.stringMember("event_id")))
	}
}

// eventToJudge returns the event with a label, or why nothing can be judged by it: a target that
// had ended before, or the last thing it ever got, says nothing of what came later.
func (r *Recording) eventToJudge(label string) (message, Finding) {
	m, ok := r.eventLabelled(label)
	switch {
	case r.whyUnobservable() != "":
		return message{}, inconclusiveFinding(r.whyUnobservable())
	case !ok:
		return message{}, inconclusiveFinding("the event was not sent: the target asked not to get it, or was gone")
	}
	for i, e := range r.Entries[:m.index] {
		if e.Link == m.Link && e.Note == noteLeft || strings.HasPrefix(e.Note, noteGone) {
			return message{}, Finding{Verdict: Inconclusive, Seen: "the target was gone before that",
				Evidence: r.Entries[i : i+1]}
		}
	}
	return m, Finding{}
}

// whyUnobservable returns why nothing that is presented could be observed: the reason for which it
// is mute, else what went wrong first, from the connection to the hook, with how the target ended
// or else what it did wrong; "" where it uses the hook.
func (r *Recording) whyUnobservable() string {
	if r.usedHook() {
		return ""
	}
	if r.mute != "" {
		return r.mute
	}
	why := "the target tells nothing through the hook"
	if _, missed := r.noteOn(0, noteNoDial); missed {
		why = "the target did not connect"
	} else if _, deaf := r.noteOn(0, noteNoStream); deaf {
		why = noteNoStream
	} else if i := slices.IndexFunc(r.Entries,
		func(e Entry) bool { return e.Link == hookLink && e.Note != "" }); i >= 0 {
		why = r.Entries[i].Note
	} else if first := r.messagesOn(0, false); len(first) > 0 && first[0].compactType() != "subscription.request" {
		why += ", and its first message is " + quoteText(first[0].compactType()) + ", no subscription.request"
	} else if len(first) == 0 && !slices.ContainsFunc(r.Entries,
		func(e Entry) bool { return strings.HasPrefix(e.Note, noteStream) }) {
		why += ", and said nothing over its link"
	}
	for _, e := range r.Entries {
		if strings.HasPrefix(e.Note, noteGone) {
			return why + "; " + e.Note
		}
	}
	if noticed := r.firstViolations(); noticed != "" {
		why += "; " + noticed
	}
	return why
}

// judgePresents returns a judge that the event with a label was presented at all, with the words of
// all texts.
func judgePresents(label string, texts ...string) func(*Recording) Finding {
	return judgePresented(label, func(r *Recording, m message, text string) Finding {
		entries := append([]Entry{m.Entry}, presentedEntries(r, m)...)
		if text == "" {
			return failFinding(shortName(m)+" was not presented"+r.departureAt(m), entries...)
		}
		for _, t := range texts {
			if !containsWords(text, t) {
				return failFinding(shortName(m)+" was presented without "+quoteText(t), entries...)
			}
		}
		return passFinding(shortName(m)+" was presented", entries...)
	})
}

// judgeInTurn lets several judges look at a recording; the first that does not pass it decides.
func judgeInTurn(judges ...func(*Recording) Finding) func(*Recording) Finding {
	return func(r *Recording) (f Finding) {
		for _, judge := range judges {
			if f = judge(r); f.Verdict != Pass {
				break
			}
		}
		return f
	}
}

// judgeWith makes one judge of several: the finding is the first judge's, but where that passes and
// another one fails, it is that failure.
func judgeWith(judge func(*Recording) Finding, others ...func(*Recording) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		f := judge(r)
		for _, other := range others {
			if also := other(r); f.Verdict == Pass && also.Verdict == Fail {
				return also
			}
		}
		return f
	}
}

// judgePresentsAny judges that the target still presents anything: of the events with these labels,
// the first that was presented, or that cannot be judged, decides; where all fail, the last.
func judgePresentsAny(labels ...string) func(*Recording) Finding {
	return func(r *Recording) (f Finding) {
		for _, label := range labels {
			if f = judgePresents(label)(r); f.Verdict != Fail {
				break
			}
		}
		return f
	}
}

// judgeIfConnectedAt judges that the target does not leave after the event with a label or, for an
// empty label, after its acceptance, and then as judge does. Where that was never sent, it only
// judges as judge does.
func judgeIfConnectedAt(label string, judge func(*Recording) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		var sent message
		var wasSent bool
		if label != "" {
			sent, wasSent = r.eventLabelled(label)
		} else if accepted := ofTypes(r.messagesOn(0, true), "subscription.accepted"); len(accepted) > 0 {
			sent, wasSent = accepted[0], true
		}
		if !wasSent {
			return judge(r)
		}
		for _, e := range r.Entries[sent.index:] {
			if hasLeft := e.Note == noteLeft || strings.HasPrefix(e.Note, noteGone); hasLeft && e.Link == 0 {
				return failFinding(e.Note, sent.Entry, e)
			}
		}
		return judge(r)
	}
}

// departureAt returns, in words for a finding, that the target left when it got a message, or "" if
// it stayed.
func (r *Recording) departureAt(m message) string {
	for _, e := range r.Entries[m.index+1:] {
		switch {
		case e.Sent && e.Data != nil && e.Link == m.Link:
			return ""
		case strings.HasPrefix(e.Note, noteGone) || e.Note == noteLeft && e.Link == m.Link:
			return ", and " + e.Note
		}
	}
	return ""
}

// presentedEntries are what the hook reported of an event.
func presentedEntries(r *Recording, m message) []Entry {
	return r.Presented(m.stringMember("event_id"))
}

// presentedForm returns the kinds and words in which an event was presented, by which a person
// could tell it from another.
func (r *Recording) presentedForm(m message) string {
	var all []string
	for _, t := range r.presentedLines(m.stringMember("event_id")) {
		all = append(all, t.stringMember("kind"), normalizeText(t.stringMember("text")))
	}
	return strings.Join(all, "\n")
}

// judgeDistinct returns a judge that the events with these labels, which have the same words, are
// presented in different ways. what is the failure in words. An event that was not presented is
// inconclusive.
func judgeDistinct(what string, labels ...string) func(*Recording) Finding {
	return func(r *Recording) Finding {
		seen := map[string]message{}
		var entries []Entry
		for _, label := range labels {
			m, f := r.eventToJudge(label)
			if m.members == nil {
				return f
			}
			if r.textOf(m.stringMember("event_id")) == "" {
				return inconclusiveFinding(shortName(m) + " was not presented at all")
			}
			if was, ok := seen[r.presentedForm(m)]; ok {
				return failFinding(what, append(presentedEntries(r, was), presentedEntries(r, m)...)...)
			}
			seen[r.presentedForm(m)] = m
			entries = append(entries, presentedEntries(r, m)...)
		}
		return passFinding("they are presented in different ways", entries...)
	}
}

const (
	theStart  = "Looking at the harbour"
	theTool   = "Counting the ships"
	theEnd    = "The work is over"
	theHint   = "Ask the harbour master."
	fragment  = "Seven ships are in and three"
	theRest   = " are out."
	theFrench = "Bonjour tout le monde."
	theError  = "The crane has stopped"
)

// A heldOutput is an output of two chunks, of which the first has to wait. Their events have the
// labels label and rest; hint is the coalesce_hint of the second.
type heldOutput struct {
	label, rest, text, restText, hint string
}

// heldOutputs wait for a boundary, for an end that is no boundary, and for an end without text.
var heldOutputs = []heldOutput{
	{"fragment", "boundary", fragment, theRest, "completion"},
	{"mast", "mastover", "The mast of the old ship", " is new.", "none"},
	{"anchor", "anchorover", "The anchor is down.", "", "completion"},
}

// outputParts are two outputs of one session, of which each comes in two parts.
var outputParts = []struct {
	label, output, text string
	last                bool
}{{"gulls", "gulls", "Four gulls are on a ", false}, {"pilots", "pilots", "Pilots wait for the ", false},
	{"gullsover", "gulls", "rope of the old ship.", true}, {"pilotsover", "pilots", "tide in the tavern.", true}}

// judgeOutputsUnmixed judges that no chunk of outputParts is presented with the words of a chunk of
// the other output, as if both were one text.
func judgeOutputsUnmixed(r *Recording) Finding {
	seen := ""
	for _, part := range outputParts {
		m, f := r.eventToJudge(part.label)
		if m.members == nil {
			return f
		}
		text := r.textOf(m.stringMember("event_id"))
		for _, other := range outputParts {
			if other.output != part.output && containsWords(text, other.text) {
				return failFinding("what came of one output was presented with words of another", append([]Entry{m.Entry},
					presentedEntries(r, m)...)...)
			}
		}
		seen += text
	}
	if !containsWords(seen, "gulls") || !containsWords(seen, "tide in the tavern") {
		return inconclusiveFinding("the outputs were not presented")
	}
	return passFinding("each output was presented by itself")
}

// emitEveryType is the scenario run of a session as it should be, with an event of each type, and
// of two more sessions that fail and are cancelled.
func emitEveryType(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	a, b, d := sessionID(), sessionID(), sessionID()
	h.awaitPresented(c.emitEvent(c.newEvent("started", a, started, theStart, nil)))
	c.emitEvent(c.newEvent("thinking", a, state, "Thinking about ships", object{"to_state": "thinking"}))
	call := withMembers(toolCall(), object{"risk_level": "low", "irreversible": false})
	h.awaitPresented(c.emitEvent(c.newEvent("invoked", a, invoked, theTool, call)))
	c.emitEvent(c.newEvent("toolover", a, done, "Ten ships counted",
		object{"tool": call["tool"], "tool_call_id": call["tool_call_id"], "status": "success"}))
	c.emitEvent(c.newEvent("french", a, output, "",
		object{"output_id": "out_" + randomID(), "content_type": "text/plain", "language": "fr-FR",
			"chunk": theFrench, "position": 0, "complete": true, "coalesce_hint": "completion"}))
	emitFirst := func(o heldOutput) {
		c.emitEvent(c.newEvent(o.label, a, output, "", object{"output_id": "out_" + o.label, "language": "en-US",
			"content_type": "text/plain", "chunk": o.text, "position": 0, "complete": false, "coalesce_hint": "none"}))
	}
	emitFirst(heldOutputs[0])
	// What follows in other sessions shows that the fragment has been dealt with.
	c.emitEvent(c.newEvent("startedtwo", b, started, "Asking the crane", nil))
	crash := c.emitEvent(c.newEvent("errored", b, errored, theEnd,
		object{"error_category": "permanent", "error_code": "CRANE_STOPPED", "recoverable": true,
			"remediation_hint": theHint}))
	h.awaitPresented(crash, theEnd, theHint)
	c.emitEvent(c.newEvent("startedthree", d, started, "Waiting for the tide", nil))
	h.awaitPresented(c.emitEvent(c.newEvent("cancelled", d, cancelled, theEnd,
		object{"cancelled_by": "user", "cancellation_reason": "user_request"})), theEnd)
	for i, o := range heldOutputs {
		if i > 0 {
			emitFirst(o)
		}
		c.emitEvent(c.newEvent(o.rest, a, output, "", object{"output_id": "out_" + o.label, "language": "en-US",
			"content_type": "text/plain", "chunk": o.restText, "position": len(o.text), "complete": true,
			"coalesce_hint": o.hint}))
	}
	for _, part := range outputParts { // of two outputs, in turn
		hint, at := "none", 0
		if part.last {
			hint, at = "completion", 20
		}
		c.emitEvent(c.newEvent(part.label, a, output, "", object{"output_id": "out_" + part.output, "language": "en-US",
			"content_type": "text/plain", "chunk": part.text, "position": at, "complete": part.last, "coalesce_hint": hint}))
	}
	c.emitEvent(c.newEvent("still", a, state, "Nothing more to write", object{"to_state": "idle"}))
	h.awaitPresented(c.emitEvent(c.newEvent("completed", a, completed, theEnd, nil)), theEnd)
}

// toolCall returns the members of a tool.invoked with a call of its own.
func toolCall() object {
	return object{"tool": "count", "tool_call_id": "call_" + randomID()}
}

// severalEnds are how sessions end while another goes on.
var severalEnds = []struct {
	label, typ string
	more       object
}{
	{"severaldone", completed, nil},
	{"severalfailed", errored, object{"error_category": "permanent", "error_code": "CRANE_STOPPED",
		"recoverable": false}},
	{"severalcancelled", cancelled, object{"cancelled_by": "user", "cancellation_reason": "user_request"}},
	{"severalfailedtoo", errored, object{"error_category": "permanent", "error_code": "CRANE_STOPPED",
		"recoverable": false}}, // in the words of the one before
}

// emitSeveralSessions is the scenario run of several sessions at once, of which one goes on while
// the others end, and one begins when all are over.
func emitSeveralSessions(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	whole := sessionID()
	c.emitEvent(c.newEvent("severalwhole", whole, started, "A long day in the harbour", nil))
	for i, end := range severalEnds {
		s := sessionID()
		c.emitEvent(c.newEvent("several", s, started, fmt.Sprintf("Ship %d comes in", i+1), nil))
		h.awaitPresented(c.emitEvent(c.newEvent(end.label, s, end.typ, theEnd, end.more)))
		call := toolCall()
		h.awaitPresented(c.emitEvent(c.newEvent("beside"+end.label, whole, invoked,
			fmt.Sprintf("Counting after ship %d", i+1), call)))
		c.emitEvent(c.newEvent("counted", whole, done, "Counted", withMembers(call, object{"status": "success"})))
	}
	h.awaitPresented(c.emitEvent(c.newEvent("besideend", whole, completed, theEnd, nil)))
	h.awaitPresented(c.emitEvent(c.newEvent("besidenew", sessionID(), started, "The next day", nil)))
}

// judgePresentsAll returns a judge that all events with these labels that were sent were presented.
// Where none was sent, or none could be judged, it is inconclusive.
func judgePresentsAll(labels ...string) func(*Recording) Finding {
	return func(r *Recording) (f Finding) {
		f = inconclusiveFinding("none of the events was sent")
		for _, label := range labels {
			switch one := judgePresents(label)(r); one.Verdict {
			case Fail:
				return one
			case Pass:
				f = one
			default:
				if f.Verdict == Inconclusive {
					f = one
				}
			}
		}
		return f
	}
}

// emitUrgentEvents is the scenario run that sends much to say, then an error, and then as much and
// a question, neither of which can wait.
func emitUrgentEvents(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	s, other := sessionID(), sessionID()
	c.emitEvent(c.newEvent("hurry", s, started, "A harbour in a hurry", nil))
	c.emitEvent(c.newEvent("crane", other, started, "The crane works", nil))
	long := strings.Repeat("and one more ship that is long to tell of, ", 12)
	for i := range 6 {
		id := c.emitEvent(c.newEvent(fmt.Sprintf("long%d", i), s, invoked, fmt.Sprintf("Ship %d, %s", i, long),
			toolCall()))
		if i == 0 {
			h.awaitPresented(id) // it has begun
		}
	}
	id := c.emitEvent(c.newEvent("urgent", other, errored, theError,
		object{"error_category": "permanent", "error_code": "CRANE_STOPPED", "recoverable": false}))
	h.awaitCondition(h.patience, func(*Recording) bool { return id == "" || h.hook.presentedText(id) != "" })
	if !c.canReply("confirmation") {
		return
	}
	for i := range 3 {
		c.emitEvent(c.newEvent(fmt.Sprintf("longer%d", i), s, invoked, fmt.Sprintf("Boat %d, %s", i, long), toolCall()))
	}
	id = c.emitEvent(c.questionEvent("urgentask", sessionID(), 60, "high", theAction))
	h.awaitCondition(h.patience, func(*Recording) bool { return id == "" || h.hook.presentedText(id) != "" })
}

// judgeAtOnce judges that the event with a label was presented at once, though others that were
// sent before it take long to present.
func judgeAtOnce(label string) func(*Recording) Finding {
	return judgePresented(label, func(r *Recording, m message, text string) Finding {
		othersPresented := false
		for i := range 6 {
			e, ok := r.eventLabelled(fmt.Sprintf("long%d", i))
			othersPresented = othersPresented || ok && r.textOf(e.stringMember("event_id")) != ""
		}
		if !othersPresented {
			return inconclusiveFinding("nothing else was presented, so nothing could wait")
		}
		got := r.presentedLines(m.stringMember("event_id"))
		if len(got) == 0 || got[0].At.Sub(m.At) > r.limit {
			return failFinding(fmt.Sprintf("%s was not presented within %v, while other events were", shortName(m),
				r.limit), append([]Entry{m.Entry}, presentedEntries(r, m)...)...)
		}
		return passFinding(shortName(m)+" was presented at once", m.Entry, got[0].Entry)
	})
}

// presentedCases judge what a person is told of what is as it should be.
var presentedCases = []Case{
	{Name: "start-told", Requirements: []string{"LVL-014", "EVT-012", "LVL-012"}, Level: 1, Strength: Must,
		plays: []string{"story"},
		Rule:  "session.started is presented", Judge: judgePresents("started")},
	{Name: "tool-told", Requirements: []string{"LVL-014"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule: "tool.invoked is presented", Judge: judgePresents("invoked")},
	{Name: "completion-told", Requirements: []string{"LVL-014", "EVT-016"}, Level: 1, Strength: Must,
		plays: []string{"story"},
		Rule:  "session.completed is presented", Judge: judgePresents("completed")},
	{Name: "cancellation-told", Requirements: []string{"LVL-014"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule: "session.cancelled is presented", Judge: judgePresents("cancelled")},
	{Name: "error-told", Requirements: []string{"EVT-022", "LVL-014"}, Level: 1, Strength: Must,
		plays: []string{"story"},
		Rule:  "session.errored is presented, always", Judge: judgePresents("errored")},
	{Name: "sessions-apart", Requirements: []string{"LVL-014", "TERM-010"}, Level: 1, Strength: Must,
		plays: []string{"several"},
		Rule:  "when one of several sessions is over, the others are presented as before, and so is a new one",
		Judge: judgePresentsAll("besideseveraldone", "besideseveralfailed", "besideseveralcancelled", "besideend",
			"besidenew")},
	{Name: "errors-each-told", Requirements: []string{"EVT-022", "LVL-017"}, Level: 1, Strength: Must,
		plays: []string{"several"},
		Rule:  "an error is presented though another session failed in the same words",
		Judge: judgePresentsAll("severalfailed", "severalfailedtoo")},
	{Name: "handoff-told", Requirements: []string{"LVL-017"}, Level: 1, Strength: Must, plays: []string{"odd"},
		Rule: "handoff.requested is presented, always", Judge: judgePresents("handedover")},
	{Name: "hint-told", Requirements: []string{"EVT-023"}, Level: 1, Strength: Should, plays: []string{"story"},
		Rule: "the remediation_hint of an error is presented",
		Judge: judgePresented("errored", func(r *Recording, m message, text string) Finding {
			if text == "" {
				return inconclusiveFinding("the error was not presented at all")
			}
			return judgePresents("errored", theHint)(r)
		})},
	{Name: "verbosity-kept", Requirements: []string{"LVL-014", "EVT-012"}, Level: 1, Strength: Must,
		plays: []string{"story"},
		Rule:  "what is presented is the summary of the verbosity that the user has chosen", Judge: judgeVerbosity},
	{Name: "ends-distinct", Requirements: []string{"LVL-015"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule:  "completed, errored and cancelled can be told apart though their summaries are the same",
		Judge: judgeDistinct("two ends of a session are presented alike", "completed", "errored", "cancelled")},
	{Name: "fragments-held", Requirements: []string{"EVT-061"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule:  "a chunk with the coalesce_hint none is not presented before more of its output has come, and then all of it is",
		Judge: judgeFragments},
	{Name: "outputs-apart", Requirements: []string{"EVT-061"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule:  "of two outputs that come in turn, the words of one are not presented as those of the other",
		Judge: judgeOutputsUnmixed},
	{Name: "language-kept", Requirements: []string{"I18N-018"}, Level: 1, Strength: Must, plays: []string{"story"},
		Rule: "a chunk is presented in the chunk's own language",
		Judge: judgePresented("french", func(r *Recording, m message, text string) Finding {
			if text == "" {
				return inconclusiveFinding("the chunk was not presented")
			}
			for _, t := range r.presentedLines(m.stringMember("event_id")) {
				switch language, ok := t.members["language"].(string); {
				case !ok:
					return inconclusiveFinding("the hook does not tell in which language it was presented")
				case !strings.HasPrefix(strings.ToLower(language), "fr"):
					return failFinding("a chunk in fr-FR was presented in "+quoteText(language), m.Entry, t.Entry)
				}
			}
			return passFinding("the chunk was presented in its language", presentedEntries(r, m)...)
		})},
	{Name: "critical-distinct", Requirements: []string{"LVL-017"}, Level: 1, Strength: Must, plays: []string{"odd"},
		Rule:  "what is critical stands out from what is not though the words are the same",
		Judge: judgeDistinct("a critical event is presented like any other", "calmtwin", "criticaltwin")},
	{Name: "critical-at-once", Requirements: []string{"TERM-009", "LVL-017", "TERM-012"}, Level: 1, Strength: Must,
		plays: []string{"urgent"},
		Rule:  "what is critical is presented at once, however much else waits",
		Judge: judgeAtOnce("urgent")},
	{Name: "question-at-once", Requirements: []string{"TERM-009", "EVT-078", "SEC-002"}, Level: 2, Strength: Must,
		plays: []string{"urgent"},
		Rule:  "a question is presented at once, however much else waits",
		Judge: judgeAtOnce("urgentask")},
}

// judgeVerbosity judges the words in which the session of emitEveryType was presented.
func judgeVerbosity(r *Recording) Finding {
	return judgeWords(r, map[string]string{"started": theStart, "invoked": theTool, "completed": theEnd})
}

// judgeWords judges that events, by their labels, were presented in the words of the verbosity that
// was agreed when they were sent, each with what is said of it.
func judgeWords(r *Recording, events map[string]string) Finding {
	n := 0
	for label, say := range events {
		m, f := r.eventToJudge(label)
		if m.members == nil {
			return f
		}
		text := r.textOf(m.stringMember("event_id"))
		if text == "" {
			continue
		}
		n++
		want := m.stringMember("verbosity")
		for v, words := range summaryTexts(say) {
			if containsWords(text, words) != (v == want) {
				return failFinding(fmt.Sprintf("%s was presented in other words than those of the verbosity %s",
					shortName(m), want), append([]Entry{m.Entry}, presentedEntries(r, m)...)...)
			}
		}
	}
	return passIfAny(n, "events were presented in the words that were chosen")
}

// judgeFragments judges each of heldOutputs; the first that does not pass decides.
func judgeFragments(r *Recording) (f Finding) {
	for _, o := range heldOutputs {
		if f = judgeFragment(r, o); f.Verdict != Pass {
			break
		}
	}
	return f
}

// judgeFragment judges that the first chunk of an output is not presented before the rest has come,
// and that then all of it is. Where the target was gone before the rest it is inconclusive.
func judgeFragment(r *Recording, o heldOutput) Finding {
	m, f := r.eventToJudge(o.label)
	if m.members == nil {
		return f
	}
	rest, ok := r.eventLabelled(o.rest)
	if !ok {
		return inconclusiveFinding("the target was gone before the rest was sent")
	}
	var all []message
	for _, t := range r.messagesOn(hookLink, false) {
		if id := t.stringMember("event_id"); id == m.stringMember("event_id") || id == rest.stringMember("event_id") {
			all = append(all, t)
		}
	}
	for _, t := range all {
		if words := t.stringMember("text"); t.index < rest.index && words != "" && containsWords(o.text, words) {
			return failFinding("a fragment was presented by itself", m.Entry, t.Entry)
		}
	}
	if len(all) == 0 && o == heldOutputs[0] {
		return inconclusiveFinding("the output was not presented at all")
	}
	if !containsWords(r.textOf(m.stringMember("event_id"))+r.textOf(rest.stringMember("event_id")), o.text+o.restText) {
		return failFinding("of an output that came in two chunks not all was presented",
			append([]Entry{m.Entry, rest.Entry}, presentedEntries(r, rest)...)...)
	}
	return passFinding("the fragment waited for the rest", m.Entry, all[0].Entry)
}
