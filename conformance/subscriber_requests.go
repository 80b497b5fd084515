package conformance

import (
	"fmt"
	"slices"
	"time"
)

// wireCases judge what the target says of itself, and how it lives with terms.
var wireCases = []Case{
	{Name: "request-first", Requirements: []string{"HS-001", "WS-005", "WS-007"}, Level: 3, Strength: Must,
		plays: []string{"less", "cut"},
		Rule:  "the first message on a link is subscription.request, also when the target comes back",
		Judge: func(r *Recording) Finding {
			if _, missed := r.noteOn(0, noteNoDial); missed {
				return inconclusiveFinding("the target did not connect")
			}
			for l := range r.linkCount() {
				all := r.messagesOn(l, false)
				if len(all) > 0 && all[0].compactType() != "subscription.request" {
					return failFinding("the first message was "+quoteText(all[0].compactType()), all[0].Entry)
				}
				if _, began := r.noteOn(l, noteLeft); len(all) == 0 && !began && l == 0 {
					return failFinding(fmt.Sprintf("no subscription.request came within %v", r.limit))
				}
			}
			return passIfAny(len(ofTypes(r.messagesOn(0, false), "subscription.request")),
				"links began with subscription.request")
		}},
	{Name: "request-valid", Requirements: []string{"HS-004", "HS-005", "HS-007", "HS-010", "HS-011", "HS-012",
		"HS-015", "HS-017", "HS-019", "HS-023", "HS-025", "HS-030", "HS-032", "HS-035", "HS-037", "HS-039", "HS-041",
		"I18N-002", "VER-001"},
		Level: 3, Strength: Must, plays: []string{"less", "cut"},
		Rule:  "the request is valid under its schema",
		Judge: eachMessageOf("subscription.request", func(m message) string { return invalidReason(m) })},
	{Name: "one-name", Requirements: []string{"HS-006"}, Level: 3, Strength: Must, plays: []string{"cut", "less"},
		Rule: "subscriber_id is the same whenever the target comes", Judge: func(r *Recording) Finding {
			n := 0
			names := map[string]bool{}
			for name := range r.before {
				names[name] = true
			}
			for l := range r.linkCount() {
				for _, m := range ofTypes(r.messagesOn(l, false), "subscription.request") {
					if n++; len(names) > 0 && !names[m.stringMember("subscriber_id")] {
						return failFinding("the target came as "+quoteText(m.stringMember("subscriber_id"))+
							", and under another name before", m.Entry)
					}
					names[m.stringMember("subscriber_id")] = true
				}
			}
			if n+len(r.before) < 2 {
				return inconclusiveFinding("the target came only once")
			}
			return passFinding("the target always came under one name")
		}},
	{Name: "lives-with-less", Requirements: []string{"LVL-035", "HS-054"}, Level: 3, Strength: Must,
		plays: []string{"less"},
		Rule:  "a subscriber that is granted less than it asked for goes on",
		Judge: judgeIfConnectedAt("", judgePresentsAny("granted", "grantedtoo"))},
	{Name: "changes-terms", Requirements: []string{"LVL-036"}, Level: 3, Strength: Must, plays: []string{"renegotiate"},
		Rule: "whenever the user wants another verbosity, other terms are asked for, and who comes back after a cut asks for them again",
		Judge: judgeWith(judgeUserRenegotiation(func(r *Recording, act, m message) Finding {
			if m.members == nil {
				return failFinding("the user chose another verbosity, and no subscription.renegotiate came", act.Entry)
			}
			if got := m.objectMember("capabilities")["preferred_verbosity"]; got != act.members["verbosity"] {
				return failFinding(fmt.Sprintf("the user chose %v, and %v was asked for", act.members["verbosity"],
					got),
					act.Entry, m.Entry)
			}
			return passFinding("the verbosity that the user chose was asked for", act.Entry, m.Entry)
		}), judgeRequestAnew)},
	{Name: "renegotiation-valid", Requirements: []string{"HS-074"}, Level: 3, Strength: Must,
		plays: []string{"renegotiate"},
		Rule:  "subscription.renegotiate is valid and names the subscription",
		Judge: judgeUserRenegotiation(func(r *Recording, act, m message) Finding {
			a := ofTypes(r.messagesOn(m.Link, true), "subscription.accepted")
			switch {
			case m.members == nil:
				return inconclusiveFinding("no subscription.renegotiate came")
			case len(a) == 0 || a[0].stringMember("subscription_id") != m.stringMember("subscription_id"):
				return failFinding("it names the subscription "+quoteText(m.stringMember("subscription_id")), m.Entry)
			case invalidReason(m) != "":
				return failFinding(invalidReason(m), m.Entry)
			}
			return passFinding("it was valid", m.Entry)
		})},
	{Name: "old-terms-heard", Requirements: []string{"HS-077"}, Level: 3, Strength: Must,
		plays: []string{"renegotiate"},
		Rule:  "events under the old terms that are still on their way are presented",
		Judge: judgePresentsAny("oldterms", "oldtermstoo")},
	{Name: "new-terms-heard", Requirements: []string{"HS-077", "LVL-036"}, Level: 3, Strength: Must,
		plays: []string{"renegotiate"},
		Rule:  "the subscription goes on under the new terms, and what is presented is in their words",
		Judge: func(r *Recording) Finding {
			f := judgePresentsAny("newterms", "newtermstoo")(r)
			if len(ofTypes(r.messagesOn(0, false), "subscription.renegotiate")) == 0 || f.Verdict != Pass {
				return f
			}
			if words := judgeWords(r, map[string]string{"newwords": theNewWords}); words.Verdict == Fail {
				return words
			}
			return f
		}},
	{Name: "normal-instead", Requirements: []string{"ENV-044", "LVL-014"}, Level: 3, Strength: Must,
		plays: []string{"renegotiate"},
		Rule:  "an event that has no words of the verbosity that the user chose is presented by its summary_normal",
		Judge: judgePresents("newbare")},
	{Name: "answers-after-change", Requirements: []string{"LVL-036", "LVL-023"}, Level: 3, Strength: Must,
		plays: []string{"renegotiate"},
		Rule:  "a question that comes under new terms is presented, and the user's decision is sent",
		Judge: judgeReplied("newquestion")},
	{Name: "asks-for-less", Requirements: []string{"EXT-007"}, Level: 3, Strength: Must, plays: []string{"refused"},
		Rule: "a request that was refused as capabilities_incompatible is not repeated as it was", Judge: judgeRefused},
}

// eachMessageOf returns a judge that fails for the first message of a type about which wrong
// returns a problem. Without a message of the type it is inconclusive.
func eachMessageOf(typ string, wrong func(message) string) func(*Recording) Finding {
	return func(r *Recording) Finding {
		n := 0
		for l := range r.linkCount() {
			for _, m := range ofTypes(r.messagesOn(l, false), typ) {
				if w := wrong(m); w != "" {
					return failFinding(w, m.Entry)
				}
				n++
			}
		}
		return passIfAny(n, typ+" messages were right")
	}
}

// grantFewerTerms is the scenario in which the producer grants less than was requested.
func grantFewerTerms(h *subscriberHarness) {
	c := h.nextConn(h.arrival)
	if c == nil {
		return
	}
	less := object{"max_events_per_second": 2, "supports_confirmation_reply": false,
		"supports_clarification_reply": false, "supported_conformance_levels": []int{1},
		"coalesce_boundaries": nil, "pace_wpm": nil}
	if rate, ok := c.request.objectMember("capabilities")["max_events_per_second"].(float64); ok && rate < 2 {
		less["max_events_per_second"] = rate
	}
	c.sendAccepted(less)
	s := sessionID()
	c.emitEvent(c.newEvent("granted", s, started, "Less than you wanted", nil))
	h.awaitPresented(c.emitEvent(c.newEvent("grantedtoo", s, completed, "It was enough", nil)))
}

// runRenegotiation is the scenario run in which the user chooses another verbosity, twice: events
// of the old terms come before the answer and of the new ones after it, and after a cut the newest
// must be asked for.
func runRenegotiation(h *subscriberHarness) {
	c := h.beginSubscription()
	if c == nil {
		return
	}
	s, other := sessionID(), sessionID()
	c.emitEvent(c.newEvent("other", other, started, "Some words", nil))
	h.awaitPresented(c.emitEvent(c.newEvent("verbose", s, started, "Many words", nil)))
	choices := slices.DeleteFunc([]string{"terse", "detailed", "normal"}, func(v string) bool { return v == c.agreedVerbosity() })
	h.sendUserAct(object{"verbosity": choices[0]})
	came := c.awaitMessage("subscription.renegotiate", 1)
	c.emitEvent(c.newEvent("oldterms", s, invoked, "Still in many words", toolCall()))
	h.awaitPresented(c.emitEvent(c.newEvent("oldtermstoo", sessionID(), started, "Many more words", nil)))
	if came {
		c.sendAccepted(nil)
	}
	c.emitEvent(c.newEvent("newterms", s, invoked, "In other words", toolCall()))
	h.awaitPresented(c.emitEvent(c.newEvent("newtermstoo", other, completed, "Fewer words", nil)))
	h.pauseFor(time.Second) // the answer to the request may come by another way than the events
	h.awaitPresented(c.emitEvent(c.newEvent("newwords", sessionID(), started, theNewWords, nil)))
	bare := c.newEvent("newbare", sessionID(), started, "Few words for all", nil)
	h.awaitPresented(c.emitEvent(withMembers(bare, object{"summary_terse": nil, "summary_detailed": nil})))
	if q, ok := c.askDecision("newquestion", sessionID(), 60, "low", theAction); ok || h.isPresented(q) {
		c.letUserDecide(q, object{"event_id": q["event_id"], "decision": "reject"})
	}
	if !came {
		return
	}
	h.sendUserAct(object{"verbosity": choices[1]})
	if !c.awaitMessage("subscription.renegotiate", 2) {
		return
	}
	c.sendAccepted(nil)
	h.awaitPresented(c.emitEvent(c.newEvent("lastwords", sessionID(), started, "The last ship sails", nil)))
	c.breakConnection()
	if again := c.awaitReconnection(); again != nil {
		h.awaitPresented(again.emitEvent(again.newEvent("back", sessionID(), started, "The first ship comes back", nil)))
		h.sendUserAct(object{"verbosity": choices[0]})
		again.awaitMessage("subscription.renegotiate", map[bool]int{true: 3, false: 1}[again == c])
	}
}

// theNewWords are sent when the terms have been changed for a while.
const theNewWords = "The harbour sleeps"

// judgeUserRenegotiation judges the subscription.renegotiate that came after each of the user's
// choices of a verbosity, on whichever link: each choice has the first that came after it and that
// no choice before it had, or an empty message. The first that does not pass decides. It is
// inconclusive where the hook shows nothing, or the user chose nothing.
func judgeUserRenegotiation(judge func(r *Recording, act, m message) Finding) func(*Recording) Finding {
	return func(r *Recording) (f Finding) {
		if why := r.whyUnobservable(); why != "" {
			return inconclusiveFinding(why)
		}
		var came []message
		for link := range r.linkCount() {
			came = append(came, ofTypes(r.messagesOn(link, false), "subscription.renegotiate")...)
		}
		f = inconclusiveFinding("the target was gone before the user chose")
		for _, act := range r.messagesOn(hookLink, true) {
			if act.members["verbosity"] == nil {
				continue
			}
			var m message
			if i := slices.IndexFunc(came, func(m message) bool { return m.index > act.index }); i >= 0 {
				m, came = came[i], came[i+1:]
			}
			if f = judge(r, act, m); f.Verdict != Pass {
				break
			}
		}
		return f
	}
}

// judgeRequestAnew judges that a target which came back after a cut asks for the verbosity that the
// user had chosen last.
func judgeRequestAnew(r *Recording) Finding {
	anew := ofTypes(r.messagesOn(1, false), "subscription.request")
	chosen := ofTypes(r.messagesOn(0, false), "subscription.renegotiate")
	if len(anew) == 0 || len(chosen) == 0 {
		return inconclusiveFinding("the target did not come back after the user had chosen")
	}
	last := chosen[len(chosen)-1]
	want, got := last.objectMember("capabilities")["preferred_verbosity"], anew[0].objectMember("capabilities")["preferred_verbosity"]
	isDefault := want == "normal" && got == nil
	if want != got && !isDefault {
		return failFinding(fmt.Sprintf("the user had chosen %v, and after a cut %v was asked for", want, got), last.Entry, anew[0].Entry)
	}
	return passFinding("the verbosity that the user had chosen was asked for again", anew[0].Entry)
}

// refuseFirstRequest is the scenario run in which the producer refuses the first request as
// incompatible and, if it named extensions, accepts the second.
func refuseFirstRequest(h *subscriberHarness) {
	c := h.nextConn(h.arrival)
	if c == nil {
		return
	}
	c.sendRejected("capabilities_incompatible")
	if len(requestedExtensions(c.request)) == 0 {
		return
	}
	if again := h.nextConn(arrival); again != nil { // which is the start of a program, where the target starts its agent
		again.sendAccepted(nil)
		h.awaitPresented(again.emitEvent(again.newEvent("taken", sessionID(), started, "Welcome all the same", nil)))
	}
}

// requestedExtensions returns, sorted, what a request names of extensions: their URIs, and the
// members of their data.
func requestedExtensions(request message) (list []string) {
	caps := request.objectMember("capabilities")
	list = stringList(caps["supported_extensions"])
	for name, v := range caps {
		if _, ok := v.(object); ok && name != "event_filters" {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// judgeRefused judges that a request which was refused comes again without some of its extensions.
// A target that asks for none is skipped.
func judgeRefused(r *Recording) Finding {
	first := ofTypes(r.messagesOn(0, false), "subscription.request")
	if len(first) == 0 {
		return inconclusiveFinding("no subscription.request came")
	}
	if len(requestedExtensions(first[0])) == 0 {
		return Finding{Verdict: Skipped, Seen: "the target asks for no extensions, so nothing can conflict"}
	}
	again := ofTypes(r.messagesOn(1, false), "subscription.request")
	switch {
	case len(again) == 0:
		return failFinding(fmt.Sprintf("the target did not ask again within %v", arrival), first[0].Entry)
	case slices.Equal(requestedExtensions(again[0]), requestedExtensions(first[0])):
		return failFinding("the request that was refused came again with the same extensions", first[0].Entry,
			again[0].Entry)
	}
	return passFinding("the target asked again for less", first[0].Entry, again[0].Entry)
}
