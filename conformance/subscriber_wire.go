package conformance

import (
	"fmt"
	"slices"
)

// wireCases judge what the target says of itself, and how it lives with terms.
var wireCases = []Case{
	{Name: "request-first", Requirements: []string{"HS-001", "WS-005", "WS-007"}, Level: 3, Strength: Must, plays: []string{"less", "cut"},
		Rule: "the first message on a link is subscription.request, also when the target comes back", Judge: func(r *Recording) Finding {
			if _, missed := r.noted(0, noteNoDial); missed {
				return unseen("the target did not connect")
			}
			for l := range r.links() {
				all := r.all(l, false)
				if len(all) > 0 && all[0].typ() != "subscription.request" {
					return fail("the first message was "+quoted(all[0].typ()), all[0].Entry)
				}
				if _, began := r.noted(l, noteLeft); len(all) == 0 && !began && l == 0 {
					return fail(fmt.Sprintf("no subscription.request came within %v", r.limit))
				}
			}
			return some(len(of(r.all(0, false), "subscription.request")), "links began with subscription.request")
		}},
	{Name: "request-valid", Requirements: []string{"HS-004", "HS-005", "HS-007", "HS-010", "HS-011", "HS-012", "HS-015", "HS-017", "HS-019", "HS-023", "HS-025", "HS-030", "HS-032", "HS-035", "HS-037", "HS-039", "HS-041", "I18N-002", "VER-001"},
		Level: 3, Strength: Must, plays: []string{"less", "cut"},
		Rule: "the request is valid under its schema", Judge: eachOf("subscription.request", func(m message) string { return invalid(m) })},
	{Name: "one-name", Requirements: []string{"HS-006"}, Level: 3, Strength: Must, plays: []string{"cut", "less"},
		Rule: "subscriber_id is the same whenever the target comes", Judge: func(r *Recording) Finding {
			n := 0
			names := map[string]bool{}
			for name := range r.before {
				names[name] = true
			}
			for l := range r.links() {
				for _, m := range of(r.all(l, false), "subscription.request") {
					if n++; len(names) > 0 && !names[m.str("subscriber_id")] {
						return fail("the target came as "+quoted(m.str("subscriber_id"))+", and under another name before", m.Entry)
					}
					names[m.str("subscriber_id")] = true
				}
			}
			if n+len(r.before) < 2 {
				return unseen("the target came only once")
			}
			return pass("the target always came under one name")
		}},
	{Name: "lives-with-less", Requirements: []string{"LVL-035", "HS-054"}, Level: 3, Strength: Must, plays: []string{"less"},
		Rule: "a subscriber that is granted less than it asked for goes on", Judge: notLeft("", presentsAny("granted", "grantedtoo"))},
	{Name: "changes-terms", Requirements: []string{"LVL-036"}, Level: 3, Strength: Must, plays: []string{"renegotiate"},
		Rule: "when the user wants another verbosity, other terms are asked for", Judge: renegotiating(func(r *Recording, act, m message) Finding {
			if m.m == nil {
				return fail("the user chose another verbosity, and no subscription.renegotiate came", act.Entry)
			}
			if got := m.obj("capabilities")["preferred_verbosity"]; got != act.m["verbosity"] {
				return fail(fmt.Sprintf("the user chose %v, and %v was asked for", act.m["verbosity"], got), act.Entry, m.Entry)
			}
			return pass("the verbosity that the user chose was asked for", act.Entry, m.Entry)
		})},
	{Name: "renegotiation-valid", Requirements: []string{"HS-074"}, Level: 3, Strength: Must, plays: []string{"renegotiate"},
		Rule: "subscription.renegotiate is valid and names the subscription", Judge: renegotiating(func(r *Recording, act, m message) Finding {
			a := of(r.all(m.Link, true), "subscription.accepted")
			switch {
			case m.m == nil:
				return unseen("no subscription.renegotiate came")
			case len(a) == 0 || a[0].str("subscription_id") != m.str("subscription_id"):
				return fail("it names the subscription "+quoted(m.str("subscription_id")), m.Entry)
			case invalid(m) != "":
				return fail(invalid(m), m.Entry)
			}
			return pass("it was valid", m.Entry)
		})},
	{Name: "old-terms-heard", Requirements: []string{"HS-077"}, Level: 3, Strength: Must, plays: []string{"renegotiate"},
		Rule: "events under the old terms that are still on their way are presented", Judge: presentsAny("oldterms", "oldtermstoo")},
	{Name: "new-terms-heard", Requirements: []string{"HS-077", "LVL-036"}, Level: 3, Strength: Must, plays: []string{"renegotiate"},
		Rule: "the subscription goes on under the new terms", Judge: presentsAny("newterms", "newtermstoo")},
	{Name: "asks-for-less", Requirements: []string{"EXT-007"}, Level: 3, Strength: Must, plays: []string{"refused"},
		Rule: "a request that was refused as capabilities_incompatible is not repeated as it was", Judge: judgeRefused},
}

// eachOf judges all messages of a type that came.
func eachOf(typ string, wrong func(message) string) func(*Recording) Finding {
	return func(r *Recording) Finding {
		n := 0
		for l := range r.links() {
			for _, m := range of(r.all(l, false), typ) {
				if w := wrong(m); w != "" {
					return fail(w, m.Entry)
				}
				n++
			}
		}
		return some(n, typ+" messages were right")
	}
}

// grantLess agrees to less than was asked for.
func grantLess(sc *scene) {
	c := sc.next(sc.arrival)
	if c == nil {
		return
	}
	less := object{"max_events_per_second": 2, "supports_confirmation_reply": false, "supports_clarification_reply": false,
		"coalesce_boundaries": nil, "pace_wpm": nil}
	if rate, ok := c.request.obj("capabilities")["max_events_per_second"].(float64); ok && rate < 2 {
		less["max_events_per_second"] = rate
	}
	c.accepted(less)
	s := sessionID()
	c.emit(c.event("granted", s, started, "Less than you wanted", nil))
	sc.presented(c.emit(c.event("grantedtoo", s, completed, "It was enough", nil)))
}

// renegotiate lets the user choose another verbosity.
func renegotiate(sc *scene) {
	c := sc.begin()
	if c == nil {
		return
	}
	s, other := sessionID(), sessionID()
	c.emit(c.event("other", other, started, "Some words", nil))
	sc.presented(c.emit(c.event("verbose", s, started, "Many words", nil)))
	chosen := "terse"
	if c.verbosity() == chosen {
		chosen = "detailed"
	}
	sc.do(object{"verbosity": chosen})
	came := c.receive("subscription.renegotiate")
	c.emit(c.event("oldterms", s, invoked, "Still in many words", toolCall()))
	sc.presented(c.emit(c.event("oldtermstoo", sessionID(), started, "Many more words", nil)))
	if came {
		c.accepted(nil)
	}
	c.emit(c.event("newterms", s, invoked, "In other words", toolCall()))
	sc.presented(c.emit(c.event("newtermstoo", other, completed, "Fewer words", nil)))
}

func renegotiating(judge func(r *Recording, act, m message) Finding) func(*Recording) Finding {
	return func(r *Recording) Finding {
		if why := r.silent(); why != "" {
			return unseen(why)
		}
		acts := r.all(hookLink, true)
		if len(acts) == 0 {
			return unseen("the target was gone before the user chose")
		}
		var m message
		if all := of(r.all(0, false), "subscription.renegotiate"); len(all) > 0 {
			m = all[0]
		}
		return judge(r, acts[0], m)
	}
}

// refuse refuses the first request, and takes the second.
func refuse(sc *scene) {
	c := sc.next(sc.arrival)
	if c == nil {
		return
	}
	c.rejected("capabilities_incompatible")
	if len(extensionsOf(c.request)) == 0 {
		return
	}
	if again := sc.next(arrival); again != nil { // which is the start of a program, where the target starts its agent
		again.accepted(nil)
		sc.presented(again.emit(again.event("taken", sessionID(), started, "Welcome all the same", nil)))
	}
}

// extensionsOf are those that a request names.
func extensionsOf(request message) (list []string) {
	caps := request.obj("capabilities")
	list = texts(caps["supported_extensions"])
	for name, v := range caps {
		if _, ok := v.(object); ok && name != "event_filters" {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

func judgeRefused(r *Recording) Finding {
	first := of(r.all(0, false), "subscription.request")
	if len(first) == 0 {
		return unseen("no subscription.request came")
	}
	if len(extensionsOf(first[0])) == 0 {
		return Finding{Verdict: Skipped, Seen: "the target asks for no extensions, so nothing can conflict"}
	}
	again := of(r.all(1, false), "subscription.request")
	switch {
	case len(again) == 0:
		return fail(fmt.Sprintf("the target did not ask again within %v", arrival), first[0].Entry)
	case slices.Equal(extensionsOf(again[0]), extensionsOf(first[0])):
		return fail("the request that was refused came again with the same extensions", first[0].Entry, again[0].Entry)
	}
	return pass("the target asked again for less", first[0].Entry, again[0].Entry)
}
