package conformance

import (
	"fmt"
)

// flowCases judge what is presented of many events, of some twice, and of some in the wrong order.
var flowCases = []Case{
	{Name: "error-unannounced", Requirements: []string{"HS-063"}, Level: 3, Strength: Must, plays: []string{"blue"},
		Rule:  "an error is presented though nothing was known of its session",
		Judge: judgePresents("outofblue", theError)},
	{Name: "no-doubles", Requirements: []string{"LVL-037", "TR-010"}, Level: 3, Strength: Must,
		plays: []string{"twice", "cut"},
		Rule:  "an event that comes twice is presented once", Judge: judgeWith(judgeDouble("double"), judgeDouble("doubleerror"))},
	{Name: "order-checked", Requirements: []string{"LVL-037", "TR-008", "ENV-043"}, Level: 3, Strength: Must,
		plays: []string{"twice"},
		Rule:  "events whose sequence_number runs backwards are put in order, or that is logged", Judge: judgeOrder},
	{Name: "gaps-passed", Requirements: []string{"LVL-014", "ENV-044"}, Level: 3, Strength: Must,
		plays: []string{"twice"},
		Rule:  "an event is presented though others of its session did not come before it, as where they are filtered out",
		Judge: judgePresentsAll("aftergap", "joined")},
	{Name: "burst-kept", Requirements: []string{"HS-068", "TERM-010"}, Level: 3, Strength: Must,
		plays: []string{"burst"},
		Rule:  "as many events at once as were asked for are presented, in their order", Judge: judgeBurst},
	{Name: "critical-under-load", Requirements: []string{"LVL-040", "HS-070"}, Level: 3, Strength: Must,
		plays: []string{"burst"},
		Rule:  "a critical event is presented though many others came before it",
		Judge: judgeWith(judgePresents("burstend", theError), judgePresents("burstask", theAction))},
}

// beginWithError is the scenario run that sends an error as the first event of all, and then begins
// another session.
func beginWithError(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	c.emitEvent(c.newEvent("outofblue", sessionID(), errored, theError,
		object{"error_category": "permanent", "error_code": "CRANE_STOPPED", "recoverable": false}))
	h.awaitPresented(c.emitEvent(c.newEvent("atlast", sessionID(), started, "At last", nil)))
}

// sendEventTwice is the scenario in which an event is repeated, two come in the wrong order, and
// sequence numbers are missing.
func sendEventTwice(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	s := sessionID()
	c.emitEvent(c.newEvent("zero", s, started, "The first of them", object{"sequence_number": 0}))
	double := c.newEvent("double", s, invoked, "Twice the same", withMembers(toolCall(), object{"sequence_number": 1}))
	c.emitEvent(double)
	c.emitEvent(double)
	c.emitEvent(c.newEvent("three", s, invoked, "The one that came too soon",
		withMembers(toolCall(), object{"sequence_number": 3})))
	c.emitEvent(c.newEvent("two", s, invoked, "The one that came too late",
		withMembers(toolCall(), object{"sequence_number": 2})))
	c.emitEvent(double) // once more, when others have come
	broken := sessionID()
	c.emitEvent(c.newEvent("breaking", broken, started, "The crane creaks", nil))
	failure := c.newEvent("doubleerror", broken, errored, theError,
		object{"error_category": "permanent", "error_code": "CRANE_STOPPED", "recoverable": false})
	c.emitEvent(failure)
	c.emitEvent(failure)
	gap, joined := sessionID(), sessionID()
	c.states[joined] = "calling_tool" // which was told before the target came
	c.emitEvent(c.newEvent("beforegap", gap, started, "A boat leaves", object{"sequence_number": 0}))
	c.emitEvent(c.newEvent("gapstate", gap, state, "Going on", object{"to_state": "calling_tool", "sequence_number": 1}))
	c.emitEvent(c.newEvent("aftergap", gap, invoked, "Looking for the boat", withMembers(toolCall(), object{"sequence_number": 9})))
	h.awaitPresented(c.emitEvent(c.newEvent("joined", joined, invoked, "Looking for the crew", withMembers(toolCall(), object{"sequence_number": 7}))))
	h.awaitPresented(c.emitEvent(c.newEvent("four", sessionID(), started, "And nothing more", nil)))
}

// judgeDouble returns a judge that the event with a label, which came twice, was presented once. It
// is inconclusive where the event did not come twice, or was not presented at all.
func judgeDouble(label string) func(*Recording) Finding {
	return judgePresented(label, func(r *Recording, m message, text string) Finding {
		n := 0
		for l := range r.linkCount() {
			for _, e := range r.messagesOn(l, true) {
				if e.stringMember("event_id") == m.stringMember("event_id") {
					n++
				}
			}
		}
		if n < 2 {
			return inconclusiveFinding("the target was gone before the event came again")
		}
		all := r.presentedLines(m.stringMember("event_id"))
		for i, t := range all { // in other words around it, or in the same
			for _, was := range all[:i] {
				if containsWords(t.stringMember("text"), was.stringMember("text")) {
					return failFinding("an event that came twice was presented twice", was.Entry, t.Entry)
				}
			}
		}
		if text == "" {
			return inconclusiveFinding("the event was not presented at all")
		}
		return passFinding("the event came twice and was presented once", presentedEntries(r, m)...)
	})
}

// judgeOrder judges what became of number 2, which came after 3: it was presented first, or the
// wrong order was logged. Where neither was presented it is inconclusive.
func judgeOrder(r *Recording) Finding {
	late, f := r.eventToJudge("two")
	if late.members == nil {
		return f
	}
	soon, _ := r.eventLabelled("three")
	a, b := r.presentedLines(late.stringMember("event_id")), r.presentedLines(soon.stringMember("event_id"))
	switch {
	case len(b) == 0:
		return inconclusiveFinding("the events were not presented")
	case len(a) > 0 && a[0].index < b[0].index:
		return passFinding("the events were put in order", a[0].Entry, b[0].Entry)
	}
	for _, m := range r.messagesOn(hookLink, false) {
		if id := m.stringMember("event_id"); m.stringMember("log") != "" && m.index > soon.index &&
			(id == "" || id == late.stringMember("event_id") || id == soon.stringMember("event_id")) {
			return passFinding("the wrong order was logged", late.Entry, m.Entry)
		}
	}
	return failFinding("sequence_number 2 came after 3, and that was neither put right nor logged", soon.Entry,
		late.Entry)
}

// maxBurst is how many events a target must be able to take at once that names no rate.
const maxBurst = 200

// sendBurst is the scenario run that sends at once all that the target may be sent in a second, at
// most maxBurst events, then an error of another session, and a question.
func sendBurst(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	n := maxBurst
	if rate, ok := c.terms["max_events_per_second"].(float64); ok {
		n = min(n, int(rate))
	}
	s, other := sessionID(), sessionID()
	c.emitEvent(c.newEvent("burststart", s, started, "The tide comes in", nil))
	c.emitEvent(c.newEvent("burstother", other, started, "The crane works", nil))
	last := ""
	for i := range n {
		last = c.emitEvent(c.newEvent(fmt.Sprintf("burst%d", i), s, invoked, fmt.Sprintf("Wave %d", i), toolCall()))
	}
	id := c.emitEvent(c.newEvent("burstend", other, errored, theError,
		object{"error_category": "permanent", "error_code": "CRANE_STOPPED", "recoverable": false}))
	if h.awaitPresented(id, theError) && last != "" {
		h.awaitPresented(last)
	}
	c.askDecision("burstask", sessionID(), 60, "high", theAction)
}

// judgeBurst judges that all that came at once was presented, in the order in which it was sent.
// Where nothing presented can be observed it is inconclusive.
func judgeBurst(r *Recording) Finding {
	if _, f := r.eventToJudge("burst0"); f.Verdict != "" {
		return f
	}
	at, n := -1, 0
	for _, m := range ofTypes(r.messagesOn(0, true), invoked) {
		got := r.presentedLines(m.stringMember("event_id"))
		switch {
		case len(got) == 0:
			return failFinding(fmt.Sprintf("of events that came at once, number %d was not presented", n+1), m.Entry)
		case got[0].index < at:
			return failFinding("events that came at once were presented in another order", m.Entry, got[0].Entry)
		}
		at = got[0].index
		n++
	}
	return passIfAny(n, "events that came at once were presented in their order")
}
